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

// A Pack is several scenarios that run one after the other, each with a record of its own.
type Pack struct {
	Scenarios []Packed
	Total     time.Duration // a scenario that does not fit into it is not run; 0: no bound
}

// A Packed is a scenario of a pack.
type Packed struct {
	Scenario scenario.Scenario
	Lacks    error // what this machine lacks for it; nil when it can run
}

// PlanPacked plans a scenario of a pack, so that what is wrong with it is found before
// anything runs. That this machine is too small for it is no error.
func PlanPacked(s scenario.Scenario, o Options) (Packed, error) {
	_, err := Plan(s, o)
	if bad, ok := errors.AsType[*Impossible](err); ok && bad.Machine {
		return Packed{s, bad}, nil
	}
	return Packed{s, nil}, err
}

// Late says why a scenario that takes so long does not run when so much of the total is
// gone; nil when it does.
func (p Pack) Late(need, gone time.Duration) error {
	if p.Total <= 0 || gone+need <= p.Total {
		return nil
	}
	return fmt.Errorf("it takes about %v, and of --total %v there are %v left", need.Round(time.Second), p.Total, max(0, p.Total-gone).Round(time.Second))
}

// A PackedRun is what a scenario of a pack came to.
type PackedRun struct {
	Packed
	NotRun error       // why it was not begun; nil when it was
	Dir    *record.Dir // as [Comparison.Run] returns them
	Run    record.Run
	Err    error
}

// Run runs the scenarios and records them below root. It ends with the first that is cut
// short by ctx.
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
