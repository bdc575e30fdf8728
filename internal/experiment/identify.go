package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"schedlab/internal/arrivals"
	"schedlab/internal/judge"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// identify raises a doubt for each setting of an arm that cannot have an effect in this set-up,
// whatever the measurement shows. The plan shows these doubts before anything runs.
func (p *plan) identify() {
	for _, a := range p.arms {
		if a.Role == record.Copy {
			continue
		}
		p.cannotMatter(a.asked, a.Clients)
	}
	p.differentLoads()
}

// inFlight returns the largest number of requests that a load can have in flight; 0 for no limit.
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
func (p *plan) cannotMatter(a scenario.Arm, c record.Clients) {
	add := func(f record.Fact) {
		f.Arm = a.Name
		p.doubt(f)
	}
	most, mode := inFlight(c), p.modes[a.Mode]
	if mode.Has("workers") {
		workers, depth := p.workers(a), p.number(a, "queue-depth", -1)
		if most > 0 && most < workers {
			add(record.Fact{Code: idleWorkers, Values: record.Values{"requests": float64(most), "idle": float64(workers - most), "workers": float64(workers)}})
		}
		if most > 0 && depth >= 0 && workers+depth >= most && p.overflows(a) && asksOfQueue(a) {
			add(record.Fact{Code: queueNeverFull, Values: record.Values{"depth": float64(depth), "workers": float64(workers), "requests": float64(most)}})
		}
	}
	procs, cpus := p.procs(a), len(p.cpus.Server)
	if procs == 1 && mode.QueuesRequests() && asksOfQueue(a) && p.overflows(a) && p.onlyComputes() {
		add(record.Fact{Code: queueUnused})
	}
	for _, flag := range []string{"listeners", "processes", "threads"} {
		switch n := p.number(a, flag, 1); {
		case n > 1 && cpus == 1:
			add(record.Fact{Code: oneCPUShared, Values: record.Values{"of": float64(n)}, Names: record.Names{"setting": flag}})
		case n > 1 && procs == 1 && flag == "listeners":
			add(record.Fact{Code: onePShared, Values: record.Values{"of": float64(n)}, Names: record.Names{"setting": flag}})
		}
	}
}

// onlyComputes reports whether a handler keeps its P from start to end: it does not sleep, and it ends
// before the Go scheduler preempts it.
func (p *plan) onlyComputes() bool {
	w := p.scenario.Workload
	return p.scenario.AsksWork() && w.Sleep.Mean() == 0 && w.CPU.Mean() < queueing.GoTurn
}

// policy returns the overflow policy of an arm's queue; "" without a queue.
func (p *plan) policy(a scenario.Arm) string {
	return cmp.Or(a.Flags["overflow"], p.modes[a.Mode].Overflow)
}

// overflows reports whether an arm loses requests when its queue is full.
func (p *plan) overflows(a scenario.Arm) bool {
	policy := p.policy(a)
	return policy != "" && policy != "block"
}

// asksOfQueue reports whether an arm sets the overflow policy or the depth of its queue.
func asksOfQueue(a scenario.Arm) bool {
	return a.Flags["overflow"] != "" || a.Flags["queue-depth"] != ""
}

// number returns the value of an integer flag of an arm, or otherwise when the flag is not set.
func (p *plan) number(a scenario.Arm, flag string, otherwise int) int {
	var n int
	if _, err := fmt.Sscan(a.Flags[flag], &n); err != nil {
		return otherwise
	}
	return n
}

// differentLoads raises doubts if the arms get different loads, or a closed loop without a rate.
func (p *plan) differentLoads() {
	differ := map[string]bool{}
	for _, a := range p.arms {
		keys := judge.Differing(a.Clients, p.Arms[0].Clients)
		if a.load.Rate != p.arms[0].load.Rate { // relative rates are not known yet
			keys = append(keys, "rate")
		}
		for _, key := range keys {
			differ[key] = true
		}
	}
	if len(differ) > 0 {
		p.doubt(record.Fact{Code: clientsDiffer, Names: record.Names{"settings": strings.Join(slices.Sorted(maps.Keys(differ)), ", ")}})
	}
	if slices.ContainsFunc(p.arms, func(a arm) bool { return a.load.Loop == "closed" && a.load.Rate == (scenario.Rate{}) }) {
		p.doubt(record.Fact{Code: closedLoop})
	}
}

// settleArrivals returns an error if arrivals cannot be drawn at the chosen rate. For arrivals with a
// fixed rate, it replaces the arm's rate by their mean rate.
func (p *plan) settleArrivals() error {
	for _, a := range p.arms {
		c := a.Clients
		if c.Closed() || c.Rate == 0 {
			continue
		}
		if p.scenario.Log != nil {
			if err := p.checkReplay(c.Rate); err != nil {
				return err
			}
			continue
		}
		arrive, err := p.arrivals(c)
		if err != nil {
			return impossible("arm %q: %v", a.Name, err)
		}
		span := p.span()
		if ends := arrive.Ends(); arrive.Kind == arrivals.KindTrace && ends < span {
			return impossible("%s ends after %v, and a trial takes %v; shorten --window, or take more of it", arrive.File, ends, span)
		}
		if arrive.Fixed() {
			a.Clients.Rate = arrive.MeanRate(c.Rate, span)
		}
	}
	p.Rate = p.Arms[0].Clients.Rate
	return nil
}
