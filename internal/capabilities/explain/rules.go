package explain

import (
	"cmp"
	"slices"
	"strconv"

	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/timeline"
)

// A rule describes one cause of slowness: the part of the response time that it lengthens, the
// witnesses that go with it, the setting that removes it (the knob), and a setting that must not
// matter (the control).
//
// A rule suspects its cause if it applies to the slower arm, its part explains enough of the
// difference, and no witness that must agree disagrees (suspect.go). Rules know modes by their
// traits and flags, never by name.
type rule struct {
	cause *fact.Kind[clues] // with its sentence
	part  timeline.Stretch  // the name to print and the phases that get longer; no phases: requests are lost
	tail  bool              // only for the slowest requests: the cause makes others faster
	// applies reports whether the slower arm can have the cause at all.
	applies   func(s *side) bool
	witnesses []condition
	// knob returns the arm without the cause; nil if no setting removes the cause: it stays
	// unconfirmed or, if shown is set, the stamps are proof enough. control returns the arm with an
	// unrelated setting changed, if that is not another.
	knob, control func(s *side) (scenario.Arm, bool)
	shown         bool
}

// A condition is the condition on one witness: the slower arm's value must be at least times the
// faster arm's, at least least, and at most most. 0 means no condition. If must is set, a witness
// that disagrees rules the cause out; without must the report just shows it. A witness without a value is
// skipped, but rules the cause out if both must and least are set.
type condition struct {
	witness            *witness
	times, least, most float64
	must               bool
}

// whole joins the named stretches into the part of a rule. A cause often shows in several: a wait
// that ends one stretch earlier begins another one.
func whole(name string, stretches ...string) timeline.Stretch {
	part := timeline.Stretch{Name: name}
	for _, st := range timeline.Stretches() {
		if slices.Contains(stretches, st.Name) {
			part.Phases = append(part.Phases, st.Phases...)
		}
	}
	return part
}

// rules are all causes that can be suspected. The limits on witnesses are wide: they only rule a
// cause out, and the test confirms it.
var rules = []rule{
	{
		// Requests wait for a worker while the CPU has time. If the CPU has none, more workers
		// would wait for it: that is no lack of workers.
		cause:     fact.New[clues]("cause-workers", 0, `its {{plural .Workers "worker"}} are in use for {{percent .Used}} of the time{{with .CPU}}, and the CPUs for {{percent .}}{{end}}: too few workers, requests wait for one`),
		part:      whole("the wait for a worker", "queue", "kernel"),
		applies:   func(s *side) bool { return s.mode.Has("workers") && s.workers() > 0 },
		witnesses: []condition{{witness: workersInUse, least: .6, must: true}, {witness: cpuUse, most: .9, must: true}, {witness: queueWait, times: 1.5}},
		knob:      func(s *side) (scenario.Arm, bool) { return s.with("workers", strconv.Itoa(4*s.workers())) },
	},
	{
		// A handler that sleeps on the loop stops all connections of the loop. The knob is the mode
		// that runs handlers elsewhere.
		cause:     fact.New[clues]("cause-inline", 0, `its handlers wait on the event loop that reads, so that all its other connections wait too, while {{with .CPU}}{{percent .}}{{else}}little{{end}} of the CPU is in use`),
		part:      whole("the wait for the event loop", "kernel", "run queue"),
		applies:   func(s *side) bool { return s.mode.Without[mode.Inline] != "" && s.sleeps },
		witnesses: []condition{{witness: cpuUse, most: .9, must: true}, {witness: loopLag, times: 1.5}},
		knob:      func(s *side) (scenario.Arm, bool) { return s.as(mode.Inline, nil) },
	},
	{
		// A goroutine locked to a thread costs a switch by the kernel where Go's scheduler would
		// switch. The knob unlocks it.
		cause:     fact.New[clues]("cause-threads", 0, `its goroutines are locked to threads, which the kernel switches {{printf "%.3g" .Switches}} times a request ({{printf "%.3g" .SwitchesFaster}} in {{.Baseline}})`),
		part:      whole("the way to a thread and back", "run queue", "kernel", "queue", "http", "interference", "handler"),
		applies:   func(s *side) bool { return s.asked.Flags["locked"] == "true" },
		witnesses: []condition{{witness: switches, times: 1.2, must: true}, {witness: cpuCost, times: 1.02}},
		knob:      func(s *side) (scenario.Arm, bool) { return s.with("locked", "false") },
	},
	{
		// Workers meet at the lock of one queue, which shows as waits for mutexes.
		cause:     fact.New[clues]("cause-queue-lock", 0, `all its workers take from one queue under one lock: a request waits {{lasts .Mutex}} for mutexes`),
		part:      whole("the way through the queue", "queue", "run queue", "interference", "handler"),
		applies:   func(s *side) bool { return s.mode.Without[mode.SharedQueue] != "" },
		witnesses: []condition{{witness: mutexWait, times: 1.5, least: 1e-6, must: true}, {witness: workersInUse, most: .6}},
		// Stealing is on, because separate queues without it make requests wait behind others,
		// which is another cause.
		knob: func(s *side) (scenario.Arm, bool) {
			return s.as(mode.SharedQueue, map[string]string{"queue": "rr", "steal": "true"})
		},
	},
	{
		// A hand-off pays if it bounds the requests served at a time. With idle workers it bounds
		// nothing and only costs. The knob is the mode without it.
		cause:     fact.New[clues]("cause-hand-off", 0, `each request is handed to another goroutine and back, while {{with .Used}}{{part .}}{{else}}few{{end}} of its workers are in use: the hand-off bounds nothing and takes time`),
		part:      whole("the way to a worker and back", "queue", "run queue", "kernel", "http"),
		applies:   func(s *side) bool { return s.mode.Without[mode.HandOff] != "" },
		witnesses: []condition{{witness: workersInUse, most: .6, must: true}, {witness: switches, times: 1.1}, {witness: cpuCost, times: 1.02}},
		knob:      func(s *side) (scenario.Arm, bool) { return s.as(mode.HandOff, nil) },
	},
	{
		// A long request blocks all behind it in its worker's queue, while other workers idle.
		// Stealing takes them out.
		cause:     fact.New[clues]("cause-own-queues", 0, `a queue of a worker's own is not served by others: requests wait behind a long one while other workers idle`),
		part:      whole("the wait behind others", "queue", "kernel"),
		applies:   func(s *side) bool { return s.mode.Has("steal") && s.asked.Flags["steal"] != "true" },
		witnesses: []condition{{witness: workersInUse, most: .9, must: true}, {witness: steals, most: 1e-9}},
		knob:      func(s *side) (scenario.Arm, bool) { return s.with("steal", "true") },
	},
	{
		// A lock in the handlers. Only the key-value store has a setting that divides its lock;
		// other locks stay untested.
		cause:     fact.New[clues]("cause-lock", 0, `its requests wait for a lock: {{lasts .Mutex}} each, {{lasts .MutexFaster}} in {{.Baseline}}`),
		part:      whole("the wait for a lock", "interference", "handler", "run queue", "kernel", "queue"),
		applies:   func(s *side) bool { return s.asked.Mode != "" },
		witnesses: []condition{{witness: mutexWait, times: 2, least: 20e-6, must: true}},
		knob: func(s *side) (scenario.Arm, bool) {
			if !s.usesKV {
				return s.asked, false
			}
			return s.with("kv-locks", "64")
		},
	},
	{
		// With GOGC=400 the collector runs about a quarter as often as by default. The environment
		// reaches any Go program that is started here.
		cause:     fact.New[clues]("cause-gc", 0, `the garbage collector takes {{percent .GC}} of its CPU time ({{percent .GCFaster}} in {{.Baseline}})`),
		part:      whole("the server's own time", "interference", "handler", "run queue", "http", "kernel", "cpu", "queue"),
		applies:   func(*side) bool { return true },
		witnesses: []condition{{witness: gcShare, times: 1.5, least: .05, must: true}, {witness: cpuCost, times: 1.02}},
		knob:      func(s *side) (scenario.Arm, bool) { return s.withEnv("GOGC", "400") },
	},
	{
		// A connection that finds the accept queue full is tried again a second later, which shows
		// in the time to connect.
		cause:     fact.New[clues]("cause-backlog", 0, `its accept queue is too short: in a window {{count .Overflows}} attempts to connect (repeats included) found one full, and a client repeats after a second`),
		part:      timeline.Stretch{Name: "connecting", Phases: []string{"connect", "accept"}},
		applies:   func(s *side) bool { return s.asked.Mode != "" },
		witnesses: []condition{{witness: overflows, times: 1.5, least: 1, must: true}},
		knob:      func(s *side) (scenario.Arm, bool) { return s.with("backlog", "4096") },
	},
	{
		// The kernel deals connections to listeners by a hash of their addresses, so one listener
		// gets more than its share.
		cause:     fact.New[clues]("cause-uneven", 0, `its connections are dealt out unevenly: the fullest listener has {{printf "%.3g" .Uneven}} times its share`),
		part:      whole("the wait for the fullest listener", "kernel", "run queue", "queue"),
		applies:   func(s *side) bool { return s.mode.Has("deal") },
		witnesses: []condition{{witness: unevenSockets, least: 1.25, must: true}},
		// A single loop is no knob: it would have all connections, which is as uneven as can be.
		knob: func(s *side) (scenario.Arm, bool) {
			if s.mode.Without[mode.OwnSockets] != "" {
				return s.as(mode.OwnSockets, nil)
			}
			return s.with("deal", "random")
		},
	},
	{
		// One acceptor can be too slow for new connections while the CPU and the workers have time.
		// The knob has four.
		cause:     fact.New[clues]("cause-acceptor", 0, `connections wait to be accepted by its one acceptor, while {{with .CPU}}{{percent .}}{{else}}not all{{end}} of the CPU is in use`),
		part:      timeline.Stretch{Name: "the wait to be accepted", Phases: []string{"accept"}},
		applies:   func(s *side) bool { return s.mode.Without[mode.OneAcceptor] != "" },
		witnesses: []condition{{witness: cpuUse, most: .9, must: true}, {witness: workersInUse, most: .9, must: true}},
		knob: func(s *side) (scenario.Arm, bool) {
			return s.as(mode.OneAcceptor, map[string]string{"listeners": "4"})
		},
	},
	{
		// The newest first is good for the mean and bad for the tail: a request can be overtaken
		// again and again.
		cause: fact.New[clues]("cause-batches", 0, `it serves the newest first of the connections that a poll finds ready: {{percent .Overtaken}} of its requests are read after one that was sent later ({{percent .OvertakenFaster}} in {{.Baseline}})`),
		part:  whole("the wait behind newer requests", "kernel", "run queue"), tail: true,
		applies: func(s *side) bool {
			return s.plan.KeepAlive && (s.reversed() || s.mode.Without[mode.NewestFirst] != "" && !s.sleeps)
		},
		witnesses: []condition{{witness: overtaken, times: 1.5, least: .2, must: true}, {witness: cpuUse, least: .6}},
		knob: func(s *side) (scenario.Arm, bool) {
			if s.reversed() {
				return s.with("batch", "in-order")
			}
			return s.as(mode.NewestFirst, nil)
		},
		// The control is the same loop serving the newest first. It must not help: the order of
		// serving has to be what removes the wait, not the change to a loop.
		control: func(s *side) (scenario.Arm, bool) {
			if s.reversed() {
				return another(s)
			}
			return s.as(mode.NewestFirst, map[string]string{"batch": "newest-first"})
		},
	},
	{
		// The only rule about lost requests, so its part has no phases. The knob lets clients wait,
		// or makes the queue so deep that nothing is turned away. The control is the limit on
		// connections, because the queue is the cause's own setting.
		cause: turnedAway, part: timeline.Stretch{Name: "requests without a good reply"},
		applies:   func(s *side) bool { return s.mode.Overflow != "" },
		witnesses: []condition{{witness: turnedAwayRatio, times: 1.5, least: .005, must: true}},
		knob: func(s *side) (scenario.Arm, bool) {
			if s.mode.Allows("block") {
				return s.with("overflow", "block")
			}
			return s.with("queue-depth", strconv.Itoa(max(4096, 8*s.depth())))
		},
		control: func(s *side) (scenario.Arm, bool) { return s.with("max-conns", "8192") },
	},
	{
		// Not the server's doing. The stamps measure the lateness of the load, so no test is
		// needed.
		cause:     fact.New[clues]("cause-load", 0, `the load sent late, {{lasts .Late}} at p99: it was kept from its CPU, and the server is not to blame`),
		part:      timeline.Stretch{Name: "the load's own lateness", Phases: []string{"lag"}},
		applies:   func(*side) bool { return true },
		witnesses: []condition{{witness: lateLoad, times: 1.5, least: 50e-6, must: true}, {witness: keptAway, times: 1.5}},
		shown:     true,
	},
	{
		// The rest: more CPU time for a request, for no reason that another rule knows. No setting
		// takes that away.
		cause:     fact.New[clues]("cause-cost", 0, `a request costs it {{lasts .Cost}} of CPU time, {{lasts .CostFaster}} in {{.Baseline}}`),
		part:      whole("the server's own time", "http", "run queue", "kernel", "interference", "handler", "cpu", "queue"),
		applies:   func(*side) bool { return true },
		witnesses: []condition{{witness: cpuCost, times: 1.1, must: true}},
	},
}

// controlOf returns the control of a rule with a knob.
func (r rule) controlOf(s *side) (scenario.Arm, bool) {
	if r.control != nil {
		return r.control(s)
	}
	return another(s)
}

// another returns the slower arm with a setting changed that has nothing to do with its slowness:
// twice the queue if a full queue blocks and refuses no request; else the limit on connections; and
// for another program a variable that it does not read. It is the control of most rules.
func another(s *side) (scenario.Arm, bool) {
	switch d := s.depth(); {
	case s.asked.Mode == "":
		return s.withEnv("SCHEDLAB_CONTROL", "1")
	case d > 0 && cmp.Or(s.asked.Flags["overflow"], s.mode.Overflow) == "block":
		return s.with("queue-depth", strconv.Itoa(2*d))
	}
	return s.with("max-conns", "8192")
}
