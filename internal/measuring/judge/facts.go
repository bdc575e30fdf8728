package judge

import (
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/stats"
)

// Each variable below is a kind of fact, with the sentence that puts it into words; the file that finds a fact fills in its
// values. Values that several kinds have are in these types.
type (
	failure struct{ Error string }
	share   struct{ Share float64 }
)

// What a run's record lacks.
type (
	missing    struct{ Missing, Trials int }
	leftOut    struct{ Trial int }
	lengths    struct{ Warmup, Window, PlannedWarmup, PlannedWindow float64 } // seconds
	twice      struct{ Block int }
	cut        struct{ Trials int }
	incomplete struct {
		Status string
		Error  string `json:"error,omitempty"`
		Valid  *int   // blocks by which a comparison is judged; nil for a search
	}
	stillness struct {
		Seconds     float64 // in the window in which the load stood still longest
		Block, More int
	}
	blocksLost struct {
		Blocks, Ran int
		Rules       string
	}
)

var (
	missingTrials   = fact.New[missing]("missing-trials", 150, `{{count .Missing}} of {{count .Trials}} trials are missing from the record`)
	unreadableTrial = fact.New[failure]("unreadable-trial", 0, `a trial could not be read and is left out: {{.Error}}`)
	trialLeftOut    = fact.New[leftOut]("trial-left-out", 0, `trial {{count .Trial}} is left out: {{template "because" .}}`)
	trialFailed     = fact.New[failure]("trial-failed", 0, `{{.Error}}`)
	trialOfNoArm    = fact.Plain("trial-of-no-arm", 0, `the plan has no arm {{printf "%q" .Arm}}`)
	otherWindow     = fact.New[lengths]("other-window", 0, `it has {{printf "%g" .Warmup}} + {{printf "%g" .Window}} s, the plan {{printf "%g" .PlannedWarmup}} + {{printf "%g" .PlannedWindow}} s`)
	secondTrial     = fact.New[twice]("second-trial", 0, `block {{count .Block}} has another trial of this arm`)
	trialsCut       = fact.New[cut]("trials-cut", 0, `{{plural .Trials "trial"}} cut short and left out`)
	runNotComplete  = fact.New[incomplete]("run-not-complete", 170, `the run {{if eq .Status "running"}}was cut off or still goes on{{else}}is {{.Status}}{{end}}`+
		`{{with .Valid}} and is {{if eq (count .) "0"}}not judged: no block of it is whole{{else}}judged by the {{plural . "block"}} that it has{{end}}{{end}}{{with .Error}}: {{.}}{{end}}`)
	loadStoodStill = fact.New[stillness]("load-stood-still", 140, `the load stood still for {{lasts .Seconds}} in block {{count .Block}}{{with .More}} and in {{plural . "more window"}}{{end}}: what it measured there has no weight`)
	blocksLeftOut  = fact.New[blocksLost]("blocks-left-out", 130, `{{plural .Blocks "block"}} of {{count .Ran}} left out, for all arms: {{.Rules}}`)
)

// Doubts about a server, the load or the machine.
type (
	starving struct {
		Starved int
		Asked   int     `json:"asked,omitempty"`
		Turns   float64 `json:"turns,omitempty"`  // replies of each connection that was served, if these are too few to tell
		Warmup  float64 `json:"warmup,omitempty"` // seconds, as Window: what would tell
		Window  float64 `json:"window,omitempty"`
	}
	className struct{ Class string }
	notSent   struct{ Share, Rate float64 }
	lost      struct {
		Windows, Of int
		Joined      float64
	}
	fromLoad struct {
		Share, Most float64
		CPUs        string
	}
	watched struct{ Seconds float64 }
	usage   struct {
		Share                 float64
		CPU, PID, Processes   int
		Side, Program, Parent string
		Of                    string `json:"of,omitempty"` // of which CPUs Share is a ratio, in words; "" for those that the cause names itself
	}
	machines struct {
		Clock, Late float64 // seconds
		Shared      string  `json:"shared,omitempty"` // the machines of servers and load
		Apart       string  `json:"apart,omitempty"`  // the flags that part them
	}
	limit struct {
		Share float64
		CPUs  string `json:"cpus,omitempty"` // the flag that raises it
	}
	single struct {
		CPUs    string `json:"cpus,omitempty"`    // the flag that gives a server more
		Foreign bool   `json:"foreign,omitempty"` // no server is of schedlab, so they need not be of Go
	}
	planted struct{ Flags string }
)

// Parts of their sentences.
var (
	_ = fact.Part("longer-windows", `--warmup {{count .Warmup}}s --window {{count .Window}}s`)
	_ = fact.Part("starved", `{{if .Turns}}has given no answer yet to{{else}}starved{{end}} {{if .Asked}}{{count .Starved}} of {{plural .Asked "connection"}}{{else}}{{plural .Starved "connection"}}{{end}}`)
	_ = fact.Part("processes", `{{if .Processes}}{{count .Processes}} processes{{if not .Parent}}, mostly {{end}}{{end}}{{with .Parent}}{{if $.Processes}} of {{else}}started by {{end}}{{.}}, {{end}}pid {{count .PID}}`)
	_ = fact.Part("cpu", `CPU {{count .CPU}} ({{if eq .Side "both"}}server and load{{else}}{{.Side}}{{end}})`)
	_ = fact.Part("of", `{{with .Of}}{{.}}{{else}}{{template "cpu" .}}{{end}}`)
)

var (
	starvedConnections = fact.New[starving]("starved-connections", 250, `it {{template "starved" .}}: `+
		`{{with .Turns}}the others had {{printf "%.2g" .}} each, too few to tell a long wait from none; {{template "longer-windows" $}} would show it{{else}}its times are only those of the connections that it served, so it cannot win{{end}}`,
		fact.Also("gist", `it {{template "starved" .}}`))
	unsentRequests    = fact.New[notSent]("unsent-requests", 80, `its paced clients did not send {{percent .Share}} of the {{count .Rate}} requests/s planned, while they waited for replies: requests that were never sent are in no figure`)
	stampsLost        = fact.New[lost]("stamps-lost", 0, `its server had no room for the stamps of all requests in {{count .Windows}} of {{plural .Of "window"}}: the breakdown of its time covers only the newest {{percent .Joined}}; give the arm a larger timeline`)
	serverLimited     = fact.New[limit]("server-limited", 0, `its CPU limit stopped the server for {{percent .Share}} of the median window, which is in its times; give the servers {{with .CPUs}}more with {{.}}{{else}}a higher limit{{end}}`)
	virtualised       = fact.Plain("virtualised", -50, `a virtual machine: neighbours and the hypervisor are in the noise`)
	oneHost           = fact.Plain("one-host", -60, `one host, loopback, synthetic demand`)
	onlyOneCPU        = fact.New[single]("one-cpu", -40, `the server had one CPU{{if .Foreign}} (a program in Go has GOMAXPROCS 1 there){{else}} and so GOMAXPROCS 1: accept, poller and handlers share a run queue{{end}}; {{with .CPUs}}repeat with {{.}} 2 or more{{else}}with more CPUs repeat on two or more{{end}}`)
	capacityWorkedOut = fact.New[usedCPU]("capacity-worked-out", 0, `when it was saturated, the load was at its limit and the server used {{percent .Used}} of its CPU: its capacity is what all of it would serve, at the same CPU time a reply`)
	loadTookCPU       = fact.New[fromLoad]("load-took-cpu", 90, `its load took {{percent .Share}} of {{.CPUs}}, which it shares with the server, more than {{percent .Most}}: it was disturbed; ask for less with --rate`,
		fact.Also("gist", `its load took {{percent .Share}} of {{.CPUs}}, which it shares with the server, more than {{percent .Most}}`))
	othersUsedCPUs = fact.New[watched]("others-used-cpus", 0, `over the whole run of {{count .Seconds}} s {{template "list" .}}`)
	stolenTime     = fact.New[usage]("stolen-time", 0, `{{part .Share}} of {{template "of" .}} was stolen by the hypervisor`)
	interruptTime  = fact.New[usage]("interrupt-time", 0, `{{part .Share}} of {{template "of" .}} went to interrupts of devices`)
	softIRQTime    = fact.New[usage]("softirq-time", 0, `{{part .Share}} of {{template "of" .}} went to soft interrupts for other traffic than the load's`)
	programTime    = fact.New[usage]("program-time", 0, `{{.Program}} ({{template "processes" .}}) used {{part .Share}} of {{with .Of}}{{.}}{{else}}a CPU, mostly {{template "cpu" .}}{{end}}`)
	ownTime        = fact.New[usage]("own-time", 0, `this program's own threads used {{part .Share}} of {{template "cpu" .}}`)
	passingTime    = fact.New[usage]("passing-time", 0, `other programs (small ones, or gone before they were seen) used {{part .Share}} of {{with .Of}}{{.}}{{else}}the CPUs in use{{end}}`)
	stillGoingOn   = fact.Plain("still-going-on", 0, `{{template "because" .}} so far; intervals get wider, the run goes on`)
	// The code is of the first kind of site, and stays, as in records.
	onOtherSite = fact.New[machines]("on-cluster", 0, `{{with .Shared}}servers and load shared {{.}} ({{with $.Apart}}{{.}} part them{{else}}give each machines of its own{{end}}); {{end}}the network between the machines and all that runs on them are in the times{{if .Clock}}; `+
		`the senders' clocks agree to {{lasts .Clock}}{{end}}{{if .Late}}, and a sender began {{lasts .Late}} late{{end}}`)
	faultPlanted = fact.New[planted]("fault-planted", 0, `has a fault on purpose ({{.Flags}}): its figures test schedlab and say nothing about a server`)
)

// Reasons against a verdict.
type (
	noBlocks struct {
		Ran    int
		Status string
		Error  string `json:"error,omitempty"` // first line of why the run ended early
	}
	unusable struct {
		Error string
		Block int `json:"block,omitempty"` // of the arm without a figure, 0 if there is none
	}
	silence struct {
		Block int
		Late  bool // its replies came after the window
	}
	errorsOf struct {
		LimitPercent float64
		Kinds        int    // of ends
		Mostly       string // the end of most
	}
	statuses struct {
		Status int
		Own    float64 `json:"arm"` // ratios of the requests
		Other  float64 `json:"baseline"`
	}
	unsentShare struct{ Unsent float64 }
	// noCPU is the first block in which the CPU time of a request is not known.
	noCPU struct {
		Block int  `json:"block,omitempty"`
		Idle  bool `json:"idle,omitempty"` // no request was answered in the window
		Lost  bool `json:"lost,omitempty"` // the server has ended child processes whose time nobody counted
	}
	usedCPU    struct{ Used float64 } // share of the CPUs' time, in 0..1
	noCapacity struct {
		Slow bool `json:"slow,omitempty"` // the load speaks TLS or HTTP/2, in which it can do less
	}
	resolution struct {
		Ratio, Low, High stats.Opt // unknown without a comparison
	}
	noise    struct{ Low, High, Allowed float64 }
	drifting struct{ First, Last, P float64 }
	unequal  struct {
		More  float64 // of the CPU time as a ratio, or seconds that an arm was asked later
		Share string  `json:"share,omitempty"` // of what; "" for the lateness
	}
	sensitive struct {
		Ratio   float64
		Failing int    `json:"failing,omitempty"` // blocks
		Calm    string `json:"calm,omitempty"`    // what the blocks have least of
	}
)

var (
	causeNoBlocks   = fact.New[noBlocks]("no-blocks", 0, `{{if .Ran}}the data of {{plural .Ran "block"}} are wrong or not whole{{else}}no block has run{{end}}{{if .Error}}: {{.Error}}{{else if ne .Status "complete"}}: the run was cut short{{end}}`)
	causeUnfit      = fact.New[unusable]("unfit", 0, `{{if .Block}}{{metric .Metric}} of {{.Arm}} is unknown or 0 in block {{count .Block}}, so that it cannot be compared{{else}}{{.Error}}{{end}}`)
	causeNoGoodput  = fact.New[silence]("no-goodput", 0, `{{.Arm}} answered no request well in block {{count .Block}}{{if .Late}} before the window ended{{end}}, and a goodput of 0 cannot be compared; how its requests ended is in the report`)
	causeNoReplies  = fact.New[silence]("no-replies", 0, `in block {{count .Block}} {{.Arm}} answered none of its requests{{if .Late}} before the window ended{{end}}, so that it has no {{metric .Metric}}`)
	causeUnknownCPU = fact.New[noCPU]("unknown-cpu", 0, `{{if .Idle}}in block {{count .Block}} {{.Arm}} answered no request before the window ended, so that it has no CPU time a request`+
		`{{else}}the server CPU time of {{.Arm}} is not known{{if .Lost}}: in block {{count .Block}} it did not wait for some of its child processes{{else if .Block}} in block {{count .Block}}: the machine does not tell it of this server{{end}}{{end}}`)
	causeBusyBeside = fact.Plain("busy-beside", 0, `{{.Arm}} used most of its CPU time for something else than requests, so a small change of theirs would not show in it`)
	causeNoCapacity = fact.New[noCapacity]("unknown-capacity", 0, `{{.Arm}} has no capacity in one of the blocks: it gave no good reply while it was saturated, or the load was at its limit before the server used half of its CPU{{if .Slow}} (over TLS and HTTP/2 it is slower than many servers: leave capacity out with --metric){{end}}`)
	causeErrors     = fact.New[errorsOf]("errors", 0, `errors: {{range $i, $f := .Because}}{{if $i}} and {{end}}{{say $f}}{{end}}, above {{printf "%.1f" .LimitPercent}} %: {{if gt .Kinds 1}}mostly {{end}}{{.Mostly}}`)
	causeStatusMix  = fact.New[statuses]("status-mix", 0, `status mix: {{.Arm}} answers {{count .Status}} in {{percentf "%.2f" .Own}}, {{.Baseline}} in {{percentf "%.2f" .Other}} of requests`)
	causeOverload   = fact.New[doubt.Overload]("overload", 0, `overload: the backlog of {{.Arm}} grows all through the window, so only its goodput can be compared{{template "overload others" .}}`)
	causeGenerator  = fact.Plain("generator", 0, `generator: the backlog of {{.Arm}} grows while the load's own CPUs are full, so nothing is known of its times`)
	causeUnsent     = fact.New[unsentShare]("unsent", 0, `requests not sent: the paced clients of {{.Arm}} did not send {{percent .Unsent}} of their requests, which have no times`)
	causeTaken      = fact.New[share]("cpu-taken", 0, `busy machine: other programs used {{percent .Share}} of the servers' CPU time, and of two servers that wait for a CPU the one that needs less of it is quicker`)
	causeAA         = fact.New[resolution]("aa", 0, `{{range .Because}}run twice as a check: {{say .}}{{else}}{{.Baseline}}, run twice as a check, differs from itself at {{metric .Metric}} by {{change .Low}} to {{change .High}}, and only a difference beyond that stands{{end}}`)
	gateNoise       = fact.New[noise]("gate-noise", 0, `{{.Baseline}}, run twice as a check, differs from itself by {{change .Low}} to {{change .High}} at {{metric .Metric}}, where {{change .Allowed}} is allowed: equal builds differ too much in this run to tell`)
	causeDrift      = fact.New[drifting]("drift", 0, `drift: against {{.Baseline}} it is {{change .First}} in the first half of the blocks and {{change .Last}} in the last`)
	causeImbalance  = fact.New[unequal]("imbalance", 0, `imbalance: {{if .Share}}{{.Share}} differs between {{.Baseline}} and {{.Arm}} by {{percentf "%+.1f" .More}} of the CPU time, and the ratio follows it by enough to make the verdict`+
		`{{else}}{{.Arm}} was asked later than {{.Baseline}} by {{millisf "%.3g" .More}} at {{metric .Metric}}, which is enough to make the verdict{{end}}`)
	causeSensitivity = fact.New[sensitive]("sensitivity", 0, `sensitivity: {{if .Failing}}without the {{plural .Failing "block"}} in which requests failed{{else if .Calm}}in the half of the blocks with the least {{.Calm}}{{else}}counted from the sending,{{end}} it is {{change .Ratio}}`)
	nothingCompared  = fact.Plain("nothing-compared", 0, `nothing could be compared`)
)

// Reasons why an expectation or an objective has no answer.
type phase struct{ Phase string }

var (
	verdictRefused = fact.Plain("verdict-refused", 0, `{{metric .Metric}} of {{.Arm}} is refused: {{template "because" .}}`)
	verdictAbsent  = fact.Plain("verdict-absent", 0, `there is no verdict on {{metric .Metric}} of {{printf "%q" .Arm}}: it is no challenger of this run`)
	noSuchArm      = fact.Plain("no-such-arm", 0, `this run has no arm {{printf "%q" .Arm}}`)
	noTwin         = fact.Plain("no-twin", 0, `{{.Arm}} has no ideal twin: {{template "because" .}}`)
	figureRefused  = fact.Plain("figure-refused", 0, `{{metric .Metric}} of {{.Arm}}: {{template "because" .}}`)
	notMeasured    = fact.Plain("not-measured", 0, `{{metric .Metric}} of {{.Arm}} was not measured`)
	noXMax         = fact.Plain("no-x-max", 0, `the closed-loop throughput of {{printf "%q" .Arm}} was not measured`)
	badReplies     = fact.New[share]("bad-replies", 0, `{{percentf "%.2f" .Share}} of its requests got no good reply, and their times are among the others`)
	noTimeline     = fact.Plain("no-timeline", 0, `timeline not recorded`)
	noStamps       = fact.New[phase]("no-stamps", 0, `{{.Phase}} of {{.Arm}} is not known: its server stamps nothing`)
	noSuchClass    = fact.New[className]("no-such-class", 0, `the run has no class of requests {{printf "%q" .Class}}`)
	noSuchPhase    = fact.New[phase]("no-such-phase", 0, `the timeline has no phase {{printf "%q" .Phase}}`)
)

// Why an arm has no ideal twin.
type (
	unknown struct{ Why string }
	sticky  struct{ Waiting, Connections int }
	tooLong struct{ Requests, Most int }
)

var (
	twinOfProgram   = fact.Plain("twin-of-program", 0, `unknown discipline: another program`)
	twinNotRecorded = fact.Plain("twin-not-recorded", 0, `the record does not say how it schedules`)
	twinUnknown     = fact.New[unknown]("twin-unknown", 0, `{{.Why}}`)
	twinOfClients   = fact.Plain("twin-of-clients", 0, `its clients think, keep a pace, reconnect or pipeline; those of the simulation send as soon as they are answered`)
	twinOfDrops     = fact.Plain("twin-of-drops", 0, `a dropped request keeps its connection until the client gives up, which the simulation leaves out`)
	twinSticky      = fact.New[sticky]("twin-sticky", 0, `a worker keeps its connection, so {{count .Waiting}} of {{count .Connections}} kept ones are never served`)
	twinOfChance    = fact.Plain("twin-of-chance", 0, `two kept connections can fall to the same worker, which then never serves the second`)
	twinOfAging     = fact.Plain("twin-of-aging", 0, `its kept connections limit the queue, which the simulation of an aging queue leaves out`)
	twinTooLong     = fact.New[tooLong]("twin-too-long", 0, `{{count .Requests}} requests a trial are more than the {{count .Most}} it replays`)
	twinCostUnknown = fact.Plain("twin-cost-unknown", 0, `what each request costs is not known`)
	twinCPUUnknown  = fact.Plain("twin-cpuunknown", 0, `the server's CPU time was not measured`)
	twinNoReply     = fact.Plain("twin-no-reply", 0, `no good reply in a window`)
	twinAsksAgain   = fact.Plain("twin-asks-again", 0, `clients that are refused ask again at once, and would for ever`)
	twinServedNone  = fact.Plain("twin-served-none", 0, `it served no request of a window`)
	twinOverload    = fact.Plain("twin-overload", 0, `overload: its backlog grows all through the window`)
	twinNoGoodReply = fact.Plain("twin-no-good-reply", 0, `no good reply to a request of a window`)
)
