package capacity

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// This file is the page of a search: the parts that package report frames. See [report.Content].
//
// The record has an interval for each arm, from the highest rate that was verified to the
// lowest that was refuted, with every window of load in between.

// Called names the kind of the run in a sentence.
func (s *Search) Called() string { return "a search for capacity" }

// Measured tells how many windows were measured.
func (s *Search) Measured() (plan, had string) {
	windows := 0
	for _, a := range s.Arms {
		windows += len(a.Windows)
	}
	return "the search", say.Plural(windows, "window") + " measured"
}

// Conditions are the objective, the windows and the budget.
func (s *Search) Conditions() []string {
	return []string{"objective " + s.SLO, say.Seconds(s.Window.Seconds()) + " windows", "up to " + say.Seconds(s.Budget.Seconds()) + " for each arm"}
}

// Screen is the table without the estimate, which lies in the interval, and the saturation, which lies beyond it, and how
// the arms compare.
func (s *Search) Screen() (figures document.Table, means []string) {
	for _, row := range s.table() {
		figures.Rows = append(figures.Rows, slices.Concat(row[:2], row[3:5], row[6:len(row)-1]))
	}
	return figures, append(s.open(), s.compared()...)
}

// Sections are the table, the response time over the rate, and every window.
func (s *Search) Sections(marks []document.Mark) []document.Part {
	return []document.Part{
		document.Section{
			ID: "capacity", Title: "Capacity", Parts: []document.Part{document.Table{Rows: s.table(), Marks: marks}, document.Lines(s.lines())},
			Lead: "The capacity lies between the highest rate at which three windows of three kept " + s.SLO + " and the lowest at which most broke it. " +
				"The estimate is where a robust line through the windows meets the limit; it is no answer by itself.",
		},
		rateSection(s),
		document.Page{document.Section{ID: "windows", Title: "Every window", Parts: details(s)}},
	}
}

// Beside returns the file of the drawing, which lies next to the report, and the function that writes it.
func (s *Search) Beside() (file string, write func(io.Writer) error) {
	return "capacity.svg", s.writeSVG
}

// Copy returns a copy of the search that shares its lists.
func (s *Search) Copy() record.Result { return new(*s) }

// Found returns the answer in one sentence: the capacity of the only arm, or the arm
// with the most capacity. An arm has the most only if the low end of its interval is above the high ends of
// all others, and all are decided. Arms that starve clients are left out where another arm is left.
func (s *Search) Found() string {
	const most = 4 // arms that a headline can name
	if known := s.known(); known != "" {
		return known
	}
	var spans []string
	arms := s.compares()
	for _, a := range arms[:min(len(arms), most)] {
		spans = append(spans, a.Name+" "+interval(a))
	}
	if more := len(arms) - most; more > 0 {
		spans = append(spans, fmt.Sprintf("and %d more", more))
	}
	return s.noneIsMost() + ": " + strings.Join(spans, ", ") + "."
}

// noneIsMost is the answer if no arm is sure to have the most capacity.
func (s *Search) noneIsMost() string { return "No arm is sure to have the most capacity for " + s.SLO }

// compares returns the arms that can be compared: those that starve no clients, or all if each does.
func (s *Search) compares() []ArmCapacity {
	arms := slices.DeleteFunc(slices.Clone(s.Arms), func(a ArmCapacity) bool { return !a.Starves.None() })
	if len(arms) == 0 {
		return s.Arms
	}
	return arms
}

// known returns the answer if one arm is left or has the most capacity, or if all are open; "" if no arm is sure to have the most.
func (s *Search) known() string {
	arms := s.compares()
	open := 0
	for _, a := range arms {
		if !a.Outcome.Decided() {
			open++
		}
	}
	if len(arms) == 1 || open == len(arms) {
		return arms[0].Fact.String() + "."
	}
	low := func(a ArmCapacity) float64 { low, _ := a.Bounds(); return low }
	best := slices.MaxFunc(arms, func(a, b ArmCapacity) int { return cmp.Compare(low(a), low(b)) })
	next := 0.0 // the highest capacity that any other arm may still have
	for _, a := range arms {
		if _, high := a.Bounds(); a.Name != best.Name {
			next = max(next, high)
		}
	}
	// While one arm is open, its capacity may be the highest, so no arm has the most.
	if open == 0 && low(best) > next {
		return fmt.Sprintf("%s has the most capacity for %s: at least %s, the others at most %s.",
			best.Name, s.SLO, prose.PerSecond(low(best)), prose.PerSecond(next))
	}
	return ""
}

// InShort is the answer without the arms' intervals, which are in the table, and a chip for each of several arms.
func (s *Search) InShort() (answer string, chips []document.Chip) {
	answer = cmp.Or(s.known(), s.noneIsMost()+".")
	if len(s.Arms) == 1 {
		return answer, nil
	}
	for i, line := range chart.SeriesOf(s.Contestants()) {
		chip := document.Chip{Line: line.Class, Name: line.Name, Text: bounds(s.Arms[i]), Told: true}
		chip.Mark, chip.Class = s.mark(s.Arms[i])
		chips = append(chips, chip)
	}
	return answer, chips
}

// Longer is the budget that has room for the windows that decide, the longest of the open arms.
func (s *Search) Longer() (budget float64) {
	for _, a := range s.Arms {
		short, _ := fact.In(searchShort, a.Fact.Find(searchShort.Code.Is))
		budget = max(budget, short.Budget)
	}
	return budget
}

// mark returns a word for an arm's capacity, and its CSS class: MOST if it is surely higher than that of each other arm, LESS if it is
// surely lower than that of one.
func (s *Search) mark(a ArmCapacity) (word, class string) {
	switch {
	case !a.Starves.None():
		return "starves", "refused"
	case a.Outcome == outcome.Refused:
		return "refused", "refused"
	case !a.Outcome.Decided():
		return "open", "open"
	}
	low, high := a.Bounds()
	most := true
	for _, b := range s.Arms {
		if b.Name == a.Name || !b.Starves.None() {
			continue
		}
		otherLow, otherHigh := b.Bounds()
		if b.Outcome.Decided() && high < otherLow {
			return "LESS", string(stats.Slower)
		}
		most = most && b.Outcome.Decided() && low > otherHigh
	}
	if most {
		return "MOST", string(stats.Faster)
	}
	return "open", "open"
}

// rateSection draws the response time as a function of the rate, a chart for each arm; an empty
// part where no window has a time.
func rateSection(r *Search) document.Part {
	all := rateCharts(r, 0)
	if all == nil {
		return document.Section{}
	}
	// Each chart is a separate part, so that a page shows them below each other and not in a row.
	var charts []document.Part
	for i, c := range all {
		figure := c.Figure()
		if i == 0 { // Markdown links one file with the charts of all arms, so only the first chart names it
			figure.Alt, figure.File = "Response time over the rate, with the objective and the windows", "capacity.svg" // by writeSVG
		}
		charts = append(charts, document.Charts{figure})
	}
	return document.Section{
		ID: "curves", Title: "Response time over the rate", Parts: charts,
		Lead: plotted(r).Metric.String() + " of every window: filled where the objective was kept, open where it was not kept, grey where the window was refused. " +
			"The thick line across is the promise, the band the interval, the drawn line the fit.",
	}
}

// plotted returns the term of the objective to draw: the first that is a time; the zero term for
// none, for example in an objective on errors alone.
func plotted(c *Search) SLOTerm {
	for _, t := range c.Terms {
		if timed(t) {
			return t
		}
	}
	return SLOTerm{}
}

// timed reports whether a term is about a time. Errors are a ratio and goodput is a rate.
func timed(t SLOTerm) bool {
	return t.Metric.Figure != stats.Errors && t.Metric.Figure != stats.Goodput
}

// rateCharts draws every arm that has a window with a time, all on the same axes, so that arms
// can be compared by eye: windows as points, the objective as a line, and the interval as a
// band. Each chart begins room below the previous one, for a drawing of all
// arms; room is 0 for charts in a page. It returns nil if there is nothing to draw.
func rateCharts(r *Search, room chart.Px) (charts []chart.Chart) {
	term := plotted(r)
	times, rates := []float64{term.Limit}, []float64{}
	for _, a := range r.Arms {
		for _, w := range drawnWindows(a, term) { // clip long times, which would press the others to the floor
			times, rates = append(times, min(w.Values[term.Metric], 30*term.Limit)), append(rates, w.Rate)
		}
	}
	if len(rates) == 0 {
		return nil
	}
	// Rates are tested near the capacity, so a linear axis without zero shows them best.
	x := chart.CloseAxis(rates, 74, 622)
	x.Log, x.Pad = false, 8
	x = x.Marked(6, func(v float64) string { return say.CountLabel(v) + "/s" })
	for i, a := range r.Arms {
		s, top := chart.SeriesOf(r.Contestants())[i], room*chart.Px(len(charts))
		// The panel is 260 high; the rest of the chart's 320 has its title and its ticks.
		p := chart.Panel{X: x, Y: chart.NewAxis(times, top+274, top+14).Marked(5, say.TimeLabel), Limit: &chart.Limit{At: term.Limit, Text: term.Text}}
		if a.Outcome == outcome.Yes && a.High > 0 {
			p.Band = []float64{a.Low, a.High}
		}
		// The line was fitted to the term that breaks first. Drawn over another metric it would mean nothing.
		if a.Line != nil && a.Term == term.Text {
			addFit(&p, chart.Line{Series: s, Title: "the robust line of 1/" + term.Metric.String(), Stroke: "line robust", Width: 1.6}, fitted(*a.Line, x))
		}
		// Points without a stroke: the windows are not in the order of their rates, and a line
		// between them would claim a shape.
		windows := chart.Line{Series: s}
		for _, w := range drawnWindows(a, term) {
			windows.Points = append(windows.Points, windowPoint(s, w, w.Values[term.Metric]))
		}
		if len(windows.Points) > 0 {
			p.Lines = append(p.Lines, windows)
			charts = append(charts, chart.Chart{
				Caption: a.Name, Label: term.Metric.String() + " of " + a.Name + " over the rate: " + a.Fact.String(), Width: 640, Height: 320, Panels: []chart.Panel{p},
			})
		}
	}
	return charts
}

// drawnWindows returns the windows of an arm with a value of the term to plot, or none without a term. A window of purpose
// overload is left out: it is far beyond the capacity on purpose, to see whether the server recovers, and would stretch the axes.
func drawnWindows(a ArmCapacity, term SLOTerm) (drawn []RateWindow) {
	for _, w := range a.Windows {
		if _, ok := w.Values[term.Metric]; ok && w.Purpose != purposeOverload {
			drawn = append(drawn, w)
		}
	}
	return drawn
}

// windowPoint returns the point of an arm's window with a time in seconds. Filled means kept, open means broken, and a refused
// window is grey whatever it showed.
func windowPoint(arm chart.Series, w RateWindow, seconds float64) chart.Point {
	at := chart.Point{
		X: w.Rate, Y: seconds, Class: "window " + arm.Class,
		Title: fmt.Sprintf("%s, trial %d (%s): %s at %s", arm.Name, w.Trial, w.Purpose, say.Seconds(seconds), say.Rate(w.Rate)),
	}
	switch {
	case !w.Refused.None():
		at.Class += " refused"
		at.Title += ", refused: " + w.Refused.String()
	case w.Kept:
		at.Class += " kept"
	}
	return at
}

// A ratePoint is a response time, in seconds, at a rate per second.
type ratePoint struct{ rate, seconds float64 }

// fitted returns points on the curve 1/(intercept + slope·rate), in seconds, where it is positive. In an
// M/M/1 queue 1/R = μ - λ, so the inverse of a response time is a straight line over the rate.
func fitted(l RateLine, x chart.Axis) (points []ratePoint) {
	const fitPoints = 60 // straight lines, enough to look round at 640 px
	for i := range fitPoints + 1 {
		at := x.Low + (x.High-x.Low)*float64(i)/fitPoints
		if inverse := l.Intercept + l.Slope*at; inverse > 0 {
			points = append(points, ratePoint{at, 1 / inverse})
		}
	}
	return points
}

// addFit draws a line through the points within the axes and the first point above them, so that a
// curve leaves the panel at its top instead of ending below it.
func addFit(p *chart.Panel, l chart.Line, points []ratePoint) {
	for _, at := range points {
		if at.rate < p.X.Low || at.rate > p.X.High {
			continue
		}
		if l.Points = append(l.Points, chart.Point{X: at.rate, Y: at.seconds, Class: "", Title: say.Seconds(at.seconds) + " at " + say.Rate(at.rate)}); at.seconds > p.Y.High {
			break
		}
	}
	p.Lines = append(p.Lines, l)
}

// writeSVG draws the response time as a function of the rate as an SVG file, one chart per arm, each below
// the previous one. Without anything to draw it writes an empty drawing.
func (s *Search) writeSVG(w io.Writer) error {
	const room = 344 // the height of a chart with its title
	all := chart.Chart{Width: 640}
	for _, c := range rateCharts(s, room) {
		c.Panels[0].Title = c.Caption + ": " + plotted(s).Metric.String() + " over the rate"
		all.Panels, all.Height = append(all.Panels, c.Panels...), all.Height+room
	}
	return say.SVG(w, all.File())
}

// details returns a folded table of all windows for each arm, in the order they ran.
func details(r *Search) []document.Part {
	head := []string{"trial", "for", "offered", "sent", "goodput"}
	var metrics []stats.Measure // all but goodput, which has a column already
	for _, t := range r.Terms {
		if t.Metric.Figure != stats.Goodput {
			metrics, head = append(metrics, t.Metric), append(head, t.Metric.String())
		}
	}
	head = append(head, "objective")
	var tables []document.Part
	for _, a := range r.Arms {
		rows := [][]string{head}
		for _, w := range a.Windows {
			rows = append(rows, windowRow(w, metrics))
		}
		tables = append(tables, document.Details{Summary: a.Name, Parts: []document.Part{document.Table{Rows: rows, Words: true}}})
	}
	return tables
}

// windowRow returns the row of a window in the table of all, with its values of these metrics.
func windowRow(w RateWindow, metrics []stats.Measure) []string {
	row := []string{say.Count(w.Trial), w.Purpose, say.Rate(w.Rate), say.Rate(w.Sent), say.Rate(w.Goodput)}
	for _, metric := range metrics {
		v, ok := w.Values[metric]
		switch {
		case !ok:
			row = append(row, say.None)
		case metric.Figure == stats.Errors:
			row = append(row, say.Plain(100*v)+say.NBSP+"%")
		default:
			row = append(row, say.Seconds(v))
		}
	}
	switch {
	case !w.Refused.None():
		return append(row, outcome.Expectation.Phrase(outcome.Refused)+": "+w.Refused.String())
	case w.Kept:
		return append(row, outcome.Expectation.Phrase(outcome.Yes))
	}
	return append(row, outcome.Expectation.Phrase(outcome.No))
}

// ofSome marks a figure of an arm that serves only some of its clients. noRate is the capacity of an arm
// that kept the objective at no rate.
const (
	ofSome = "†"
	noRate = "none"
)

// table returns the arms' results, with the head first. A figure that was not measured
// is a dash. The counts of windows tell how well a bound is supported: "3 of 3" kept at the low
// end, "2 of 3" not kept at the high end.
func (s *Search) table() [][]string {
	rows := [][]string{{"arm", "capacity", "estimate", "verified", "refuted", "saturation (extrapolated)", "closed loop", "recovers", "CPU a request"}}
	for _, a := range s.Arms {
		capacity, most, recovers := interval(a), measured(a.XMax, say.Rate), windowsOf(a.AgainKept, a.AgainOf)
		if !a.Starves.None() {
			capacity += ofSome
			if a.XMax > 0 {
				most += ofSome
			}
		}
		if a.Recovers.Decided() {
			recovers = string(a.Recovers)
		}
		// The column capacity leaves out a rate that was neither verified nor refuted, so name it next to its counts.
		verified, refuted := windowsOf(a.LowKept, a.LowOf), windowsOf(a.HighBroken, a.HighOf)
		if last := a.LastRate(purposeVerify); a.Low == 0 && last > 0 && a.LowOf > 0 {
			verified += " at " + say.Rate(last)
		}
		if last := a.LastRate(purposeRefute); a.High == 0 && last > 0 && a.HighOf > 0 {
			refuted += " at " + say.Rate(last)
		}
		rows = append(rows, []string{
			a.Name, capacity, measured(a.Estimate, say.Rate), verified, refuted, measured(a.Saturation, say.Rate), most, recovers, measured(a.CPUPerRequest, say.Seconds),
		})
	}
	return rows
}

// measured formats a figure, which is 0 where it was not measured.
func measured(v float64, format func(float64) string) string {
	if v > 0 {
		return format(v)
	}
	return say.None
}

// windowsOf formats a count of windows.
func windowsOf(n, all int) string {
	if all > 0 {
		return fmt.Sprintf("%d of %d", n, all)
	}
	return say.None
}

// interval returns an arm's capacity for a table cell, in the words of its outcome.
func interval(a ArmCapacity) string {
	text := bounds(a)
	if word := map[outcome.Outcome]string{outcome.Refused: "refused", outcome.Open: "open"}[a.Outcome]; word != "" {
		return strings.TrimSuffix(word+": "+text, ": ")
	}
	return text
}

// bounds returns an arm's capacity without the word for its outcome; "" if nothing is known of it.
func bounds(a ArmCapacity) string {
	switch a.Outcome {
	case outcome.Yes:
		if a.High > 0 {
			return strings.TrimSuffix(say.Rate(a.Low), "/s") + " to " + say.Rate(a.High)
		}
		return "above " + say.Rate(a.Low)
	case outcome.No:
		// Not one rate was kept, and a lower one would starve the same clients, or cannot have the goodput promised.
		if a.Never || !a.Starves.None() {
			return noRate
		}
		return "below " + say.Rate(a.High)
	case outcome.Refused:
		switch {
		case a.End == nil || !a.End.Died:
			return "too slow to judge"
		case a.End.Rate > 0:
			return "died at " + say.Rate(a.End.Rate)
		}
		return "died"
	}
	switch {
	case a.Low > 0:
		return "above " + say.Rate(a.Low)
	case a.High > 0:
		return "below " + say.Rate(a.High)
	}
	return ""
}

// lines returns the arms' answers, how they compare, and a note on what a request
// costs. It leaves out the answer of a single arm, which is the headline.
func (s *Search) lines() (lines []string) {
	var rates []float64
	for _, a := range s.Arms {
		rates = append(rates, a.CPURates...)
		if len(s.Arms) > 1 {
			line := a.Fact.String()
			if !a.Starves.None() {
				line += " " + ofSome
			}
			lines = append(lines, line)
		}
	}
	lines = append(lines, s.compared()...)
	if len(rates) > 0 {
		lines = append(lines, fmt.Sprintf("CPU a request is the median of windows at %s to %s, where a server sleeps and wakes between requests; in the closed loop it may never sleep, and a request costs less: its rate may be above what this CPU time allows",
			strings.TrimSuffix(say.Rate(slices.Min(rates)), "/s"), say.Rate(slices.Max(rates))))
	}
	return lines
}

// compared tells which arms have more capacity, which starve clients, which intervals reach above
// X_max, and, for an objective of several terms, which term breaks first in each arm.
func (s *Search) compared() []string {
	var lines, notes, beyond, broken []string
	for _, f := range s.Lines {
		lines = append(lines, f.String())
	}
	for _, a := range s.Arms {
		switch of, _ := fact.In(doubt.StickyPool, a.Starves); {
		case !a.Starves.None():
			note := fmt.Sprintf("%s %s: of %s only, because it starves %d of %d kept connections; it is compared with no other arm",
				ofSome, a.Name, say.Plural(of.Workers, "client"), of.Waiting, of.Connections)
			if interval(a) == noRate {
				lowest := a.High
				for _, w := range a.Windows {
					if w.Refused.None() {
						lowest = min(lowest, w.Rate)
					}
				}
				note += fmt.Sprintf("; none: with %d clients it missed %s at %s already, the lowest rate that was tried, and a lower one would starve the same clients",
					of.Connections, s.SLO, say.Rate(lowest))
			}
			notes = append(notes, note)
		// The upper end is a rate that was offered, and X_max a rate that was served. A Low above X_max is left out: it is a
		// contradiction, and the doubt lowXMax tells it.
		case a.XMax > 0 && a.Low <= a.XMax && a.XMax < a.High:
			beyond = append(beyond, a.Name)
		}
		if a.Term != "" && len(s.Terms) > 1 {
			broken = append(broken, a.Name+": "+a.Term+" gives way first")
		}
	}
	if len(beyond) > 0 {
		notes = append(notes, strings.Join(beyond, ", ")+": the interval reaches above the rate of the closed loop, because it ends at the lowest rate that was offered and broke the objective; "+
			"expect no more than that, which one short probe tells to about 10"+say.NBSP+"%")
	}
	return slices.Concat(lines, notes, broken)
}

// open tells why arms are open, and what would decide them; nil if all are open, which the headline tells.
func (s *Search) open() (open []string) {
	for _, a := range s.Arms {
		if !a.Outcome.Decided() && a.Starves.None() {
			open = append(open, a.Fact.String())
		}
	}
	if len(open) == len(s.Arms) {
		return nil
	}
	return open
}

// Rows returns one row per window, each with the result of its arm. Rates are per second and times in seconds; the columns of
// times depend on the objective. A time with too few requests is an empty cell.
func (s *Search) Rows() [][]string {
	head := []string{"run", "scenario", "arm", "mode", "outcome", "low", "high", "trial", "purpose", "rate", "sent", "goodput", "error_ratio"}
	var metrics []stats.Measure
	for _, t := range s.Terms {
		if timed(t) {
			metrics, head = append(metrics, t.Metric), append(head, t.Metric.String())
		}
	}
	rows := [][]string{append(head, "kept", "refused")}
	for _, a := range s.Arms {
		for _, x := range a.Windows {
			row := []string{s.Run, s.Scenario, a.Name, a.Mode, string(a.Outcome), say.Exact(a.Low), say.Exact(a.High),
				strconv.Itoa(x.Trial), x.Purpose, say.Exact(x.Rate), say.Exact(x.Sent), say.Exact(x.Goodput), say.Exact(x.Errors)}
			for _, m := range metrics {
				if v, ok := x.Values[m]; ok {
					row = append(row, say.Exact(v))
				} else {
					row = append(row, "")
				}
			}
			rows = append(rows, append(row, strconv.FormatBool(x.Kept), x.Refused.String()))
		}
	}
	return rows
}
