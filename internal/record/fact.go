package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"

	"schedlab/internal/prose"
	"schedlab/internal/stats"
)

// A Fact is a statement about a run as data: a doubt, a reason, a part of an answer. Its
// [Sentence] puts it into words. Programs must compare codes and values, never words.
//
// The package that finds a fact makes it, with a code that it has registered by Sentence. The report
// prints it with String, and JSON has both the data and the words.
//
// Arm, Baseline and Metric are set where the fact is about a comparison of two arms at a metric.
type Fact struct {
	Code     Code   `json:"code"`
	Arm      string `json:"arm,omitempty"` // the arm it is about, "" for the run
	Baseline string `json:"baseline,omitempty"`
	Metric   string `json:"metric,omitempty"`
	// Values are the figures of the fact by name: seconds, ratios 0..1, counts, rates per second.
	Values Values `json:"values,omitempty"`
	// Names are the CPUs, settings, files and errors of system calls in the fact, by name.
	Names Names `json:"names,omitempty"`
	// Because are the facts that this one rests on.
	Because []Fact `json:"because,omitempty"`
	// Text is the fact in words, set by MarshalJSON. It is printed only for a code that this
	// program does not know.
	Text string `json:"text,omitempty"`
}

// Values are the figures of a Fact.
type Values = map[string]float64

// Names are the names of a Fact.
type Names = map[string]string

// A Code identifies a kind of fact. Each has one [Sentence].
type Code string

// None reports whether f has no code, as the zero Fact.
func (f Fact) None() bool { return f.Code == "" }

// RestsOn reports whether f, or a fact that it rests on, has the code.
func (f Fact) RestsOn(code Code) bool {
	return !f.Find(func(of Fact) bool { return of.Code == code }).None()
}

// Find returns the first fact in the tree that f is the root of, depth first, for which is holds; no fact
// if it holds for none.
func (f Fact) Find(is func(Fact) bool) Fact {
	if is(f) {
		return f
	}
	for _, of := range f.Because {
		if found := of.Find(is); !found.None() {
			return found
		}
	}
	return Fact{}
}

// Error returns the fact in words. It makes a Fact an error.
func (f Fact) Error() string { return f.String() }

// MarshalJSON writes the fact with its Text filled in.
func (f Fact) MarshalJSON() ([]byte, error) {
	type plain Fact
	f.Text = f.String()
	return marshal(plain(f))
}

// marshal returns v as JSON. It escapes no HTML: the encoder of the whole document does if it wants to.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
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

// byWeight lists doubts by their effect on the answer: first the doubts that decide whether there is an answer,
// then all codes that are not listed (""), last the doubts that every run on such a machine has.
var byWeight = []Code{
	MachineBusy, StickyPool, "short-round", "starved-connections", GeneratorLimit, "too-few-workers", Overloaded, RateFewWorkers, RateLowered, DisturbedProbe, "windows-shortened",
	"run-not-complete", "budget-too-short", "missing-trials", "load-stood-still", "blocks-left-out", AnsweredNone, Redirects, "windows-refused", "load-took-cpu", "unsent-requests",
	"other-mode", "queue-unused", "one-cpu-shared", "one-p-shared", ParsersDiffer, "idle-workers", "queue-never-full",
	"",
	"runs-already", "other-program", "shared-cpus", "one-cpu", Virtualised, OneHost,
}

// Disturbs reports whether f is a doubt that something outside the comparison took much CPU time, or that the
// machine is unfit.
func (f Fact) Disturbs() bool {
	return f.Code == MachineBusy ||
		f.Code == "machine-unfit" && slices.ContainsFunc(f.Because, func(of Fact) bool { return of.Names["verdict"] == "unfit" })
}

// weight returns the place of c in byWeight; small numbers weigh more.
// All codes that are not listed have the same weight.
func weight(c Code) int {
	if i := slices.Index(byWeight, c); i >= 0 {
		return i
	}
	return slices.Index(byWeight, "")
}

// Decides reports whether a doubt of this kind decides whether the answer stands.
func (c Code) Decides() bool { return weight(c) < weight("") }

// General reports whether every run on such a machine has a doubt of this kind.
func (c Code) General() bool { return weight(c) > weight("") }

// ByWeight sorts doubts in place, the weightiest first, and returns them.
func ByWeight(doubts []Fact) []Fact {
	slices.SortStableFunc(doubts, func(a, b Fact) int { return weight(a.Code) - weight(b.Code) })
	return doubts
}

// sentences are the templates by code. Packages register them with [Sentence] when the program starts.
var sentences = map[Code]string{
	"because": `{{range .Because}}{{say .}}{{end}}`,
	"list":    `{{range $i, $f := .Because}}{{if $i}}; {{end}}{{say $f}}{{end}}`,
}

// Sentence registers the words for a code, without a full stop, and returns the code. text is a
// [text/template]; its dot is the [Fact], and a value or name that the fact lacks is 0 or "". A
// sentence can use another with {{template "code" .}}. Call Sentence only to initialise package
// variables. It panics if the code has a sentence already.
func Sentence(code Code, text string) Code {
	if _, twice := sentences[code]; twice {
		panic("two sentences for " + code)
	}
	sentences[code] = text
	return code
}

// String returns the fact in words. For a code that this program does not know it returns the
// fact's Text or, without one, the code.
func (f Fact) String() string { return f.Part("") }

// Part returns the fact in the words of another sentence: Part("fix") uses the sentence with the
// code "CODE fix".
func (f Fact) Part(name string) string {
	// An unknown code comes from a record of another version, which has its own words.
	t := templates().Lookup(strings.TrimSpace(string(f.Code) + " " + name))
	if f.Code == "" || t == nil {
		return cmp.Or(f.Text, string(f.Code))
	}
	var b bytes.Buffer
	if err := t.Execute(&b, f); err != nil { // recorded by another version, with other values
		return fmt.Sprintf("%s (%v %v)", f.Code, f.Values, f.Names)
	}
	return b.String()
}

// templates returns the sentences, parsed at the first call. They use facts, which use them, so init sets it.
var templates func() *template.Template

func init() { templates = sync.OnceValue(parse) }

// parse compiles all sentences, with the functions that they can call. Values in facts are in
// base units: seconds, ratios, bytes.
func parse() *template.Template {
	all := template.New("").Option("missingkey=zero").Funcs(template.FuncMap{
		// Facts.
		"say":  Fact.String,
		"gist": func(f Fact) string { return f.Part("gist") },
		"fix":  func(f Fact) string { return f.Part("fix") },
		// Counts and ratios.
		"count":      func(v float64) string { return fmt.Sprintf("%.0f", v) },
		"plural":     func(v float64, noun string) string { return prose.Plural(int(v), noun) },
		"digits":     prose.Digits,
		"change":     stats.Change,
		"percent":    func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) },
		"hundredths": func(v float64) string { return fmt.Sprintf("%.4g", math.Floor(1e4*v+1e-6)/100) }, // never more than v; in audit/findings.txt
		"percentf":   func(format string, v float64) string { return fmt.Sprintf(format+" %%", 100*v) },
		"part": func(v float64) string { // a percentage with a decimal where it is below 1
			if v < .0095 {
				return fmt.Sprintf("%.1f %%", 100*v)
			}
			return fmt.Sprintf("%.0f %%", 100*v)
		},
		"mib": func(bytes float64) string { return fmt.Sprintf("%.0f", math.Floor(bytes/(1<<20))) },
		// Times, all of seconds, and rates per second.
		"per":     prose.PerSecond,
		"millisf": func(format string, v float64) string { return fmt.Sprintf(format+" ms", 1e3*v) },
		"time":    func(v float64) string { return Duration(v).String() },
		"round":   func(v, to float64) string { return nearest(v).Round(nearest(to)).String() },
		"lasts":   prose.Seconds,
		"short":   threeDigits,
		"as": func(unit string, v float64) string { // a time, or a figure without a unit
			if unit == "s" {
				return threeDigits(v)
			}
			if math.Abs(v) < 1e6 {
				return strconv.FormatFloat(v, 'g', 6, 64)
			}
			return prose.Digits(v)
		},
		"metric": func(name string) string { return stats.MetricOf(name).Label },
	})
	// All sentences are one set of templates, so that each can use any other.
	for code, text := range sentences {
		template.Must(all.New(string(code)).Parse(text))
	}
	return all
}

// nearest converts seconds to a duration, rounded to the nanosecond.
func nearest(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// threeDigits formats seconds with about three digits.
func threeDigits(seconds float64) string {
	unit := 100 * time.Nanosecond
	switch d := nearest(seconds); {
	case d >= time.Second:
		unit = 10 * time.Millisecond
	case d >= time.Millisecond:
		unit = 10 * time.Microsecond
	}
	return nearest(seconds).Round(unit).String()
}
