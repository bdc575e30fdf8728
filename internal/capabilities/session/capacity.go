package session

import (
	"context"
	"slices"

	"schedlab/internal/capabilities/capacity"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
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
	c.o.Search = capacity.Objective{SLO: slo}
	if c.o.Site == nil { // else the line would ask elsewhere
		c.o.Command = c.Command
	}
	machine, planned, err := c.planSearch(ctx, s)
	if err == nil {
		// A search in which every arm starves clients has no answer.
		err = planned.CanAnswer()
	}
	if err != nil {
		return none, err
	}
	if c.DryRun {
		c.show.Machine(machine.Line)
		return Answer{Plans: []Plan{{Packed: runner.Packed{Scenario: s, Planned: planned}}}}, nil
	}
	waited, err := beforeStart(ctx, c.o, c.WaitIdle, show)
	if err == nil && waited { // the machine is another one, and the calibration was disturbed
		machine, planned, err = c.planSearch(ctx, s)
	}
	if err != nil {
		return none, err
	}
	c.show.Machine(machine.Line)
	result, err := c.carryOut(ctx, planned)
	// One arm with an interval is an answer, though others may have none. The interval of an arm that
	// starves clients is none.
	if err == nil && !slices.ContainsFunc(result.(*capacity.Search).Arms, func(a capacity.ArmCapacity) bool { return a.Outcome.Decided() && a.Starves.None() }) {
		err = Exit(NoAnswer)
	}
	return Answer{Result: result}, err
}

// planSearch looks at the machine and plans a search.
func (c *conduct) planSearch(ctx context.Context, s scenario.Scenario) (machine Machine, planned *runner.Comparison, err error) {
	if machine, c.o.Machine, err = seeMachine(ctx, c.o, c.Out); err != nil {
		return machine, nil, err
	}
	c.o.Iters = workload.Calibrate() // one calibration for all arms and windows
	planned, err = runner.Plan(s, c.o)
	return machine, planned, err
}
