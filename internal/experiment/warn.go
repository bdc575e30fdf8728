package experiment

import (
	"maps"
	"slices"
	"strings"

	"schedlab/internal/judge"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/window"
)

// warn adds the doubts that are known before anything runs.
//
// This file finds faults of a plan that no measurement can repair, by arithmetic on the settings:
// clients that starve, workers that never work, queues that never fill. A user should hear of them
// before waiting for the run.
func (p *plan) warn() {
	if p.cpus.Shared {
		f := record.Fact{Code: sharedCPUs}
		// The load can be kept small if the servers have further CPUs. Otherwise the doubt advises
		// more CPUs.
		if shared := p.cpus.SharedCPUs(); len(shared) > 0 {
			f.Names, f.Values = record.Names{"cpus": shared.Words()}, record.Values{"share": window.ShareLimit}
		}
		p.doubt(f)
	}
	for _, a := range p.Arms {
		if w, n := p.workers(a.asked), a.Clients.Connections+a.Clients.Idle; a.Role != record.Copy && p.starves(a) {
			p.doubt(record.Fact{Code: record.StickyPool, Arm: a.Name, Values: record.Values{
				"waiting": float64(n - w), "connections": float64(n), "workers": float64(w),
			}})
		}
	}
}

// starves reports whether an arm's workers keep their connections and are fewer than its
// connections. Sessions do not starve: each session ends and frees its worker. An idle connection
// keeps a worker as well.
func (p plan) starves(a arm) bool {
	return p.opts.Modes[a.Mode].Sticky && a.KeepAlive && a.Clients.Session == 0 && a.Clients.Connections+a.Clients.Idle > p.workers(a.asked)
}

// warnShort raises a doubt for each pool that has too few workers by Little's law. It needs the
// rate, so it is called after the probes, and not with warn.
func (p *plan) warnShort() {
	if !p.scenario.AsksWork() {
		return
	}
	held := (p.scenario.Workload.CPU.Mean() + p.scenario.Workload.Sleep.Mean()).Seconds()
	for _, a := range p.Arms {
		if a.Role == record.Copy || !p.opts.Modes[a.Mode].Has("workers") || a.Clients.Closed() {
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

// identify raises a doubt for each setting of an arm that cannot have an effect in this set-up,
// whatever the measurement shows. The plan shows these doubts before anything runs. A comparison
// of such a setting would find "no difference", which says nothing about the setting.
func (p *plan) identify() {
	for _, a := range p.Arms {
		if a.Role == record.Copy {
			continue
		}
		p.cannotMatter(a)
	}
	p.differentLoads()
}

// inFlight returns the largest number of requests that a load can have in flight; 0 for no limit.
// An open loop without keep-alive opens a connection for each request, so nothing limits them.
func inFlight(c record.Clients) int {
	switch {
	case c.Closed():
		return c.Connections * max(c.Pipeline, 1)
	case c.KeepAlive:
		return c.Connections
	}
	return 0
}

// cannotMatter raises the doubts about the settings of one arm.
func (p *plan) cannotMatter(planned arm) {
	a, most := planned.asked, inFlight(planned.Clients)
	mode := p.opts.Modes[a.Mode]
	add := func(f record.Fact) {
		f.Arm = a.Name
		p.doubt(f)
	}
	if mode.Has("workers") {
		workers, depth := p.workers(a), p.number(a, "queue-depth", -1)
		// With fewer requests in flight than workers, more workers change nothing.
		if most > 0 && most < workers {
			add(record.Fact{Code: idleWorkers, Values: record.Values{"requests": float64(most), "idle": float64(workers - most), "workers": float64(workers)}})
		}
		if most > 0 && depth >= 0 && workers+depth >= most && p.overflows(a) && asksOfQueue(a) {
			add(record.Fact{Code: queueNeverFull, Values: record.Values{"depth": float64(depth), "workers": float64(workers), "requests": float64(most)}})
		}
	}
	// On one P a handler that computes keeps the goroutine that reads from running, so requests
	// wait in the sockets and not in the queue (docs/decisions/history.md, 10).
	procs, cpus := p.procs(a), len(p.cpus.Server)
	if procs == 1 && mode.QueuesRequests() && asksOfQueue(a) && p.overflows(a) && p.onlyComputes() {
		add(record.Fact{Code: queueUnused})
	}
	for _, flag := range []string{"listeners", "processes", "threads"} {
		switch n := p.number(a, flag, 1); {
		// Several listeners or processes can only take turns on one CPU.
		case n > 1 && cpus == 1:
			add(record.Fact{Code: oneCPUShared, Values: record.Values{"of": float64(n)}, Names: record.Names{"setting": flag}})
		case n > 1 && procs == 1 && flag == "listeners":
			add(record.Fact{Code: onePShared, Values: record.Values{"of": float64(n)}, Names: record.Names{"setting": flag}})
		}
	}
}

// onlyComputes reports whether a handler keeps its P from start to end: it does not sleep, and it
// ends before the Go scheduler preempts it. queueing.GoTurn is the time after which it does.
func (p plan) onlyComputes() bool {
	w := p.scenario.Workload
	return p.scenario.AsksWork() && w.Sleep.Mean() == 0 && w.CPU.Mean() < queueing.GoTurn
}

// differentLoads raises doubts if the arms get different loads, or a closed loop without a rate.
func (p *plan) differentLoads() {
	differ := map[string]bool{}
	for _, a := range p.Arms {
		keys := judge.Differing(a.Clients, p.Arms[0].Clients)
		if a.load.Rate != p.Arms[0].load.Rate { // relative rates are not known yet
			keys = append(keys, "rate")
		}
		for _, key := range keys {
			differ[key] = true
		}
	}
	if len(differ) > 0 {
		p.doubt(record.Fact{Code: clientsDiffer, Names: record.Names{"settings": strings.Join(slices.Sorted(maps.Keys(differ)), ", ")}})
	}
	// A closed loop with a rate sends at its pace, unless a client still waits.
	if slices.ContainsFunc(p.Arms, func(a arm) bool { return a.load.Loop == "closed" && a.load.Rate == (scenario.Rate{}) }) {
		p.doubt(record.Fact{Code: closedLoop})
	}
}
