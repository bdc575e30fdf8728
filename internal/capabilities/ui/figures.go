package ui

import (
	"slices"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// figuresOf returns the figures of a run that goes on: a table of its arms, and a drawing of the verdicts as they form. There is
// none before the first window.
func figuresOf(p session.Progress) (table document.Table, verdicts []document.Part) {
	if len(p.Arms) == 0 {
		return table, nil
	}
	soFar := comparisonOf(p)
	for _, s := range chart.SeriesOf(soFar.Contestants()) {
		table.Marks = append(table.Marks, document.Mark{Class: s.Class})
	}
	table.Rows = [][]string{{"arm", "blocks", "p50", "interval", "p99", "interval", "goodput", "accepted", "done", "open"}}
	for _, a := range p.Arms {
		goodput := say.OrNone(a.Goodput.SoFar, func(s stats.Spread) string { return say.Rate(s.Median) })
		connections := []string{say.None, say.None, say.None}
		if c := a.Connections; c != nil {
			connections = []string{say.Count(int(c.Accepted)), say.Count(int(c.Done)), say.Count(int(c.Open))}
		}
		row := append([]string{a.Name, say.Count(len(a.P50.Blocks))}, ranged(a.P50.SoFar)...)
		table.Rows = append(table.Rows, slices.Concat(row, ranged(a.P99.SoFar), []string{goodput}, connections))
	}
	return table, report.Forming(soFar, p.FirstLook, func(v record.Verdict) []float64 { return ratios(p, v) })
}

// ranged formats a median and its interval.
func ranged(s *stats.Spread) []string {
	if s == nil {
		return []string{say.None, say.None}
	}
	unit := say.TimeScale(s.Low, s.Median, s.High)
	return []string{unit.Format(s.Median), unit.Number(s.Low) + " to " + unit.Format(s.High)}
}

// figures returns the figures of an arm that a run tells while it goes on.
func figures(a session.ArmProgress) map[stats.Figure]session.BlockFigures {
	return map[stats.Figure]session.BlockFigures{stats.P50: a.P50, stats.P90: a.P90, stats.P99: a.P99, stats.Goodput: a.Goodput}
}

// comparisonOf returns what is known of a run that goes on: its arms with their medians, and the verdicts of the newest look. Before
// the first look the verdict on each time is open.
func comparisonOf(p session.Progress) *record.Comparison {
	c := &record.Comparison{Verdicts: p.Verdicts, AA: p.AA}
	for _, a := range p.Arms {
		arm := record.Arm{Contestant: record.Contestant{Name: a.Name, Role: a.Role}}
		for figure, of := range figures(a) {
			if of.SoFar != nil {
				arm.SetMedian(figure, stats.Known(of.SoFar.Median))
			}
		}
		c.Arms = append(c.Arms, arm)
		if len(p.Verdicts) > 0 || p.FirstLook == 0 || a.Against == "" || a.Out != "" {
			continue
		}
		for _, m := range stats.Quantiles() {
			v := record.Verdict{Metric: m.Figure, Primary: true, Baseline: a.Against, Arm: a.Name, Verdict: stats.Open()}
			if v.Blocks = len(ratios(p, v)); v.Blocks == 0 {
				continue
			}
			if arm.IsCopy() {
				c.AA = append(c.AA, v)
			} else {
				c.Verdicts = append(c.Verdicts, v)
			}
		}
	}
	return c
}

// ratios returns the ratio of a verdict's two arms in each block that knows the figure of both.
func ratios(p session.Progress, v record.Verdict) (known []float64) {
	blocks := map[string][]*float64{}
	for _, a := range p.Arms {
		blocks[a.Name] = figures(a)[v.Metric].Blocks
	}
	arm, base := blocks[v.Arm], blocks[v.Baseline]
	for k := range min(len(arm), len(base)) {
		if arm[k] != nil && base[k] != nil && *arm[k] > 0 && *base[k] > 0 {
			known = append(known, *arm[k] / *base[k])
		}
	}
	return known
}
