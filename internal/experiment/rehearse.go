package experiment

import (
	"context"
	"time"

	"schedlab/internal/load"
)

const (
	// openFactor is above what a request of an open loop costs the generator, in those
	// of a closed loop: 1.8 was seen.
	openFactor = 4
	// roomy is the share of its CPUs that the generator may need for a rate chosen
	// here: windows scatter, and generatorLimit refuses those above it.
	roomy = .75 * generatorLimit
	// A rehearsal is short: the generator's own cost scatters little.
	rehearsal      = 250 * time.Millisecond
	mostRehearsals = 3
)

// rehearse finds out whether the generator can offer an arm of that closed-loop
// throughput what the plan will, and if not at which rate it can. cost is the CPU time
// that a request of the closed loop took of it: where four times as much leaves it
// room, nothing is rehearsed. Of all arms the lowest rate counts.
func (r *runner) rehearse(ctx context.Context, server *process, arm int, x, cost float64) error {
	p, c := r.plan, r.plan.Arms[arm].Clients
	share := 0.0 // an arm that is asked otherwise may have this one's probe
	for _, l := range p.loads {
		share = max(share, l.Rate.OfSlowest)
	}
	room := roomy * float64(loadCPUs(r.run.Env))
	c.Rate = share * x
	if p.slo != nil || c.Closed() || openFactor*cost*c.Rate <= room {
		return nil
	}
	wanted := c.Rate
	for range mostRehearsals {
		trace, err := p.traceOf(c, 0, min(rehearsal, seconds(p.Warmup+p.Window)), r.iters)
		if err != nil {
			return err
		}
		quiet := quietCollector()
		result, err := load.Attack(ctx, p.openLoop(server.addr, c, trace))
		quiet()
		switch {
		case !server.alive():
			return server.died("while its load was rehearsed")
		case err != nil:
			return err
		case result.Proof.Sent == 0:
			return nil
		}
		each := result.Proof.CPU.Seconds() / float64(result.Proof.Sent)
		if each*c.Rate <= room {
			break
		}
		c.Rate = rounded(room / each)
	}
	if c.Rate < wanted && (p.sendable == 0 || c.Rate < p.sendable) {
		p.sendable = c.Rate
	}
	return nil
}
