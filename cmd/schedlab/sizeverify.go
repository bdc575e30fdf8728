package main

import (
	"context"
	"fmt"
	"slices"

	"schedlab/internal/experiment"
	"schedlab/internal/judge"
	"schedlab/internal/model"
	"schedlab/internal/scenario"
	"schedlab/internal/sizing"
	"schedlab/internal/workload"
)

// compare runs the advised workers against fewer, and says whether the SLO is kept by
// the first and broken by the second.
func (s *sized) compare(ctx context.Context, show *progress) (*sizing.Verification, error) {
	var c compareFlags
	planned, err := s.plan(&c, show)
	if err != nil {
		return nil, err
	}
	planned.Aim(judge.Aim{SLO: s.SLO})
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
	v := s.Verify(kept)
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
	c.OnTrouble, c.OnCannot, c.OnDoubt = show.trouble, show.cannot, show.doubt
	c.Asks = s.asks()
	if err := knowSelf(&c.Options); err != nil {
		return nil, err
	}
	c.Note = "tests the advice of: " + s.Test
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
