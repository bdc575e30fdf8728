package main

import (
	"slices"
	"strconv"
	"strings"

	"schedlab/docs/experiments"
	"schedlab/internal/capabilities/explain"
	"schedlab/internal/measuring/expect"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// recorded returns the rows of a run's record, which is judged again.
func recorded(name string) ([]experiments.Row, error) {
	dir, run, err := record.Open(name, record.DefaultRoot)
	if err != nil {
		return nil, err
	}
	// docs/choosing.md needs other pairs than the run judged.
	result, pairs, err := judge.Pairs(dir, run, pairsOf(run.Plan.Scenario))
	if err != nil {
		return nil, err
	}
	x, err := explain.Kept(dir)
	if err != nil {
		return nil, err
	}
	return rowsOf(result, pairs, x), nil
}

// rowsOf returns the rows of a result: its texts, the figures of all arms but the copy with their verdicts, and
// the verdicts on other pairs. x is its explanation, nil without one.
func rowsOf(r *record.Comparison, pairs []record.Verdict, x *explain.Explanation) (rows []experiments.Row) {
	plain := func(text *string) { *text = strings.ReplaceAll(*text, "\u00a0", " ") }
	add := func(row experiments.Row) {
		plain(&row.Text)
		plain(&row.Reason)
		row.Scenario, row.Day, row.Commit, row.Blocks = r.Scenario, r.Started.Format("2006-01-02"), r.Env.Version, r.Valid
		rows = append(rows, row)
	}
	text := func(metric, text string) {
		if text != "" {
			add(experiments.Row{Metric: metric, Text: text})
		}
	}
	loads, machine := report.Setup(r)
	text("question", r.Question)
	for _, load := range loads {
		text("load", load)
	}
	text("asked", r.Asked)
	if out := r.Ran - r.Valid; out > 0 {
		add(experiments.Row{Metric: "left_out", Figure: float64(out)})
	}
	add(experiments.Row{Metric: "window", Figure: r.Window.Seconds()})
	text("seed", strconv.FormatUint(r.Seed, 10))
	text("machine", machine)
	text("server_cpus", r.Env.ServerCPUs)
	text("load_cpus", r.Env.LoadCPUs)
	text("cpu", r.Env.CPU)
	text("go", r.Env.Go)
	for _, e := range r.Expectations {
		claim := experiments.Row{Metric: "claim", Verdict: string(e.Outcome), Reason: e.Reason.String(), Asks: e.Text, Text: e.Claim}
		if t, voted := expect.TallyOf(e.Reason); voted {
			claim.Figure = float64(t.Yes)
			if t.Below != nil && t.Above != nil {
				claim.Low, claim.High = float64(*t.Below), float64(*t.Above)
			}
		}
		add(claim)
	}
	// A verdict on the pairs replaces a refused one of the run: goodput and memory are compared even where the
	// run refuses to, since refusing requests is the point of some experiments.
	verdicts := slices.Clone(r.Verdicts)
	for _, v := range pairs {
		at := slices.IndexFunc(verdicts, func(of record.Verdict) bool {
			return of.Metric == v.Metric && of.Arm == v.Arm && of.Baseline == v.Baseline
		})
		switch {
		case at < 0:
			verdicts = append(verdicts, v)
		case verdicts[at].Verdict.Outcome == outcome.Refused:
			verdicts[at] = v
		}
	}
	for _, a := range r.Arms {
		if a.Role == record.Copy {
			continue
		}
		for _, f := range figuresOf(a) {
			at := slices.IndexFunc(verdicts, func(v record.Verdict) bool { return v.Arm == a.Name && v.Metric.String() == f.Metric })
			if at >= 0 {
				f = judged(f, verdicts[at])
				verdicts = slices.Delete(verdicts, at, at+1)
			}
			if f.Figure != 0 || at >= 0 {
				add(f)
			}
		}
	}
	for _, v := range verdicts {
		add(judged(experiments.Row{Metric: v.Metric.String(), Arm: v.Arm}, v))
	}
	add(experiments.Row{Metric: "answer", Text: report.Headline(r)})
	for _, d := range r.Doubts {
		add(experiments.Row{Metric: "doubt", Reason: string(d.Code), Text: report.Doubt(d)})
		if d.Has("gist") {
			note := d.Part("gist")
			if d.Arm != "" {
				note = d.Arm + ": " + note
			}
			text("note", note)
		}
	}
	if x != nil {
		found := x.Reason.String()
		for _, c := range x.Causes {
			if c.Outcome == outcome.Yes && !c.Shown {
				found = c.Fact.String()
			}
		}
		add(experiments.Row{Metric: "cause", Verdict: string(x.Outcome), Text: found})
	}
	return rows
}

// figuresOf returns a row for each figure that the file has of an arm, with six digits; 0 where it is unknown.
func figuresOf(a record.Arm) (rows []experiments.Row) {
	add := func(metric string, v *float64) {
		row := experiments.Row{Metric: metric, Arm: a.Name}
		if v != nil {
			row.Figure, _ = strconv.ParseFloat(strconv.FormatFloat(*v, 'g', 6, 64), 64)
		}
		rows = append(rows, row)
	}
	for _, m := range stats.Metrics() {
		add(m.Name, a.Median(m.Figure))
	}
	if f := a.Footprint; f != nil {
		add("memory", new(float64(f.Memory)))
		add("threads", new(float64(f.Threads)))
	}
	add("switches_per_request", a.Switches)
	add("loop_share", a.Loops)
	return rows
}

// judged returns the row with a verdict.
func judged(row experiments.Row, v record.Verdict) experiments.Row {
	row.Baseline, row.Verdict, row.Reason = v.Baseline, v.Verdict.String(), string(v.Reason.Code)
	row.Ratio, row.Low, row.High = v.Ratio, v.Low, v.High
	return row
}
