package experiment

import (
	"cmp"
	"slices"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/window"
)

// warn adds the doubts that are known before anything runs.
func (p *plan) warn() {
	if p.cpus.Shared {
		f := record.Fact{Code: sharedCPUs}
		if shared := p.cpus.SharedCPUs(); len(shared) > 0 {
			f.Names, f.Values = record.Names{"cpus": shared.Words()}, record.Values{"share": window.ShareLimit}
		}
		p.doubt(f)
	}
	for _, a := range p.arms {
		if w, n := p.workers(a.asked), a.Clients.Connections+a.Clients.Idle; a.Role != record.Copy && p.starves(a) {
			p.doubt(record.Fact{Code: record.StickyPool, Arm: a.Name, Values: record.Values{
				"waiting": float64(n - w), "connections": float64(n), "workers": float64(w),
			}})
		}
	}
}

// starves reports whether an arm's workers keep their connections and are fewer than its connections.
// Sessions do not starve: each session ends and frees its worker.
func (p *plan) starves(a arm) bool {
	return p.modes[a.Mode].Sticky && a.KeepAlive && a.Clients.Session == 0 && a.Clients.Connections+a.Clients.Idle > p.workers(a.asked)
}

// CanAnswer returns an [*Impossible] error if the baseline, or every challenger, starves clients: no two
// arms then have times to compare. A scenario with expectations is never refused, because it may ask
// for just that.
func (c *Comparison) CanAnswer() error {
	p := c.plan
	fed := func(a arm) bool { return a.Role == record.Challenger && !p.starves(a) }
	if len(p.Expect) > 0 || !p.starves(p.arms[0]) && slices.ContainsFunc(p.arms, fed) {
		return nil
	}
	first := p.arms[slices.IndexFunc(p.arms, p.starves)]
	n := first.Clients.Connections + first.Clients.Idle
	return impossible("this comparison cannot answer: a worker keeps its connection until that closes, so %s starves %d of %d kept connections, and no two arms serve all of theirs; "+
		"give --close (or --vary keepalive=false), or two arms of workers=%d or more", first.Name, n-p.workers(first.asked), n, n)
}

// warnShort raises a doubt for each pool that has too few workers by Little's law.
func (p *plan) warnShort() {
	if !p.scenario.AsksWork() {
		return
	}
	held := (p.scenario.Workload.CPU.Mean() + p.scenario.Workload.Sleep.Mean()).Seconds()
	for _, a := range p.arms {
		if a.Role == record.Copy || !p.modes[a.Mode].Has("workers") || a.Clients.Closed() {
			continue
		}
		rate := a.Clients.Rate
		if w, need := p.workers(a.asked), queueing.Workers(rate, held); w < need {
			p.doubt(record.Fact{Code: tooFewWorkers, Arm: a.Name, Values: record.Values{
				"workers": float64(w), "rate": rate, "held": held, "needed": float64(need),
			}})
		}
	}
}

// workers returns how many workers, or event loops, an arm will have.
func (p *plan) workers(a scenario.Arm) int {
	switch mode := p.modes[a.Mode]; {
	case mode.Has("workers"):
		return cmp.Or(p.number(a, "workers", 0), 2*p.procs(a))
	case mode.Has("listeners"):
		return cmp.Or(p.number(a, "listeners", 0), p.procs(a))
	}
	return 1
}
