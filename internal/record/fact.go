package record

import "schedlab/internal/fact"

// Facts are in package fact; these names go when every package names it.
type (
	Fact   = fact.Fact
	Code   = fact.Code
	Values = map[string]float64
	Names  = map[string]string
)

// Sentence registers the words for a code whose values are not typed yet.
func Sentence(code Code, text string) Code {
	var disturbs func(Fact) bool
	if code == "machine-verdict" {
		disturbs = func(f Fact) bool { return f.Names["verdict"] == "unfit" }
	}
	if code == "machine-busy" {
		disturbs = func(Fact) bool { return true }
	}
	return fact.Sentence(code, weights[code], disturbs, text)
}

// ByWeight is fact.ByWeight.
func ByWeight(doubts []Fact) []Fact { return fact.ByWeight(doubts) }

// weights are those of the codes that Sentence registers.
var weights = map[Code]fact.Weight{
	"machine-busy":        280,
	"sticky-pool":         270,
	"short-round":         260,
	"starved-connections": 250,
	"generator-limit":     240,
	"too-few-workers":     230,
	"overloaded":          220,
	"rate-few-workers":    210,
	"rate-lowered":        200,
	"disturbed-probe":     190,
	"windows-shortened":   180,
	"run-not-complete":    170,
	"budget-too-short":    160,
	"missing-trials":      150,
	"load-stood-still":    140,
	"blocks-left-out":     130,
	"answered-none":       120,
	"redirects":           110,
	"windows-refused":     100,
	"load-took-cpu":       90,
	"unsent-requests":     80,
	"other-mode":          70,
	"queue-unused":        60,
	"one-cpu-shared":      50,
	"one-p-shared":        40,
	"parsers-differ":      30,
	"idle-workers":        20,
	"queue-never-full":    10,
	"runs-already":        -10,
	"other-program":       -20,
	"shared-cpus":         -30,
	"one-cpu":             -40,
	"virtualised":         -50,
	"one-host":            -60,
}

// Facts that several packages find or branch on. Every other fact is in the package that finds it.
var (
	GeneratorLimit  = Sentence("generator-limit", `its backlog grows through the window while the load's own CPUs are full: that is the generator's, and says nothing of the server; lower --rate, or give the load more with --cpus`)
	Overloaded      = Sentence("overloaded", `overloaded: its backlog grows through the window, so only goodput is judged`)
	AnsweredNone    = Sentence("answered-none", `it answered none of its requests{{if .Values.late}} before the window ended{{end}} in block{{if ne .Values.blocks 1.0}}s{{end}} {{.Names.blocks}}`)
	Redirects       = Sentence("redirects", `it answered {{percentf "%.3g" .Values.share}} of its requests with a redirect (status {{count .Values.status}}), which is not followed: ask for the page that it names`)
	StickyPool      = Sentence("sticky-pool", `starves {{count .Values.waiting}} of {{count .Values.connections}} kept connections, because a worker keeps its connection until it closes: what it does is for {{plural .Values.workers "client"}} only; give it workers={{count .Values.connections}}, take pool-requeue, or give --close`)
	CauseTurnedAway = Sentence("cause-turned-away", `its queue is full, and it turns {{percentf "%.3g" .Values.away}} of its connections away`)
	CauseStarvation = Sentence("starvation", `{{if .Values.short}}short windows: {{.Arm}} has given no answer yet to{{else}}starvation: {{.Arm}} left{{end}} {{count .Values.starved}} of its connections{{if not .Values.short}} without an answer{{end}}, and its times lack their waits`)
	Virtualised     = Sentence("virtualised", `a virtual machine: neighbours and the hypervisor are in the noise`)
	OneHost         = Sentence("one-host", `one host, loopback, synthetic demand`)
	LogLinesLeftOut = Sentence("log-lines-left-out", `{{with .Names.file}}{{.}}: {{end}}{{.Names.said}}`)
	Unreadable      = Sentence("unreadable", `{{.Names.error}}`)
	TooFewBlocks    = Sentence("too-few-blocks", `{{plural .Values.blocks "block"}}: too few to decide`)
	DisturbedProbe  = Sentence("disturbed-probe", `others took {{percent .Values.taken}} of its CPU time{{with .Names.most}} (most: {{.}}){{end}} in every measurement of its highest rate (X_max): it may do more, so a rate that is a share of X_max may be a smaller share; end them and run it again`)
	RateFewWorkers  = Sentence("rate-few-workers", `its {{plural .Values.workers "worker"}} hold every arm to {{per .Values.rate}}: {{.Names.other}} alone would be offered {{per .Values.without}}, and for that it needs {{count .Values.needed}} workers; give it workers={{count .Values.needed}}, or leave it out with --arms`)
	RateLowered     = Sentence("rate-lowered", `offered {{per .Values.rate}} instead of {{per .Values.asked}}: {{.Names.slowest}} did {{per .Values.most}} at its fastest; leave it out with --arms, or insist with --rate {{count .Values.asked}}/s`)
	ParsersDiffer   = Sentence("parsers-differ", `HTTP parsers differ too: {{.Names.parsers}}{{with .Names.control}}; --arm {{.}} tells parser and model apart{{end}}`)
	BudgetEnded     = Sentence("budget-ended", `{{with .Names.open}}{{.}}{{else}}{{plural .Values.open "verdict"}}{{end}} {{if eq .Values.open 1.0}}is{{else}}are{{end}} open after {{plural .Values.blocks "block"}}: `+
		`{{if .Values.busy}}others that took CPU time are the reason, and not the number of blocks{{else if .Values.room}}--budget {{time .Values.needed}} has room for {{count .Values.room}}, which may be enough{{else}}{{if lt .Values.blocks .Values.most}}as noisy as these, {{end}}{{count .Values.most}} blocks, the most, are not enough; {{if .Values.window}}--window {{time .Values.window}} --budget {{time .Values.needed}} should be{{else}}nor is a budget of half an hour{{end}}{{end}}`)
)

// MachineBusy is the doubt that others took much of the CPUs of servers or load. Its parts are sentences of their own:
// the answer of a run that is open because of it, what took the time (its Because), what that did to the run, and the
// ways out. Values has share, the ratio of the side's CPU time that is told, and open, 1 if it is why a run has no answer.
var (
	MachineBusy = Sentence("machine-busy", `{{template "busy who" .}} took {{percent .Values.share}} of {{template "busy cpus" .}}`+
		`{{if .Because}}: {{template "busy list" .}}{{end}}; {{if .Values.open}}{{template "machine-busy effect" .}}{{else}}the intervals allow for that, and are wider{{end}}; {{template "machine-busy do" .}}`)
	_ = Sentence(MachineBusy+" answer", `Too busy{{if not .Values.brief}} to tell{{end}}: {{template "busy who" .}} took {{percent .Values.share}} of {{template "busy cpus" .}}`)
	_ = Sentence(MachineBusy+" took", `{{if .Because}}{{template "busy list" .}}{{else}}{{template "busy who" .}} took {{percent .Values.share}} of {{template "busy cpus" .}}{{end}}`)
	_ = Sentence(MachineBusy+" effect", `{{if .Values.low}}{{.Names.arm}} against {{.Baseline}} may be anything from {{change .Values.low}} to {{change .Values.high}} at {{metric .Metric}}`+
		`{{else}}times are longer and differ more from window to window{{end}}`)
	_ = Sentence(MachineBusy+" do", `{{if eq .Names.who "hypervisor"}}use a machine with CPUs of its own{{else if eq .Names.who "unseen"}}look for them on the host (top) and end them{{else if eq .Names.who "interrupts"}}keep that traffic away{{else}}end {{with .Names.program}}{{.}}{{else}}them{{end}}{{if .Values.others}} and the others{{end}}{{end}}`+
		`, or give --wait-idle 2m, which starts as soon as 3 s were quiet`)
	_ = Sentence(MachineBusy+" now", `{{template "busy who" .}} took {{percent .Values.share}} of {{template "busy cpus" .}} in the last {{round .Values.seconds .01}}: {{template "busy list" .}}; {{template "machine-busy effect" .}}; {{template "machine-busy do" .}}`)
	_ = Sentence("busy who", `{{if eq .Names.who "hypervisor"}}the hypervisor{{else if eq .Names.who "unseen"}}unseen programs{{else if eq .Names.who "interrupts"}}interrupts{{else}}{{with .Names.program}}{{.}}{{else}}other programs{{end}}{{end}}{{if .Values.others}} and others{{end}}`)
	_ = Sentence("busy list", `{{template "list" .}}{{with .Values.more}}; and {{count .}} more{{end}}`)
	_ = Sentence("busy cpus", `the {{if eq .Names.side "both"}}shared{{else if eq .Names.side "load"}}load's{{else}}servers'{{end}} CPU{{if gt .Values.cpus 1.0}}s{{end}}`)
)
