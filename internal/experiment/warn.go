package experiment

import (
	"cmp"
	"fmt"

	"schedlab/internal/prose"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// warn adds what can be told before anything runs.
func (p *plan) warn() {
	if p.cpus.Shared {
		p.doubt("", "server and load share CPUs: the load disturbs what it measures; use --pin auto on two or more CPUs")
	}
	for _, a := range p.arms {
		if a.Role == record.Copy || !p.modes[a.Mode].Sticky || !a.KeepAlive || a.Clients.Session > 0 { // a session's end gives the next its turn
			continue
		}
		if w, n := p.workers(a.asked), a.Clients.Connections+a.Clients.Idle; n > w {
			p.doubt(a.Name, "a sticky pool: %d of %d kept connections are never served while %s the others", n-w, n, holding(w))
		}
	}
}

// holding is so many workers that hold something.
func holding(workers int) string {
	if workers == 1 {
		return "1 worker holds"
	}
	return fmt.Sprintf("%d workers hold", workers)
}

// warnShort says when Little's law leaves a pool short of workers.
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
			p.doubt(a.Name, "%s cannot keep up: by Little's law %.0f/s x %.1f ms held needs %d", prose.Plural(w, "worker"), rate, 1e3*held, need)
		}
	}
}

// workers is how many workers an arm will have, or event loops.
func (p *plan) workers(a scenario.Arm) int {
	switch mode := p.modes[a.Mode]; {
	case mode.Has("workers"):
		return cmp.Or(p.number(a, "workers", 0), 2*p.procs(a))
	case mode.Has("listeners"):
		return cmp.Or(p.number(a, "listeners", 0), p.procs(a))
	}
	return 1
}
