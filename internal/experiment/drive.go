package experiment

import (
	"context"
	"math/rand/v2"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/host"
	"schedlab/internal/load"
	"schedlab/internal/record"
	"schedlab/internal/workload"
)

// cycle is how many demands a closed loop draws. Its requests use them in turn.
const cycle = 4096

// An observed holds the clients' view of a trial.
type observed struct {
	requests []record.Request
	stamps   []record.Stamps      // the client's stamps of each request
	place    func(seq uint64) int // index of the request with that number, -1 for none
	start    time.Time            // zero of the times in requests and stamps
	client   record.ClientSide
	ran      bool // false when the load ran out of ports or descriptors
}

// drive sends the arm's load to the server while clocks watches both.
func (t *trial) drive(ctx context.Context, clocks *host.Watcher) (observed, error) {
	if t.clients.Closed() {
		return t.driveClosed(ctx, clocks)
	}
	p, c := t.plan, t.clients
	trace, err := p.trace(c, t.Block-1, p.span(), t.iters)
	if err != nil {
		return observed{}, err
	}
	o := p.loadOn(t.server.Addr, c, trace)
	o.Started, o.Moments, o.Moment, o.Closing = clocks.Begin, clocks.Moments(), clocks.Moment, clocks.Closing
	result, err := load.Attack(ctx, o)
	if err != nil {
		return observed{}, err
	}
	return seen(result, inOrder(len(result.Stamps))), nil
}

// seen returns a load's result as the clients' view. place maps a request's number to its index.
func seen(r *load.Result, place func(seq uint64) int) observed {
	return observed{r.Requests, r.Stamps, place, r.Start, record.ClientSide{
		Dialled: r.Dialled, ConnAnswers: r.ConnAnswers, Asked: r.Asked, Starved: r.Starved,
		FirstReply: r.FirstReply.Seconds(), IdleLost: r.Idle.Lost, Proof: &r.Proof.Proof,
	}, r.Exhausted == 0}
}

// loadOn returns the options of a load that sends trace to the server at addr.
func (p *plan) loadOn(addr string, c record.Clients, trace arrivals.Trace) load.Options {
	return load.Options{Clients: c, Targets: p.scenario.Targets(addr), Trace: trace, Shared: p.cpus.Shared}
}

// driveClosed is drive for a closed loop.
func (t *trial) driveClosed(ctx context.Context, clocks *host.Watcher) (observed, error) {
	p, c := t.plan, t.clients
	o := p.loadOn(t.server.Addr, c, arrivals.Trace{Which: p.scenario.Which(), Demand: p.scenario.Demands(cycle, t.Seed, t.iters)})
	o.Warmup, o.Duration, o.Seed = record.Duration(p.Warmup), record.Duration(p.Window), t.Seed
	o.Started, o.Moments, o.Moment, o.Closing = clocks.Begin, clocks.Moments(), clocks.Moment, clocks.Closing
	if think := t.arm.load.Think; think != (workload.Dist{}) {
		o.Pause = func(rng *rand.Rand) time.Duration { return think.Sample(workload.NewRand(rng.Uint64())) }
	}
	result, err := load.Closed(ctx, o)
	if err != nil {
		return observed{}, err
	}
	got := seen(&result.Result, bySeq(result.Seqs))
	if got.client.Pending = result.Cut; c.Session > 0 {
		got.client.Sessions = load.SumSessions(result.Sessions)
	}
	return got, nil
}
