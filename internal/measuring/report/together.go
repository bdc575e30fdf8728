package report

import (
	"slices"
	"strconv"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A Labelled is the result of a run with the short name, such as A, that a page of several gives it.
type Labelled struct {
	Label string
	record.Result
}

// MostTogether is the largest number of runs that Together can tell apart, by the dashes of their lines.
const MostTogether = 4

// Together draws the comparisons among several results as one: all verdicts in one forest, and all response times by percentile in one
// chart, where a colour is an arm and the dashes of a line are a run. figures has, for each result, the medians of its arms and its
// verdicts in sentences; nil for a result that is no comparison.
func Together(runs []Labelled) (drawings []document.Part, figures [][]document.Part) {
	compared := make([]*record.Comparison, len(runs)) // nil for other results
	for i, run := range runs {
		if c, is := run.Result.(*record.Comparison); is && len(c.Arms) > 0 {
			compared[i] = c
		}
	}
	colours := coloursByName(compared)
	var lines []curve
	figures = make([][]document.Part, len(runs))
	for i, c := range compared {
		if c == nil {
			continue
		}
		var all []chart.Series
		for _, a := range c.Arms {
			s := colours[a.Name]
			all = append(all, s)
			if len(a.Curve) > 0 && !a.IsCopy() {
				lines = append(lines, curve{chart.Series{Name: a.Name + ", " + runs[i].Label, Class: s.Class + " run" + strconv.Itoa(i)}, a.Curve})
			}
		}
		figures[i] = []document.Part{medians(c.Arms, classes(all))}
		if len(c.Gate) > 0 {
			figures[i] = append(figures[i], gateFigures(c).Parts...)
		} else {
			figures[i] = append(figures[i], verdictLines(c)...)
		}
	}
	if f := forestOfSeveral(runs, compared, colours); len(f.Groups) > 0 {
		lead := "Each arm against the baseline of the same run. The line is the 95" + say.NBSP + "% interval of the ratio, the dot its median, the band where arms count as the same."
		drawings = append(drawings, document.Section{Title: "Verdicts", Lead: lead, Parts: []document.Part{document.Charts{{Picture: draw("forest", f)}}}})
	}
	if figure, lead := curveFigure(lines); lead != "" {
		drawings = append(drawings, document.Section{Title: "Response time by percentile", Lead: lead, Parts: []document.Part{document.Charts{figure}}})
	}
	return drawings, figures
}

// coloursByName returns a series for each name of an arm, the same in every comparison. The baseline of the first comparison has the
// colour of baselines.
func coloursByName(compared []*record.Comparison) map[string]chart.Series {
	var arms []record.Contestant
	for _, c := range compared {
		if c == nil {
			continue
		}
		for _, a := range c.Arms {
			if slices.ContainsFunc(arms, func(known record.Contestant) bool { return known.Name == a.Name }) {
				continue
			}
			if a.Role == record.Baseline && len(arms) > 0 {
				a.Role = record.Challenger
			}
			arms = append(arms, record.Contestant{Name: a.Name, Role: a.Role})
		}
	}
	colours := map[string]chart.Series{}
	for _, s := range chart.SeriesOf(arms) {
		colours[s.Name] = s
	}
	return colours
}

// forestOfSeveral returns one forest of the verdicts of several comparisons. An arm against a baseline is a group, with the runs' verdicts
// on one metric below each other.
func forestOfSeveral(runs []Labelled, compared []*record.Comparison, colours map[string]chart.Series) (f forest) {
	type pair struct{ arm, baseline string }
	of := func(v record.Verdict) pair { return pair{v.Arm, v.Baseline} }
	var all []record.Verdict
	for _, c := range compared {
		if c != nil && len(c.Gate) == 0 { // a gate has answers of its own
			all = append(all, c.Verdicts...)
		}
	}
	f.X = forestAxis(all)
	for _, group := range grouped(all, of) {
		p := of(group[0])
		g := forestGroup{Series: chart.Series{Name: p.arm + " against " + p.baseline, Class: colours[p.arm].Class}}
		for _, m := range stats.Metrics() {
			for i, c := range compared {
				if c == nil || len(c.Gate) > 0 {
					continue
				}
				for _, v := range c.Verdicts {
					if of(v) == p && v.Metric == m.Figure {
						row := forestRowOf(c, v)
						row.Label, row.Sentence = m.Label+", "+runs[i].Label, runs[i].Label+": "+row.Sentence
						g.Rows = append(g.Rows, row)
					}
				}
			}
		}
		f.Groups = append(f.Groups, g)
	}
	return f
}
