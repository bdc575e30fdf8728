package experiment

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// A Pack is a list of scenarios that run one after the other, each with its own record.
type Pack struct {
	Scenarios []Packed
	Total     time.Duration // limit of the whole pack: a scenario that does not fit is not run; 0: no limit
}

// A Packed is a scenario of a pack.
type Packed struct {
	Scenario scenario.Scenario
	Lacks    error // why this machine cannot run the scenario; nil when it can
}

// PlanPacked plans a scenario of a pack, so that faults in it are found before anything runs. If the
// machine is too small for the scenario, that is no error but is noted in Lacks.
func PlanPacked(s scenario.Scenario, o Options) (Packed, error) {
	_, err := Plan(s, o)
	if bad, ok := errors.AsType[*Impossible](err); ok && bad.Machine {
		return Packed{s, bad}, nil
	}
	return Packed{s, nil}, err
}

// Late returns an error if a scenario that takes need does not fit into Total after the time gone.
func (p Pack) Late(need, gone time.Duration) error {
	if p.Total <= 0 || gone+need <= p.Total {
		return nil
	}
	return fmt.Errorf("it takes about %v, and of --total %v there are %v left", need.Round(time.Second), p.Total, max(0, p.Total-gone).Round(time.Second))
}

// A PackedRun is the outcome of a scenario of a pack. Dir, Run and Err are the results of
// [Comparison.Run].
type PackedRun struct {
	Packed
	NotRun error // why the scenario was not started; nil when it was
	Dir    *record.Dir
	Run    record.Run
	Err    error
}

// Run returns an iterator that runs the scenarios and records them below root. It ends after the first
// scenario that ctx cuts short.
func (p Pack) Run(ctx context.Context, o Options, root string, progress Progress) iter.Seq[PackedRun] {
	return func(yield func(PackedRun) bool) {
		began := time.Now()
		for _, s := range p.Scenarios {
			if !yield(p.run(ctx, s, o, root, progress, began)) || ctx.Err() != nil {
				return
			}
		}
	}
}

// run plans and runs one scenario of the pack, within the rest of the total.
func (p Pack) run(ctx context.Context, s Packed, o Options, root string, progress Progress, began time.Time) PackedRun {
	r := PackedRun{Packed: s, NotRun: s.Lacks}
	if r.NotRun != nil {
		return r
	}
	c, err := Plan(s.Scenario, o)
	if err != nil {
		r.Err = err
		return r
	}
	gone := time.Since(began)
	if r.NotRun = p.Late(record.Duration(c.Planned().Estimate), gone); r.NotRun == nil {
		if p.Total > 0 {
			c.plan.budget = min(c.plan.budget, p.Total-gone)
		}
		r.Dir, r.Run, r.Err = c.Run(ctx, root, progress)
	}
	return r
}
