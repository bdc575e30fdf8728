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

// A Pack is a list of scenarios that run one after the other, each with its own record. It does
// not change while it runs.
type Pack struct {
	Scenarios []Packed
	Total     time.Duration // limit of the whole pack: a scenario that does not fit is not run; 0: no limit
}

// A Packed is a scenario of a pack, planned before anything runs so that its faults are found.
// Either Planned or Lacks is set. Scenario is the scenario itself.
type Packed struct {
	Scenario scenario.Scenario
	Planned  *Comparison // nil if the scenario is not run
	Lacks    error       // why this machine cannot run the scenario; nil when it can
}

// PlanPacked plans a scenario of a pack. If the machine is too small for the scenario, that is no
// error but is noted in Lacks. So a pack runs on a small machine, too, as far as it can.
func PlanPacked(s scenario.Scenario, o Options) (Packed, error) {
	c, err := Plan(s, o)
	if bad, ok := errors.AsType[*Impossible](err); ok && bad.Machine {
		return Packed{Scenario: s, Lacks: bad}, nil
	}
	return Packed{Scenario: s, Planned: c}, err
}

// Late returns an error if a scenario that takes need does not fit into Total after the time gone.
// The error tells the time that is left.
func (p Pack) Late(need, gone time.Duration) error {
	if p.Total <= 0 || gone+need <= p.Total {
		return nil
	}
	return fmt.Errorf("it takes about %v, and of --total %v there are %v left", need.Round(time.Second), p.Total, max(0, p.Total-gone).Round(time.Second))
}

// A PackedRun is the outcome of a scenario of a pack. Dir, Run and Err are the results of
// [Comparison.Run]. Dir is nil if nothing was recorded.
type PackedRun struct {
	Packed
	NotRun error // why the scenario was not started; nil when it was
	Dir    *record.Dir
	Run    record.Run
	Err    error
}

// Run returns an iterator that runs the scenarios and records them below root. It ends after the
// first scenario that ctx cuts short. It yields each scenario once, in order, those not run
// included. Each scenario gets no more than the time that is left of Total. The iterator runs on
// the caller's goroutine.
func (p Pack) Run(ctx context.Context, root string, progress Progress) iter.Seq[PackedRun] {
	return func(yield func(PackedRun) bool) {
		began := time.Now()
		for _, s := range p.Scenarios {
			r := PackedRun{Packed: s, NotRun: s.Lacks}
			gone := time.Since(began)
			if r.NotRun == nil {
				r.NotRun = p.Late(record.Duration(s.Planned.plan.Estimate), gone)
			}
			if r.NotRun == nil {
				c := s.Planned
				if p.Total > 0 {
					c = c.Within(p.Total - gone)
				}
				r.Dir, r.Run, r.Err = c.Run(ctx, root, progress)
			}
			if !yield(r) || ctx.Err() != nil {
				return
			}
		}
	}
}
