package experiment

import (
	"cmp"
	"fmt"
	"os"
	"time"

	"schedlab/internal/host"
	"schedlab/internal/prose"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// stationOf returns an arm's scheduling as a station of queueing theory, for the record.
//
// This file translates an arm's flags into queueing theory. The flags that matter are workers,
// threads, listeners, processes, the queue's depth and policy, and GOMAXPROCS; each falls back on
// the default of the server, so that the station is what will really run. What theory cannot
// express makes the station unknown, with the reason.
func (p plan) stationOf(a scenario.Arm) record.Station {
	mode := p.opts.Modes[a.Mode]
	s := record.Station{
		Kind: mode.Station, Cores: min(p.threads(a), len(p.cpus.Server)),
		Sticky: mode.Sticky, Adaptive: mode.Adaptive, Unknown: p.unknown(a),
	}
	// Goroutines are as many as there are requests.
	if s.Kind != queueing.Goroutines {
		s.Workers = p.workers(a)
	}
	p.queueOf(a, &s)
	return s
}

// queueOf adds the limits of an arm's queue to s, where they can have an effect. A limit that can
// never be reached is left out, because theory is simpler without it.
func (p plan) queueOf(a scenario.Arm, s *record.Station) {
	mode := p.opts.Modes[a.Mode]
	s.Pick, s.Steal = a.Flags["queue"], a.Flags["steal"] == "true"
	wait := length(a, "wait", mode.Wait())
	// Without any wait, the requests in service are all that there is room for.
	if s.Patience = wait.Seconds(); wait == 0 && mode.Has("wait") { // refused at once
		s.Places, s.Overflow = s.Workers, "reject"
	}
	policy, depth := p.policy(a), p.number(a, "queue-depth", -1)
	// Without a flag the server uses its own depth, which depends on the workers.
	if depth < 0 && p.overflows(a) && mode.Depth != nil {
		depth = mode.Depth(s.Workers)
	}
	switch {
	case depth < 0:
	// depth counts all queues together. Each worker has its part, and one place more in service.
	case s.Kind == queueing.PerWorker:
		s.Places, s.Overflow = depth/s.Workers+1, policy
	case p.overflows(a):
		s.Places, s.Overflow = depth+s.Workers, policy
	}
	// The server derives an interval from the target in the same way.
	if s.Adaptive || policy == "codel" {
		target := length(a, "codel-target", queueing.CoDelTarget)
		s.Target, s.Interval = target.Seconds(), length(a, "codel-interval", max(codelTargets*target, queueing.CoDelInterval)).Seconds()
	}
}

// codelTargets is the ratio of CoDel's interval to its target in a server that is given only a
// target. It is the ratio of CoDel's usual settings, 100 ms to 5 ms.
const codelTargets = 20

// unknown returns the reason why the theory has no ideal scheduler for an arm; "" if it has one.
// The report shows the reason as it is, after the arm.
func (p plan) unknown(a scenario.Arm) string {
	mode, procs, cpus := p.opts.Modes[a.Mode], p.threads(a), len(p.cpus.Server)
	switch {
	case mode.Adaptive && p.policy(a) == "drop-oldest":
		return "its queue refuses by age and drops the oldest, too"
	case mode.Has("processes") && cmp.Or(p.number(a, "processes", 0), p.procs(a)) > 1:
		return "which process has a connection is the kernel's choice, and not recorded"
	case procs > cpus:
		return fmt.Sprintf("its %d Ps share %s, which the kernel divides among them", procs, prose.Plural(cpus, "CPU"))
	case p.number(a, "spin", 0) > 0:
		return "its workers spin, so its CPU time is no demand"
	case a.Flags["max-conns"] != "" || a.Flags["backlog"] != "":
		return "its listener keeps connections waiting or turns them away (--max-conns, --backlog)"
	case mode.Station == queueing.PerWorker && p.overflows(a) && p.number(a, "queue-depth", 0)%p.workers(a) != 0:
		return "its workers' queues are of different length"
	}
	return ""
}

// workers returns how many workers, or event loops, an arm will have. The defaults are the
// server's: two workers for each P, or one event loop for each P.
func (p plan) workers(a scenario.Arm) int {
	switch mode := p.opts.Modes[a.Mode]; {
	case mode.Has("workers"):
		return cmp.Or(p.number(a, "workers", 0), 2*p.procs(a))
	case mode.Has("listeners"):
		return cmp.Or(p.number(a, "listeners", 0), p.procs(a))
	}
	return 1
}

// procs returns how many Ps an arm's server has: GOMAXPROCS of the arm or of the inherited
// environment, else one for each of the servers' CPUs. Invalid values count as the Go runtime
// counts them; see host.ProcsOf.
func (p plan) procs(a scenario.Arm) int {
	value, own := a.Env[host.MaxProcs]
	if !own {
		value = os.Getenv(host.MaxProcs)
	}
	return host.ProcsOf(value, len(p.cpus.Server))
}

// threads returns how many Ps each process of an arm has: --threads if the mode has that flag, else
// procs.
func (p plan) threads(a scenario.Arm) int {
	if p.opts.Modes[a.Mode].Has("threads") {
		return cmp.Or(p.number(a, "threads", 0), 1)
	}
	return p.procs(a)
}

// ownProcs returns the number of Ps for the record: 0 for an arm that does not set GOMAXPROCS.
func (p plan) ownProcs(a scenario.Arm) int {
	if _, own := a.Env[host.MaxProcs]; !own {
		return 0
	}
	return p.procs(a)
}

// policy returns the overflow policy of an arm's queue; "" without a queue. It is the flag's, else
// the mode's default.
func (p plan) policy(a scenario.Arm) string {
	return cmp.Or(a.Flags["overflow"], p.opts.Modes[a.Mode].Overflow)
}

// overflows reports whether an arm loses requests when its queue is full. With the policy block,
// requests wait outside of the queue instead.
func (p plan) overflows(a scenario.Arm) bool {
	policy := p.policy(a)
	return policy != "" && policy != "block"
}

// asksOfQueue reports whether an arm sets the overflow policy or the depth of its queue.
func asksOfQueue(a scenario.Arm) bool {
	return a.Flags["overflow"] != "" || a.Flags["queue-depth"] != ""
}

// number returns the value of an integer flag of an arm, or otherwise when the flag is not set. A
// value that is no integer counts as not set.
func (p plan) number(a scenario.Arm, flag string, otherwise int) int {
	var n int
	if _, err := fmt.Sscan(a.Flags[flag], &n); err != nil {
		return otherwise
	}
	return n
}

// length returns the value of a duration flag of an arm, or otherwise when the flag is not set.
func length(a scenario.Arm, flag string, otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(a.Flags[flag]); err == nil {
		return d
	}
	return otherwise
}
