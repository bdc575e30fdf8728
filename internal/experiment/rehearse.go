package experiment

import (
	"context"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/process"
	"schedlab/internal/scenario"
)

const (
	// openFactor is more than what a request of an open loop costs the engine, relative to
	// one of a closed loop.
	openFactor = 2
	// busiest is the highest share of the time that the engine may be at work at a rate
	// chosen here: above it requests wait for one another in the engine.
	busiest = .6
	// A rehearsal is short: the generator's own cost scatters little.
	rehearsal      = 250 * time.Millisecond
	mostRehearsals = 3
)

// rehearse finds out whether the generator can offer an arm of that closed-loop
// throughput what the plan will, and if not at which rate it can. cost is the time at
// work that a request of the closed loop took of it: where twice as much leaves it room,
// nothing is rehearsed. Of all arms the lowest rate counts.
func (r *runner) rehearse(ctx context.Context, server *process.Process, a arm, x, cost float64) error {
	p, c := r.plan, a.Clients
	share := 0.0 // an arm that is asked otherwise may have this one's probe
	for _, other := range p.arms {
		share = max(share, other.load.Rate.OfSlowest)
	}
	c.Rate = share * x
	if p.slo != nil || c.Closed() || openFactor*cost*c.Rate <= busiest {
		return nil
	}
	wanted := c.Rate
	for range mostRehearsals {
		trace, err := p.trace(c, 0, min(rehearsal, p.span()), r.iters)
		if err != nil {
			return err
		}
		quiet := quietCollector()
		result, err := load.Attack(ctx, p.openLoop(server.Addr, c, trace))
		quiet()
		switch {
		case !server.Alive():
			return server.Died("while its load was rehearsed")
		case err != nil:
			return err
		case result.Proof.Sent == 0:
			return nil
		}
		each := result.Proof.Work().Seconds() / float64(result.Proof.Sent)
		if each*c.Rate <= busiest {
			break
		}
		c.Rate = scenario.Rounded(busiest / each)
	}
	if c.Rate < wanted && (r.sendable == 0 || c.Rate < r.sendable) {
		r.sendable = c.Rate
	}
	return nil
}
