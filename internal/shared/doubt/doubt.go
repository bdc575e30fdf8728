// Package doubt has the kinds of facts that several packages find or decide by: doubts about a run's answer, and what an
// arm did that speaks against its figures. Every other kind is in the package that finds it.
package doubt

import (
	"slices"

	"schedlab/internal/shared/fact"
)

// Facts without values, each about an arm.
var (
	GeneratorLimit = fact.Plain("generator-limit", 240, `its backlog grows through the window while the load's own CPUs are full: that is the generator's, and says nothing of the server; lower --rate, or give the load more with --cpus`)
	Overloaded     = fact.Plain("overloaded", 220, `overloaded: its backlog grows through the window, so only goodput is judged`)
)

// Silence is what an arm did that gave no good reply in the windows of some blocks.
type Silence struct {
	Blocks  int
	Late    bool   // some of these windows had replies after their end
	Numbers string `json:"blocks"` // of the blocks
}

// AnsweredNone is the doubt about an arm that answered none of its requests.
var AnsweredNone = fact.New[Silence]("answered-none", 120, `it answered none of its requests{{if .Late}} before the window ended{{end}} in block{{if ne .Blocks 1}}s{{end}} {{.Numbers}}`)

// Redirection is what an arm did that sent clients elsewhere.
type Redirection struct {
	Share  float64 // of its requests
	Status int     // the most frequent one
}

// Redirects is the doubt about an arm that answers with redirects.
var Redirects = fact.New[Redirection]("redirects", 110, `it answered {{percentf "%.3g" .Share}} of its requests with a redirect (status {{count .Status}}), which is not followed: ask for the page that it names`)

// Sticky tells what workers do that keep their connections.
type Sticky struct{ Waiting, Connections, Workers int }

// StickyPool is the doubt about an arm whose workers keep their connections, and so starve others.
var StickyPool = fact.New[Sticky]("sticky-pool", 270, `starves {{count .Waiting}} of {{count .Connections}} kept connections, because a worker keeps its connection until it closes: what it does is for {{plural .Workers "client"}} only; give it workers={{count .Connections}}, take pool-requeue, or give --close`)

// Unanswered are connections that an arm left without a reply.
type Unanswered struct {
	Starved int
	Short   bool `json:"short,omitempty"` // the windows may be too short to tell
}

// Starvation is the reason against an arm's times that it starved connections.
var Starvation = fact.New[Unanswered]("starvation", 0, `{{if .Short}}short windows: {{.Arm}} has given no answer yet to{{else}}starvation: {{.Arm}} left{{end}} {{count .Starved}} of its connections{{if not .Short}} without an answer{{end}}, and its times lack their waits`)

// Failed is what an arm fails.
type Failed struct {
	Errors, Requests int
	Share            float64
}

// TooManyFailed is the reason against an arm's times that it failed too many requests.
var TooManyFailed = fact.New[Failed]("too-many-failed", 0, `{{.Arm}} failed {{count .Errors}} of {{count .Requests}} requests ({{percentf "%.2f" .Share}})`)

// Few tells how many requests a quantile needs, and what would have as many.
type Few struct {
	Needed   float64
	Requests float64 `json:"requests,omitempty"` // that a window has, 0 if that is not known
	*Longer          // nil if no window would
}

// Longer is a window that has as many requests as a quantile needs, in seconds, as is Budget.
type Longer struct {
	Window float64
	Budget float64 // 0 if the run's own has room for such windows
}

// FewRequests is the reason against a quantile that windows have too few requests for it.
var FewRequests = fact.New[Few]("few-requests", 0, `too few requests: {{with .Requests}}{{count .}} a window, {{end}}{{.Metric}} needs {{count .Needed}}{{with .Window}}; --window {{time .}}{{with $.Budget}} --budget {{time .}} hold{{else}} holds{{end}} as many{{else}}{{if not .Requests}} (--window){{end}}{{end}}`)

// Lines tells which lines of a log have no request.
type Lines struct {
	File string `json:"file,omitempty"`
	Said string
}

// LogLinesLeftOut is the doubt about a replayed log that some of its lines are left out.
var LogLinesLeftOut = fact.New[Lines]("log-lines-left-out", 0, `{{with .File}}{{.}}: {{end}}{{.Said}}`)

// Probe is what others took from the measurement of an arm's highest rate.
type Probe struct {
	Taken float64 // ratio of the CPU time
	Most  string  // the program that took most of it, "" for none
}

// DisturbedProbe is the doubt about an arm whose highest rate may be higher.
var DisturbedProbe = fact.New[Probe]("disturbed-probe", 190, `others took {{percent .Taken}} of its CPU time{{with .Most}} (most: {{.}}){{end}} in every measurement of its highest rate (X_max): it may do more, so a rate that is a share of X_max may be a smaller share; end them and run it again`)

// FewWorkers tells how an arm of few workers holds back every other one, which is offered what it can do.
type FewWorkers struct {
	Workers int
	Rate    float64
	Without float64 // the rate that Other alone would be offered
	Needed  int     // workers for that
	Other   string  // the arm that is slowest otherwise
}

// RateFewWorkers is the doubt about a rate that an arm's workers hold down.
var RateFewWorkers = fact.New[FewWorkers]("rate-few-workers", 210, `its {{plural .Workers "worker"}} hold every arm to {{per .Rate}}: {{.Other}} alone would be offered {{per .Without}}, and for that it needs {{count .Needed}} workers; give it workers={{count .Needed}}, or leave it out with --arms`)

// Lowered tells for which arm a rate is lower than was asked.
type Lowered struct {
	Rate, Asked float64
	Most        float64 // the highest rate of the slowest arm
	Slowest     string
}

// RateLowered is the doubt about a rate that an arm could not keep.
var RateLowered = fact.New[Lowered]("rate-lowered", 200, `offered {{per .Rate}} instead of {{per .Asked}}: {{.Slowest}} did {{per .Most}} at its fastest; leave it out with --arms, or insist with --rate {{count .Asked}}/s`)

// Parsers tells which arms have another HTTP parser.
type Parsers struct {
	Control string   `json:"control,omitempty"` // the mode that tells parser and model apart, "" if the run has an arm that does
	Other   []string // the arms that have not the baseline's
	Parsers string   // which arms have which
}

// ParsersDiffer is the doubt about arms with other HTTP parsers.
var ParsersDiffer = fact.New[Parsers]("parsers-differ", 30, `HTTP parsers differ too: {{.Parsers}}{{with .Control}}; --arm {{.}} tells parser and model apart{{end}}`)

// Ended tells what is open at the end of a budget, and what would decide it: more blocks, or longer windows. Times are
// seconds.
type Ended struct {
	Budget   float64 `json:"budget,omitempty"`
	Blocks   int
	Most     int     `json:"most,omitempty"`   // blocks of a run at most
	Room     int     `json:"room,omitempty"`   // the blocks that a budget of Needed has room for
	Needed   float64 `json:"needed,omitempty"` // the budget that would do
	Window   float64 `json:"window,omitempty"` // the window that would, 0 if it may be as it is
	Busy     bool    `json:"busy,omitempty"`   // others that took CPU time are the reason
	Moot     bool    `json:"moot,omitempty"`   // the budget had room, but the answer depends on none of them
	Open     int     // verdicts
	Verdicts string  `json:"open,omitempty"` // which they are
}

// BudgetEnded is the doubt that verdicts are open at the end of a run's budget.
var BudgetEnded = fact.New[Ended]("budget-ended", 0, `{{with .Verdicts}}{{.}}{{else}}{{plural .Open "verdict"}}{{end}} {{if eq .Open 1}}is{{else}}are{{end}} open after {{plural .Blocks "block"}}: `+
	`{{if .Busy}}others that took CPU time are the reason, and not the number of blocks{{else if .Moot}}the answer does not depend on {{if eq .Open 1}}it{{else}}them{{end}}{{else if .Room}}--budget {{time .Needed}} has room for {{count .Room}}, which may be enough{{else}}{{if lt .Blocks .Most}}as noisy as these, {{end}}{{count .Most}} blocks, the most, are not enough; {{if .Window}}--window {{time .Window}} --budget {{time .Needed}} should be{{else}}nor is a budget of half an hour{{end}}{{end}}`)

// What took CPU time, if no program can be named.
const (
	UnseenPrograms = "unseen"
	Hypervisor     = "hypervisor"
	Interrupts     = "interrupts"
	OtherPrograms  = "other"
)

// Taken tells who took how much of the CPUs of servers or load.
type Taken struct {
	Side       string  // "server", "load" or "both"
	CPUs       int     // of this side
	Share      float64 // ratio of their time that is told
	Who        string  // one of UnseenPrograms, Hypervisor, Interrupts and OtherPrograms, "" for Program
	*OfProgram         // nil if none is known
	*Watched           // nil if only the windows tell it
	Brief      bool    // the answer has no room for "to tell"
	Open       bool    // this is why the run has no answer
	// Challenger is the arm of the widest interval, from Low to High; "" if there is none.
	Challenger string  `json:"arm,omitempty"`
	Low        float64 `json:"low,omitempty"`
	High       float64 `json:"high,omitempty"`
}

// OfProgram is the program that took most.
type OfProgram struct {
	Program string
	PID     int
}

// Watched is what only the watchdog knows, which saw the whole run.
type Watched struct {
	Others  bool    // took much besides Who or Program
	More    int     // causes that Because has not
	Seconds float64 // the time of which Share is
}

// Words that several sentences of MachineBusy use.
var (
	_ = fact.Part("busy who", `{{if eq .Who "hypervisor"}}the hypervisor{{else if eq .Who "unseen"}}unseen programs{{else if eq .Who "interrupts"}}interrupts{{else}}{{with .Program}}{{.}}{{else}}other programs{{end}}{{end}}{{if .Others}} and others{{end}}`)
	_ = fact.Part("busy list", `{{template "list" .}}{{with .More}}; and {{count .}} more{{end}}`)
	_ = fact.Part("busy cpus", `the {{if eq .Side "both"}}shared{{else if eq .Side "load"}}load's{{else}}servers'{{end}} CPU{{if gt .CPUs 1}}s{{end}}`)
	_ = fact.Part("busy share", `{{template "busy who" .}} took {{percent .Share}} of {{template "busy cpus" .}}`)
	_ = fact.Part("busy effect", `{{if .Low}}{{.Challenger}} against {{.Baseline}} may be anything from {{change .Low}} to {{change .High}} at {{metric .Metric}}`+
		`{{else}}times are longer and differ more from window to window{{end}}`)
	_ = fact.Part("busy do", `{{if eq .Who "hypervisor"}}use a machine with CPUs of its own{{else if eq .Who "unseen"}}look for them on the host (top) and end them{{else if eq .Who "interrupts"}}keep that traffic away{{else}}end {{with .Program}}{{.}}{{else}}them{{end}}{{if .Others}} and the others{{end}}{{end}}`+
		`, or give --wait-idle 2m, which starts as soon as 3 s were quiet`)
)

// MachineBusy is the doubt that others took much of the CPUs of servers or load. Its parts: who took how much, the answer of a run that is
// open because of it, what took the time (its Because), what that did to the run, the ways out, and all of it while the run
// goes on.
var MachineBusy = fact.Disturbing(fact.New[Taken]("machine-busy", 280, `{{template "busy share" .}}`+
	`{{if .Because}}: {{template "busy list" .}}{{end}}; {{if .Open}}{{template "busy effect" .}}{{else}}the intervals allow for that, and are wider{{end}}; {{template "busy do" .}}`,
	fact.Also("answer", `Too busy{{if not .Brief}} to tell{{end}}: {{template "busy share" .}}`),
	fact.Also("took", `{{if .Because}}{{template "busy list" .}}{{else}}{{template "busy share" .}}{{end}}`),
	fact.Also("share", `{{template "busy share" .}}`),
	fact.Also("effect", `{{template "busy effect" .}}`),
	fact.Also("do", `{{template "busy do" .}}`),
	fact.Also("now", `{{template "busy share" .}} in the last {{round .Seconds .01}}: {{template "busy list" .}}; {{template "busy effect" .}}; {{template "busy do" .}}`)), func(Taken) bool { return true })

// Busy returns the doubt of a run that others took much of the CPUs, and what they took; no fact if they did not.
func Busy(doubts []fact.Fact) (fact.Fact, Taken) {
	i := slices.IndexFunc(doubts, MachineBusy.Is)
	if i < 0 {
		return fact.Fact{}, Taken{}
	}
	of, _ := fact.In(MachineBusy, doubts[i])
	return doubts[i], of
}

// TooBusy returns the same doubt if it is why the run has no answer, and no fact otherwise.
func TooBusy(doubts []fact.Fact) fact.Fact {
	if f, of := Busy(doubts); of.Open {
		return f
	}
	return fact.Fact{}
}
