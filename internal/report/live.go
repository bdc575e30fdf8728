package report

import (
	"fmt"
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// Figures returns the medians of the arms and the verdicts in sentences, for a page that shows several
// runs.
func Figures(r *record.Result) []document.Part {
	if r.Capacity != nil || len(r.Arms) == 0 {
		return nil
	}
	return append([]document.Part{medians(r.Arms, classes(seriesOf(r.Arms)))}, verdictLines(r)...)
}

// classes returns the marks of rows that have only the colours of their arms.
func classes(all []series) []document.Mark {
	return each(all, func(s series) document.Mark { return document.Mark{Class: s.Class} })
}

// Live returns the figures of a run that goes on: a table of its arms, and drawings of p50 and p99 with
// their intervals, block by block. There is none before the first window.
func Live(p record.Progress) (table, charts document.Part) {
	if len(p.Arms) == 0 {
		return document.Lines{}, document.Charts{}
	}
	all := seriesOf(each(p.Arms, func(a record.ArmProgress) record.Arm { return record.Arm{Name: a.Name, Role: a.Role} }))
	rows := [][]string{{"arm", "blocks", "p50", "interval", "p99", "interval", "goodput", "accepted", "done", "open"}}
	for _, a := range p.Arms {
		goodput := orNone(a.Goodput.SoFar, func(s record.Spread) string { return rate(s.Median) })
		connections := []string{none, none, none}
		if c := a.Connections; c != nil {
			connections = []string{count(int(c.Accepted)), count(int(c.Done)), count(int(c.Open))}
		}
		rows = append(rows, slices.Concat([]string{a.Name, count(len(a.P50.Blocks))}, ranged(a.P50.SoFar), ranged(a.P99.SoFar), []string{goodput}, connections))
	}
	return document.Table{Rows: rows, Marks: classes(all)}, slices.Concat(
		narrowing("p50", p, all, func(a record.ArmProgress) record.BlockFigures { return a.P50 }),
		narrowing("p99", p, all, func(a record.ArmProgress) record.BlockFigures { return a.P99 }),
	)
}

// ranged formats a median and its interval.
func ranged(s *record.Spread) []string {
	if s == nil {
		return []string{none, none}
	}
	unit := timeScale(s.Low, s.Median, s.High)
	return []string{unit.format(s.Median), unit.number(s.Low) + " to " + unit.format(s.High)}
}

// narrowing draws the median of a quantile after each block, and the ends of its interval as dotted lines;
// none for a quantile that no window has.
func narrowing(label string, p record.Progress, all []series, of func(record.ArmProgress) record.BlockFigures) document.Charts {
	var lines []line
	var values []float64
	most := max(p.FirstLook, 6)
	for i, a := range p.Arms {
		var middle, low, high []point
		var known []float64
		for k, v := range of(a).Blocks {
			if v == nil {
				continue
			}
			known = append(known, *v)
			s, x := record.SpreadOf(known), float64(k+1)
			middle, low, high = append(middle, point{X: x, Y: s.Median, Class: when(k == 0, "dot")}), append(low, point{X: x, Y: s.Low}), append(high, point{X: x, Y: s.High})
			values, most = append(values, s.Low, s.High), max(most, k+1)
		}
		if len(known) > 0 {
			title := fmt.Sprintf("%s: %s after %s", a.Name, seconds(of(a).SoFar.Median), plural(len(known), "block"))
			lines = append(lines, line{series: all[i], Title: title, Stroke: "line", Points: middle},
				line{series: all[i], Stroke: "line fit", Width: 1.2, Points: low}, line{series: all[i], Stroke: "line fit", Width: 1.2, Points: high})
		}
	}
	if len(lines) == 0 {
		return nil
	}
	c := chart{Caption: label + " after each block, with its interval", Width: 340, Height: 220,
		Label: label + " after each block, a line for each arm, with the ends of its 95 % interval"}
	c.Panels = []panel{{X: axis{low: 1, high: float64(most), From: 56, To: 330}.marked(5, countLabel), Y: closeAxis(values, 190, 10).marked(4, timeLabel), Lines: lines}}
	return document.Charts{c.figure()}
}
