package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"schedlab/internal/capabilities/explain"
	"schedlab/internal/capabilities/profiling"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/profile"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// mostMoved limits the functions of an arm that a report names because their share of the CPU samples
// changed. All are in the flame graph of the difference.
const mostMoved = 5

// profileArms captures the profiles of a comparison's arms and keeps them in the record with their flame
// graphs. It starts each arm once more, so the profiles cost the measured windows nothing. ran is the plan
// that has run, and cpuSeconds the length of a CPU profile. With an error it returns no profiles.
func profileArms(ctx context.Context, p Program, c *runner.Comparison, dir *record.Dir, ran record.Plan, cpuSeconds int, show Observer) (*profiling.Profiles, error) {
	if err := p.begin(ctx); err != nil {
		return nil, err
	}
	arms, err := c.Profile(ctx, ran, cpuSeconds, show.Step)
	show.Done()
	if err != nil {
		return nil, err
	}
	differs := func(a record.PlanArm) bool {
		return a.Clients.Closed() || len(judge.Differing(a.Clients, ran.Arms[0].Clients)) > 0
	}
	return keepProfiles(dir, arms, !slices.ContainsFunc(ran.Arms, differs))
}

// keepProfiles writes the profiles of arms to the record with their flame graphs, and compares each kind
// of every other arm with the first one's. alike tells that all arms had the same load.
func keepProfiles(dir *record.Dir, arms []runner.Captured, alike bool) (*profiling.Profiles, error) {
	kept := &profiling.Profiles{}
	var kinds []string                                   // in the order in which they were captured
	trees := make([]map[string]*profile.Tree, len(arms)) // of each arm, by kind; nil without samples
	for i, a := range arms {
		trees[i] = map[string]*profile.Tree{}
		k := profiling.Arm{Arm: a.Arm, Files: []string{}}
		for _, file := range a.Files {
			// The file as it came, for pprof and go tool trace.
			at, err := dir.WriteProfile(a.Arm, file.Name, func(w io.Writer) error { _, err := w.Write(file.Data); return err })
			if err != nil {
				return nil, err
			}
			k.Files = append(k.Files, at)
			// Profiles are named after their kind: cpu.pb.gz. The other file is the execution trace, which
			// tells how requests passed through the scheduler.
			kind, isProfile := strings.CutSuffix(file.Name, ".pb.gz")
			if !isProfile {
				k.Requests, err = profile.Requests(file.Data)
			} else if trees[i][kind], err = profile.Parse(file.Data, a.Modules); !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
			// No sample is common, as of mutexes in a server that hardly locks.
			if err != nil && !errors.Is(err, profile.ErrEmpty) {
				return nil, err
			}
		}
		if cpu, base := trees[i]["cpu"], trees[0]["cpu"]; cpu != nil {
			k.Samples, k.Seconds = cpu.Samples, cpu.Seconds
			if i > 0 && base != nil {
				// All arms share the error.
				k.Change = profile.Changes(base, cpu, stats.Alpha/float64(len(arms)-1), mostMoved)
				if !alike { // samples of different loads cannot be subtracted
					k.Leads = nil
				}
			}
		}
		kept.Arms = append(kept.Arms, k)
	}
	// draw writes one flame graph, and notes it.
	draw := func(f profiling.Flame, name string) (err error) {
		f.File, err = dir.WriteProfile(f.Arm, name, func(w io.Writer) error { return profiling.FlameSVG(w, f) })
		kept.Flames = append(kept.Flames, f)
		return err
	}
	// The arms' graphs of a kind and their differences stand together.
	var err error
	for _, kind := range kinds {
		base := trees[0][kind]
		for i, a := range arms {
			if tree := trees[i][kind]; tree != nil {
				err = errors.Join(err, draw(profiling.Flame{Kind: kind, Arm: a.Arm, Frames: tree.Layout(nil)}, kind+".svg"))
			}
		}
		for i, a := range arms {
			if tree := trees[i][kind]; i > 0 && base != nil && tree != nil {
				err = errors.Join(err, draw(profiling.Flame{Kind: kind, Arm: a.Arm, Base: arms[0].Arm, Frames: tree.Layout(base)}, kind+"-difference.svg"))
			}
		}
	}
	return kept, errors.Join(err, profiling.Keep(dir, kept))
}

// profileAgain profiles the two arms of an explanation, starting from the record, and writes the run's report again.
func (e *explaining) profileAgain(ctx context.Context, dir *record.Dir, recorded record.Plan, c *explain.Case, x *explain.Explanation) error {
	t, err := c.Profiled(x)
	if err != nil {
		return Usage(err)
	}
	o, err := e.again(ctx, dir, recorded, t)
	if err != nil {
		return err
	}
	o.Seed = c.Seed()
	planned, err := runner.Plan(t.Scenario, o)
	if err != nil {
		return &Error{Code: Failed, Err: fmt.Errorf("planning the profiles: %w", err)}
	}
	r := *c.Result
	kept, err := profileArms(ctx, e.Program, planned, dir, planned.Planned(), runner.CPUSeconds(c.Result, 0), e.show)
	if err != nil {
		return err
	}
	r.Attach(kept)
	r.Attach(x)
	return writeReports(dir, &r)
}
