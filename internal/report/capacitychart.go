package report

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// capacityChartFile is where a record keeps the chart, for its report.md.
const capacityChartFile = "capacity.svg"

// A rateChart is one arm's response time over the rate: windows as points, the
// promise as a line, the interval as a band, and what theory says.
type rateChart struct {
	plot
	Y0                         px // its top, in a drawing of several
	Name, Class, Metric, Title string
	Log                        bool // of the times
	Limit                      px
	LimitText                  string
	BandLow, BandWidth         px     // of the interval; 0 wide without one
	Fit                        string // SVG path of the line of 1/quantile; "" for none
	Theories                   []rateTheory
	Points                     []ratePoint
}

// PlotHeight is that between the axes.
func (c rateChart) PlotHeight() px { return c.Bottom - c.Top }

type rateTheory struct{ Name, Path string }

type ratePoint struct {
	X, Y         px
	Class, Title string
}

// plotted is the term that is drawn: the first with a time, nil for none.
func plotted(c *record.Capacity) *record.SLOTerm {
	for i, t := range c.Terms {
		if t.Metric != "errors" && t.Metric != "goodput" {
			return &c.Terms[i]
		}
	}
	return nil
}

// rateCharts draws every arm that has a window with a time, all on the same axes.
func rateCharts(r *record.Result) (charts []rateChart) {
	term := plotted(r.Capacity)
	if term == nil {
		return nil
	}
	times, rates := []float64{term.Limit}, []float64{}
	for _, a := range r.Capacity.Arms {
		for _, w := range a.Windows {
			if v, ok := w.Values[term.Metric]; ok && w.Purpose != "overload" {
				times, rates = append(times, v), append(rates, w.Rate)
			}
		}
	}
	if len(rates) == 0 {
		return nil
	}
	// One window that took seconds must not press the others to the floor.
	ceiling := 30 * term.Limit
	for i := range times {
		times[i] = min(times[i], ceiling)
	}
	for i, a := range r.Capacity.Arms {
		c := rateChart{
			Name: a.Name, Class: seriesOf(r.Arms)[i].Class, Metric: term.Metric, Title: a.Answer.String(),
			plot: plot{Width: 640, Height: 320, Left: 74, Right: 622, Top: 14, Bottom: 274}, LimitText: term.Text,
		}
		x := closeAxis(rates, c.Left+8, c.Right-8)
		x.log = false
		y := timeAxis(times, c.Bottom, c.Top)
		c.X, c.Y, c.Log, c.Limit = x.rateTicks(6), y.timeTicks(5), y.log, y.at(term.Limit)
		for i := range c.X {
			c.X[i].Label += "/s"
		}
		if a.Outcome == "between" {
			c.BandLow = x.at(a.Low)
			c.BandWidth = x.at(a.High) - c.BandLow
		}
		if a.Line != nil && strings.HasPrefix(a.Term, term.Metric+"<") {
			c.Fit = fitted(*a.Line, x, y)
		}
		for _, t := range a.Theories {
			if t.Metric == term.Metric && len(t.Curve) > 0 {
				c.Theories = append(c.Theories, rateTheory{strings.TrimSuffix(t.Model+", "+t.Formula, ", "), ratePath(t.Curve, x, y)})
			}
		}
		for _, w := range a.Windows {
			v, ok := w.Values[term.Metric]
			if !ok || w.Purpose == "overload" {
				continue
			}
			p := ratePoint{X: x.at(w.Rate), Y: y.at(v), Class: "broken"}
			p.Title = fmt.Sprintf("%s, trial %d (%s): %s at %s", a.Name, w.Trial, w.Purpose, seconds(v), rate(w.Rate))
			switch {
			case !w.Refused.None():
				p.Class = "refused"
				p.Title += ", refused: " + w.Refused.String()
			case w.Kept:
				p.Class = "kept"
			}
			c.Points = append(c.Points, p)
		}
		if len(c.Points) > 0 {
			charts = append(charts, c)
		}
	}
	return charts
}

// fitted is the path of 1/(intercept + slope·rate) as far as it can be drawn.
func fitted(l record.RateLine, x, y axis) string {
	var points []record.RatePoint
	const steps = 60
	for i := range steps + 1 {
		at := x.low + (x.high-x.low)*float64(i)/steps
		if inverse := l.Intercept + l.Slope*at; inverse > 0 {
			points = append(points, record.RatePoint{Rate: at, Seconds: 1 / inverse})
		}
	}
	return ratePath(points, x, y)
}

// ratePath joins points, those within the axes and the first beyond.
func ratePath(points []record.RatePoint, x, y axis) string {
	var path strings.Builder
	points = slices.DeleteFunc(slices.Clone(points), func(p record.RatePoint) bool { return p.Rate < x.low || p.Rate > x.high })
	for i, p := range points {
		fmt.Fprintf(&path, "%c%s %s", "ML"[min(i, 1)], x.at(p.Rate), y.at(p.Seconds))
		if p.Seconds > y.high {
			break
		}
	}
	return path.String()
}

// CapacitySVG draws the response time over the rate, one chart for each arm below
// the other; nothing to draw gives an empty drawing. r.Capacity must be there.
func CapacitySVG(w io.Writer, r *record.Result) error {
	charts := rateCharts(r)
	for i := range charts {
		charts[i].Y0 = px(chartRoom*i + 20)
	}
	return emit(w, "svg", func(b *bytes.Buffer) {
		b.WriteString(string(draw("ratefile", struct {
			Style  template.CSS
			Height px
			Charts []rateChart
		}{document.Style(), px(chartRoom * len(charts)), charts})))
	})
}

// chartRoom is the height of a chart with its title.
const chartRoom = 344

// details lists every arm's windows.
func details(r *record.Result) (all []document.Part) {
	for _, a := range r.Capacity.Arms {
		head := []string{"trial", "for", "offered", "sent", "goodput"}
		for _, t := range r.Capacity.Terms {
			if t.Metric != "goodput" {
				head = append(head, t.Metric)
			}
		}
		rows := [][]string{append(head, "objective")}
		for _, w := range a.Windows {
			row := []string{count(w.Trial), w.Purpose, rate(w.Rate), rate(w.Sent), rate(w.Goodput)}
			for _, t := range r.Capacity.Terms {
				v, ok := w.Values[t.Metric]
				switch {
				case t.Metric == "goodput":
				case !ok:
					row = append(row, none)
				case t.Metric == "errors":
					row = append(row, plain(100*v)+nbsp+"%")
				default:
					row = append(row, seconds(v))
				}
			}
			said := "broken"
			switch {
			case !w.Refused.None():
				said = "refused: " + w.Refused.String()
			case w.Kept:
				said = "kept"
			}
			rows = append(rows, append(row, said))
		}
		all = append(all, document.Details{Summary: a.Name, Parts: []document.Part{document.Table{Rows: rows, Words: true}}})
	}
	return all
}
