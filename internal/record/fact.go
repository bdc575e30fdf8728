package record

import (
	"bytes"
	"encoding/json"
	"slices"
)

// A Fact is a statement about a run as data: a doubt, a reason, a part of an answer. Its
// [Sentence] puts it into words. Programs must compare codes and values, never words.
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
	return f.Code == code || slices.ContainsFunc(f.Because, func(of Fact) bool { return of.RestsOn(code) })
}

// Error returns the fact in words. It makes a Fact an error.
func (f Fact) Error() string { return f.String() }

// MarshalJSON writes the fact with its Text filled in.
func (f Fact) MarshalJSON() ([]byte, error) {
	type plain Fact
	f.Text = f.String()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the encoder of the whole document escapes if it wants to
	err := e.Encode(plain(f))
	return b.Bytes(), err
}

// Facts that several packages find or branch on. Every other fact is in the package that finds
// it.
var (
	GeneratorLimit  = Sentence("generator-limit", `its backlog grows through the window while the load's own CPUs are full: that is the generator's, and says nothing of the server; lower --rate, or give the load more with --load-cpus`)
	Overloaded      = Sentence("overloaded", `overloaded: its backlog grows through the window, so only goodput is judged`)
	AnsweredNone    = Sentence("answered-none", `it answered none of its requests{{if .Values.late}} before the window ended{{end}} in block{{if ne .Values.blocks 1.0}}s{{end}} {{.Names.blocks}}`)
	StickyPool      = Sentence("sticky-pool", `starves {{count .Values.waiting}} of {{count .Values.connections}} kept connections, because a worker keeps its connection until it closes: its capacity and times are those of {{plural .Values.workers "client"}} only; give it workers={{count .Values.connections}}, or --close`)
	CauseTurnedAway = Sentence("cause-turned-away", `its queue is full, and it turns {{percentf "%.3g" .Values.away}} of its connections away`)
	CauseStarvation = Sentence("starvation", `starvation: {{.Arm}} left {{count .Values.starved}} of its connections without an answer, and in a closed loop these have no times`)
	Virtualised     = Sentence("virtualised", `a virtual machine: neighbours and the hypervisor are in the noise`)
	OneHost         = Sentence("one-host", `one host, loopback, synthetic demand{{if .Names}}; each {{.Names.part}} has its own doubts in its record{{end}}`)
	LogLinesLeftOut = Sentence("log-lines-left-out", `{{with .Names.file}}{{.}}: {{end}}{{.Names.said}}`)
	SizeTheory      = Sentence("size-theory", `theory knows no cost of parsing, switching, timers or the collector, and takes arrivals for Poisson; bursts need more`)
	Unreadable      = Sentence("unreadable", `{{.Names.error}}`)
	TooFewBlocks    = Sentence("too-few-blocks", `{{plural .Values.blocks "block"}}: too few to decide`)
)

// byWeight lists doubts by their effect on the answer: first the doubts that decide whether there
// is an answer, then all codes that are not listed (""), last the doubts that every run on such a
// machine has.
var byWeight = []Code{
	StickyPool, "starved-connections", GeneratorLimit, Overloaded, "too-few-workers",
	"run-not-complete", "budget-too-short", "missing-trials", "blocks-left-out", AnsweredNone, "windows-refused", "load-took-cpu", "unsent-requests",
	"idle-workers", "queue-never-full", "queue-unused", "one-cpu-shared", "one-p-shared",
	"",
	"runs-already", "other-program", "shared-cpus", "one-cpu", Virtualised, OneHost,
}

// disturbing is the sum of the shares of CPU time from which other programs and the hypervisor disturb a run.
const disturbing = .10

// Disturbs reports whether f is a doubt that something outside the comparison took much CPU time, or that the
// machine is unfit.
func (f Fact) Disturbs() bool {
	switch f.Code {
	case "much-disturbed":
		return true
	case "machine-unfit":
		return slices.ContainsFunc(f.Because, func(of Fact) bool { return of.Names["verdict"] == "unfit" })
	case "others-used-cpus":
		sum := 0.
		for _, of := range f.Because {
			sum += of.Values["share"]
		}
		return sum >= disturbing
	}
	return false
}

// weight returns the place of c in byWeight; small numbers weigh more.
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
