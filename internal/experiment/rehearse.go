package experiment

import (
	"context"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/process"
	"schedlab/internal/scenario"
)

const (
	// openFactor is an upper limit of the ratio of the engine's cost per request in an open loop to that
	// in a closed loop.
	openFactor = 2
	// busiest is the highest ratio of the time that the engine may be busy at a rate chosen here. At a
	// higher ratio, requests wait for each other in the engine.
	busiest = .6
	// A rehearsal is short, because the generator's cost varies little.
	rehearsal      = 250 * time.Millisecond
	mostRehearsals = 3
)

// rehearse finds out whether the generator can send the planned load to an arm with the closed-loop
// throughput x, in requests per second. If not, it lowers r.sendable to the rate that the generator can
// send, if that is the lowest of all arms. cost is the generator's busy time, in seconds, per request of
// the closed loop. If twice that cost leaves enough room, nothing is rehearsed.
func (r *runner) rehearse(ctx context.Context, server *process.Process, a arm, x, cost float64) error {
	p, c := r.plan, a.Clients
	share := 0.0 // an arm with another rate may share this arm's probe
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
		result, err := load.Attack(ctx, p.loadOn(server.Addr, c, trace))
		quiet()
		switch {
		case !server.Alive():
			return server.Died("while its load was rehearsed")
		case err != nil:
			return err
		case result.Proof.Sent == 0:
			return nil
		}
		each := result.Proof.Work() / float64(result.Proof.Sent)
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
