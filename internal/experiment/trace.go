package experiment

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/judge"
	"schedlab/internal/record"
)

// arrivals returns the arrival process of an open loop, ready to draw from. A trace file is read once,
// during planning; every trial draws from its content then.
func (p *plan) arrivals(l record.Clients) (a arrivals.Process, err error) {
	a, known := p.opened[l.Arrivals]
	if !known {
		if a, err = arrivals.Parse(l.Arrivals); err != nil {
			return a, err
		}
		if a, err = a.Open(p.iters); err != nil {
			return a, err
		}
		p.opened[l.Arrivals] = a
	}
	a = a.WithConnections(l.Connections)
	return a, a.Check(l.Rate)
}

// trace returns the arrivals of clients in a block, which are the same for every arm with the same load.
func (p *plan) trace(l record.Clients, block int, span time.Duration, iters float64) (arrivals.Trace, error) {
	seed := blockSeed(p.Seed, block)
	if p.scenario.Log != nil {
		return p.scenario.Replay(block, l.Rate, span), nil
	}
	a, err := p.arrivals(l)
	if err != nil {
		return arrivals.Trace{}, err
	}
	t := a.Draw(l.Rate, span, rand.New(rand.NewPCG(seed, 1)))
	if t.Demand == nil {
		t.Demand = p.scenario.Demands(len(t.At), seed, iters)
	}
	return t, nil
}

// expect records for each arm the figures of its ideal scheduler, averaged over many draws of the
// arrivals. They show how lucky the arrivals of a block are.
func (p *plan) expect(ctx context.Context, env record.Env, iters float64) error {
	for i := range p.Arms {
		a := &p.Arms[i]
		if p.scenario.Log != nil || !p.scenario.AsksWork() {
			continue
		}
		same := slices.IndexFunc(p.Arms[:i], func(b record.PlanArm) bool {
			return a.Station != nil && b.Station != nil && *a.Station == *b.Station && a.Clients == b.Clients
		})
		if same >= 0 {
			a.Expected = p.Arms[same].Expected
			continue
		}
		var err error
		a.Expected, err = judge.Expected(p.Plan, *a, env, func(draw int) ([]record.Request, error) {
			t, err := p.trace(a.Clients, beyondBlocks+draw, p.span(), iters)
			requests := make([]record.Request, len(t.At))
			for k, at := range t.At {
				d := t.Demand[k%max(len(t.Demand), 1)]
				requests[k] = record.Request{Scheduled: int64(at), Iters: d.Iters, Sleep: int64(d.Sleep)}
			}
			return requests, cmp.Or(err, ctx.Err())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// beyondBlocks is a block number that no run reaches.
const beyondBlocks = 1 << 20

// blockSeed returns the seed of a block. The factor is 2^64 divided by the golden ratio, as in splitmix64.
func blockSeed(seed uint64, block int) uint64 { return seed + uint64(block)*0x9e3779b97f4a7c15 }
