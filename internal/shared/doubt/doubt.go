// Package doubt has the kinds of facts that more than one package finds or decides by: doubts about the answer of a run, and
// reasons to distrust an arm's figures. Every other kind is in the package that finds it.
package doubt

import (
	"slices"

	"schedlab/internal/shared/fact"
)

// Facts without values, each about an arm.
var (
	GeneratorLimit = fact.Plain("generator-limit", 240, `its backlog grows through the window while the load's own CPUs are full: the generator is too slow, which says nothing about the server; lower --rate, or give the load more CPUs with --cpus`)
	// LeftOutOfRace tells of an arm that a race leaves out because it cannot serve the load, whatever is measured. It rests on the reason.
	LeftOutOfRace = fact.Plain("left-out-of-race", 0, `does not fit the load: {{template "because" .}}`)
	// CPUTimeLost is about a server in one window.
	CPUTimeLost = fact.Plain("cpu-time-unknown", 0, `CPU time is not known: it did not wait for some of its child processes`)
)

// Overload is what other programs have to do with an arm's growing backlog.
type Overload struct {
	Others float64 `json:"others,omitempty"` // ratio of the servers' CPU time that they took in the arm's windows, if it is large; 0..1
}

var _ = fact.Part("overload others", `{{with .Others}}; other programs took {{percent .}} of the servers' CPU in its windows, so the arm and they cannot be told apart{{end}}`)

// Overloaded is the doubt about an arm with a backlog that grows in most windows.
var Overloaded = fact.New[Overload]("overloaded", 220, `overloaded: its backlog grows through the window, so only goodput is judged{{template "overload others" .}}`)

// Cold tells by how much an arm's servers were not warm yet when they were measured. It has Growth or Beside; the other one is 0.
type Cold struct {
	Growth     float64 `json:"growth,omitempty"` // of the replies, from the first to the second half of its saturated turns, as a ratio
	Faster, Of int     // turns in which they grew, of all
	Beside     float64 `json:"beside,omitempty"` // CPU time a request at the rate, as a multiple of that in the turns
	Warmup     float64 `json:"warmup,omitempty"` // seconds, that may be enough; 0 where a longer warm-up is no help, or too long
}

// ColdServer is the doubt that an arm was measured before its servers had warmed up.
var ColdServer = fact.New[Cold]("cold-server", 245, `it was not warm: {{with .Beside}}a request took {{count .}} times the CPU time that it took when the server was saturated after the windows, so most of it went into something else{{else}}`+
	`when it was saturated after the windows, it answered {{percent .Growth}} more in the second half of that time than in the first ({{count .Faster}} of {{count .Of}} times){{end}}{{with .Warmup}}; --warmup {{count .}}s may be enough, for a program that compiles while it runs{{end}}`)

// Silence names the blocks in which an arm gave no good reply before the window ended.
type Silence struct {
	Blocks  int
	Late    bool   // replies came after the end of a window
	Numbers string `json:"blocks"` // the blocks' numbers, as in "2, 5"
}

// AnsweredNone is the doubt about an arm that answered no request in some blocks.
var AnsweredNone = fact.New[Silence]("answered-none", 120, `it answered none of its requests{{if .Late}} before the window ended{{end}} in block{{if ne .Blocks 1}}s{{end}} {{.Numbers}}`)

// Redirection counts the redirects of an arm.
type Redirection struct {
	Share  float64 // redirects / requests, 0..1
	Status int     // the most frequent HTTP status of them
	To     string  `json:"to,omitempty"` // where one of them leads, if that is known
}

// Redirects is the doubt about an arm that answers with redirects.
var Redirects = fact.New[Redirection]("redirects", 110, `it answered {{percentf "%.3g" .Share}} of its requests with a redirect (status {{count .Status}}), which is not followed: ask for {{with .To}}{{.}}{{else}}the page that it names{{end}}`)

// Sticky has the number of workers, of kept connections, and of connections that wait for a worker.
type Sticky struct{ Waiting, Connections, Workers int }

// StickyPool is the doubt about an arm in which a worker stays with its connection, so that other connections starve.
var StickyPool = fact.New[Sticky]("sticky-pool", 270, `starves {{count .Waiting}} of {{count .Connections}} kept connections, because a worker keeps its connection until it closes: what it does is for {{plural .Workers "client"}} only; give it workers={{count .Connections}}, take pool-requeue, or give --close`)

// Unanswered counts the connections that got no reply from an arm.
type Unanswered struct {
	Starved int
	Short   bool `json:"short,omitempty"` // windows may be too short to tell starved connections from slow ones
}

// Starvation is the reason why an arm's times are not judged: some of its connections starved.
var Starvation = fact.New[Unanswered]("starvation", 0, `{{if .Short}}short windows: {{.Arm}} has given no answer yet to{{else}}starvation: {{.Arm}} left{{end}} {{count .Starved}} of its connections{{if not .Short}} without an answer{{end}}, and its times lack their waits`)

// Failed counts the failed requests of an arm.
type Failed struct {
	Errors, Requests int
	Share            float64 // Errors / Requests
}

// TooManyFailed is the reason why an arm's times are not judged: too many of its requests failed.
var TooManyFailed = fact.New[Failed]("too-many-failed", 0, `{{.Arm}} failed {{count .Errors}} of {{count .Requests}} requests ({{percentf "%.2f" .Share}})`)

// Few tells how many requests a window must have for a quantile, and how many it has.
type Few struct {
	Needed   float64
	Requests float64 `json:"requests,omitempty"` // in a window; 0 if not known
	*Longer          // nil if no window is long enough
}

// Longer is the window that has enough requests, and the budget that has room for such windows. Both are in seconds.
type Longer struct {
	Window float64
	Budget float64 // 0 if the budget of the run is enough
}

// FewRequests is the reason why a quantile is not judged: a window has too few requests for it.
var FewRequests = fact.New[Few]("few-requests", 0, `too few requests: {{with .Requests}}{{count .}} a window, {{end}}{{.Metric}} needs {{count .Needed}}{{with .Window}}; --window {{time .}}{{with $.Budget}} --budget {{time .}} hold{{else}} holds{{end}} as many{{else}}{{if not .Requests}} (--window){{end}}{{end}}`)

// Lines counts, in words, the lines of a log that hold no request.
type Lines struct {
	File string `json:"file,omitempty"`
	Said string
}

// LogLinesLeftOut is the doubt about a replayed log: some of its lines are left out.
var LogLinesLeftOut = fact.New[Lines]("log-lines-left-out", 0, `{{with .File}}{{.}}: {{end}}{{.Said}}`)

// Probe is the CPU time that other programs took while an arm's highest rate was measured.
type Probe struct {
	Taken float64 // ratio, 0..1
	Most  string  // the program that took most of it; "" if none is known
}

// DisturbedProbe is the doubt that an arm's highest rate was measured too low.
var DisturbedProbe = fact.New[Probe]("disturbed-probe", 190, `others took {{percent .Taken}} of its CPU time{{with .Most}} (most: {{.}}){{end}} in every measurement of its highest rate: it may do more, so a rate that is a share of it may be a smaller share; end them and run it again`)

// FewWorkers is the rate of a run in which one arm has too few workers. All arms are offered the same rate.
type FewWorkers struct {
	Workers int
	Rate    float64
	Without float64 // the rate without this arm
	Needed  int     // workers that this arm needs at the rate Without
	Other   string  // the slowest of the other arms
}

// RateFewWorkers is the doubt that the few workers of one arm lower the rate of all arms.
var RateFewWorkers = fact.New[FewWorkers]("rate-few-workers", 210, `its {{plural .Workers "worker"}} hold every arm to {{per .Rate}}: {{.Other}} alone would be offered {{per .Without}}, and for that it needs {{count .Needed}} workers; give it workers={{count .Needed}}, or leave it out with --arms`)

// Lowered compares the offered rate with the rate that the user asked for.
type Lowered struct {
	Rate, Asked float64
	Most        float64 // the highest rate of the slowest arm
	Slowest     string
}

// RateLowered is the doubt that a run has a lower rate than asked, because its slowest arm could not keep that.
var RateLowered = fact.New[Lowered]("rate-lowered", 200, `offered {{per .Rate}} instead of {{per .Asked}}: {{.Slowest}} did {{per .Most}} at its fastest; leave it out with --arms, or insist with --rate {{count .Asked}}/s`)

// Parsers tells which HTTP parser each arm has.
type Parsers struct {
	Control string   `json:"control,omitempty"` // the mode to add, which separates the effects of parser and model; "" if the run has it
	Other   []string // the arms with another parser than the baseline
	Parsers string   // the arms and their parsers, in words
}

// ParsersDiffer is the doubt that arms differ in their HTTP parser as well as in their model.
var ParsersDiffer = fact.New[Parsers]("parsers-differ", 30, `HTTP parsers differ too: {{.Parsers}}{{with .Control}}; --arm {{.}} tells parser and model apart{{end}}`)

// Ended counts the verdicts that are open when the budget is used up, and has the flags that would decide them. Times are in
// seconds.
type Ended struct {
	Budget   float64 `json:"budget,omitempty"`
	Blocks   int
	Most     int     `json:"most,omitempty"`   // the largest number of blocks that a run may have
	Room     int     `json:"room,omitempty"`   // blocks that fit into the budget Needed
	Needed   float64 `json:"needed,omitempty"` // a budget that may be enough
	Window   float64 `json:"window,omitempty"` // a window that may be enough; 0 to keep the present one
	Busy     bool    `json:"busy,omitempty"`   // verdicts are open because other programs took CPU time
	Moot     bool    `json:"moot,omitempty"`   // the answer depends on none of the open verdicts
	Open     int     // number of open verdicts
	Verdicts string  `json:"open,omitempty"` // the open verdicts, in words
}

// BudgetEnded is the doubt that verdicts are open at the end of a run's budget.
var BudgetEnded = fact.New[Ended]("budget-ended", 0, `{{with .Verdicts}}{{.}}{{else}}{{plural .Open "verdict"}}{{end}} {{if eq .Open 1}}is{{else}}are{{end}} open after {{plural .Blocks "block"}}: `+
	`{{if .Busy}}others that took CPU time are the reason, and not the number of blocks{{else if .Moot}}the answer does not depend on {{if eq .Open 1}}it{{else}}them{{end}}{{else if .Room}}--budget {{time .Needed}} has room for {{count .Room}}, which may be enough{{else}}{{if lt .Blocks .Most}}as noisy as these, {{end}}{{count .Most}} blocks, the most, are not enough; {{if .Window}}--window {{time .Window}} --budget {{time .Needed}} should be{{else}}nor is a budget of half an hour{{end}}{{end}}`)

// Values of Taken.Who: what took CPU time, where no program can be named.
const (
	UnseenPrograms = "unseen"
	Hypervisor     = "hypervisor"
	Interrupts     = "interrupts"
	OtherPrograms  = "other"
)

// Taken is the CPU time that others took from the servers or from the load.
type Taken struct {
	Side       string  // "server", "load" or "both"
	CPUs       int     // the number of CPUs that this side has
	Share      float64 // ratio of their time, 0..1
	Who        string  // one of UnseenPrograms, Hypervisor, Interrupts and OtherPrograms; "" for Program
	*OfProgram         // nil if no program is known
	*Watched           // nil if nothing watched the CPUs between the windows
	Brief      bool    // the answer has no room for "to tell"
	Open       bool    // this is why the run has no answer
	// Challenger is the arm of the widest interval, from Low to High; "" if there is none.
	Challenger string  `json:"arm,omitempty"`
	Low        float64 `json:"low,omitempty"`
	High       float64 `json:"high,omitempty"`
}

// OfProgram is the program that took the most CPU time.
type OfProgram struct {
	Program string
	PID     int
}

// Watched is what the watchdog adds, which watches the CPUs over the whole run.
type Watched struct {
	Others  bool    // others than Who or Program took much as well
	Most    float64 `json:"most,omitempty"` // with Others: what Who or Program took, as Share
	Rest    float64 `json:"rest,omitempty"` // with Others: what the others took
	More    int     // number of causes that are not in Because
	Seconds float64 // how long the watchdog watched
}

// Words that several sentences of MachineBusy use.
var (
	_ = fact.Part("busy who", `{{if eq .Who "hypervisor"}}the hypervisor{{else if eq .Who "unseen"}}unseen programs{{else if eq .Who "interrupts"}}interrupts{{else}}{{with .Program}}{{.}}{{else}}other programs{{end}}{{end}}`)
	_ = fact.Part("busy list", `{{template "list" .}}{{with .More}}; and {{count .}} more{{end}}`)
	_ = fact.Part("busy cpus", `the {{if eq .Side "both"}}shared{{else if eq .Side "load"}}load's{{else}}servers'{{end}} CPU{{if gt .CPUs 1}}s{{end}}`)
	_ = fact.Part("busy share", `{{template "busy who" .}}{{if .Most}} took {{percent .Most}} and others {{percent .Rest}} of {{template "busy cpus" .}}{{else}}{{if .Others}} and others{{end}} took {{percent .Share}} of {{template "busy cpus" .}}{{end}}`)
	_ = fact.Part("busy effect", `{{if .Low}}{{.Challenger}} against {{.Baseline}} may be anything from {{change .Low}} to {{change .High}} at {{metric .Metric}}`+
		`{{else}}times are longer and differ more from window to window{{end}}`)
	_ = fact.Part("busy end", `{{if eq .Who "hypervisor"}}use a machine with CPUs of its own{{else if eq .Who "unseen"}}look for them on the host (top) and end them{{else if eq .Who "interrupts"}}keep that traffic away{{else}}end {{with .Program}}{{.}}{{else}}them{{end}}{{if .Others}} and the others{{end}}{{end}}`)
	_ = fact.Part("busy do", `{{template "busy end" .}}, or give --wait-idle 2m, which starts as soon as 3 s were quiet`)
)

// MachineBusy is the doubt that others took much of the CPU time of servers or load. Its parts: the answer of a run that is
// open because of it, what took the time (its Because), how much, the effect on the run, what to do, and all of these in
// one sentence while the run goes on.
var MachineBusy = fact.Disturbing(fact.New[Taken]("machine-busy", 280, `{{template "busy share" .}}`+
	`{{if .Because}}: {{template "busy list" .}}{{end}}; {{if .Open}}{{template "busy effect" .}}{{else}}the intervals allow for that, and are wider{{end}}; {{template "busy do" .}}`,
	fact.Also("answer", `Too busy{{if not .Brief}} to tell{{end}}: {{if .Most}}{{template "busy who" .}} {{percent .Most}}, others {{percent .Rest}} of {{template "busy cpus" .}}{{else}}{{template "busy share" .}}{{end}}`),
	fact.Also("cpus", `{{template "busy cpus" .}}`),
	fact.Also("took", `{{if .Because}}{{template "busy list" .}}{{else}}{{template "busy share" .}}{{end}}`),
	fact.Also("share", `{{template "busy share" .}}`),
	fact.Also("effect", `{{template "busy effect" .}}`),
	fact.Also("do", `{{template "busy do" .}}`),
	fact.Also("after waiting", `it has waited for a quiet machine already: {{template "busy end" .}}, or run it on another machine`),
	fact.Also("end", `{{template "busy end" .}}`),
	fact.Also("now", `{{template "busy share" .}} in the last {{round .Seconds .01}}: {{template "busy list" .}}; {{template "busy effect" .}}; {{template "busy do" .}}`)), func(Taken) bool { return true })

// Busy returns the MachineBusy among the doubts of a run, and its values; no fact if there is none.
func Busy(doubts []fact.Fact) (fact.Fact, Taken) {
	i := slices.IndexFunc(doubts, MachineBusy.Code.Is)
	if i < 0 {
		return fact.Fact{}, Taken{}
	}
	of, _ := fact.In(MachineBusy, doubts[i])
	return doubts[i], of
}

// TooBusy returns the MachineBusy among the doubts if it is the reason why the run has no answer; no fact otherwise.
func TooBusy(doubts []fact.Fact) fact.Fact {
	if f, of := Busy(doubts); of.Open {
		return f
	}
	return fact.Fact{}
}
