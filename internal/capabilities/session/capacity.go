package session

import (
	"context"
	"slices"

	"schedlab/internal/capabilities/capacity"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/workload"
)

// Run plans the search of all arms and carries it out, by the same steps as a comparison. The code is NoAnswer if no
// arm has an answer.
func (r Capacity) Run(ctx context.Context, p Program, show Observer) (none Answer, err error) {
	slo, err := stats.ParseSLO(r.SLO)
	if err != nil {
		return none, Usagef("--slo: %w", err)
	}
	c, err := newConduct(p, r.Common, show)
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return none, err
	}
	s, err := c.read(append(slices.Clip(c.Scenarios), "capacity")[0])
	if err == nil {
		s, err = c.withArms(s)
	}
	if err == nil {
		err = c.stayLocal(ctx, s.Arms)
	}
	if err != nil {
		return none, err
	}
	// One calibration for all arms and windows.
	c.o.Iters, c.o.Search = workload.Calibrate(), capacity.Objective{SLO: slo}
	planned, err := runner.Plan(s, c.o)
	if err == nil {
		// A search in which every arm starves clients has no answer.
		err = planned.CanAnswer()
	}
	if err != nil {
		return none, err
	}
	if c.DryRun {
		return Answer{Plans: []Plan{{Packed: runner.Packed{Scenario: s, Planned: planned}}}}, nil
	}
	waited, err := beforeStart(ctx, c.o, c.WaitIdle, show)
	if err == nil && waited { // the calibration was disturbed
		c.o.Iters = workload.Calibrate()
		planned, err = runner.Plan(s, c.o)
	}
	if err != nil {
		return none, err
	}
	result, err := c.carryOut(ctx, planned)
	// One arm with an interval is an answer, though others may have none. The interval of an arm that
	// starves clients is none.
	if err == nil && !slices.ContainsFunc(result.(*capacity.Search).Arms, func(a capacity.ArmCapacity) bool { return a.Outcome.Decided() && a.Starves.None() }) {
		err = Exit(NoAnswer)
	}
	return Answer{Result: result}, err
}
