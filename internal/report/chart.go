package report

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// chartSource has the templates of all drawings, in SVG. They hold the shapes and the classes;
// sizes and places come from the values below.
//
//go:embed charts.html
var chartSource string

// chartTemplates are the templates of the drawings, parsed when the first is needed. Their
// functions format figures as the rest of a report does.
//
// This file is the toolbox of all drawings. An axis maps values to coordinates and has ticks;
// panels with lines or cells make a chart, rows of bars make a barChart. The files about a kind of
// result fill these values, and draw turns them into SVG.
var chartTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("charts").Funcs(template.FuncMap{
		"add": func(a, b px) px { return a + b }, "sub": func(a, b px) px { return a - b }, "inverse": func(v float64) float64 { return 1 / v },
		"label": func(metric string) string { return stats.MetricOf(metric).Label }, "change": change, "between": between,
	}).Parse(chartSource))
})

// draw fills in one template of charts.html, and returns the SVG element. All texts in it are
// escaped. It panics if the template does not fit the data, which is a bug.
func draw(name string, of any) template.HTML {
	var b strings.Builder
	if err := chartTemplates().ExecuteTemplate(&b, name, of); err != nil {
		panic(err)
	}
	return template.HTML(b.String()) // html/template has escaped it
}

// writeSVG writes a drawing as a separate file.
func writeSVG(w io.Writer, drawing template.HTML) error { return emit(w, "svg", string(drawing)) }

// px is a coordinate or a length in an SVG's own units, from the upper left corner. It prints
// with at most one decimal, which keeps pages small.
type px float64

// String returns p with at most one decimal, as SVG attributes need it.
func (p px) String() string { return strconv.FormatFloat(math.Round(float64(p)*10)/10, 'f', -1, 64) }

// A chart draws lines and points, in one panel or in several below each other. Its Width and
// Height are the whole drawing; each panel's axes tell where in it the panel lies.
type chart struct {
	Caption       string
	Label         string // describes the drawing to people who cannot see it
	Width, Height px
	Panels        []panel
}

// A panel is a pair of axes, with lines in the units of the axes. Y.From is the lower end and
// below Y.To on the page, since SVG counts downwards.
type panel struct {
	Arm   string // the arm that the panel is about, which a reader may hide; "" for several
	Title string
	X, Y  axis
	Band  []float64 // the two ends of an interval on X; nil for none
	Heat  *heat
	Limit *limit
	Lines []line
}

// A limit is a horizontal line across a panel, such as the time that an objective allows, with
// its text. At is in the units of Y.
type limit struct {
	At   float64
	Text string
}

// A line is a series of points, joined by a stroke or not. Points are in the order in which the
// stroke passes them.
type line struct {
	series
	Title  string  // shown under the pointer
	Label  string  // written at the left, above the first point
	Stroke string  // class of the line; "" draws the points alone
	Width  float64 // of the stroke; 0 for the default
	Points []point
}

// A point is a place in the units of the axes. It is drawn only if it has a class; without one
// it only bends the line. Title is shown under the pointer.
type point struct {
	X, Y         float64
	Class, Title string
}

// Values returns the titles of the points that only bend the line, for the page's script, with a |
// between them; "" if they have none.
func (l line) Values() string {
	if len(l.Points) == 0 || l.Points[0].Class != "" || l.Points[0].Title == "" {
		return ""
	}
	return strings.Join(each(l.Points, func(p point) string { return strings.ReplaceAll(p.Title, "|", "/") }), "|")
}

// figure returns the chart as a part of a report, with a legend of its lines. The caption says
// so where an axis is logarithmic.
func (c chart) figure() document.Chart {
	figure := document.Chart{Caption: c.Caption, Picture: draw("chart", c)}
	for _, p := range c.Panels {
		for _, l := range p.Lines {
			// Only measured lines are in the legend; fits have titles.
			if l.Stroke == "line" {
				figure.Keys = append(figure.Keys, document.Key{Class: l.Class, Name: l.Name})
			}
		}
	}
	log := slices.ContainsFunc(c.Panels, func(p panel) bool { return p.X.log || p.Y.log })
	figure.Caption += when(log && c.Caption != "", ", logarithmic")
	return figure
}

// A barChart is rows of bars, all on one scale. Label describes it to people who cannot see it.
type barChart struct {
	Label string
	Scale axis
	Rows  []barRow
}

// A barRow is the bars of one row, with a name above and a figure at their end, such as the sum.
type barRow struct {
	Name, Total string
	Bars        []bar
}

// A bar reaches from one value of the scale to another.
type bar struct {
	Class, Title string
	From, To     float64
}

// Height returns the height of the whole chart: the upper edge of a row after the last.
func (c barChart) Height() px { return c.Top(len(c.Rows)) }

// Top returns the upper edge of the bars of row i, from 0. A row is 40 high with its name.
func (c barChart) Top(i int) px { return px(14 + 40*i) }

// Wide returns the width of a bar, at least 1, so that the shortest time can still be seen.
func (c barChart) Wide(b bar) px { return max(c.Scale.At(b.To)-c.Scale.At(b.From), 1) }

// End returns the right end of the longest bar of a row, where its figure is written; the left
// end of the scale for a row without bars.
func (c barChart) End(r barRow) px {
	return slices.Max(append(each(r.Bars, func(b bar) px { return c.Scale.At(b.To) }), c.Scale.From))
}

// A tick is a labelled place on an axis. Its label may be empty, where thin took it away. A
// minor tick is left out on a narrow screen.
type tick struct {
	At    px
	Label string
	Minor bool
}

// An axis maps the values low..high to the coordinates From..To, linearly or by logarithm. high must be above
// low, and low above 0 with log. To may be less than From, as on an axis that rises.
type axis struct {
	low, high float64
	From, To  px
	pad       px // free space at both ends
	log       bool
	Ticks     []tick
	fine      []tick // more ticks, closer together, for readers who zoom in
}

// Labels returns the labelled ticks for the page's script, which draws them when a reader zooms in:
// the place and the label of each, with a | between them, those first that matter most.
func (a axis) Labels() string {
	labelled := only(slices.Concat(a.Ticks, a.fine), func(t tick) bool { return t.Label != "" })
	return strings.Join(each(labelled, func(t tick) string { return t.At.String() + " " + t.Label }), "|")
}

// newAxis returns an axis for values without ticks: from zero, or logarithmic if the largest is so
// large that the smallest would be within a twentieth of a linear axis. Only positive
// values count. It leaves some room beyond the largest.
func newAxis(values []float64, from, to px) axis {
	low, high := span(values)
	if low > 0 && high/low > 20 {
		return axis{low: low / 1.15, high: high * 1.15, From: from, To: to, log: true}
	}
	return axis{high: cmp.Or(high, 1) * 1.06, From: from, To: to}
}

// closeAxis returns an axis for values that does not start at zero, so that small spreads can
// be seen. A chart that uses it must tell so, as lengths mean nothing on it.
func closeAxis(values []float64, from, to px) axis {
	a := newAxis(values, from, to)
	low, high := span(values)
	if room := (high - low) * 0.08; !a.log && room > 0 {
		a.low, a.high = max(low-room, 0), high+room
	}
	return a
}

// At returns the coordinate of v. A value outside the axis gets the nearest end, so that
// nothing is drawn outside its panel.
func (a axis) At(v float64) px {
	v = min(max(v, a.low), a.high)
	share := (v - a.low) / (a.high - a.low)
	if a.log {
		share = math.Log(v/a.low) / math.Log(a.high/a.low)
	}
	return a.From + a.pad + px(share)*(a.To-a.From-2*a.pad)
}

// marked returns the axis with ticks at about n round values. A logarithmic axis has ticks at 1, 2 and 5 of
// each decade instead, or at 1 alone if it covers more than three decades. label formats a value.
func (a axis) marked(n int, label func(float64) string) axis {
	if a.log {
		wide := math.Log10(a.high/a.low) > 3
		for decade := math.Pow(10, math.Floor(math.Log10(a.low))); decade <= a.high; decade *= 10 {
			for _, m := range []float64{1, 2, 5} {
				if v := decade * m; v >= a.low && v <= a.high && (m == 1 || !wide) {
					a.Ticks = append(a.Ticks, tick{a.At(v), label(v), m != 1})
				}
			}
		}
		return a
	}
	about := func(n int) (ticks []tick) {
		step := roundStep((a.high - a.low) / float64(n))
		// Multiples of the step, and not sums, in which rounding errors would add up.
		for i := math.Ceil(a.low / step); i*step <= a.high; i++ {
			ticks = append(ticks, tick{a.At(i * step), label(i * step), math.Mod(i, 2) == 1})
		}
		return ticks
	}
	a.Ticks, a.fine = about(n), append(about(4*n), about(16*n)...)
	return a
}

// roundStep returns the smallest number 1, 2, 5 or 10 × 10^k that is not below v, for the distance
// of ticks. v must be above 0.
func roundStep(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	return decade * first([]float64{1, 2, 5, 10}, func(m float64) bool { return m*decade >= v*(1-1e-9) })
}

// timeLabel formats a round time, in seconds, with its unit and without trailing zeros. A round time
// between two close ticks may have up to six digits.
func timeLabel(v float64) string {
	if v == 0 {
		return "0"
	}
	s := timeScale(v)
	return strconv.FormatFloat(v/s.factor, 'g', 6, 64) + nbsp + s.unit
}

// countLabel formats a round number.
func countLabel(v float64) string { return prose.Grouped(strconv.FormatFloat(v, 'f', -1, 64)) }

// A series is the name of an arm and its CSS class in drawings. The class is the same
// everywhere on a page, so an arm has one colour in all charts and tables.
type series struct{ Name, Class string }

// seriesOf returns the series of the arms, in their order. The baseline has the colour of text, its copy the
// same colour dashed, and each challenger one of seven colours; from the eighth on these repeat, dashed.
func seriesOf(arms []record.Arm) []series {
	challenger := -1
	return each(arms, func(a record.Arm) series {
		switch a.Role {
		case record.Copy:
			return series{a.Name, "base dash"}
		case record.Challenger:
			challenger++
			return series{a.Name, "c" + strconv.Itoa(challenger%7) + when(challenger >= 7, " dash")}
		}
		return series{a.Name, "base"}
	})
}

// thin removes labels that would overlap the next one to the right. The last label, which tells
// the range of the axis, always stays. It sorts ticks by place, in place.
func thin(ticks []tick) {
	const digit = 7 // px, about the width of a digit, as labels mostly are
	slices.SortStableFunc(ticks, func(a, b tick) int { return cmp.Compare(a.At, b.At) })
	free := px(math.Inf(1))
	for i := range slices.Backward(ticks) {
		half := px(digit * float64(len(ticks[i].Label)) / 2)
		if ticks[i].At+half > free {
			ticks[i].Label = ""
			continue
		}
		free = ticks[i].At - half
	}
}
