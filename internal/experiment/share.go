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

// How the rate is found at which the load takes no more of the CPUs that it shares with the
// servers than it may.
const (
	shareSpan   = 500 * time.Millisecond
	mostShares  = 4    // of them
	firstShared = 2000 // per second, where no rate is known yet
	shareAim    = .85  // of window.ShareLimit: the share scatters from window to window
	nearAim     = .1   // as near as this is near enough
	shareCost   = shareSpan*mostShares + 500*time.Millisecond
)

// sharer is the first arm whose rate the load's share of the CPUs may bound, those that
// open a connection for each request before others, because theirs cost the load most; not
// ok when there is none.
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

// offeredAsTold reports whether an arm's rate is one that the user gave for this run: it is
// offered whatever it takes.
func (p *plan) offeredAsTold(a arm) bool {
	return p.told.PerSecond > 0 && a.load.Rate == p.told
}

// boundShare finds the rate above which the load would take too much of the CPUs that it
// shares with the servers. It asks a server that does nothing, because what a request costs
// the load hardly depends on who answers it.
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
		got, err := load.Attack(ctx, p.openLoop(server.Addr, c, trace))
		quiet()
		if err != nil {
			return fmt.Errorf("measuring the load's share of the CPU: %w", err)
		}
		share := got.Proof.CPU.Seconds() / got.Proof.Elapsed.Seconds() / float64(len(p.cpus.Load))
		if share <= 0 || c.Rate == planned && share <= window.ShareLimit {
			return nil // not known, or there is room
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

// spareServers lowers rates at which the load would take too much of the CPUs that it shares
// with the servers, and says so.
func (p *plan) spareServers() {
	told := map[float64]bool{} // of which rates
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
