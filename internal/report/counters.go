package report

import (
	"fmt"
	"math"
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// connections returns the arms' connections over time: a table, and a chart of each arm in one
// block. Kept connections hardly change: unless all is set, the part is empty if connections do
// not come and go and the arms have about the same number open.
func connections(r *record.Result, all bool) document.Part {
	known := counted(r.Arms)
	flow := comeAndGo(known, r.Window)
	if len(known) == 0 || !all && !flow && !crowds(known) {
		return document.Section{}
	}
	of := func(head string, v func(c *record.Counters) float64) armField {
		return armField{head, func(record.Arm) bool { return flow }, func(a record.Arm) string { return rounded(v(a.Counters)) }}
	}
	table := rows(known, armField{"arm", nil, name},
		armField{"open at most", nil, func(a record.Arm) string { return rounded(a.Counters.OpenPeak) }},
		of("accepted/s", func(c *record.Counters) float64 { return c.Accepted }), of("at most", func(c *record.Counters) float64 { return c.AcceptedPeak }),
		of("done/s", func(c *record.Counters) float64 { return c.Done }), of("at most", func(c *record.Counters) float64 { return c.DonePeak }),
	)
	charts := document.Page{countersCharts(r, known)}
	if len(known) > briefArms {
		charts = document.Page{document.Details{Summary: "A chart of each arm", Parts: charts}}
	}
	return document.Section{
		ID: "connections", Title: "Connections over time", About: overBlocks("medians", caveat(r)),
		Lead: warned(r, fmt.Sprintf("As the servers counted them, ten times a second; accepted = done + rejected + dropped + open. "+
			"The charts are of block %d, the middle one by connections open, and have the same axes.", known[0].Counters.Block)),
		Parts: []document.Part{document.Table{Rows: table}, charts},
	}
}

// rounded formats a number of connections.
func rounded(v float64) string { return count(int(math.Round(v))) }

// counted returns the arms with counters of connections.
func counted(arms []record.Arm) []record.Arm {
	return slices.DeleteFunc(slices.Clone(arms), func(a record.Arm) bool { return a.Counters == nil })
}

// fewOpen is the smallest difference in open connections to report.
const fewOpen = 10

// crowds reports whether the arms' open connections differ by more than a tenth and by at least
// fewOpen.
func crowds(known []record.Arm) bool {
	least, most := math.Inf(1), 0.
	for _, a := range known {
		least, most = min(least, a.Counters.OpenPeak), max(most, a.Counters.OpenPeak)
	}
	return most > 1.1*least && most-least >= fewOpen
}

// comeAndGo reports whether an arm accepted, in a window, more than a tenth of the number of
// connections it had open.
func comeAndGo(known []record.Arm, window float64) bool {
	return slices.ContainsFunc(known, func(a record.Arm) bool { return a.Counters.Accepted*window > a.Counters.OpenPeak/10 })
}

// openColumns returns the columns of most open and of accepted connections per second, if the
// arms differ in the number open.
func openColumns(arms []record.Arm) [][]string {
	if !crowds(counted(arms)) {
		return nil
	}
	of := func(a record.Arm) *record.Counters { return a.Counters }
	return columns(arms,
		optional("most open", of, func(c record.Counters) string { return rounded(c.OpenPeak) }),
		optional("accepted/s", of, func(c record.Counters) string { return rounded(c.Accepted) }),
	)
}

// countersCharts draws each arm's connections over the window, all with the same axes: open ones,
// and below them the rates of accepted and done ones.
func countersCharts(r *record.Result, known []record.Arm) (charts document.Charts) {
	var all []chart
	open, rates := 1., 1. // the smallest range of an axis
	for _, a := range known {
		c := chart{Caption: a.Name, Label: "Connections of " + a.Name + " over the window: open, and accepted and done per second", Width: 420, Height: 262}
		lines := make([]line, 3)
		for i, s := range []series{{"open", "base"}, {"accepted", "c0"}, {"done", "c1 dash"}} {
			lines[i] = line{series: s, Title: s.Name, Stroke: "line", Width: 2}
		}
		for i, at := range a.Counters.Readings {
			lines[0].Points = append(lines[0].Points, point{X: at.At, Y: float64(at.Open)})
			open = max(open, float64(at.Open))
			if i == 0 {
				continue
			}
			last := a.Counters.Readings[i-1]
			middle, took := (last.At+at.At)/2, at.At-last.At
			accepted, done := float64(at.Accepted-last.Accepted)/took, float64(at.Done-last.Done)/took
			lines[1].Points = append(lines[1].Points, point{X: middle, Y: accepted})
			lines[2].Points = append(lines[2].Points, point{X: middle, Y: done})
			rates = max(rates, accepted, done)
		}
		x := axis{high: r.Window, From: 60, To: 404}
		c.Panels = []panel{{Title: "open", X: x, Lines: lines[:1]}, {Title: "per second", X: x.marked(4, timeLabel), Lines: lines[1:]}}
		all = append(all, c)
	}
	for _, c := range all { // with the axes of all
		c.Panels[0].Y = axis{high: open * 1.06, From: 112, To: 22}.marked(5, countLabel)
		c.Panels[1].Y = axis{high: rates * 1.06, From: 236, To: 146}.marked(5, countLabel)
		charts = append(charts, c.figure())
	}
	return charts
}
