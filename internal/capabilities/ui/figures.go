package ui

import (
	"fmt"
	"slices"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// figuresOf returns the figures of a run that goes on: a table of its arms, and drawings of p50 and p99 with
// their intervals, block by block. There is none before the first window.
func figuresOf(p session.Progress) (table, charts document.Part) {
	if len(p.Arms) == 0 {
		return document.Lines{}, document.Charts{}
	}
	arms := make([]record.Contestant, len(p.Arms))
	for i, a := range p.Arms {
		arms[i] = record.Contestant{Name: a.Name, Role: a.Role}
	}
	all := chart.SeriesOf(arms)
	marks := make([]document.Mark, len(all)) // only the colours of the arms
	for i, s := range all {
		marks[i].Class = s.Class
	}
	rows := [][]string{{"arm", "blocks", "p50", "interval", "p99", "interval", "goodput", "accepted", "done", "open"}}
	for _, a := range p.Arms {
		goodput := say.OrNone(a.Goodput.SoFar, func(s stats.Spread) string { return say.Rate(s.Median) })
		connections := []string{say.None, say.None, say.None}
		if c := a.Connections; c != nil {
			connections = []string{say.Count(int(c.Accepted)), say.Count(int(c.Done)), say.Count(int(c.Open))}
		}
		row := append([]string{a.Name, say.Count(len(a.P50.Blocks))}, ranged(a.P50.SoFar)...)
		rows = append(rows, slices.Concat(row, ranged(a.P99.SoFar), []string{goodput}, connections))
	}
	return document.Table{Rows: rows, Marks: marks}, slices.Concat(
		narrowing("p50", p, all, func(a session.ArmProgress) session.BlockFigures { return a.P50 }),
		narrowing("p99", p, all, func(a session.ArmProgress) session.BlockFigures { return a.P99 }),
	)
}

// ranged formats a median and its interval.
func ranged(s *stats.Spread) []string {
	if s == nil {
		return []string{say.None, say.None}
	}
	unit := say.TimeScale(s.Low, s.Median, s.High)
	return []string{unit.Format(s.Median), unit.Number(s.Low) + " to " + unit.Format(s.High)}
}

// narrowing draws the median of a quantile after each block, and the ends of its interval as dotted lines;
// none for a quantile that no window has.
func narrowing(label string, p session.Progress, all []chart.Series, of func(session.ArmProgress) session.BlockFigures) document.Charts {
	var lines []chart.Line
	var values []float64
	most := max(p.FirstLook, 6)
	for i, a := range p.Arms {
		var known []float64
		middle, low := chart.Line{Series: all[i], Stroke: "line"}, chart.Line{Series: all[i], Stroke: "line fit", Width: 1.2}
		high := low
		for k, v := range of(a).Blocks {
			if v == nil {
				continue
			}
			known = append(known, *v)
			s, x := stats.SpreadOf(known), float64(k+1)
			class := ""
			if k == 0 {
				class = "dot"
			}
			middle.Points = append(middle.Points, chart.Point{X: x, Y: s.Median, Class: class})
			low.Points, high.Points = append(low.Points, chart.Point{X: x, Y: s.Low}), append(high.Points, chart.Point{X: x, Y: s.High})
			values, most = append(values, s.Low, s.High), max(most, k+1)
		}
		if len(known) > 0 {
			middle.Title = fmt.Sprintf("%s: %s after %s", a.Name, say.Seconds(of(a).SoFar.Median), say.Plural(len(known), "block"))
			lines = append(lines, middle, low, high)
		}
	}
	if len(lines) == 0 {
		return nil
	}
	x := chart.Axis{Low: 1, High: float64(most), From: 56, To: 330}
	return document.Charts{chart.Chart{
		Caption: label + " after each block, with its interval", Width: 340, Height: 220,
		Label:  label + " after each block, a line for each arm, with the ends of its 95 % interval",
		Panels: []chart.Panel{{X: x.Marked(5, say.CountLabel), Y: chart.CloseAxis(values, 190, 10).Marked(4, say.TimeLabel), Lines: lines}},
	}.Figure()}
}
