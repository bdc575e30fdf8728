package experiment

import (
	"cmp"
	"fmt"
	"time"

	"schedlab/internal/prose"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// stationOf returns an arm's scheduling as a station of queueing theory, for the record.
func (p *plan) stationOf(a scenario.Arm) record.Station {
	mode := p.modes[a.Mode]
	s := record.Station{
		Kind: mode.Station, Cores: min(p.threads(a), len(p.cpus.Server)),
		Sticky: mode.Sticky, Adaptive: mode.Adaptive, Unknown: p.unknown(a),
	}
	if s.Kind != queueing.Goroutines {
		s.Workers = p.workers(a)
	}
	p.queueOf(a, &s)
	return s
}

// queueOf adds the limits of an arm's queue to s, where they can have an effect.
func (p *plan) queueOf(a scenario.Arm, s *record.Station) {
	mode := p.modes[a.Mode]
	s.Pick, s.Steal = a.Flags["queue"], a.Flags["steal"] == "true"
	wait := length(a, "wait", mode.Wait())
	if s.Patience = wait.Seconds(); wait == 0 && mode.Has("wait") { // refused at once
		s.Places, s.Overflow = s.Workers, "reject"
	}
	policy, depth := p.policy(a), p.number(a, "queue-depth", -1)
	if depth < 0 && p.overflows(a) && mode.Depth != nil {
		depth = mode.Depth(s.Workers)
	}
	switch {
	case depth < 0:
	case s.Kind == queueing.PerWorker:
		s.Places, s.Overflow = depth/s.Workers+1, policy
	case p.overflows(a):
		s.Places, s.Overflow = depth+s.Workers, policy
	}
	if s.Adaptive || policy == "codel" {
		target := length(a, "codel-target", queueing.CoDelTarget)
		s.Target, s.Interval = target.Seconds(), length(a, "codel-interval", max(codelTargets*target, queueing.CoDelInterval)).Seconds()
	}
}

// codelTargets is the ratio of CoDel's interval to its target in a server that is given only a target.
const codelTargets = 20

// length returns the value of a duration flag of an arm, or otherwise when the flag is not set.
func length(a scenario.Arm, flag string, otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(a.Flags[flag]); err == nil {
		return d
	}
	return otherwise
}

// unknown returns the reason why the theory has no ideal scheduler for an arm; "" if it has one.
func (p *plan) unknown(a scenario.Arm) string {
	mode, procs, cpus := p.modes[a.Mode], p.threads(a), len(p.cpus.Server)
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
