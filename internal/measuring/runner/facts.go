package runner

import (
	"time"

	"schedlab/internal/shared/fact"
)

// What doubts about a server tell.
type (
	failure struct{ Error string }
	procs   struct {
		Is, Planned int // GOMAXPROCS
	}
)

// What doubts about a plan tell. Times that are no durations are in seconds.
type (
	unfitness struct {
		Said string `json:"said,omitempty"` // by an older schedlab, which had no fact to rest it on
	}
	// A cpusInCommon is zero where servers and load share all CPUs.
	cpusInCommon struct {
		CPUs  string  `json:"cpus,omitempty"`
		Share float64 `json:"share,omitempty"` // of their time, at most
	}
	turns struct {
		Connections    int
		CPU            time.Duration // that a request asks for
		Round          float64       // one turn of all
		Window         time.Duration
		Warmup, Needed time.Duration // warm-up and window that would do
		Budget         time.Duration `json:"budget,omitempty"` // for them, if more is needed
	}
	modes struct {
		Mode  string
		Base  string `json:"arm"` // the arm that the name begins with
		Other string // its mode
	}
	workers struct {
		Workers int
		Rate    float64
		Held    time.Duration
		Busy    float64 // workers, on average
		Needed  int
	}
	idleness struct {
		Requests int // in flight at most
		Idle     int // workers
		Workers  int
	}
	room struct {
		Depth, Workers int
		Requests       int // in flight at most
	}
	setting struct {
		Of      int
		Setting string
	}
	clientSettings struct{ Settings string }
	chosen         struct{ Engine string }
	readyPath      struct{ Path string }
	pipeline       struct{ Most, Pipeline int }
	waiting        struct {
		Loops int
		Held  time.Duration // that a request takes of a loop
	}
	leftOut  struct{ Expectations int }
	logFile  struct{ File string }
	halves   struct{ Apart float64 } // ratio
	sendable struct {
		Rate float64
		CPUs string // the load's
	}
	shortBudget struct {
		Budget, Needed time.Duration
		Blocks         int           // that there was room for
		First          int           // that the first look needs
		Block, Planned time.Duration // time of a block, measured and planned
		Lingers        string        // arm whose server takes long to end, "" for none
		Busy           string        `json:"busy,omitempty"` // who took the CPUs, in words, if that may be why; Needed is then 0
	}
	grownBudget   struct{ Budget time.Duration }
	longerWindows struct {
		Window, Planned time.Duration
		Budget          time.Duration `json:"budget,omitempty"` // if it is longer, too
		Flag            string        // that asks for them
	}
	shorterWindows struct {
		Blocks, Next, First int // blocks measured so far, number of the next block, blocks needed for the first look
		Window, Was         time.Duration
		Needed              time.Duration // budget for windows as they were
		Lost                string        // metrics that they are too short for
	}
	shortExpectations struct {
		Short, All int
		Which      string
	}
	undecidable struct {
		Short      string
		Has, Needs float64 // of the resource Short
		First      int     // blocks of the first look
		Asked      string  // "yes" or "no": whether anything asks for the metric
		*Remedy
	}
	// A Remedy is only given for a metric that somebody asks for.
	Remedy struct{ Would string } // flags, "" if none would do
)

// Templates that sentences share.
var (
	_ = fact.Part("requests are", `{{if eq . 1}}1 request is{{else}}{{count .}} requests are{{end}}`)
	_ = fact.Part("short", `{{if eq .Short "requests"}}{{.Metric}} cannot be decided: a window holds {{count .Has}} requests, it needs {{count .Needs}}{{else if eq .Short "budget"}}nothing can be decided: the first {{plural .First "block"}} take {{count .Needs}} s, and the budget is {{count .Has}} s{{else}}nothing can be decided: --blocks {{count .Has}}, and the first that decide anything are {{count .Needs}}{{end}}`)
)

// Doubts about a server, the load or the machine.
var (
	// The judge adds the arm.
	metricsUnreadable = fact.New[failure]("metrics-unreadable", 0, `its metrics could not be read: {{.Error}}`)
	otherProcs        = fact.New[procs]("other-procs", 0, `has a GOMAXPROCS of {{count .Is}} by its own metrics, and the plan reckons with {{count .Planned}}: its default workers, listeners or processes and its ideal twin are not as planned; set GOMAXPROCS in its env`)
	lingered          = fact.New[failure]("lingered", 0, `{{.Error}}`)
)

// Doubts about a plan.
var (
	// They are known before the first block, except for the two about the budget.
	machineUnfit = fact.New[unfitness]("machine-unfit", 0, `{{with .Said}}{{.}}{{else}}machine: {{template "because" .}}{{end}}`,
		fact.Also("gist", `{{with .Said}}{{.}}{{else}}machine: {{range .Because}}{{gist .}}{{end}}{{end}}`))
	sharedCPUs = fact.New[cpusInCommon]("shared-cpus", -30, `{{with .CPUs}}the load shares {{.}} with the servers: it sleeps while nothing is due, the rate keeps what it takes below {{percent $.Share}}, and a verdict that the disturbance could explain is refused`+
		`{{else}}server and load share CPUs: the load disturbs what it measures; leave --cpus none out, on two or more CPUs{{end}}`)
	shortRound          = fact.New[turns]("short-round", 260, `{{plural .Connections "client"}} that ask for {{lasts .CPU}} of CPU time each take {{lasts .Round}} for a turn each, and a window has {{lasts .Window}}: some wait all through it; give --warmup {{count .Warmup}}s --window {{count .Needed}}s{{with .Budget}} --budget {{time .}}{{end}}`)
	predictIgnored      = fact.Plain("predict-ignored", 0, `predict: in a scenario does nothing any more: leave it out`)
	otherMode           = fact.New[modes]("other-mode", 70, `has mode {{.Mode}}, and the arm {{.Base}} has mode {{.Other}}; write {{.Other}},FLAG=VALUE for that with another setting`)
	tooFewWorkers       = fact.New[workers]("too-few-workers", 230, `{{plural .Workers "worker"}} cannot keep up: by Little's law {{count .Rate}}/s x {{millisf "%.1f" .Held}} held {{if .Busy}}keeps {{printf "%.3g" .Busy}} busy, so give it {{count .Needed}} or more{{else}}needs {{count .Needed}}{{end}}`)
	idleWorkers         = fact.New[idleness]("idle-workers", 20, `not identifiable: no more than {{template "requests are" .Requests}} in flight, so {{count .Idle}} of {{count .Workers}} workers never work`)
	queueNeverFull      = fact.New[room]("queue-never-full", 10, `not identifiable: a queue of {{count .Depth}} beside {{plural .Workers "worker"}} holds all that can be in flight ({{plural .Requests "request"}}), so it never overflows`)
	queueUnused         = fact.Plain("queue-unused", 60, `not identifiable: with GOMAXPROCS 1 no goroutine runs beside a handler that computes, so requests wait unread and not in the queue, which hardly ever overflows; a mode that queues connections (pool) has them there`)
	oneCPUShared        = fact.New[setting]("one-cpu-shared", 50, `not identifiable: the server has one CPU, so {{count .Of}} {{.Setting}} share it`)
	onePShared          = fact.New[setting]("one-p-shared", 40, `not identifiable: its GOMAXPROCS is 1, so {{count .Of}} {{.Setting}} share it`)
	clientsDiffer       = fact.New[clientSettings]("clients-differ", 0, `the arms' clients differ ({{.Settings}}): where two differ, a verdict is on the load and the server together, and no arm wins`)
	engineChosen        = fact.New[chosen]("engine-chosen", 0, `over TLS and HTTP/2 all loads are sent by the engine {{.Engine}}: its own part of each time is larger than that of spin, the usual one, and hides larger differences (Generator, in the report)`)
	closedLoop          = fact.Plain("closed-loop", 0, `a closed loop: clients wait with the server, so response times leave out what a delay would have cost others (coordinated omission); compare throughput`)
	otherProgram        = fact.New[readyPath]("other-program", -20, `another program: whether it does the work that is asked of it ({{.Path}}) is not checked`)
	runsAlready         = fact.Plain("runs-already", -10, `was running already: its trials share its state, and it is neither pinned nor fresh`)
	pipelineTooDeep     = fact.New[pipeline]("pipeline-too-deep", 0, `there is no breakdown of its time: a server stamps at most {{count .Most}} requests in flight on a connection, and its pipeline has {{count .Pipeline}}`)
	streamsUnstamped    = fact.Plain("streams-unstamped", 0, `there is no breakdown of its time: over HTTP/2 requests share a connection, to which a server's stamps belong`)
	expectationsLeftOut = fact.New[leftOut]("expectations-left-out", 0, `left out of the scenario: {{plural .Expectations "expectation"}} about arms that are not compared here`)
	wholeSeconds        = fact.New[logFile]("whole-seconds", 0, `{{.File}} tells whole seconds: within one its requests are spread at random, so bursts shorter than that are not replayed`)
	unevenProbe         = fact.New[halves]("uneven-probe", 0, `the two halves of the measurement of its highest rate were {{percent .Apart}} apart, so a rate that is a share of it is as uncertain`)
	budgetTooShort      = fact.New[shortBudget]("budget-too-short", 160, `the budget of {{time .Budget}} {{if .Blocks}}ended after {{plural .Blocks "block"}} of{{else}}has no room for{{end}} the {{count .First}}{{if not .Blocks}} blocks{{end}} that the first look needs{{with .Needed}}, and --budget {{time .}} has{{end}}: `+
		`{{with .Busy}}{{.}}, which makes blocks longer and a rate that is found lower; {{end}}a block takes {{time .Block}}, planned were {{time .Planned}}{{with .Lingers}}, and the server of {{.}} lingers when it is to end{{end}}`)
	rateSendable      = fact.New[sendable]("rate-sendable", 0, `{{per .Rate}} are what the load's {{.CPUs}} can send, less than the share of the highest rate that was asked for: the servers have time to spare; give the load more CPUs (--cpus) or ask for more work`)
	rateShared        = fact.New[shared]("rate-shared", 0, `offered {{per .Rate}} instead of {{per .Asked}}: at more the load takes over {{percent .Share}} of {{.CPUs}}, which it shares with the servers; --rate offers more`)
	windowsLonger     = fact.New[longerWindows]("windows-longer", 0, `windows last {{time .Window}} instead of {{time .Planned}}, to hold enough requests for what {{.Flag}} asks{{with .Budget}}; this takes {{time .}} at most (--budget){{end}}`)
	budgetGrown       = fact.New[grownBudget]("budget-grown", 0, `longer windows or warm-ups need more time: up to {{time .Budget}} (--budget)`)
	windowsShortened  = fact.New[shorterWindows]("windows-shortened", 180, `does not keep up, and its queue takes long to empty: the budget has no room for {{count .First}} blocks with windows of {{time .Was}}; from block {{count .Next}} on windows last {{time .Window}}{{with .Lost}}, too short for {{.}}{{end}}, and the {{plural .Blocks "block"}} before do not count; --window {{time .Was}} --budget {{time .Needed}} keeps them`)
	expectationsShort = fact.New[shortExpectations]("expectations-short", 0, `{{count .Short}} of {{plural .All "expectation"}} will be refused, because a window holds too few requests for the quantile: {{.Which}}`)
	loopWaits         = fact.New[waiting]("loop-waits", 0, `its handlers run on {{plural .Loops "event loop"}}, and a loop serves nothing else for the {{millisf "%.3g" .Held}} that a request holds it`)
	cannotBeDecided   = fact.New[undecidable]("cannot-be-decided", 0, `{{template "short" .}}{{if .Would}}; {{.Would}} would do{{else if eq .Asked "no"}}; no expectation asks for it{{end}}`)
)
