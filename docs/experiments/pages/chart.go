package main

import (
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/docs/experiments"
	"schedlab/internal/shared/stats"
)

// A chart is the drawing at the head of a page: panels below each other, of one kind of rows each.
type chart struct {
	Title  string
	Height px
	Panels []panel
}

// A panel is rows with one axis below them.
type panel struct {
	kind        string // changes or figures
	Name        string // the axis's
	Top, Bottom px
	Ticks       []tick
	Rows        []line

	head      string  // of the last lines
	metric    string  // of figures
	low, high float64 // ends of the axis
	log       bool
}

// A line of a chart is one verdict, or the figures of one arm. If it has a Head, that is all that it has.
type line struct {
	Head, Arm, Metric, Note string
	Class                   string    // better, worse, same, open or plain
	Points                  []float64 // a decided change, or the figures
	Low, High               float64   // ends of the bar; High is 0 if nothing was measured
	Y                       px
}

// A tick is a labelled place on an axis; One is the place of no change.
type tick struct {
	At    px
	Label string
	One   bool
}

// px is a coordinate or a length of the drawing. It prints with at most one decimal.
type px float64

func (p px) String() string { return strconv.FormatFloat(math.Round(float64(p)*10)/10, 'f', -1, 64) }

//go:embed chart.svg.tmpl
var drawing string

var chartTemplate = template.Must(template.New("chart").Parse(drawing))

// chartOf draws the chart of a page from the file's rows. Its specification, charts/NAME.txt, has a line with the title, which
// is also the text of the image on the page, and then lines for what to draw:
//
//	title WORDS
//	changes|figures SCENARIO METRIC[,METRIC] [ARM...] [# words about the scenario]
//
// "changes" draws verdicts, "figures" draws medians, all in one unit. A METRIC is the head of a table's
// column. Without an ARM all arms are drawn. An error quotes the line that asks for something that the file
// does not have.
func chartOf(page, spec string, rows []experiments.Row) (string, error) {
	head, asks, _ := strings.Cut(spec, "\n")
	title, ok := strings.CutPrefix(head, "title ")
	if !ok {
		return "", fmt.Errorf("the chart's first line is %q, and must be: title WORDS", head)
	}
	if image := "\n![" + title + "](charts/"; !strings.Contains(page, image) {
		return "", fmt.Errorf("the page does not show its chart under the title %q", title)
	}
	c := chart{Title: title}
	for asked := range strings.Lines(asks) {
		asked = strings.TrimSpace(asked)
		if err := c.add(rows, asked); err != nil {
			return "", fmt.Errorf("line %q of the chart: %w", asked, err)
		}
	}
	c.place()
	var b strings.Builder
	err := chartTemplate.Execute(&b, c)
	return b.String(), err
}

// add appends the lines that a line of the specification asks for. Lines of one kind that follow each other share a
// panel, and those of one scenario and baseline a head.
func (c *chart) add(rows []experiments.Row, asked string) error {
	spec, words, _ := strings.Cut(asked, " # ")
	f := strings.Fields(spec)
	if len(f) < 3 || f[0] != "changes" && f[0] != "figures" {
		return errors.New("give changes or figures, a scenario, and metrics")
	}
	kind, scenario, heads, arms := f[0], f[1], strings.Split(f[2], ","), f[3:]
	rows = of(rows, scenario)
	known := armsOf(rows)
	if len(known) == 0 {
		return errors.New("the file has no such scenario")
	}
	if len(arms) == 0 {
		arms = slices.DeleteFunc(slices.Clone(known), func(arm string) bool { return kind == "changes" && baselineOf(rows, arm) == "" })
	}
	if n := len(c.Panels); n == 0 || c.Panels[n-1].kind != kind {
		c.Panels = append(c.Panels, panel{kind: kind})
	}
	p := &c.Panels[len(c.Panels)-1]
	p.Name = strings.Join(heads, " – ")
	if kind == "changes" {
		p.Name = "change against the baseline with its interval"
	}
	for _, arm := range arms {
		if !slices.Contains(known, arm) {
			return fmt.Errorf("the scenario has no arm %s", arm)
		}
		head := strings.TrimSuffix(scenario+": "+words, ": ")
		if kind == "changes" {
			head += ", against " + baselineOf(rows, arm)
		}
		if p.head != head {
			p.head, p.Rows = head, append(p.Rows, line{Head: head})
		}
		var lines []line
		for _, head := range heads {
			at := slices.IndexFunc(columns, func(c column) bool { return c.head == head })
			if at < 0 {
				return fmt.Errorf("no table has a column %s", head)
			}
			r, _ := cellOf(rows, arm, columns[at].metric)
			p.metric = columns[at].metric
			if kind == "changes" {
				lines = append(lines, changeLine(head, r))
				continue
			}
			if len(lines) == 0 {
				lines = []line{{Class: "plain"}}
			}
			lines[0].addFigure(r)
		}
		lines[0].Arm = arm // the others stand below it
		p.Rows = append(p.Rows, lines...)
	}
	return nil
}

// addFigure adds the figure of a row: the bar joins two figures, or begins at the axis.
func (l *line) addFigure(r experiments.Row) {
	if r.Figure == 0 {
		return
	}
	if l.Points = append(l.Points, r.Figure); len(l.Points) == 2 {
		l.Low = l.Points[0]
	}
	l.High, l.Note = r.Figure, strings.TrimPrefix(l.Note+", "+figure(r.Metric, r.Figure), ", ")
}

// changeLine returns the line of a row's verdict. Without an interval it has no bar.
func changeLine(head string, r experiments.Row) line {
	l := line{Metric: head, Note: "no verdict"}
	if r.Low == 0 {
		return l
	}
	l.Low, l.High = r.Low, r.High
	switch {
	case differs(r):
		l.Class = "worse"
		if r.Ratio > 1 == stats.MetricOf(r.Metric).HigherIsBetter {
			l.Class = "better"
		}
		l.Points, l.Note = []float64{r.Ratio}, stats.Change(r.Ratio)+", "+l.Class
	case r.Verdict == string(stats.Same):
		l.Class, l.Note = "same", "same"
	default:
		l.Class, l.Note = "open", "open"
	}
	return l
}

// Left and Right are the ends of every axis. The names of the rows stand left of it, their notes right.
func (panel) Left() px  { return 340 }
func (panel) Right() px { return 604 }

// At returns the coordinate of a value. A value outside the axis gets the nearest end.
func (p panel) At(v float64) px {
	v = min(max(v, p.low), p.high)
	share := (v - p.low) / (p.high - p.low)
	if p.log {
		share = math.Log(v/p.low) / math.Log(p.high/p.low)
	}
	return p.Left() + px(share)*(p.Right()-p.Left())
}

// place gives every panel its axis and every line its place, from the top down.
func (c *chart) place() {
	const step = 20
	c.Height = 40
	for i := range c.Panels {
		p := &c.Panels[i]
		p.Top = c.Height
		var values []float64
		for j := range p.Rows {
			l := &p.Rows[j]
			c.Height += step
			l.Y = c.Height - step/2
			for _, v := range append(slices.Clone(l.Points), l.Low, l.High) {
				if v > 0 {
					values = append(values, v)
				}
			}
		}
		p.Bottom, c.Height = c.Height, c.Height+48
		p.scale(values)
	}
}

// scale gives the panel its axis for these values, which are above 0. Changes get a logarithmic one around 1, so
// that twice and half are equally far from it, of ±25 % at least. Figures start at zero, unless the smallest
// would then be within a twentieth of the axis.
func (p *panel) scale(values []float64) {
	if p.kind == "changes" {
		values = append(values, .8, 1.25)
		p.low, p.high, p.log = slices.Min(values)/1.05, slices.Max(values)*1.05, true
		p.Name += ", logarithmic"
		p.mark(1, "same")
		for _, v := range []float64{2, 0.5, 1.5, 1.25, 0.8, 10, 0.1, 5, 0.2, 3, 100, 0.01, 1.1, 0.9} {
			p.mark(v, stats.Change(v))
		}
		return
	}
	if len(values) == 0 {
		values = []float64{1}
	}
	p.low, p.high = 0, slices.Max(values)*1.06
	if slices.Max(values) > 20*slices.Min(values) {
		p.low, p.high, p.log = slices.Min(values)/1.15, slices.Max(values)*1.15, true
		p.Name += ", logarithmic"
	}
	unit := 1.
	if p.metric == "memory" {
		unit = 1 << 20
	}
	decade := unit * math.Pow(10, math.Floor(math.Log10(p.high/unit)))
	if p.log {
		for ; decade >= p.low/10; decade /= 10 {
			for _, m := range []float64{1, 5, 2} {
				p.mark(decade*m, tickLabel(p.metric, decade*m))
			}
		}
		return
	}
	step := decade
	for _, part := range []float64{2, 4, 5} {
		if p.high/decade*part <= 6 {
			step = decade / part
		}
	}
	p.mark(0, "0")
	for v := step; v <= p.high; v += step {
		p.mark(v, tickLabel(p.metric, v))
	}
}

// mark adds a tick at a value on the axis, where there is room for its label.
func (p *panel) mark(v float64, label string) {
	const room = 46 // about the width of a label
	at := p.At(v)
	near := func(t tick) bool { return math.Abs(float64(t.At-at)) < room }
	if v >= p.low && v <= p.high && !slices.ContainsFunc(p.Ticks, near) {
		p.Ticks = append(p.Ticks, tick{at, label, label == "same"})
	}
}

// tickLabel formats a round figure without trailing zeros.
func tickLabel(metric string, v float64) string {
	text, unit, _ := strings.Cut(figure(metric, v), " ")
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return strings.TrimSpace(text + " " + unit)
}
