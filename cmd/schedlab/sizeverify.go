package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"schedlab/internal/experiment"
	"schedlab/internal/judge"
	"schedlab/internal/model"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/scenario"
	"schedlab/internal/sizing"
	"schedlab/internal/stats"
	"schedlab/internal/workload"
)

// A verification is what the comparison of the advice with about a fifth fewer
// workers found.
type verification struct {
	Verdict string        `json:"verdict"` // right, wrong or undecided
	Why     string        `json:"why,omitempty"`
	Workers int           `json:"workers"`
	Fewer   int           `json:"fewer"`
	Advised judge.Keeping `json:"advised"`
	Less    judge.Keeping `json:"less"`
	Dir     string        `json:"dir"` // of the run's record
	Window  float64       `json:"window"`
	Doubts  []string      `json:"doubts,omitempty"` // sentences without a full stop
	slo     stats.SLO
}

func (v *verification) text() []string {
	lead := fmt.Sprintf("Advice %s: kept in %d of %d blocks at %d workers; broken in %d of %d at %d (%.0f %% fewer).",
		v.Verdict, v.Advised.Kept, v.Advised.Blocks, v.Workers, v.Less.Blocks-v.Less.Kept, v.Less.Blocks, v.Fewer, 100-100*float64(v.Fewer)/float64(v.Workers))
	if v.Advised.Blocks == 0 {
		lead = "Advice undecided: no block can be trusted."
	}
	if v.Why != "" {
		lead += " " + v.Why + "."
	}
	lines := []string{lead}
	for _, k := range []struct {
		workers int
		judge.Keeping
	}{{v.Workers, v.Advised}, {v.Fewer, v.Less}} {
		var figures []string
		for _, t := range v.slo {
			if m, ok := k.Median[t.Metric]; ok {
				figures = append(figures, t.Metric+" "+termText(t, m))
			}
		}
		if figures == nil {
			continue
		}
		lines = append(lines, fmt.Sprintf("Measured with %s, medians of blocks of %g s: %s.", counted(k.workers, "worker"), v.Window, strings.Join(figures, ", ")))
	}
	for _, d := range v.Doubts {
		lines = append(lines, "Doubt of the test: "+d+".")
	}
	return append(lines, "Record: "+v.Dir)
}

func termText(t stats.Term, v float64) string {
	switch t.Metric {
	case "errors":
		return percentText(v)
	case "goodput":
		return digits(v) + "/s"
	}
	return timeText(v)
}

// compare runs the advised workers against fewer, and says whether the SLO is kept by
// the first and broken by the second.
func (s *sized) compare(ctx context.Context, show *progress) (*verification, error) {
	var c compareFlags
	planned, err := s.plan(&c, show)
	if err != nil {
		return nil, err
	}
	planned.Until(s.SLO)
	dir, run, err := planned.Run(ctx, c.out, show.update)
	show.done()
	if err != nil {
		return nil, c.failure(err, dir, run)
	}
	if err := writeReports(dir, run.Result); err != nil {
		return nil, err
	}
	kept, err := judge.Keep(dir, run, s.SLO)
	if err != nil {
		return nil, err
	}
	v := s.judge(kept)
	v.Dir, v.Window = dir.Path(), run.Plan.Window
	return v, nil
}

// plan lays that comparison out, with the flags that c is filled with.
func (s *sized) plan(c *compareFlags, show *progress) (*experiment.Comparison, error) {
	f := s.flags
	here, err := experiment.ServerCPUs(f.options)
	if err != nil {
		return nil, usage(err)
	}
	if s.Ask.Service > 0 && here != s.Ask.Cores {
		return nil, usagef("--verify would run on the %d CPUs that servers get here, and the advice is for --cores %d; leave --cores out, or give --server-cpus as many", here, s.Ask.Cores)
	}
	mode, err := model.Lookup(f.mode)
	if err != nil {
		return nil, err
	}
	text, err := s.Scenario(f.tested(mode))
	if err != nil {
		return nil, usage(err)
	}
	scenario, err := scenario.Parse("size", []byte(text))
	if err != nil {
		return nil, fmt.Errorf("writing the scenario of --verify: %w", err)
	}
	c.Options, c.out = f.options, f.out
	c.OnTrouble, c.OnCannot = show.trouble, show.cannot
	c.Asks = s.asks()
	if err := knowSelf(&c.Options); err != nil {
		return nil, err
	}
	c.Note = "tests the advice of: " + s.test
	c.Iters = workload.Calibrate()
	return c.plan(scenario)
}

// tested is how the advice is tested on servers of a mode.
func (f *sizeFlags) tested(mode model.Mode) sizing.Test {
	return sizing.Test{Mode: mode.Name, Sticky: mode.Sticky, Waits: mode.Has("wait"), Rate: f.rate.String(), Budget: f.options.Budget}
}

// asks are the objective's quantiles that a comparison judges as well; the length
// of the windows sees to the others.
func (s *sized) asks() []string {
	names := []string{}
	for _, t := range s.SLO {
		if slices.Contains(experiment.Quantiles(), t.Metric) {
			names = append(names, t.Metric)
		}
	}
	return names
}

// judge is the verdict on the advice from what the arms kept, the advised one first.
func (s *sized) judge(kept []judge.Keeping) *verification {
	v := &verification{
		Verdict: sizing.Judge(kept[0].Answer, kept[1].Answer), Workers: s.Advice.Workers, Fewer: queueing.Fewer(s.Advice.Workers),
		Advised: kept[0], Less: kept[1], slo: s.SLO,
	}
	if len(s.Demand.Samples) > 0 {
		v.Doubts = []string{fmt.Sprintf("it asked a mix of constants with the samples' mean, and the advice is for the samples: of the slowest %.3g %% it had the mean", 100*(1-sizing.TestedUpTo))}
	}
	switch {
	case kept[0].Answer == record.Failed:
		v.Why = fmt.Sprintf("%d workers are too few", v.Workers)
	case kept[1].Answer == record.Passed:
		v.Why = fmt.Sprintf("%d would have done", v.Fewer)
	case v.Verdict == sizing.AdviceUndecided:
		workers, open := v.Workers, kept[0]
		if open.Answer != record.Undecided {
			workers, open = v.Fewer, kept[1]
		}
		v.Why = fmt.Sprintf("With %s, %s", counted(workers, "worker"), report.Say(open.Reason))
	}
	return v
}
