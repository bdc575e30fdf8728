package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"schedlab/internal/arrivals"
	"schedlab/internal/capacity"
	"schedlab/internal/expect"
	"schedlab/internal/load"
	"schedlab/internal/record"
)

// probeAll measures the throughput of every arm for which the plan needs it. Before that, it measures
// the load's share of a CPU that server and load share.
func (r *runner) probeAll(ctx context.Context) error {
	if err := r.boundShare(ctx); err != nil {
		return err
	}
	for i, a := range r.plan.arms {
		if !r.plan.probes(a) {
			continue
		}
		if same := r.plan.sameAs(i); same >= 0 {
			r.shareProbe(a.Name, r.plan.arms[same].Name)
			continue
		}
		r.tell("measuring the throughput of "+a.Name, i, len(r.plan.arms))
		x, spread, err := r.probe(ctx, a)
		if err != nil && r.plan.slo != nil && ctx.Err() == nil {
			err = r.endSearch(a.Name, 0, err)
			if _, alone := errors.AsType[*capacity.Lost](err); alone {
				continue
			}
		}
		if err != nil {
			return err
		}
		r.run.XMax[a.Name] = x
		if r.run.Apart == nil {
			r.run.Apart = map[string]float64{}
		}
		r.run.Apart[a.Name] = spread
		if spread > expect.ProbeDoubt && r.plan.slo == nil {
			r.plan.doubt(record.Fact{Code: unevenProbe, Arm: a.Name, Values: record.Values{"apart": spread}})
		}
	}
	return nil
}

// shareProbe copies the result of the probe of one arm to another arm with the same server and
// clients.
func (r *runner) shareProbe(arm, probed string) {
	if x, ok := r.run.XMax[probed]; ok {
		r.run.XMax[arm], r.run.Apart[arm] = x, r.run.Apart[probed]
	}
	if end, ok := r.run.Ends[probed]; ok {
		r.run.Ends[arm] = end
	}
}

// probe measures an arm's closed-loop throughput x, in requests per second. spread is the difference
// between the two halves of the probe, as a ratio of x. The probe is longer in a search for capacity.
// If the arm's rate is relative to the throughput, probe also rehearses that load.
func (r *runner) probe(ctx context.Context, a arm) (x, spread float64, err error) {
	p := r.plan
	server, err := r.launcher.Start(ctx, a.Command, p.scenario.ReadyPath(a.asked))
	if err != nil {
		return 0, 0, fmt.Errorf("arm %q: %w", a.Name, err)
	}
	defer server.Kill()
	r.others.Guest(server.Found)
	demands := p.scenario.Demands(cycle, p.Seed, r.iters)
	window := p.probeFor()
	// A server without a reply in the probe's window gets a longer window.
	for {
		result, err := load.Closed(ctx, load.Options{
			Clients: record.Clients{Connections: p.probeWith(), KeepAlive: a.KeepAlive, Timeout: p.Timeout},
			Targets: p.scenario.Targets(server.Addr), Trace: arrivals.Trace{Which: p.scenario.Which(), Demand: demands},
			Duration: window, Warmup: probeWarmup, Shared: p.cpus.Shared,
		})
		switch {
		case err != nil:
			return 0, 0, fmt.Errorf("arm %q: %w", a.Name, err)
		case !server.Alive():
			return 0, 0, fmt.Errorf("arm %q: %w", a.Name, server.Died("while its throughput was measured"))
		case result.Answered > 0:
			x = result.Rate()
			if err := r.rehearse(ctx, server, a, x, result.Proof.Work()/float64(result.Answered)); err != nil {
				return 0, 0, fmt.Errorf("arm %q: %w", a.Name, err)
			}
			return x, unevenness(result), nil
		case result.Failed > 0 || window >= record.Duration(p.Timeout):
			return 0, 0, fmt.Errorf("arm %q: not one good reply to %s in %v of closed-loop load (%d failed); try it with curl first", a.Name, p.scenario.Targets(server.Addr)[0].URL, window, result.Failed)
		default:
			window *= 4
		}
	}
}

// unevenness returns the difference in throughput between the two halves of a loop, as a ratio of the
// throughput of the whole. (A second loop instead would meet the requests that the first one left in a
// slow server's queue.)
func unevenness(r load.ClosedResult) float64 {
	middle := int64(probeWarmup + r.Elapsed/2)
	second := 0
	for _, q := range r.Requests {
		if q.Good() && q.Done >= middle {
			second++
		}
	}
	return math.Abs(float64(r.Answered-2*second)) / (float64(r.Answered) / 2)
}

// sameAs returns the index of an earlier arm with the same server and clients, so that one probe is
// enough for both; -1 for none.
func (p *plan) sameAs(arm int) int {
	for i := range arm {
		a, b := p.arms[i], p.arms[arm]
		if a.KeepAlive == b.KeepAlive && slices.Equal(a.Command, b.Command) && maps.Equal(a.asked.Flags, b.asked.Flags) {
			return i
		}
	}
	return -1
}
