package judge

import (
	"schedlab/internal/fact"
	"schedlab/internal/record"
)

// What a run's record lacks.
var (
	// Each variable is the code of a fact with the sentence that puts it into words. The file that
	// finds a fact fills in its values and names. Codes are recorded, so a code keeps its meaning;
	// its words may change.
	missingTrials   = record.Sentence("missing-trials", `{{count .Values.missing}} of {{count .Values.trials}} trials are missing from the record`)
	unreadableTrial = record.Sentence("unreadable-trial", `a trial could not be read and is left out: {{.Names.error}}`)
	trialLeftOut    = record.Sentence("trial-left-out", `trial {{count .Values.trial}} is left out: {{template "because" .}}`)
	trialFailed     = record.Sentence("trial-failed", `{{.Names.error}}`)
	trialOfNoArm    = record.Sentence("trial-of-no-arm", `the plan has no arm {{printf "%q" .Arm}}`)
	trialOfNoSearch = record.Sentence("trial-of-no-search", `it does not belong to this search`)
	otherWindow     = record.Sentence("other-window", `it has {{printf "%g" .Values.warmup}} + {{printf "%g" .Values.window}} s, the plan {{printf "%g" .Values.planned_warmup}} + {{printf "%g" .Values.planned_window}} s`)
	secondTrial     = record.Sentence("second-trial", `block {{count .Values.block}} has another trial of this arm`)
	trialsCut       = record.Sentence("trials-cut", `{{plural .Values.trials "trial"}} cut short and left out`)
	runNotComplete  = record.Sentence("run-not-complete", `the run {{if eq .Names.status "running"}}was cut off or still goes on{{else}}is {{.Names.status}}{{end}}`+
		`{{with .Values}} and is judged by the {{plural .valid "block"}} that it has{{end}}{{with .Names.error}}: {{.}}{{end}}`)
	loadStoodStill = record.Sentence("load-stood-still", `the load stood still for {{lasts .Values.seconds}} in block {{count .Values.block}}{{with .Values.more}} and in {{plural . "more window"}}{{end}}: what it measured there has no weight`)
	blocksLeftOut  = record.Sentence("blocks-left-out", `{{plural .Values.blocks "block"}} of {{count .Values.ran}} left out, for all arms: {{.Names.rules}}`)
	lowXMax        = record.Sentence("low-x-max", `it kept {{per .Values.low}}, more than its X_max of {{per .Values.xmax}}, the throughput of closed-loop clients before the search: the machine was slower then, or they were too few`)
	windowsRefused = record.Sentence("windows-refused", `{{count .Values.refused}} of {{plural .Values.windows "window"}} are refused and count for nothing, the last for {{template "because" .}}`)
)

// Doubts about a server, the load or the machine.
var (
	starvedConnections = record.Sentence("starved-connections", `it {{template "starved" .}}: `+
		`{{with .Values.turns}}the others had {{printf "%.2g" .}} each, too few to tell a long wait from none; {{template "longer-windows" $}} would show it{{else}}its times are only those of the connections that it served, so it cannot win{{end}}`)
	unsentRequests = record.Sentence("unsent-requests", `its paced clients did not send {{percent .Values.share}} of the {{count .Values.rate}} requests/s planned, while they waited for replies: requests that were never sent are in no figure`)
	stampsLost     = record.Sentence("stamps-lost", `its server had no room for the stamps of all requests in {{count .Values.windows}} of {{plural .Values.of "window"}}: the breakdown of its time covers only the newest {{percent .Values.joined}}; give the arm a larger timeline`)
	serverLimited  = record.Sentence("server-limited", `its CPU limit stopped the server for {{percent .Values.share}} of the median window, which is in its times; give the servers more with --server-cpu`)
	virtualised    = fact.Plain("virtualised", -50, `a virtual machine: neighbours and the hypervisor are in the noise`)
	oneHost        = fact.Plain("one-host", -60, `one host, loopback, synthetic demand`)
	onlyOneCPU     = record.Sentence("one-cpu", `the server had one CPU and so GOMAXPROCS 1: accept, poller and handlers share a run queue; with more CPUs repeat on two or more`)
	loadTookCPU    = record.Sentence("load-took-cpu", `its load took {{percent .Values.share}} of {{.Names.cpus}}, which it shares with the server, more than {{percent .Values.most}}: it was disturbed; ask for less with --rate`)
	othersUsedCPUs = record.Sentence("others-used-cpus", `over the whole run of {{count .Values.seconds}} s {{template "list" .}}`)
	stolenTime     = record.Sentence("stolen-time", `{{part .Values.share}} of {{template "cpu" .}} was stolen by the hypervisor`)
	interruptTime  = record.Sentence("interrupt-time", `{{part .Values.share}} of {{template "cpu" .}} went to interrupts of devices`)
	softIRQTime    = record.Sentence("softirq-time", `{{part .Values.share}} of {{template "cpu" .}} went to soft interrupts for other traffic than the load's`)
	programTime    = record.Sentence("program-time", `{{.Names.program}} ({{template "processes" .}}) used {{part .Values.share}} of a CPU, mostly {{template "cpu" .}}`)
	ownTime        = record.Sentence("own-time", `this program's own threads used {{part .Values.share}} of {{template "cpu" .}}`)
	passingTime    = record.Sentence("passing-time", `other programs (small ones, or gone before they were seen) used {{part .Values.share}} of the CPUs in use`)
	stillGoingOn   = record.Sentence("still-going-on", `{{template "because" .}} so far; intervals get wider, the run goes on`)
)

// Doubts of a plan.
var (
	faultPlanted = record.Sentence("fault-planted", `has a fault on purpose ({{.Names.flags}}): its figures test schedlab and say nothing about a server`)
)

// Reasons against a verdict.
var (
	causeNoBlocks    = record.Sentence("no-blocks", `{{if .Values.ran}}the data of {{plural .Values.ran "block"}} are wrong or not whole{{else}}no block has run{{end}}{{if ne .Names.status "complete"}}: the run was cut short{{end}}`)
	causeUnfit       = record.Sentence("unfit", `{{if .Values.block}}in block {{count .Values.block}} {{.Arm}} has no {{.Metric}} that can be compared{{else}}{{.Names.error}}{{end}}`)
	causeNoReplies   = record.Sentence("no-replies", `in block {{count .Values.block}} {{.Arm}} answered none of its requests{{if .Values.late}} before the window ended{{end}}, so that it has no {{.Metric}}`)
	causeFewRequests = record.Sentence("few-requests", `too few requests: {{with .Values.requests}}{{count .}} a window, {{end}}{{.Metric}} needs {{count .Values.needed}}{{with .Values.window}}; --window {{time .}}{{with $.Values.budget}} --budget {{time .}} hold{{else}} holds{{end}} as many{{else}}{{if not .Values.requests}} (--window){{end}}{{end}}`)
	causeUnknownCPU  = record.Sentence("unknown-cpu", `the server CPU time of {{.Arm}} is not known`)
	causeErrors      = record.Sentence("errors", `errors: {{range $i, $f := .Because}}{{if $i}} and {{end}}{{say $f}}{{end}}, above {{printf "%.1f" .Values.limit_percent}} %: {{if gt .Values.kinds 1.0}}mostly {{end}}{{.Names.mostly}}`)
	tooManyFailed    = record.Sentence("too-many-failed", `{{.Arm}} failed {{count .Values.errors}} of {{count .Values.requests}} requests ({{percentf "%.2f" .Values.share}})`)
	causeStatusMix   = record.Sentence("status-mix", `status mix: {{.Arm}} answers {{count .Values.status}} in {{percentf "%.2f" .Values.arm}}, {{.Baseline}} in {{percentf "%.2f" .Values.baseline}} of requests`)
	causeOverload    = record.Sentence("overload", `overload: the backlog of {{.Arm}} grows all through the window, so only its goodput can be compared`)
	causeUnsent      = record.Sentence("unsent", `requests not sent: the paced clients of {{.Arm}} did not send {{percent .Values.unsent}} of their requests, which have no times`)
	causeTaken       = record.Sentence("cpu-taken", `busy machine: other programs used {{percent .Values.share}} of the servers' CPU time, and of two servers that wait for a CPU the one that needs less of it is quicker`)
	causeAA          = record.Sentence("aa", `{{range .Because}}its own copy: {{say .}}{{else}}{{.Baseline}} differs from its own copy at {{.Metric}} by {{change .Values.low}} to {{change .Values.high}}, and only a difference beyond that stands{{end}}`)
	gateNoise        = record.Sentence("gate-noise", `{{.Baseline}} against its own copy is {{change .Values.low}} to {{change .Values.high}} at {{.Metric}}, where {{change .Values.allowed}} is allowed: equal builds differ too much here to tell`)
	causeDrift       = record.Sentence("drift", `drift: against {{.Baseline}} it is {{change .Values.first}} in the first half of the blocks and {{change .Values.last}} in the last`)
	causeImbalance   = record.Sentence("imbalance", `imbalance: {{if .Names.share}}{{.Names.share}} differs between {{.Baseline}} and {{.Arm}} by {{percentf "%+.1f" .Values.more}} of the CPU time, and the ratio follows it by enough to make the verdict`+
		`{{else}}{{.Arm}} was asked later than {{.Baseline}} by {{millisf "%.3g" .Values.more}} at {{.Metric}}, which is enough to make the verdict{{end}}`)
	causeSensitivity = record.Sentence("sensitivity", `sensitivity: {{if .Values.failing}}without the {{plural .Values.failing "block"}} in which requests failed{{else if .Names.calm}}in the half of the blocks with the least {{.Names.calm}}{{else}}counted from the sending,{{end}} it is {{change .Values.ratio}}`)
	nothingCompared  = record.Sentence("nothing-compared", `nothing could be compared`)
)

// Answers to an expectation or an objective, and reasons why there is none.
var (
	verdictRefused = record.Sentence("verdict-refused", `{{.Metric}} of {{.Arm}} is refused: {{template "because" .}}`)
	verdictAbsent  = record.Sentence("verdict-absent", `there is no verdict on {{.Metric}} of {{printf "%q" .Arm}}: it is no challenger of this run`)
	noSuchArm      = record.Sentence("no-such-arm", `this run has no arm {{printf "%q" .Arm}}`)
	noTwin         = record.Sentence("no-twin", `{{.Arm}} has no ideal twin: {{template "because" .}}`)
	figureRefused  = record.Sentence("figure-refused", `{{.Metric}} of {{.Arm}}: {{template "because" .}}`)
	notMeasured    = record.Sentence("not-measured", `{{.Metric}} of {{.Arm}} was not measured`)
	noXMax         = record.Sentence("no-x-max", `the closed-loop throughput of {{printf "%q" .Arm}} was not measured`)
	badReplies     = record.Sentence("bad-replies", `{{percentf "%.2f" .Values.share}} of its requests got no good reply, and their times are among the others`)
	noTimeline     = record.Sentence("no-timeline", `timeline not recorded`)
	noStamps       = record.Sentence("no-stamps", `{{.Names.phase}} of {{.Arm}} is not known: its server stamps nothing`)
	noSuchPhase    = record.Sentence("no-such-phase", `the timeline has no phase {{printf "%q" .Names.phase}}`)
	onCluster      = record.Sentence("on-cluster", `{{with .Names.shared}}servers and load shared {{.}} (--server-nodes and --load-nodes part them); {{end}}the cluster's network and all that runs on its nodes are in the times{{if .Values.clock}}; `+
		`the shards' clocks agree to {{time .Values.clock}}{{end}}{{if .Values.late}}, and a shard began {{time .Values.late}} late{{end}}`)
)

// Why an arm has no ideal twin.
var (
	twinOfProgram   = record.Sentence("twin-of-program", `unknown discipline: another program`)
	twinNotRecorded = record.Sentence("twin-not-recorded", `the record does not say how it schedules`)
	twinUnknown     = record.Sentence("twin-unknown", `{{.Names.why}}`)
	twinOfClients   = record.Sentence("twin-of-clients", `its clients think, keep a pace, reconnect or pipeline; those of the simulation send as soon as they are answered`)
	twinOfDrops     = record.Sentence("twin-of-drops", `a dropped request keeps its connection until the client gives up, which the simulation leaves out`)
	twinSticky      = record.Sentence("twin-sticky", `a worker keeps its connection, so {{count .Values.waiting}} of {{count .Values.connections}} kept ones are never served`)
	twinOfChance    = record.Sentence("twin-of-chance", `two kept connections can fall to the same worker, which then never serves the second`)
	twinOfAging     = record.Sentence("twin-of-aging", `its kept connections limit the queue, which the simulation of an aging queue leaves out`)
	twinTooLong     = record.Sentence("twin-too-long", `{{count .Values.requests}} requests a trial are more than the {{count .Values.most}} it replays`)
	twinCostUnknown = record.Sentence("twin-cost-unknown", `what each request costs is not known`)
	twinCPUUnknown  = record.Sentence("twin-cpuunknown", `the server's CPU time was not measured`)
	twinNoReply     = record.Sentence("twin-no-reply", `no good reply in a window`)
	twinAsksAgain   = record.Sentence("twin-asks-again", `clients that are refused ask again at once, and would for ever`)
	twinServedNone  = record.Sentence("twin-served-none", `it served no request of a window`)
	twinOverload    = record.Sentence("twin-overload", `overload: its backlog grows all through the window`)
	twinNoGoodReply = record.Sentence("twin-no-good-reply", `no good reply to a request of a window`)
)

// Answers of a search for capacity, and reasons why it found no more.
var (
	ruleBroken       = record.Sentence("rule-broken", `{{.Names.rule}}: {{printf "%.3g" .Values.value}}, limit {{printf "%.3g" .Values.limit}}`)
	rateOff          = record.Sentence("rate-off", `rate off (ratio): {{printf "%.3g" .Values.value}}, limit {{printf "%.3g" .Values.limit}}`)
	sentLate         = record.Sentence("sent-late", `sent late: the {{.Metric}} is {{millisf "%.3g" .Values.own}} from its time and {{millisf "%.3g" .Values.sent}} from the sending, which keeps the objective`)
	tooFewForTerm    = record.Sentence("too-few-for-term", `too few requests to judge {{.Metric}}`)
	searchGenerator  = record.Sentence("search-generator", `; the generator is the limit: from {{per .Values.rate}} on it cannot keep its schedule, its CPUs up to {{percent .Values.busy}} busy, and so cannot overload this arm; give it more of them with --cpus, or ask for what costs the server more`)
	searchOthers     = record.Sentence("search-others", ` (stop other programs, or choose CPUs with --cpus)`)
	searchBusy       = fact.Plain("search-busy", 0, `; {{range .Because}}{{words . "share"}}{{end}}`)
	searchStopped    = record.Sentence("search-stopped", `; {{if eq .Names.status "running"}}cut off{{else}}interrupted{{end}} after {{plural .Values.windows "window"}}`)
	recoveryOpen     = record.Sentence("recovery-open", `; recovery open: after the overload {{count .Values.kept}} of {{plural .Values.of "window"}} at {{per .Values.rate}} kept it{{template "because" .}}`)
	recoveryNoise    = record.Sentence("recovery-noise", `, and noise alone may break it so near its limit`)
	searchRefusals   = record.Sentence("search-refusals", `; {{count .Values.refused}} of {{plural .Values.windows "window"}} are refused, the last for {{template "because" .}}`)
	searchScatter    = record.Sentence("search-scatter", `; windows of one rate differ too much, or the budget is too small: twice as much of both, --window {{time .Values.window}} --budget {{time .Values.budget}}, may tell`)
	searchShort      = record.Sentence("search-short", `; the budget ended before that was settled: --budget {{time .Values.budget}} has room for the windows that decide`)
	losingRequests   = record.Sentence("losing-requests", `; {{percentf "%.2g" .Values.share}} of the requests get no good reply there, which no term forbids: add errors<=0.1%`)
	noRecovery       = record.Sentence("no-recovery", `; it does not recover: overloaded once, it breaks it at {{per .Values.rate}}, too`)
	diedOverloaded   = record.Sentence("died-overloaded", `; it does not recover: at {{per .Values.rate}} it died ({{.Names.error}})`)
	capacityBetween  = record.Sentence("capacity-between", `{{.Arm}} keeps {{.Names.slo}} up to between {{per .Values.low}} and {{per .Values.high}}{{template "because" .}}`)
	capacityBeyond   = record.Sentence("capacity-beyond", `{{.Arm}} keeps {{.Names.slo}} at {{per .Values.low}}, and {{template "because" .}}`)
	capacityBelow    = record.Sentence("capacity-below", `{{.Arm}} does not keep {{.Names.slo}} at {{per .Values.high}}: {{count .Values.broken}} of {{count .Values.of}} windows break it{{template "because" .}}`)
	capacityNever    = record.Sentence("capacity-never", `{{.Arm}} keeps {{.Names.slo}} at no rate: {{count .Values.broken}} of {{count .Values.of}} windows at {{per .Values.high}} break it, and no lower one has {{.Names.wants}}`)
	capacitySlow     = record.Sentence("capacity-slow", `{{.Arm}} is too slow to judge: it {{.Names.said}}`)
	capacityDied     = record.Sentence("capacity-died", `{{.Arm}} died{{with .Values.rate}} at {{per .}}{{end}}: {{.Names.error}}{{if .Values.low}}; until then {{per .Values.low}} was verified for {{.Names.slo}}{{end}}`)
	capacityEnded    = record.Sentence("capacity-ended", `{{.Arm}} for {{.Names.slo}}: open, {{.Names.error}}`)
	capacityWants    = record.Sentence("capacity-wants", `{{.Arm}} for {{.Names.slo}}: open, {{per .Values.high}} is refuted, and {{per .Values.wants}} itself, which {{.Names.wants}} asks for, is neither verified nor refuted{{template "because" .}}`)
	capacityVerified = record.Sentence("capacity-verified", `{{.Arm}} for {{.Names.slo}}: open, {{per .Values.low}} is verified, and no higher rate is refuted{{if and .Values.tried .Values.of}} ({{count .Values.broken}} of {{plural .Values.of "window"}} at {{per .Values.tried}} broke it, and 2 of 3 have to){{end}}{{template "because" .}}`)
	capacityRefuted  = record.Sentence("capacity-refuted", `{{.Arm}} for {{.Names.slo}}: open, {{per .Values.high}} is refuted, and no lower rate is verified{{if and .Values.tried .Values.kept_of}} ({{count .Values.kept}} of {{plural .Values.kept_of "window"}} at {{per .Values.tried}} kept it, and 3 of 3 have to){{end}}{{template "because" .}}`)
	capacityOpen     = record.Sentence("capacity-open", `{{.Arm}} for {{.Names.slo}}: open, no rate is verified or refuted in {{plural .Values.windows "window"}}{{template "because" .}}`)
	nothingBroke     = record.Sentence("nothing-broke", `nothing up to {{per .Values.rate}} broke it{{template "because" .}}`)
	searchBudget     = record.Sentence("search-budget", `; the budget ended there: raise --budget`)
	atCeiling        = record.Sentence("at-ceiling", `no rate that could be offered breaks it; more than {{per .Values.rate}} is more than a window has room for`)
	rateRefused      = record.Sentence("rate-refused", `; {{per .Values.rate}} was refused for {{template "because" .}}`)
	nothingOffered   = record.Sentence("nothing-offered", `no rate that could be offered breaks it{{template "because" .}}`)
	searchEnded      = record.Sentence("search-ended", `; the search ended there`)
	noneKeeps        = record.Sentence("none-keeps", `, and none down to {{per .Values.rate}} keeps it`)
	atFloor          = record.Sentence("at-floor", `; that is the lowest rate that a window of {{printf "%g" .Values.window}} s can judge: --window {{time .Values.twice}} looks down to half of it`)
	moreCapacity     = record.Sentence("more-capacity", `{{.Arm}} has more capacity than {{.Baseline}}: at least {{per .Values.own}} against at most {{per .Values.baseline}}`)
	lessCapacity     = record.Sentence("less-capacity", `{{.Arm}} has less capacity than {{.Baseline}}: at most {{per .Values.own}} against at least {{per .Values.baseline}}`)
	notToldApart     = record.Sentence("not-told-apart", `not told apart from {{.Baseline}}, for their intervals overlap: {{.Names.arms}}`)
)

// Parts of sentences.
var (
	_ = record.Sentence("longer-windows", `--warmup {{count .Values.warmup}}s --window {{count .Values.window}}s`)
	_ = record.Sentence("starved", `{{if .Values.turns}}has given no answer yet to{{else}}starved{{end}} {{if .Values.asked}}{{count .Values.starved}} of {{plural .Values.asked "connection"}}{{else}}{{plural .Values.starved "connection"}}{{end}}`)
	_ = record.Sentence("processes", `{{if .Values.processes}}{{count .Values.processes}} processes{{if not .Names.parent}}, mostly {{end}}{{end}}{{with .Names.parent}}{{if $.Values.processes}} of {{else}}started by {{end}}{{.}}, {{end}}pid {{count .Values.pid}}`)
	_ = record.Sentence("cpu", `CPU {{count .Values.cpu}} ({{if eq .Names.side "both"}}server and load{{else}}{{.Names.side}}{{end}})`)
)
