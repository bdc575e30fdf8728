package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"schedlab/internal/experiment"
	"schedlab/internal/explain"
	"schedlab/internal/profile"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/scenario"
	"schedlab/internal/workload"
)

// mostMoved is how many functions an explanation names whose share of the CPU samples changed.
const mostMoved = 5

// profile captures the profiles of an explanation's arms, keeps them in the run's record with
// their flame graphs, and says in the explanation what they show.
func (f *explainFlags) profile(cmd *cobra.Command, dir *record.Dir, recorded record.Plan, c *explain.Case, x *record.Explanation, show *progress) (*record.Explanation, error) {
	t, err := c.Profiled(x)
	if err != nil {
		return x, usage(err)
	}
	if err := f.mayRun(cmd.Context(), dir, recorded, t.Scenario); err != nil {
		return x, err
	}
	planned, err := experiment.Plan(t.Scenario, experiment.Options{
		Self: f.Self, Version: f.Version, Modes: f.Modes, Seed: c.Seed(), Iters: workload.Calibrate(),
		Rate: scenario.Rate{PerSecond: t.Rate}, ServerCPUs: t.ServerCPUs, LoadCPUs: t.LoadCPUs, Pin: t.Pin, Engine: t.Engine,
	})
	if err != nil {
		return x, fmt.Errorf("planning the profiles: %w", err)
	}
	arms, err := planned.Profile(cmd.Context(), show.update)
	show.done()
	if err != nil {
		return x, err
	}
	done := *x
	done.Profiles, err = keepProfiles(dir, arms)
	return &done, err
}

// keepProfiles writes what two arms showed to the record, draws it, and says what differs.
func keepProfiles(dir *record.Dir, arms []experiment.Captured) (*record.Profiles, error) {
	kept := &record.Profiles{Moved: []record.FunctionShare{}}
	trees := map[string][]*profile.Tree{} // by kind, one of each arm; nil for one without samples
	var kinds []string
	for i, a := range arms {
		k := record.ProfiledArm{Arm: a.Arm, Files: []string{}}
		for _, file := range a.Files {
			at, err := dir.WriteProfile(a.Arm, file.Name, func(w io.Writer) error { _, err := w.Write(file.Data); return err })
			if err != nil {
				return kept, err
			}
			k.Files = append(k.Files, at)
			kind, isProfile := strings.CutSuffix(file.Name, ".pb.gz")
			if !isProfile {
				if k.Requests, err = profile.Requests(file.Data); err != nil {
					return kept, err
				}
				continue
			}
			tree, err := profile.Parse(file.Data)
			if err != nil && !errors.Is(err, profile.ErrEmpty) {
				return kept, err
			}
			if kind == "cpu" && tree != nil {
				k.Samples = tree.Samples
			}
			if trees[kind] == nil {
				trees[kind] = make([]*profile.Tree, len(arms))
				kinds = append(kinds, kind)
			}
			trees[kind][i] = tree
		}
		kept.Arms = append(kept.Arms, k)
	}
	for _, kind := range kinds {
		for i, tree := range trees[kind] {
			if tree == nil {
				continue
			}
			flames := []record.Flame{{Kind: kind, Arm: arms[i].Arm, Frames: tree.Layout(nil)}}
			if base := trees[kind][0]; i > 0 && base != nil {
				flames = append(flames, record.Flame{Kind: kind, Arm: arms[i].Arm, Base: arms[0].Arm, Frames: tree.Layout(base)})
				if kind == "cpu" {
					kept.Moved = append(kept.Moved, profile.Changes(base, tree, mostMoved)...)
				}
			}
			for _, fl := range flames {
				name := kind + ".svg"
				if fl.Base != "" {
					name = kind + "-difference.svg"
				}
				at, err := dir.WriteProfile(fl.Arm, name, func(w io.Writer) error { return report.FlameSVG(w, fl) })
				if err != nil {
					return kept, err
				}
				fl.File = at
				kept.Flames = append(kept.Flames, fl)
			}
		}
	}
	return kept, nil
}
