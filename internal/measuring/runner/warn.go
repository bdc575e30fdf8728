package runner

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/record"
)

// warn adds the doubts that are known before anything runs.
//
// This file finds faults of a plan that no measurement can repair, by arithmetic on the settings:
// clients that starve, workers that never work, queues that never fill. A user should hear of them
// before waiting for the run.
func (p *plan) warn() {
	if p.cpus.Shared {
		var v cpusInCommon
		// The load can be kept small if the servers have further CPUs. Otherwise the doubt advises more CPUs.
		if shared := p.cpus.SharedCPUs(); len(shared) > 0 {
			v = cpusInCommon{CPUs: shared.Words(), Share: window.ShareLimit}
		}
		p.doubt(sharedCPUs.Of(v))
	}
	p.warnShortRound()
	if !p.relative() {
		p.warnShort()
	}
	for _, a := range p.originals() {
		if p.starves(a) {
			w, n := p.setup(a.asked).workers, a.Clients.Connections+a.Clients.Idle
			p.doubt(doubt.StickyPool.Of(doubt.Sticky{Waiting: n - w, Connections: n, Workers: w}).On(a.Name))
		}
		// In the scenario pool-cpu the arm pool has the mode pool-request, and pool,workers=1 is a pool.
		base, _, more := strings.Cut(a.Name, ",")
		if i := slices.IndexFunc(p.Arms, func(b arm) bool { return more && b.Name == base && b.Mode != a.Mode }); i >= 0 {
			p.doubt(otherMode.Of(modes{Mode: a.Mode, Base: base, Other: p.Arms[i].Mode}).On(a.Name))
		}
		p.cannotMatter(a)
	}
	p.differentLoads()
	p.differentParsers()
	if len(p.scenario.Predict) > 0 {
		p.doubt(predictIgnored)
	}
}

// fewRounds is the number of turns of each client below which a window is too short: what a client
// waited before its first turn is a large part of it.
const fewRounds = 2

// warnShortRound raises a doubt if the clients of a closed loop take longer for a turn each than a
// window has room for, by the CPU time that their requests ask for. Only the largest such loop counts.
func (p *plan) warnShortRound() {
	if !p.scenario.AsksWork() {
		return
	}
	cpu, clients, round := p.scenario.Workload.MeanCPU(), 0, 0.0
	for _, a := range p.originals() {
		if c := a.Clients; c.Closed() && c.Think.Duration == 0 && a.Station != nil {
			if r := float64(c.Connections) * cpu.Seconds() / float64(max(a.Station.Cores, 1)); r > round {
				clients, round = c.Connections, r
			}
		}
	}
	if p.Window.Seconds() >= fewRounds*round {
		return
	}
	longer, window := *p, time.Duration(math.Ceil(5*round))*time.Second
	longer.Warmup = record.Lasting(time.Duration(math.Ceil(2*round)) * time.Second)
	v := turns{Connections: clients, CPU: cpu, Round: round, Window: p.Window.Duration, Warmup: longer.Warmup.Duration, Needed: window}
	// Room for a few more blocks than the first look needs, since trials may take longer than planned.
	if budget := roundUp(longer.costOf(window, scenario.MinBlocks+2), time.Second); budget > p.budget {
		v.Budget = budget
	}
	p.doubt(shortRound.Of(v))
}

// starves reports whether an arm's workers keep their connections and are fewer than its connections. Sessions
// do not starve: each session ends and frees its worker. An idle connection keeps a worker as well.
func (p plan) starves(a arm) bool {
	s := p.setup(a.asked)
	return s.mode.Sticky && a.KeepAlive && a.Clients.Session == 0 && a.Clients.Connections+a.Clients.Idle > s.workers
}

// warnShort notes how many workers of each pool are busy on average, by Little's law, and raises a
// doubt if the pool has fewer. It is called again after the probes, which find a relative rate and may lower
// another.
func (p *plan) warnShort() {
	p.Doubts = slices.DeleteFunc(p.Doubts, tooFewWorkers.Code.Is)
	if !p.scenario.AsksWork() {
		return
	}
	held := p.scenario.Workload.MeanCPU() + p.scenario.Workload.MeanSleep()
	for i, a := range p.Arms {
		s, rate := p.setup(a.asked), a.Clients.Rate
		if !s.mode.Has("workers") || a.Clients.Closed() {
			continue
		}
		if !p.starves(a) {
			p.Arms[i].Busy = queueing.Little(rate, held.Seconds())
		}
		if a.Role == record.Copy {
			continue
		}
		if need := queueing.Workers(rate, held.Seconds()); s.workers < need {
			busy := queueing.Little(rate, held.Seconds())
			p.doubt(tooFewWorkers.Of(workers{Workers: s.workers, Rate: rate, Held: held, Busy: busy, Needed: need}).On(a.Name))
		}
	}
}

// differentParsers raises a doubt if the arms' modes are on different HTTP parsers. It names the arms on
// another parser than the baseline's. If none of them has goroutines, it names a mode to add that is the
// baseline's but for the parser, which tells parser and model apart.
func (p *plan) differentParsers() {
	on := map[string][]string{} // names of arms by stack
	for _, a := range p.originals() {
		if stack := p.modeOf(a).Axes.Stack; stack != "" { // another program's is not known
			on[stack] = append(on[stack], a.Name)
		}
	}
	if len(on) < 2 {
		return
	}
	var differ doubt.Parsers
	var parsers []string
	for _, stack := range slices.Sorted(maps.Keys(on)) {
		parsers = append(parsers, fmt.Sprintf("%s on %s's", strings.Join(on[stack], ", "), strings.Replace(stack, "nethttp", "net/http", 1)))
		control := p.modeOf(p.Arms[0]).Axes // the baseline's, to be on this parser
		if control.Stack == "" || control.Stack == stack {
			continue
		}
		differ.Other, control.Stack = append(differ.Other, on[stack]...), stack
		told := slices.ContainsFunc(p.Arms, func(a arm) bool {
			m := p.modeOf(a)
			return m.Axes.Stack == stack && m.Station == queueing.Goroutines
		})
		for name, m := range p.opts.Modes {
			if !told && m.With(nil).Axes == control {
				differ.Control = name
			}
		}
	}
	differ.Parsers = strings.Join(parsers, "; ")
	p.doubt(doubt.ParsersDiffer.Of(differ))
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

// cannotMatter raises a doubt for each setting of an arm that cannot have an effect in this set-up,
// whatever the measurement shows. A comparison of such a setting would find "no difference", which says
// nothing about the setting.
func (p *plan) cannotMatter(planned arm) {
	a, most := planned.asked, inFlight(planned.Clients)
	s, cpus := p.setup(a), len(p.cpus.Server)
	raise := func(raised bool, f fact.Fact) {
		if raised {
			p.doubt(f.On(a.Name))
		}
	}
	known := most > 0 && s.mode.Has("workers")
	// With fewer requests in flight than workers, more workers change nothing.
	raise(known && most < s.workers, idleWorkers.Of(idleness{Requests: most, Idle: s.workers - most, Workers: s.workers}))
	// An arm that sets the overflow policy or the depth of its queue asks of the queue.
	asks := s.loses && (a.Flags["overflow"] != "" || a.Flags["queue-depth"] != "")
	raise(known && asks && s.depth >= 0 && s.workers+s.depth >= most, queueNeverFull.Of(room{Depth: s.depth, Workers: s.workers, Requests: most}))
	// On one P a handler that computes keeps the goroutine that reads from running, so requests
	// wait in the sockets and not in the queue (docs/decisions/history.md, 10).
	raise(s.procs == 1 && s.mode.QueuesRequests() && asks && p.onlyComputes(), queueUnused)
	for _, flag := range []string{"listeners", "processes", "threads"} {
		// Several listeners or processes can only take turns on one CPU.
		n := number(a, flag, 1)
		v := setting{Of: n, Setting: flag}
		raise(n > 1 && cpus == 1, oneCPUShared.Of(v))
		raise(n > 1 && cpus != 1 && s.procs == 1 && flag == "listeners", onePShared.Of(v))
	}
}

// onlyComputes reports whether a handler keeps its P from start to end: it does not sleep, and it
// ends before the Go scheduler preempts it. queueing.GoTurn is the time after which it does.
func (p plan) onlyComputes() bool {
	w := p.scenario.Workload
	long := slices.ContainsFunc(w.Classes, func(c scenario.Class) bool { return c.CPU.Mean() >= queueing.GoTurn })
	return p.scenario.AsksWork() && w.MeanSleep() == 0 && w.MeanCPU() < queueing.GoTurn && !long
}

// differentLoads raises doubts if the arms get different loads, or a closed loop without a rate.
func (p *plan) differentLoads() {
	var differ []string
	for _, a := range p.Arms {
		differ = append(differ, judge.Differing(a.Clients, p.Arms[0].Clients)...)
		if a.load.Rate != p.Arms[0].load.Rate { // relative rates are not known yet
			differ = append(differ, "rate")
		}
	}
	slices.Sort(differ)
	if len(differ) > 0 {
		p.doubt(clientsDiffer.Of(clientSettings{strings.Join(slices.Compact(differ), ", ")}))
	}
	// A closed loop with a rate sends at its pace, unless a client still waits.
	if slices.ContainsFunc(p.Arms, func(a arm) bool { return a.load.Loop == "closed" && a.load.Rate == (scenario.Rate{}) }) {
		p.doubt(closedLoop)
	}
}

// An Impossible error tells why a plan cannot be carried out as asked, and what to change.
type Impossible struct {
	msg string
	// Machine means that this machine is too small for the scenario: another machine could run it unchanged.
	Machine bool
	// Usage means that it is known only after the probes that the user's flags do not fit the load.
	Usage bool
	// Needs is the budget that would be enough; 0 if the budget is not the cause.
	Needs time.Duration
	// Place is where the user wrote the arm that is the cause; see [scenario.Arm]. "" where no arm is.
	Place string
	// Flag is the flag to change, without dashes; "" for none, or where several do equally well.
	Flag string
}

// Error returns the place, the reason and the advice in one line.
func (e *Impossible) Error() string {
	if e.Place == "" {
		return e.msg
	}
	return e.Place + ": " + e.msg
}

// impossible returns an *[Impossible] with a formatted message. It wraps nothing.
func impossible(format string, args ...any) error { return impossibleBy("", format, args...) }

// impossibleBy is impossible of a plan in which the value of one flag is the cause.
func impossibleBy(flag, format string, args ...any) error {
	return &Impossible{Flag: flag, msg: fmt.Sprintf(format, args...)}
}

// A setup is what an arm's server will be, by its flags, its environment and the defaults of its mode.
type setup struct {
	mode    mode.Mode
	procs   int    // Ps: GOMAXPROCS of the arm, else what it inherits (host.Sides.Procs)
	own     int    // procs, if the arm sets GOMAXPROCS or a CPU limit, else 0
	threads int    // Ps of each process
	workers int    // workers or event loops
	policy  string // overflow policy of its queue; "" without a queue
	loses   bool   // it loses requests when its queue is full; with the policy block they wait outside
	depth   int    // depth of its queue, -1 if the arm does not set it
}

// modeOf returns the mode of a planned arm as its flags make it; the zero mode for another program.
func (p plan) modeOf(a arm) mode.Mode { return p.setup(a.asked).mode }

// setup returns the set-up of an arm.
func (p plan) setup(a scenario.Arm) setup {
	s := setup{mode: p.opts.Modes[a.Mode].With(a.Flags), workers: 1, depth: number(a, "queue-depth", -1)}
	value, own := a.Env[host.MaxProcs]
	if !own {
		value = p.cpus.MaxProcs
	}
	cpus := p.cpus
	if limit := a.CPULimit(); limit > 0 { // Go asks no group above its own
		cpus.Limit, own = limit, own || a.Mode != ""
	}
	if s.procs = cpus.Procs(value); own {
		s.own = s.procs
	}
	s.threads = s.procs
	if s.mode.Has("threads") {
		s.threads = cmp.Or(number(a, "threads", 0), 1)
	}
	switch {
	case s.mode.Has("workers"):
		s.workers = cmp.Or(number(a, "workers", 0), 2*s.procs)
	case s.mode.Has("listeners"):
		s.workers = cmp.Or(number(a, "listeners", 0), s.procs)
	}
	s.policy = cmp.Or(a.Flags["overflow"], s.mode.Overflow)
	s.loses = s.policy != "" && s.policy != "block"
	return s
}

// stationOf returns an arm's scheduling as a station of queueing theory, for the record. What theory cannot
// express makes the station unknown, with the reason.
func (p plan) stationOf(a scenario.Arm) queueing.Station {
	of := p.setup(a)
	s := queueing.Station{
		Kind: of.mode.Station, Cores: min(of.threads, len(p.cpus.Server)), Steal: a.Flags["steal"] == "true",
		Sticky: of.mode.Sticky, Adaptive: of.mode.Adaptive, Unknown: p.unknown(a, of),
	}
	if s.Kind == queueing.PerWorker {
		s.Pick = a.Flags["queue"]
	}
	// Each request has a goroutine, so nothing limits their number.
	if s.Kind != queueing.Goroutines {
		s.Workers = of.workers
	}
	// A limit of the queue that can never be reached is left out, because theory is simpler without it.
	wait := time.Duration(0)
	if of.mode.Depth == nil || of.policy == "expire" {
		wait = length(a, "wait", of.mode.Wait())
	}
	// Without any wait, the requests in service are all that there is room for.
	if s.Patience = queueing.Span(wait); wait == 0 && of.mode.Has("wait") && of.mode.Depth == nil { // refused at once
		s.Places, s.Overflow = s.Workers, "reject"
	}
	depth := of.depth
	// Without a flag the server uses its own depth, which depends on the workers.
	if depth < 0 && of.loses && of.mode.Depth != nil {
		depth = of.mode.Depth(s.Workers)
	}
	switch {
	case depth < 0:
	// depth counts all queues together. Each worker has its part, and one place more in service.
	case s.Kind == queueing.PerWorker:
		s.Places, s.Overflow = depth/s.Workers+1, of.policy
	case of.loses:
		s.Places, s.Overflow = depth+s.Workers, of.policy
	}
	// The server derives an interval from the target in the same way.
	if s.Adaptive || of.policy == "codel" {
		target := length(a, "codel-target", queueing.CoDelTarget)
		s.Target, s.Interval = queueing.Span(target), queueing.Span(length(a, "codel-interval", max(codelTargets*target, queueing.CoDelInterval)))
	}
	return s
}

// codelTargets is the ratio of CoDel's interval to its target in a server that is given only a
// target. It is the ratio of CoDel's usual settings, 100 ms to 5 ms.
const codelTargets = 20

// unknown returns the reason why the theory has no ideal scheduler for an arm; "" if it has one.
// The report shows the reason as it is, after the arm.
func (p plan) unknown(a scenario.Arm, s setup) string {
	cpus := len(p.cpus.Server)
	switch {
	case s.mode.Adaptive && s.policy == "drop-oldest":
		return "its queue refuses by age and drops the oldest, too"
	case a.CPULimit() > 0:
		return "its CPU limit stops it at times, which queueing theory has no place for"
	case s.mode.Has("processes") && cmp.Or(number(a, "processes", 0), s.procs) > 1:
		return "which process has a connection is the kernel's choice, and not recorded"
	case s.threads > cpus:
		return fmt.Sprintf("its %d Ps share %s, which the kernel divides among them", s.threads, prose.Plural(cpus, "CPU"))
	case number(a, "spin", 0) > 0:
		return "its workers spin, so its CPU time is no demand"
	case a.Flags["max-conns"] != "" || a.Flags["backlog"] != "":
		return "its listener keeps connections waiting or turns them away (--max-conns, --backlog)"
	case s.mode.Station == queueing.PerWorker && s.loses && max(s.depth, 0)%s.workers != 0:
		return "its workers' queues are of different length"
	}
	return ""
}

// number returns the value of an integer flag of an arm, or otherwise when the flag is not set. A
// value that is no integer counts as not set.
func number(a scenario.Arm, flag string, otherwise int) int {
	if n, err := strconv.ParseInt(a.Flags[flag], 0, 0); err == nil {
		return int(n)
	}
	return otherwise
}

// length returns the value of a duration flag of an arm, or otherwise when the flag is not set.
func length(a scenario.Arm, flag string, otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(a.Flags[flag]); err == nil {
		return d
	}
	return otherwise
}
