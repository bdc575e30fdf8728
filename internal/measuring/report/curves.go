package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/responses"
	"schedlab/internal/shared/stats"
)

// curveSection draws the response time by percentile, all arms in one chart; an empty part when
// no arm has a distribution.
//
// This file has the drawings of a comparison that show shapes instead of single figures:
// distributions (curves), the blocks (blockChart), figures over a varied factor (sweep), and
// connections over time (countersCharts).
func curveSection(r *record.Comparison) document.Part {
	figure, lead := curveFigure(curvesOf(r.Arms, chart.SeriesOf(r.Contestants())))
	if lead == "" {
		return document.Section{}
	}
	all := document.Charts{figure}
	if len(r.Arms[0].Classes) > 0 {
		all = classCurves(r)
	}
	return document.Section{ID: "curves", Title: "Response time by percentile", Lead: warned(r, lead), Parts: []document.Part{all}}
}

// classCurves draws the distributions of all requests and of each class, a chart each.
func classCurves(r *record.Comparison) (all document.Charts) {
	for i, of := range r.Arms[0].Classes {
		part := slices.Clone(r.Arms)
		for k := range part {
			part[k].Curve = part[k].Classes[i].Curve
		}
		if figure, lead := curveFigure(curvesOf(part, chart.SeriesOf(r.Contestants()))); lead != "" {
			figure.Caption = ofClass(of.Class)
			all = append(all, figure)
		}
	}
	return all
}

// ofClass names the requests of a class, or all.
func ofClass(class string) string {
	if class == record.AllRequests {
		return "all requests"
	}
	return "requests of class " + class
}

// A curve is a distribution of response times, with the line that it has in charts.
type curve struct {
	chart.Series
	points []responses.Point
}

// curvesOf returns the distributions of the arms that have one. all are the arms' series.
func curvesOf(arms []record.Arm, all []chart.Series) (known []curve) {
	for i, a := range arms {
		if len(a.Curve) > 0 {
			known = append(known, curve{all[i], a.Curve})
		}
	}
	return known
}

// curveFigure draws distributions, and tells how to read the drawing. lead is "" if there is nothing to draw.
func curveFigure(all []curve) (figure document.Chart, lead string) {
	c, rows := curves(all)
	if c == nil {
		return figure, ""
	}
	lead = "All windows together; lower is better. A line ends where fewer than ten requests lie above it."
	if c.Panels[0].Y.Log {
		lead += " The time axis is logarithmic."
	}
	figure = c.Figure()
	figure.Wide, figure.Instead = true, []document.Part{document.Table{Rows: rows}}
	return figure, lead
}

// curves draws distributions, a line each, and returns them as a table too. It
// returns nil when there is none. The x axis counts nines, -log10(1-q), so that
// p90, p99 and p99.9 are equally far apart. HdrHistogram's plots have the same axis.
func curves(all []curve) (*chart.Chart, [][]string) {
	var times []float64
	nines := 0.0
	for _, of := range all {
		for _, p := range of.points {
			times, nines = append(times, p.Seconds), max(nines, ninesOf(p.Quantile))
		}
	}
	if nines == 0 {
		return nil, nil
	}
	p := chart.Panel{X: chart.Axis{High: nines, From: 74, To: 622}, Y: chart.NewAxis(times, 334, 14).Marked(6, say.TimeLabel)}
	marks := []float64{0, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9999, 0.99999} // that people ask for
	p.X.Ticks = quantileTicks(p.X, []float64{0, .75, .95, .995}, marks...)
	p.X.Fine = quantileTicks(p.X, nil, .25, .6, .7, .8, .85, .97, .98, .992, .997, .998, .9995, .9998)
	marks = marks[:len(p.X.Ticks)]
	head := []string{"arm"}
	for _, q := range marks {
		head = append(head, percentile(q))
	}
	rows := [][]string{head}
	for _, of := range all {
		p.Lines = append(p.Lines, chart.Line{
			Series: of.Series, Title: of.Name, Stroke: "line", Points: curvePoints(of.points),
		})
		row := []string{of.Name}
		for _, q := range marks {
			row = append(row, timeAt(of.points, q))
		}
		rows = append(rows, row)
	}
	const label = "Response time by percentile, one line per arm: every further nine of the percentile has the same room"
	return &chart.Chart{Label: label, Width: 640, Height: 380, Panels: []chart.Panel{p}}, rows
}

// quantileTicks places quantiles on the axis, and drops those beyond its end.
func quantileTicks(x chart.Axis, minor []float64, quantiles ...float64) (shown []chart.Tick) {
	for _, q := range quantiles {
		if ninesOf(q) <= x.High+1e-9 {
			shown = append(shown, chart.Tick{At: x.At(ninesOf(q)), Label: percentile(q), Minor: slices.Contains(minor, q)})
		}
	}
	return shown
}

func curvePoints(curve []responses.Point) (points []chart.Point) {
	for _, at := range curve {
		points = append(points, chart.Point{X: ninesOf(at.Quantile), Y: at.Seconds, Title: percentile(at.Quantile) + " " + say.Seconds(at.Seconds)})
	}
	return points
}

// timeAt formats the time of a curve at a quantile; a dash if the curve has no point there. It does not interpolate.
func timeAt(curve []responses.Point, quantile float64) string {
	for _, p := range curve {
		if math.Abs(p.Quantile-quantile) < 1e-8 && p.Seconds > 0 {
			return say.Seconds(p.Seconds)
		}
	}
	return say.None
}

// moment formats a time in a window, in seconds; below 0 it is before the window.
func moment(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) + say.NBSP + "s" }

// percentile names the quantile q, 0..1, with up to six digits.
func percentile(q float64) string {
	if q == 0 {
		return "least"
	}
	return "p" + strconv.FormatFloat(q*100, 'g', 6, 64)
}

// ninesOf returns the number of nines of q, at most nine: 1 for 0.9, 2 for 0.99. The limit
// keeps q = 1 finite.
func ninesOf(q float64) float64 { return -math.Log10(max(1-q, 1e-9)) }

// panelSection draws the blocks, one chart per quantile, the highest quantile first.
func panelSection(r *record.Comparison) document.Part {
	var charts document.Charts
	for _, m := range slices.Backward(stats.Quantiles()) {
		if c := blockChart(m, r.Arms); c != nil {
			charts = append(charts, c.Figure())
		}
	}
	return document.Section{
		ID: "blocks", Title: "Block by block", Parts: []document.Part{charts},
		Lead: warned(r, "One dot per block and a bar at their median; a thin line joins the arms of one block, which all served the same trace. "+
			"Lines that lean the same way are a steady difference. The axes do not start at zero."),
	}
}

// blockChart draws one metric of every arm: a row of dots per arm, and for each block a thin
// line through the rows, since verdicts compare within blocks. Parallel lines are a steady
// difference; lines that cross are noise. It returns nil for fewer than two blocks.
func blockChart(m stats.Metric, arms []record.Arm) *chart.Chart {
	var values []float64
	blocks, rows := 0, 0
	for _, a := range arms {
		of := a.Blocks[m.Figure]
		values, blocks, rows = append(values, of...), max(blocks, len(of)), rows+min(len(of), 1)
	}
	if blocks < 2 {
		return nil
	}
	const top, rowHeight = 6, 44
	bottom := chart.Px(top + rowHeight*rows)
	p := chart.Panel{X: chart.CloseAxis(values, 14, 326).Marked(4, say.TimeLabel), Y: chart.Axis{High: float64(rows), From: bottom, To: top}}
	unit := say.TimeScale(values...)
	pairs := make([]chart.Line, blocks)
	for i, s := range chart.SeriesOf(contestants(arms)) {
		of := arms[i].Blocks[m.Figure]
		if len(of) == 0 {
			continue
		}
		y := float64(rows-len(p.Lines)) - .68 // the name stands above
		row := chart.Line{Series: s, Label: s.Name}
		var numbers []string
		for k, v := range of {
			numbers = append(numbers, unit.Number(v))
			row.Points = append(row.Points, chart.Point{X: v, Y: y, Class: "dot", Title: ""})
			pairs[k].Stroke, pairs[k].Points = "pair", append(pairs[k].Points, chart.Point{X: v, Y: y, Class: "", Title: s.Name + ": " + unit.Format(v)})
		}
		row.Title = s.Name + ": " + strings.Join(numbers, ", ") + say.NBSP + unit.Unit
		row.Points = append(row.Points, chart.Point{X: stats.Median(of), Y: y, Class: "middle", Title: ""})
		p.Lines = append(p.Lines, row)
	}
	p.Lines = append(pairs, p.Lines...) // dots are drawn over the pairs
	return &chart.Chart{Caption: m.Label, Label: m.Label + " of every arm, block by block", Width: 340, Height: bottom + 26, Panels: []chart.Panel{p}}
}

// sweepSection draws figures over the factors that the scenario varied, such as the number of workers.
func sweepSection(r *record.Comparison) document.Part {
	var charts document.Charts
	for _, c := range sweeps(r) {
		charts = append(charts, c.Figure())
	}
	return document.Section{ID: "sweeps", Title: "Over the varied factors", Lead: warned(r, "Medians over the blocks."), Parts: []document.Part{charts}}
}

// sweeps draws p50, p99, goodput and CPU per request over every factor with two or more values, with a
// line for each family of arms. Factors are in the order in which the arms name them.
func sweeps(r *record.Comparison) (charts []chart.Chart) {
	var factors []string
	for _, a := range r.Arms {
		for _, l := range a.Levels {
			factors = append(factors, l.Factor)
		}
	}
	for _, factor := range unique(factors) {
		for _, m := range stats.Metrics() {
			if c := sweep(factor, m, r.Arms); c != nil && m.Figure != stats.P90 {
				charts = append(charts, *c)
			}
		}
	}
	return charts
}

// levelled returns an arm's value of a factor, "" if it has none, and the name of its line: the arm's family and its values of the
// other factors. So arms that differ in this factor alone share a line.
func levelled(a record.Arm, factor string) (value, line string) {
	line = a.Family
	for _, l := range a.Levels {
		if l.Factor == factor {
			value = l.Value
		} else {
			line += "," + l.Factor + "=" + l.Value
		}
	}
	return value, line
}

// sweep draws one metric over a factor; nil for fewer than two values or figures. An arm
// without the figure has no point.
func sweep(factor string, m stats.Metric, arms []record.Arm) *chart.Chart {
	values, points := sweepPoints(factor, m, arms)
	if len(values) < 2 || len(points) < 2 {
		return nil
	}
	place, x := places(values, 74, 400)
	var lines []chart.Line
	for i, group := range grouped(points, func(p sweepPoint) string { return p.line }) {
		name := group[0].line
		l := chart.Line{Series: chart.Series{Name: name, Class: "c" + strconv.Itoa(i%7)}, Title: name, Stroke: "line"}
		for _, p := range group {
			title := fmt.Sprintf("%s, %s %s: %s", name, factor, p.value, Figure(m, p.figure))
			l.Points = append(l.Points, chart.Point{X: place[p.value], Y: p.figure, Class: "dot", Title: title})
		}
		slices.SortStableFunc(l.Points, func(a, b chart.Point) int { return cmp.Compare(a.X, b.X) })
		lines = append(lines, l)
	}
	for _, v := range values {
		x.Ticks = append(x.Ticks, chart.Tick{At: x.At(place[v]), Label: v})
	}
	chart.Thin(x.Ticks)
	var figures []float64
	for _, p := range points {
		figures = append(figures, p.figure)
	}
	label := say.CountLabel
	if m.Unit == "s" {
		label = say.TimeLabel
	}
	p := chart.Panel{X: x, Y: chart.NewAxis(figures, 216, 14).Marked(5, label), Lines: lines}
	return &chart.Chart{Caption: m.Label + " over " + factor, Label: m.Label + " over " + factor, Width: 420, Height: 260, Panels: []chart.Panel{p}}
}

// A sweepPoint is an arm's figure at a value of a factor, on a line of the drawing.
type sweepPoint struct {
	line, value string
	figure      float64
}

// sweepPoints returns the different values of a factor that the arms have, in order of first appearance, and a point for each
// arm with a value and the figure. A time of 0 was not measured.
func sweepPoints(factor string, m stats.Metric, arms []record.Arm) (values []string, points []sweepPoint) {
	for _, a := range arms {
		value, line := levelled(a, factor)
		if value == "" {
			continue
		}
		values = append(values, value)
		if v := a.Median(m.Figure); v != nil && (*v != 0 || m.Unit != "s") {
			points = append(points, sweepPoint{line, value, *v})
		}
	}
	return unique(values), points
}

// places puts the values of a factor on an axis from..to: numbers at their value, by logarithm
// if they spread over more than eightfold; words at equal distances in their order. A value may
// have a unit: 20ms, 500/s, 0.7x. It returns each value's place in the units of the axis.
func places(values []string, from, to chart.Px) (at map[string]float64, a chart.Axis) {
	at, words := map[string]float64{}, map[string]float64{}
	for i, v := range values {
		d, err := time.ParseDuration(v) // 20ms
		n := d.Seconds()
		if err != nil {
			n, err = strconv.ParseFloat(strings.TrimRight(v, "/sx"), 64) // 16, 500/s, 0.7x
		}
		if words[v] = float64(i); err == nil {
			at[v] = n
		}
	}
	numeric := len(at) == len(words)
	if !numeric {
		at = words
	}
	numbers := slices.Collect(maps.Values(at))
	a = chart.Axis{Low: slices.Min(numbers), High: slices.Max(numbers), From: from, To: to, Pad: 14}
	a.Log = numeric && a.Low > 0 && a.High/a.Low > 8
	// One value alone still needs an axis with a length.
	if a.Low == a.High {
		a.High++
	}
	return at, a
}

// connections returns the arms' connections over time: a table, and a chart of each arm in one block. Unless all is set, the part
// is empty if connections are kept and the arms have about the same number open.
func connections(r *record.Comparison, all bool) document.Part {
	known := counted(r.Arms)
	// An arm's connections come and go if a window accepts more than a tenth of the number open.
	flow := slices.ContainsFunc(known, func(a record.Arm) bool { return a.Counters.Accepted*r.Window.Seconds() > a.Counters.OpenPeak/10 })
	if len(known) == 0 || !all && !flow && !crowds(known) {
		return document.Section{}
	}
	of := func(head string, known func(record.Arm) bool, v func(c *record.Counters) float64) armField {
		return armField{head, known, func(a record.Arm) string { return rounded(v(a.Counters)) }}
	}
	flows := func(record.Arm) bool { return flow }
	table := rows(known, armField{"arm", nil, name}, of("open at most", nil, func(c *record.Counters) float64 { return c.OpenPeak }),
		of("accepted/s", flows, func(c *record.Counters) float64 { return c.Accepted }),
		of("at most", flows, func(c *record.Counters) float64 { return c.AcceptedPeak }),
		of("done/s", flows, func(c *record.Counters) float64 { return c.Done }),
		of("at most", flows, func(c *record.Counters) float64 { return c.DonePeak }),
	)
	charts := document.Page{countersCharts(r, known)}
	if len(known) > briefArms {
		charts = document.Page{document.Details{Summary: "A chart of each arm", Parts: charts}}
	}
	return document.Section{
		ID: "connections", Title: "Connections over time", About: overBlocks("medians", r, ""),
		Lead: warned(r, fmt.Sprintf("As the servers counted them, ten times a second; accepted = done + rejected + dropped + open. "+
			"The charts are of block %d, the middle one by connections open, and have the same axes.", known[0].Counters.Block)),
		Parts: []document.Part{document.Table{Rows: table}, charts},
	}
}

// rounded formats a number of connections, which a median may leave with a half.
func rounded(v float64) string { return say.Count(int(math.Round(v))) }

// counted returns the arms with counters of connections.
func counted(arms []record.Arm) []record.Arm {
	return slices.DeleteFunc(slices.Clone(arms), func(a record.Arm) bool { return a.Counters == nil })
}

// crowds reports whether the arms' open connections differ by more than a tenth and by ten or more.
func crowds(known []record.Arm) bool {
	if len(known) == 0 {
		return false
	}
	least, most := math.Inf(1), 0.0
	for _, a := range known {
		least, most = min(least, a.Counters.OpenPeak), max(most, a.Counters.OpenPeak)
	}
	return most > 1.1*least && most-least >= 10
}

// countersCharts draws each arm's connections over the window, all with the same axes: open
// ones, and below them the rates of accepted and done ones. Counters only grow, so a rate is
// the growth between two readings, drawn in the middle between them.
func countersCharts(r *record.Comparison, known []record.Arm) document.Charts {
	highestOpen, highestRate := 1., 1. // the smallest range of an axis
	all := make([][]chart.Line, len(known))
	for i, a := range known {
		all[i] = countersLines(a.Counters.Readings)
		highestOpen = max(highestOpen, peak(all[i][:1]))
		highestRate = max(highestRate, peak(all[i][1:]))
	}
	x := chart.Axis{High: r.Window.Seconds(), From: 60, To: 404}
	open := chart.Axis{High: highestOpen * 1.06, From: 112, To: 22}.Marked(5, say.CountLabel)
	rates := chart.Axis{High: highestRate * 1.06, From: 236, To: 146}.Marked(5, say.CountLabel)
	var charts document.Charts
	for i, a := range known {
		charts = append(charts, chart.Chart{
			Caption: a.Name, Width: 420, Height: 262,
			Label: "Connections of " + a.Name + " over the window: open, and accepted and done per second",
			Panels: []chart.Panel{
				{Title: "open", X: x, Y: open, Lines: all[i][:1]}, {Title: "per second", X: x.Marked(4, say.TimeLabel), Y: rates, Lines: all[i][1:]},
			},
		}.Figure())
	}
	return charts
}

// countersLines returns the lines of one arm's connections: open ones, and accepted and done ones per second.
func countersLines(readings []record.Reading) []chart.Line {
	line := func(name, class string) chart.Line {
		return chart.Line{Series: chart.Series{Name: name, Class: class}, Title: name, Stroke: "line", Width: 2}
	}
	open, accepted, done := line("open", "base"), line("accepted", "c0"), line("done", "c1 dash")
	for i, at := range readings {
		open.Points = append(open.Points, chart.Point{X: at.At, Y: float64(at.Open), Title: say.Count(int(at.Open)) + " at " + moment(at.At)})
		if i == 0 { // none before it to take a difference with
			continue
		}
		last := readings[i-1]
		middle, took := (last.At+at.At)/2, at.At-last.At
		rate := func(grown int64) chart.Point {
			v := float64(grown) / took
			return chart.Point{X: middle, Y: v, Title: say.Rate(v) + " at " + moment(middle)}
		}
		accepted.Points = append(accepted.Points, rate(at.Accepted-last.Accepted))
		done.Points = append(done.Points, rate(at.Done-last.Done))
	}
	return []chart.Line{open, accepted, done}
}

// peak returns the largest value of the lines, 0 for none.
func peak(lines []chart.Line) (most float64) {
	for _, l := range lines {
		for _, p := range l.Points {
			most = max(most, p.Y)
		}
	}
	return most
}

// classes returns a mark for each series: its colour, without numbers of doubts.
func classes(all []chart.Series) []document.Mark {
	marks := make([]document.Mark, len(all))
	for i, s := range all {
		marks[i].Class = s.Class
	}
	return marks
}

// Bounds of a heat map, so that a page stays small however long the run was.
const (
	heatColumns = 144 // most columns
	heatRows    = 40  // most rows of response times
	heatSteps   = 6   // most colours
)

// A heatGrid counts the requests of all arms in cells. Columns, rows and colours are the same for all
// arms, so that their panels can be compared.
type heatGrid struct {
	valid  map[int]bool // by block, whether it counts in the figures
	blocks []int        // that ran, ascending
	slices int          // number of the record's slices of time in a column
	low    int          // lowest row of the record that has requests
	rows   int          // number of rows, without the one for requests without a reply
	tall   int          // number of the record's rows in a row
	cells  [][][]int    // by arm, column and row; one more row at the end counts requests without a reply
	bounds []int        // the smallest number of requests for each colour, ascending
	lost   bool         // whether requests are without a reply
}

// inRows counts an arm's requests in each row of the record.
func inRows(a record.Arm) (sum [responses.NoReply + 1]int) {
	for _, h := range a.Heat {
		for _, slice := range h.Counts {
			for row, n := range slice {
				sum[row] += int(n)
			}
		}
	}
	return sum
}

// newHeatGrid counts the requests of all arms in cells. It returns nil if nothing is known.
func newHeatGrid(arms []record.Arm) *heatGrid {
	g := &heatGrid{valid: map[int]bool{}, slices: 1, low: responses.NoReply}
	high := -1
	for _, a := range arms {
		for _, h := range a.Heat {
			g.valid[h.Block] = h.Valid
		}
		for row, n := range inRows(a) {
			switch {
			case n > 0 && row < responses.NoReply:
				g.low, high = min(g.low, row), max(high, row)
			case n > 0:
				g.lost = true
			}
		}
	}
	if high < 0 {
		return nil
	}
	g.blocks = slices.Sorted(maps.Keys(g.valid))
	// Widen the columns until there are few enough, and until a column is a whole fraction of a window or several whole windows.
	for g.columns() > heatColumns || responses.HeatSlices%g.slices != 0 && g.slices%responses.HeatSlices != 0 {
		g.slices++
	}
	g.tall = (high-g.low)/heatRows + 1
	g.rows = (high-g.low)/g.tall + 1
	most := 0
	for _, a := range arms {
		cells := g.count(a)
		for _, column := range cells {
			most = max(most, slices.Max(column))
		}
		g.cells = append(g.cells, cells)
	}
	// Equal ratios from one colour to the next.
	for i := range heatSteps {
		g.bounds = append(g.bounds, int(math.Ceil(math.Pow(float64(most), float64(i)/heatSteps)-1e-9)))
	}
	g.bounds = slices.Compact(g.bounds)
	return g
}

// count returns the numbers of an arm's requests, by column and row.
func (g *heatGrid) count(a record.Arm) [][]int {
	cells := slices.Collect(slices.Chunk(make([]int, g.columns()*(g.rows+1)), g.rows+1))
	for _, h := range a.Heat {
		block, _ := slices.BinarySearch(g.blocks, h.Block)
		for s, slice := range h.Counts {
			column := cells[(block*responses.HeatSlices+s)/g.slices]
			for row, n := range slice[g.low:] {
				switch {
				case n == 0: // rows above the highest are not in the grid
				case g.low+row == responses.NoReply:
					column[g.rows] += int(n)
				default:
					column[row/g.tall] += int(n)
				}
			}
		}
	}
	return cells
}

func (g *heatGrid) columns() int {
	return (len(g.blocks)*responses.HeatSlices + g.slices - 1) / g.slices
}

// span names the numbers of requests of a colour.
func (g *heatGrid) span(step int) string {
	from := say.Count(g.bounds[step])
	if step == len(g.bounds)-1 {
		return from + " or more"
	}
	if to := say.Count(g.bounds[step+1] - 1); to != from {
		return from + " to " + to
	}
	return from
}

// class returns the CSS class of a colour. With few colours they are the strong ones.
func (g *heatGrid) class(step int) string {
	return "heat h" + strconv.Itoa(step+heatSteps-len(g.bounds))
}

// strip is the height, in rows, of the strip for requests without a reply: one row of double height and a gap of one row.
const strip = 3

// steps returns the cells of an arm, a path for each colour. Neighbours of one colour in a row are
// one stroke.
func (g *heatGrid) steps(arm int) (all []chart.HeatStep) {
	for i := range g.bounds {
		all = append(all, chart.HeatStep{Class: g.class(i), Title: g.span(i) + " requests", Path: ""},
			chart.HeatStep{Class: g.class(i) + " lost", Title: g.span(i) + " requests without a reply", Path: ""})
	}
	columns := g.cells[arm]
	for row := range g.rows + 1 {
		// The middle of the row. SVG counts downwards.
		y, lost := -float64(row)-.5, 0
		if row == g.rows {
			y, lost = float64(-g.rows-strip+1), 1
		}
		step := func(column int) int {
			i, found := slices.BinarySearch(g.bounds, columns[column][row])
			if !found {
				i-- // -1 for no request
			}
			return i
		}
		for from, to := 0, 0; from < len(columns); from = to {
			s := step(from)
			for to = from + 1; to < len(columns) && step(to) == s; to++ {
			}
			if s >= 0 {
				all[2*s+lost].Path += fmt.Sprintf("M%d %gh%d", from, y, to-from)
			}
		}
	}
	return all
}

// ticks marks where each block begins. In a run of many blocks only some are marked until a reader zooms in.
func (g *heatGrid) ticks(x chart.Axis) chart.Axis {
	every := len(g.blocks)/60 + 1
	for i, block := range g.blocks {
		label := say.Count(block)
		if !g.valid[block] {
			label = "(" + label + ")"
		}
		t := chart.Tick{At: x.At(float64(i*responses.HeatSlices) / float64(g.slices)), Label: label}
		x.Fine = append(x.Fine, t)
		if i%every == 0 {
			x.Ticks = append(x.Ticks, t)
		}
	}
	chart.Thin(x.Ticks)
	return x
}

// heatSection draws the response time over the run as a heat map, with a panel for each arm.
func heatSection(r *record.Comparison) document.Part {
	g := newHeatGrid(r.Arms)
	if g == nil {
		return document.Section{}
	}
	const height, room = 120, 146 // of a panel's axes, and of the panel with its title
	c := chart.Chart{Label: "Response time over the run, one panel per arm: the windows from left to right, longer times further up, colour for the number of requests", Width: 640}
	x := g.ticks(chart.Axis{High: float64(g.columns()), From: 74, To: 622})
	drawn := g.rows
	if g.lost {
		drawn += strip
	}
	high := chart.Px(height) / chart.Px(drawn)
	digits := func(v chart.Px) string { return strconv.FormatFloat(float64(v), 'g', 6, 64) }
	for i, s := range chart.SeriesOf(r.Contestants()) {
		if len(r.Arms[i].Heat) == 0 {
			continue
		}
		top := chart.Px(room*len(c.Panels) + 18)
		y := chart.Axis{Low: responses.HeatTime(g.low), High: responses.HeatTime(g.low + g.rows*g.tall), Log: true, From: top + height, To: top + height - high*chart.Px(g.rows)}
		y = y.Marked(0, say.TimeLabel)
		if len(y.Ticks) > 6 { // too close for their labels
			y.Ticks = slices.DeleteFunc(y.Ticks, func(t chart.Tick) bool { return t.Minor })
		}
		if y.To = top; g.lost {
			y.Ticks = append(y.Ticks, chart.Tick{At: top + high, Label: "no reply"})
		}
		c.Panels = append(c.Panels, chart.Panel{Arm: s.Name, Title: s.Name, X: x, Y: y, Heat: &chart.Heat{Wide: digits((x.To - x.From) / chart.Px(g.columns())), High: digits(high), Steps: g.steps(i)}})
	}
	// Labels of the blocks stand below the last panel only.
	for i := range c.Panels[:len(c.Panels)-1] {
		p := &c.Panels[i]
		p.X.Fine, p.X.Ticks = nil, make([]chart.Tick, len(x.Ticks))
		for k, t := range x.Ticks {
			p.X.Ticks[k].At = t.At
		}
	}
	c.Height = chart.Px(room*len(c.Panels) + 18)
	figure := document.Chart{Picture: c.SVG(), Wide: true, Keys: []document.Key{{Name: "requests in a cell"}}, Instead: []document.Part{document.Table{Rows: g.table(r.Arms)}}}
	for i := range g.bounds {
		figure.Keys = append(figure.Keys, document.Key{Class: g.class(i), Name: g.span(i)})
	}
	return document.Section{ID: "heat", Title: "Response time over the run", Parts: []document.Part{document.Charts{figure}}, Lead: g.lead(r.Window.Seconds())}
}

// lead tells how to read the heat map. window is the length of a window in seconds.
func (g *heatGrid) lead(window float64) string {
	windows := float64(g.slices) / responses.HeatSlices
	wide := say.Seconds(window * windows)
	if windows > 1 {
		wide = fmt.Sprint(windows) + " windows"
	}
	text := "From left to right the windows in the order they ran, further up longer response times (logarithmic): the more requests a cell has, the more its colour stands out from the page. " +
		"A cell is " + wide + " wide; a line marks where each block begins"
	if slices.ContainsFunc(g.blocks, func(b int) bool { return !g.valid[b] }) {
		text += ", and brackets one that was left out"
	}
	text += "."
	if g.lost {
		text += " The top row has the requests without a reply, such as timeouts."
	}
	return text
}

// table returns the arms' requests by decade of the response time: the heat map in figures.
func (g *heatGrid) table(arms []record.Arm) [][]string {
	const decade = 10 // rows of the record
	fields := []armField{{"arm", nil, name}}
	add := func(head string, from, to int) {
		fields = append(fields, armField{head, nil, func(a record.Arm) string {
			if len(a.Heat) == 0 {
				return say.None
			}
			sum, counts := 0, inRows(a)
			for _, n := range counts[from:to] {
				sum += n
			}
			return say.Count(sum)
		}})
	}
	for from := g.low / decade * decade; from < g.low+g.rows*g.tall && from < responses.NoReply; from += decade {
		add(say.TimeLabel(responses.HeatTime(from))+" to "+say.TimeLabel(responses.HeatTime(from+decade)), from, from+decade)
	}
	if g.lost {
		add("no reply", responses.NoReply, responses.NoReply+1)
	}
	return rows(arms, fields...)
}
