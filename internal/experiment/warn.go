package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/doubt"
	"schedlab/internal/fact"
	"schedlab/internal/host"
	"schedlab/internal/judge"
	"schedlab/internal/mode"
	"schedlab/internal/prose"
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
		// The load can be kept small if the servers have further CPUs. Otherwise the doubt advises more CPUs.
		if shared := p.cpus.SharedCPUs(); len(shared) > 0 {
			f.Names, f.Values = record.Names{"cpus": shared.Words()}, record.Values{"share": window.ShareLimit}
		}
		p.doubt(f)
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
			p.doubt(record.Fact{Code: otherMode, Arm: a.Name, Names: record.Names{"mode": a.Mode, "arm": base, "other": p.Arms[i].Mode}})
		}
		p.cannotMatter(a)
	}
	p.differentLoads()
	p.differentParsers()
	if len(p.scenario.Predict) > 0 {
		p.doubt(record.Fact{Code: predictIgnored})
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
	cpu, clients, round := p.scenario.Workload.CPU.Mean().Seconds(), 0, 0.0
	for _, a := range p.originals() {
		if c := a.Clients; c.Closed() && c.Think == 0 && a.Station != nil {
			if r := float64(c.Connections) * cpu / float64(max(a.Station.Cores, 1)); r > round {
				clients, round = c.Connections, r
			}
		}
	}
	if p.Window >= fewRounds*round {
		return
	}
	longer, window := *p, math.Ceil(5*round)
	longer.Warmup = math.Ceil(2 * round)
	values := record.Values{"connections": float64(clients), "cpu": cpu, "round": round, "window": p.Window, "warmup": longer.Warmup, "needed": window}
	// Room for a few more blocks than the first look needs, since trials may take longer than planned.
	if budget := roundUp(longer.costOf(record.Duration(window), scenario.MinBlocks+2), time.Second); budget > p.budget {
		values["budget"] = budget.Seconds()
	}
	p.doubt(record.Fact{Code: shortRound, Values: values})
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
	p.Doubts = slices.DeleteFunc(p.Doubts, func(f record.Fact) bool { return f.Code == tooFewWorkers })
	if !p.scenario.AsksWork() {
		return
	}
	held := (p.scenario.Workload.CPU.Mean() + p.scenario.Workload.Sleep.Mean()).Seconds()
	for i, a := range p.Arms {
		s, rate := p.setup(a.asked), a.Clients.Rate
		if !s.mode.Has("workers") || a.Clients.Closed() {
			continue
		}
		if !p.starves(a) {
			p.Arms[i].Busy = queueing.Little(rate, held)
		}
		if a.Role == record.Copy {
			continue
		}
		if need := queueing.Workers(rate, held); s.workers < need {
			values := record.Values{"workers": float64(s.workers), "rate": rate, "held": held, "busy": queueing.Little(rate, held), "needed": float64(need)}
			p.doubt(record.Fact{Code: tooFewWorkers, Arm: a.Name, Values: values})
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
	a, most := planned.asked, float64(inFlight(planned.Clients))
	s := p.setup(a)
	workers, depth, cpus := float64(s.workers), float64(s.depth), len(p.cpus.Server)
	doubt := func(is bool, code record.Code, v record.Values, n record.Names) {
		if is {
			p.doubt(record.Fact{Code: code, Arm: a.Name, Values: v, Names: n})
		}
	}
	known := most > 0 && s.mode.Has("workers")
	// With fewer requests in flight than workers, more workers change nothing.
	doubt(known && most < workers, idleWorkers, record.Values{"requests": most, "idle": workers - most, "workers": workers}, nil)
	// An arm that sets the overflow policy or the depth of its queue asks of the queue.
	asks := s.loses && (a.Flags["overflow"] != "" || a.Flags["queue-depth"] != "")
	doubt(known && asks && depth >= 0 && workers+depth >= most, queueNeverFull, record.Values{"depth": depth, "workers": workers, "requests": most}, nil)
	// On one P a handler that computes keeps the goroutine that reads from running, so requests
	// wait in the sockets and not in the queue (docs/decisions/history.md, 10).
	doubt(s.procs == 1 && s.mode.QueuesRequests() && asks && p.onlyComputes(), queueUnused, nil, nil)
	for _, flag := range []string{"listeners", "processes", "threads"} {
		// Several listeners or processes can only take turns on one CPU.
		n, names := number(a, flag, 1), record.Names{"setting": flag}
		values := record.Values{"of": float64(n)}
		doubt(n > 1 && cpus == 1, oneCPUShared, values, names)
		doubt(n > 1 && cpus != 1 && s.procs == 1 && flag == "listeners", onePShared, values, names)
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
	var differ []string
	for _, a := range p.Arms {
		differ = append(differ, judge.Differing(a.Clients, p.Arms[0].Clients)...)
		if a.load.Rate != p.Arms[0].load.Rate { // relative rates are not known yet
			differ = append(differ, "rate")
		}
	}
	slices.Sort(differ)
	if len(differ) > 0 {
		p.doubt(record.Fact{Code: clientsDiffer, Names: record.Names{"settings": strings.Join(slices.Compact(differ), ", ")}})
	}
	// A closed loop with a rate sends at its pace, unless a client still waits.
	if slices.ContainsFunc(p.Arms, func(a arm) bool { return a.load.Loop == "closed" && a.load.Rate == (scenario.Rate{}) }) {
		p.doubt(record.Fact{Code: closedLoop})
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
}

// Error returns the reason and the advice in one line.
func (e *Impossible) Error() string { return e.msg }

// impossible returns an *[Impossible] with a formatted message. It wraps nothing.
func impossible(format string, args ...any) error {
	return &Impossible{msg: fmt.Sprintf(format, args...)}
}

// Doubts about a server, the load or the machine.
var (
	// The judge adds the arm.
	cpuTimeUnknown    = record.Sentence("cpu-time-unknown", `CPU time is not known: it did not wait for some of its child processes`)
	metricsUnreadable = record.Sentence("metrics-unreadable", `its metrics could not be read: {{.Names.error}}`)
	otherProcs        = record.Sentence("other-procs", `has a GOMAXPROCS of {{count .Values.is}} by its own metrics, and the plan reckons with {{count .Values.planned}}: its default workers, listeners or processes and its ideal twin are not as planned; set GOMAXPROCS in its env`)
	lingered          = record.Sentence("lingered", `{{.Names.error}}`)
)

// Doubts about a plan.
var (
	// They are known before the first block, except for the two about the budget.
	machineUnfit = record.Sentence("machine-unfit", `{{with .Names.said}}{{.}}{{else}}machine: {{template "because" .}}{{end}}`)
	sharedCPUs   = record.Sentence("shared-cpus", `{{with .Names.cpus}}the load shares {{.}} with the servers: it sleeps while nothing is due, the rate keeps what it takes below {{percent $.Values.share}}, and a verdict that the disturbance could explain is refused`+
		`{{else}}server and load share CPUs: the load disturbs what it measures; leave --cpus none out, on two or more CPUs{{end}}`)
	shortRound          = record.Sentence("short-round", `{{plural .Values.connections "client"}} that ask for {{lasts .Values.cpu}} of CPU time each take {{lasts .Values.round}} for a turn each, and a window has {{lasts .Values.window}}: some wait all through it; give --warmup {{count .Values.warmup}}s --window {{count .Values.needed}}s{{with .Values.budget}} --budget {{time .}}{{end}}`)
	predictIgnored      = record.Sentence("predict-ignored", `predict: in a scenario does nothing any more: leave it out`)
	otherMode           = record.Sentence("other-mode", `has mode {{.Names.mode}}, and the arm {{.Names.arm}} has mode {{.Names.other}}; write {{.Names.other}},FLAG=VALUE for that with another setting`)
	tooFewWorkers       = record.Sentence("too-few-workers", `{{plural .Values.workers "worker"}} cannot keep up: by Little's law {{count .Values.rate}}/s x {{millisf "%.1f" .Values.held}} held {{if .Values.busy}}keeps {{printf "%.3g" .Values.busy}} busy, so give it {{count .Values.needed}} or more{{else}}needs {{count .Values.needed}}{{end}}`)
	idleWorkers         = record.Sentence("idle-workers", `not identifiable: no more than {{template "requests are" .Values.requests}} in flight, so {{count .Values.idle}} of {{count .Values.workers}} workers never work`)
	queueNeverFull      = record.Sentence("queue-never-full", `not identifiable: a queue of {{count .Values.depth}} beside {{plural .Values.workers "worker"}} holds all that can be in flight ({{plural .Values.requests "request"}}), so it never overflows`)
	queueUnused         = record.Sentence("queue-unused", `not identifiable: with GOMAXPROCS 1 no goroutine runs beside a handler that computes, so requests wait unread and not in the queue, which hardly ever overflows; a mode that queues connections (pool) has them there`)
	oneCPUShared        = record.Sentence("one-cpu-shared", `not identifiable: the server has one CPU, so {{count .Values.of}} {{.Names.setting}} share it`)
	onePShared          = record.Sentence("one-p-shared", `not identifiable: its GOMAXPROCS is 1, so {{count .Values.of}} {{.Names.setting}} share it`)
	clientsDiffer       = record.Sentence("clients-differ", `the arms' clients differ ({{.Names.settings}}): where two differ, a verdict is on the load and the server together, and no arm wins`)
	closedLoop          = record.Sentence("closed-loop", `a closed loop: clients wait with the server, so response times leave out what a delay would have cost others (coordinated omission); compare throughput`)
	otherProgram        = record.Sentence("other-program", `another program: whether it does the work that is asked of it ({{.Names.path}}) is not checked`)
	runsAlready         = record.Sentence("runs-already", `was running already: its trials share its state, and it is neither pinned nor fresh`)
	pipelineTooDeep     = record.Sentence("pipeline-too-deep", `there is no breakdown of its time: a server stamps at most {{count .Values.most}} requests in flight on a connection, and its pipeline has {{count .Values.pipeline}}`)
	expectationsLeftOut = record.Sentence("expectations-left-out", `left out of the scenario: {{plural .Values.expectations "expectation"}} about arms that are not compared here`)
	wholeSeconds        = record.Sentence("whole-seconds", `{{.Names.file}} tells whole seconds: within one its requests are spread at random, so bursts shorter than that are not replayed`)
	unevenProbe         = record.Sentence("uneven-probe", `the two halves of the measurement of its highest rate (X_max) were {{percent .Values.apart}} apart, so a rate that is a share of it is as uncertain`)
	budgetTooShort      = record.Sentence("budget-too-short", `the budget of {{time .Values.budget}} {{if .Values.blocks}}ended after {{plural .Values.blocks "block"}} of{{else}}has no room for{{end}} the {{count .Values.first}} that the first look needs{{with .Values.needed}}, and --budget {{time .}} has{{end}}: `+
		`a block takes {{time .Values.block}}, planned were {{time .Values.planned}}{{with .Names.lingers}}, and the server of {{.}} lingers when it is to end{{end}}`)
	rateSendable      = record.Sentence("rate-sendable", `{{per .Values.rate}} are what the load's {{.Names.cpus}} can send, less than the share of X_max that was asked for: the servers have time to spare; give the load more CPUs (--cpus) or ask for more work`)
	rateShared        = fact.New[shared]("rate-shared", 0, `offered {{per .Rate}} instead of {{per .Asked}}: at more the load takes over {{percent .Share}} of {{.CPUs}}, which it shares with the servers; --rate offers more`)
	windowsLonger     = record.Sentence("windows-longer", `windows last {{time .Values.window}} instead of {{time .Values.planned}}, to hold enough requests for what {{.Names.flag}} asks{{with .Values.budget}}; this takes {{time .}} at most (--budget){{end}}`)
	windowsShortened  = record.Sentence("windows-shortened", `does not keep up, and its queue takes long to empty: the budget has no room for {{count .Values.first}} blocks with windows of {{time .Values.was}}; from block {{count .Values.next}} on windows last {{time .Values.window}}{{with .Names.lost}}, too short for {{.}}{{end}}, and the {{plural .Values.blocks "block"}} before do not count; --window {{time .Values.was}} --budget {{time .Values.needed}} keeps them`)
	expectationsShort = record.Sentence("expectations-short", `{{count .Values.short}} of {{plural .Values.all "expectation"}} will be refused, because a window holds too few requests for the quantile: {{.Names.which}}`)
	cannotBeDecided   = record.Sentence("cannot-be-decided", `{{template "short" .}}{{if .Names.would}}; {{.Names.would}} would do{{else if eq .Names.asked "no"}}; no expectation asks for it{{end}}`)
)

// Templates that sentences share.
var (
	_ = record.Sentence("requests are", `{{if eq . 1.0}}1 request is{{else}}{{count .}} requests are{{end}}`)
	_ = record.Sentence("short", `{{if eq .Names.short "requests"}}{{.Metric}} cannot be decided: a window holds {{count .Values.has}} requests, it needs {{count .Values.needs}}{{else if eq .Names.short "budget"}}nothing can be decided: the first {{plural .Values.first "block"}} take {{count .Values.needs}} s, and the budget is {{count .Values.has}} s{{else}}nothing can be decided: --blocks {{count .Values.has}}, and the first that decide anything are {{count .Values.needs}}{{end}}`)
)

// A setup is what an arm's server will be, by its flags, its environment and the defaults of its mode.
type setup struct {
	mode    mode.Mode
	procs   int    // Ps: GOMAXPROCS of the arm, else what it inherits (host.Sides.Procs)
	own     int    // procs, if the arm sets GOMAXPROCS, else 0
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
	if s.procs = p.cpus.Procs(value); own {
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
func (p plan) stationOf(a scenario.Arm) record.Station {
	of := p.setup(a)
	s := record.Station{
		Kind: of.mode.Station, Cores: min(of.threads, len(p.cpus.Server)), Steal: a.Flags["steal"] == "true",
		Sticky: of.mode.Sticky, Adaptive: of.mode.Adaptive, Unknown: p.unknown(a, of),
	}
	if s.Kind == queueing.PerWorker {
		s.Pick = a.Flags["queue"]
	}
	// Goroutines are as many as there are requests.
	if s.Kind != queueing.Goroutines {
		s.Workers = of.workers
	}
	// A limit of the queue that can never be reached is left out, because theory is simpler without it.
	wait := length(a, "wait", of.mode.Wait())
	// Without any wait, the requests in service are all that there is room for.
	if s.Patience = wait.Seconds(); wait == 0 && of.mode.Has("wait") { // refused at once
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
		s.Target, s.Interval = target.Seconds(), length(a, "codel-interval", max(codelTargets*target, queueing.CoDelInterval)).Seconds()
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
