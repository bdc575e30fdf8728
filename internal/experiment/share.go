package experiment

import (
	"context"
	"fmt"
	"time"

	"schedlab/internal/command"
	"schedlab/internal/load"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/window"
)

// Settings of boundShare, which finds the highest rate at which the load does not take too much of the
// CPUs that it shares with the servers.
const (
	shareSpan   = 500 * time.Millisecond // length of one measurement
	mostShares  = 4                      // most measurements
	firstShared = 2000                   // requests per second, if no rate is known yet
	shareAim    = .85                    // ratio of window.ShareLimit to aim at: the share varies between windows
	nearAim     = .1                     // relative distance from the aim that is near enough
	shareCost   = shareSpan*mostShares + 500*time.Millisecond
)

// sharer returns the first arm with a rate that the load's share of the CPUs may limit. Arms that open a
// connection for each request come first, because they cost the load most. ok is false if there is no
// such arm.
func (p *plan) sharer() (a arm, ok bool) {
	if len(p.cpus.SharedCPUs()) == 0 || p.slo != nil || p.self == "" {
		return arm{}, false
	}
	for _, next := range p.arms {
		if !next.Clients.Closed() && !p.offeredAsTold(next) && (!ok || a.KeepAlive && !next.KeepAlive) {
			a, ok = next, true
		}
	}
	return a, ok
}

// offeredAsTold reports whether the user gave an arm's rate for this run. Such a rate is never lowered.
func (p *plan) offeredAsTold(a arm) bool {
	return p.told.PerSecond > 0 && a.load.Rate == p.told
}

// boundShare finds the rate above which the load would take too much of the CPUs that it shares with the
// servers, and sets plan.bearable. It measures with a server that does nothing, because the load's cost
// per request hardly depends on the server.
func (r *runner) boundShare(ctx context.Context) error {
	p := r.plan
	a, ok := p.sharer()
	if !ok {
		return nil
	}
	r.tell("measuring what the load takes of the CPU it shares", 0, len(p.Arms))
	server, err := r.launcher.Start(ctx, []string{p.self, NullServer, "--addr", command.AddrMark}, "/")
	if err != nil {
		return fmt.Errorf("starting the null server: %w", err)
	}
	defer server.Kill()
	c := a.Clients
	planned := 0.0
	for _, other := range p.arms {
		planned = max(planned, other.Clients.Rate)
	}
	if c.Rate = planned; c.Rate == 0 {
		c.Rate = firstShared
	}
	for range mostShares {
		trace, err := p.trace(c, 0, shareSpan, r.iters)
		if err != nil {
			return err
		}
		quiet := quietCollector()
		got, err := load.Attack(ctx, p.loadOn(server.Addr, c, trace))
		quiet()
		if err != nil {
			return fmt.Errorf("measuring the load's share of the CPU: %w", err)
		}
		share := got.Proof.CPU / got.Proof.Elapsed / float64(len(p.cpus.Load))
		if share <= 0 || c.Rate == planned && share <= window.ShareLimit {
			return nil // the share is unknown or small enough
		}
		aim := shareAim * window.ShareLimit
		c.Rate = scenario.Rounded(c.Rate * aim / share)
		p.bearable = c.Rate
		if share >= (1-nearAim)*aim && share <= (1+nearAim)*aim {
			break
		}
	}
	return nil
}

// spareServers lowers rates at which the load would take too much of the CPUs that it shares with the
// servers, and raises a doubt for each rate that it lowers.
func (p *plan) spareServers() {
	told := map[float64]bool{} // rates with a doubt already
	for _, a := range p.arms {
		rate := a.Clients.Rate
		if p.bearable == 0 || a.Clients.Closed() || rate <= p.bearable || p.offeredAsTold(a) {
			continue
		}
		a.Clients.Rate = max(p.bearable, a.load.MinRate.PerSecond)
		if told[rate] {
			continue
		}
		told[rate] = true
		p.doubt(record.Fact{Code: rateShared, Values: record.Values{"rate": a.Clients.Rate, "asked": rate, "share": window.ShareLimit}, Names: record.Names{"cpus": p.cpus.SharedCPUs().Words()}})
	}
}
