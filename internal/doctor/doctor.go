// Package doctor says what on a machine will spoil a measurement, and how to mend
// it. It reads the kernel's files below a root that it is given, and judges figures
// that its caller measured; it starts no server, sends no request and changes
// nothing.
package doctor

import (
	"io/fs"
	"strings"
	"time"

	"schedlab/internal/host"
)

// A State is what a check came to.
type State string

// The states. An unknown one is no reservation: the machine does not tell.
const (
	OK      State = "ok"
	Warn    State = "warn" // spoils some measurements, or a little of each
	Bad     State = "bad"  // spoils the measurement: mend it first
	Unknown State = "unknown"
)

// A Finding is what one check found.
type Finding struct {
	Check  string `json:"check"`
	State  State  `json:"state"`
	Found  string `json:"found"` // figures with their units
	Spoils string `json:"spoils"`
	Fix    string `json:"fix,omitempty"` // a command or a sentence; "" when nothing is to be mended
}

// The verdicts on a machine.
const (
	Fit          = "fit"
	Reservations = "fit with reservations"
	Unfit        = "unfit"
)

// A Report is what all checks came to.
type Report struct {
	Schema   int         `json:"schema"`
	Verdict  string      `json:"verdict"`
	Sentence string      `json:"sentence"` // the verdict with its reasons, in short
	Findings []Finding   `json:"findings"`
	Engine   *EngineTime `json:"engine,omitempty"` // nil when it was not measured
	Noise    *Noise      `json:"noise,omitempty"`  // nil when it was not measured
}

// Schema is the version of a Report as JSON.
const Schema = 1

// A Machine is what the checks look at. What its caller has not measured has its
// zero value, and the checks of it are left out.
type Machine struct {
	Root                 fs.FS // of the whole machine: proc and sys lie below it
	ServerCPUs, LoadCPUs []int // ascending
	Pinned               bool  // servers and load are bound to them
	Files                Limit // of open descriptors
	Environ              []string
	Out                  string // directory of run records
	Need                 uint64 // bytes that a record may take there

	Usage host.Usage // of the CPUs, over a while
	Clock Steps
	// Lateness is how much later than asked sleeps of the generator ended, ascending.
	Lateness []time.Duration
	// Pause is how long the platform takes a busy thread off its CPU; negative
	// where that cannot be measured.
	Pause  time.Duration
	Gap    Gap
	Engine Engine
	Noise  *Noise
}

// Examine runs every check whose figures are there.
func Examine(m *Machine) Report {
	r := Report{Schema: Schema, Engine: m.Engine.time(), Noise: m.Noise}
	for _, c := range checks() {
		s := c.look(m)
		if s.state == "" {
			continue
		}
		r.Findings = append(r.Findings, Finding{Check: c.name, State: s.state, Found: s.found, Spoils: c.spoils, Fix: s.fix})
	}
	r.judge()
	return r
}

// judge sums the findings up: one bad one makes a machine unfit.
func (r *Report) judge() {
	of := func(state State) (reasons []string) {
		for _, f := range r.Findings {
			if f.State == state {
				reasons = append(reasons, f.Check+": "+f.gist())
			}
		}
		return reasons
	}
	r.Verdict, r.Sentence = Fit, Fit
	for _, v := range []struct {
		state   State
		verdict string
	}{{Warn, Reservations}, {Bad, Unfit}} {
		if reasons := of(v.state); len(reasons) > 0 {
			r.Verdict, r.Sentence = v.verdict, v.verdict+": "+strings.Join(reasons, "; ")
		}
	}
}

// gist is the beginning of what was found, which has the figure that matters; all of
// it when the cause does.
func (f Finding) gist() string {
	if strings.Contains(f.Found, unwritable) {
		return f.Found
	}
	end := len(f.Found)
	for _, mark := range []string{": ", ", ", "; "} {
		if i := strings.Index(f.Found, mark); i >= 0 {
			end = min(end, i)
		}
	}
	return f.Found[:end]
}

// Named returns the names of all checks, in the order they are reported.
func Named() (names []string) {
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}
