package runner

import (
	"context"
	"time"

	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/record"
)

// A strategy is how a plan is made, measured and judged: in blocks of all arms, by a race in blocks of fewer and fewer arms, or by a search
// in windows of single arms.
type strategy interface {
	// Record notes in a plan what a reader of the record needs.
	Record(p *record.Plan)
	// Judge computes the result from the record.
	Judge(dir *record.Dir, run record.Run) (record.Result, error)
	// accept returns the scenario and the options that the strategy plans with, or why it cannot.
	accept(s scenario.Scenario, o Options) (scenario.Scenario, Options, error)
	// cast makes the plan's arms from the scenario's, in order.
	cast(asked []scenario.Arm) ([]contestant, error)
	// schedule sets windows, blocks and budget of a plan that has its arms.
	schedule(p *plan) error
	// lacks reports whether the arms that serve all their clients are too few. Then it returns what the strategy is called and
	// which arms it needs, for a message; else both are "".
	lacks(serving []arm) (what, which string)
	// policy returns what the steps before the first trial need to know of it.
	policy() policy
	// measure takes all measurements after the probes; found has the results of the probes. After an error the run
	// keeps the measurements made until then.
	measure(ctx context.Context, l lab, p plan, found findings, dir *record.Dir, run record.Run) (record.Run, error)
}

// A contestant is an arm of the scenario with its part in the plan.
type contestant struct {
	scenario.Arm
	role record.Role
}

// A policy is what a strategy asks of the steps before its first trial.
type policy struct {
	probe   time.Duration // how long the throughput of every arm is probed; 0: only where the plan needs it, and as long as that takes
	probes  int           // how often an arm is probed at most, until others took next to nothing of its CPU time
	first   bool          // only the first arm is probed: the rates follow from it
	loses   bool          // an arm that cannot be measured is left out, and the others go on; else it ends the run
	rates   bool          // the arms are offered the rates of the plan; else the strategy chooses rates
	bounded bool          // the budget ends the run
	spare   float64       // how many times the blocks of a first look must fit into the budget before windows grow; else 0
}

// strategyOf returns the strategy that the options ask for.
func strategyOf(o Options) strategy {
	switch {
	case o.Search != nil:
		return bySearch{o.Search}
	case o.Race != nil:
		return byRace{inBlocks{o.Race}, o.Race}
	}
	return inBlocks{o.Aim}
}
