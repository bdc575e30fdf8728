// Package chart draws lines, points and bars as SVG. A Chart has panels with lines or cells, and a BarChart has rows of bars. An
// Axis maps values to coordinates and has ticks. Other packages can draw other shapes: they parse their own templates with
// Templates and fill them in with Draw.
package chart

import (
	"cmp"
	_ "embed"
	"hash/fnv"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
)

// source has the templates of charts and of bars, in SVG. They hold the shapes and the classes; sizes and places come
// from the values below.
//
//go:embed chart.html
var source string

var templates = sync.OnceValue(func() *template.Template { return Templates(source, nil) })

// Templates parses templates of drawings. They can add and sub coordinates, and call more functions.
func Templates(source string, more template.FuncMap) *template.Template {
	arithmetic := template.FuncMap{"add": func(a, b Px) Px { return a + b }, "sub": func(a, b Px) Px { return a - b }}
	return template.Must(template.New("drawings").Funcs(arithmetic).Funcs(more).Parse(source))
}

// Draw fills in a template, and returns the SVG element. All texts in it are escaped. It panics if the template does not
// fit the data, which is a bug.
func Draw(t *template.Template, name string, of any) template.HTML {
	var b strings.Builder
	if err := t.ExecuteTemplate(&b, name, of); err != nil {
		panic(err)
	}
	return template.HTML(b.String()) // html/template has escaped it
}

// Px is a coordinate or a length in an SVG's own units, from the upper left corner. It prints
// with at most one decimal, which keeps pages small.
type Px float64

// String returns p with at most one decimal, as SVG attributes need it.
func (p Px) String() string { return strconv.FormatFloat(math.Round(float64(p)*10)/10, 'f', -1, 64) }

// A Chart draws lines and points, in one panel or in several below each other. Its Width and
// Height are the whole drawing; each panel's axes tell where in it the panel lies.
type Chart struct {
	Caption       string
	Label         string // describes the drawing to people who cannot see it
	Width, Height Px
	Panels        []Panel
}

// A Panel is a pair of axes, with lines in the units of the axes. Y.From is the lower end and
// below Y.To on the page, since SVG counts downwards.
type Panel struct {
	Arm   string // the arm that the panel is about, which a reader may hide; "" for several
	Title string
	X, Y  Axis
	Band  []float64 // the two ends of an interval on X; nil for none
	Heat  *Heat
	Limit *Limit
	Lines []Line
}

// A Limit is a horizontal line across a panel, such as the time that an objective allows, with
// its text. At is in the units of Y.
type Limit struct {
	At   float64
	Text string
}

// A Line is a series of points, joined by a stroke or not. Points are in the order in which the
// stroke passes them.
type Line struct {
	Series
	Title  string  // shown under the pointer
	Label  string  // written at the left, above the first point
	Stroke string  // class of the line; "" draws the points alone
	Width  float64 // of the stroke; 0 for the default
	Points []Point
}

// A Point is a place in the units of the axes. It is drawn only if it has a class; without one
// it only bends the line. Title is shown under the pointer.
type Point struct {
	X, Y         float64
	Class, Title string
}

// Values returns the titles of the points that only bend the line, for the page's script, with a |
// between them; "" if they have none.
func (l Line) Values() string {
	if len(l.Points) == 0 || l.Points[0].Class != "" || l.Points[0].Title == "" {
		return ""
	}
	titles := make([]string, len(l.Points))
	for i, p := range l.Points {
		titles[i] = strings.ReplaceAll(p.Title, "|", "/")
	}
	return strings.Join(titles, "|")
}

// Figure returns the chart as a part of a report, with a legend of its lines. The caption says
// so where an axis is logarithmic.
func (c Chart) Figure() document.Chart {
	figure := document.Chart{Caption: c.Caption, Picture: c.SVG()}
	for _, p := range c.Panels {
		for _, l := range p.Lines {
			// Only measured lines are in the legend; fits have titles.
			if l.Stroke == "line" {
				figure.Keys = append(figure.Keys, document.Key{Class: l.Class, Name: l.Name})
			}
		}
	}
	log := slices.ContainsFunc(c.Panels, func(p Panel) bool { return p.X.Log || p.Y.Log })
	if log && c.Caption != "" {
		figure.Caption += ", logarithmic"
	}
	return figure
}

// SVG returns the chart as an SVG element, for a page.
func (c Chart) SVG() template.HTML { return Draw(templates(), "chart", c) }

// File returns the chart as a separate file, with its style sheet.
func (c Chart) File() template.HTML {
	return Draw(templates(), "file", struct {
		Chart
		Style template.CSS
	}{c, document.Style()})
}

// A BarChart is rows of bars, all on one scale, whose ends are in per cent of the drawing's width. Label describes it to people who cannot see it.
type BarChart struct {
	Label string
	Scale Axis
	Rows  []Row
}

// A Row is the bars of one row, with a name above and a figure at their end, such as the sum.
type Row struct {
	Name, Total string
	Bars        []Bar
}

// A Bar reaches from one value of the scale to another.
type Bar struct {
	Class, Title string
	Figure       string // written in the middle of a bar that has room for it; may be empty
	From, To     float64
}

// SVG returns the bars as an SVG element, for a page.
func (c BarChart) SVG() template.HTML { return Draw(templates(), "bars", c) }

// Height returns the height of the whole chart: the upper edge of a row after the last.
func (c BarChart) Height() Px { return c.Top(len(c.Rows)) }

// Top returns the upper edge of the bars of row i, from 0, in pixels. A row is 40 high with its name.
func (c BarChart) Top(i int) Px { return Px(14 + 40*i) }

// Wide returns the width of a bar, at least 0.2 %, so that the shortest time can still be seen.
func (c BarChart) Wide(b Bar) Px { return max(c.Scale.At(b.To)-c.Scale.At(b.From), .2) }

// Narrow reports whether a bar has no room for a figure on a screen of 390 pixels.
func (c BarChart) Narrow(b Bar) bool { return c.Wide(b) < 15 }

// Middle returns the middle of a bar.
func (c BarChart) Middle(b Bar) Px { return (c.Scale.At(b.From) + c.Scale.At(b.To)) / 2 }

// End returns the right end of the longest bar of a row, where its figure is written; the left
// end of the scale for a row without bars.
func (c BarChart) End(r Row) Px {
	end := c.Scale.From
	for _, b := range r.Bars {
		end = max(end, c.Scale.At(b.To))
	}
	return end
}

// A Tick is a labelled place on an axis. Its label may be empty, where thin took it away. A
// minor tick is left out on a narrow screen.
type Tick struct {
	At    Px
	Label string
	Minor bool
}

// An Axis maps the values low..high to the coordinates From..To, linearly or by logarithm. high must be above
// low, and low above 0 with log. To may be less than From, as on an axis that rises.
type Axis struct {
	Low, High float64
	From, To  Px
	Pad       Px // free space at both ends
	Log       bool
	Ticks     []Tick
	Fine      []Tick // more ticks, closer together, for readers who zoom in
}

// Labels returns the labelled ticks for the page's script, which draws them when a reader zooms in: the place and the label of
// each, with a | between them, the most important ticks first.
func (a Axis) Labels() string {
	var labels []string
	for _, t := range slices.Concat(a.Ticks, a.Fine) {
		if t.Label != "" {
			labels = append(labels, t.At.String()+" "+t.Label)
		}
	}
	return strings.Join(labels, "|")
}

// NewAxis returns an axis for values, without ticks and with some room beyond the largest value. It begins at zero, or is
// logarithmic if the largest value is more than twenty times the smallest. Only positive values count.
func NewAxis(values []float64, from, to Px) Axis {
	low, high := say.Span(values)
	if low > 0 && high/low > 20 {
		return Axis{Low: low / 1.15, High: high * 1.15, From: from, To: to, Log: true}
	}
	return Axis{High: cmp.Or(high, 1) * 1.06, From: from, To: to}
}

// CloseAxis returns an axis for values that does not start at zero, so that small spreads can
// be seen. A chart that uses it must tell so, as lengths mean nothing on it.
func CloseAxis(values []float64, from, to Px) Axis {
	a := NewAxis(values, from, to)
	low, high := say.Span(values)
	if room := (high - low) * 0.08; !a.Log && room > 0 {
		a.Low, a.High = max(low-room, 0), high+room
	}
	return a
}

// At returns the coordinate of v. A value outside the axis gets the nearest end, so that
// nothing is drawn outside its panel.
func (a Axis) At(v float64) Px {
	v = min(max(v, a.Low), a.High)
	share := (v - a.Low) / (a.High - a.Low)
	if a.Log {
		share = math.Log(v/a.Low) / math.Log(a.High/a.Low)
	}
	return a.From + a.Pad + Px(share)*(a.To-a.From-2*a.Pad)
}

// Marked returns the axis with ticks at about n round values. A logarithmic axis has ticks at 1, 2 and 5 of
// each decade instead, or at 1 alone if it covers more than three decades. label formats a value.
func (a Axis) Marked(n int, label func(float64) string) Axis {
	if a.Log {
		wide := math.Log10(a.High/a.Low) > 3
		for decade := math.Pow(10, math.Floor(math.Log10(a.Low))); decade <= a.High; decade *= 10 {
			for _, m := range []float64{1, 2, 5} {
				if v := decade * m; v >= a.Low && v <= a.High && (m == 1 || !wide) {
					a.Ticks = append(a.Ticks, Tick{a.At(v), label(v), m != 1})
				}
			}
		}
		return a
	}
	about := func(n int) (ticks []Tick) {
		step := roundStep((a.High - a.Low) / float64(n))
		// Multiples of the step, and not sums, in which rounding errors would add up.
		for i := math.Ceil(a.Low / step); i*step <= a.High; i++ {
			ticks = append(ticks, Tick{a.At(i * step), label(i * step), math.Mod(i, 2) == 1})
		}
		return ticks
	}
	a.Ticks, a.Fine = about(n), append(about(4*n), about(16*n)...)
	return a
}

// roundStep returns the smallest number 1, 2, 5 or 10 × 10^k that is not below v, for the distance
// of ticks. v must be above 0.
func roundStep(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if m*decade >= v*(1-1e-9) {
			return m * decade
		}
	}
	return 10 * decade
}

// A Series is the name of an arm and its CSS class in drawings. The class is the same
// everywhere on a page, so an arm has one colour in all charts and tables.
type Series struct{ Name, Class string }

// SeriesOf returns the series of the arms, in their order. The baseline has the colour of text, its copy the
// same colour dashed, and each challenger one of seven colours, chosen by its name, so that it has the same colour on every page.
// If an earlier challenger has that colour already, it takes the next free one. From the eighth challenger on colours repeat, dashed.
func SeriesOf(arms []record.Contestant) []Series {
	const colours = 7
	taken, challengers := map[string]bool{}, 0
	all := make([]Series, len(arms))
	for i, a := range arms {
		class := "base"
		switch a.Role {
		case record.Copy:
			class = "base dash"
		case record.Challenger:
			dash := ""
			if challengers >= colours {
				dash = " dash"
			}
			challengers++
			for k := range colours {
				class = "c" + strconv.Itoa((colourOf(a.Name, colours)+k)%colours) + dash
				if !taken[class] {
					break
				}
			}
			taken[class] = true
		}
		all[i] = Series{a.Name, class}
	}
	return all
}

// salt is chosen so that arms that are often compared have colours that differ well: fasthttp blue, pool orange, goroutine green.
const salt = "12236"

// colourOf returns the colour of a name: a number from 0 up to, not including, colours.
func colourOf(name string, colours int) int {
	sum := fnv.New32a()
	sum.Write([]byte(salt + name))
	return int(sum.Sum32() % uint32(colours))
}

// Thin removes labels that would overlap the next one to the right. The last label, which tells
// the range of the axis, always stays. It sorts ticks by place, in place.
func Thin(ticks []Tick) {
	const digit = 7 // px, about the width of a digit, as labels mostly are
	slices.SortStableFunc(ticks, func(a, b Tick) int { return cmp.Compare(a.At, b.At) })
	free := Px(math.Inf(1))
	for i := range slices.Backward(ticks) {
		half := Px(digit * float64(len(ticks[i].Label)) / 2)
		if ticks[i].At+half > free {
			ticks[i].Label = ""
			continue
		}
		free = ticks[i].At - half
	}
}

// A Heat is the cells of a heat map, in columns of width Wide from the left end of the X axis and
// rows of height High upwards from the lower end of the Y axis.
type Heat struct {
	Wide, High string
	Steps      []HeatStep
}

// A HeatStep is all cells of one colour, as one path. Its stroke is as wide as a row.
type HeatStep struct{ Class, Title, Path string }

// StretchClass returns the CSS class of a stretch, which gives it the same colour in every drawing.
func StretchClass(name string) string { return "stretch s-" + strings.ReplaceAll(name, " ", "-") }
