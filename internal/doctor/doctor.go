// Package doctor says what on a machine will spoil a measurement, and how to mend
// it. It reads the kernel's files below a root that it is given, and judges figures
// that its caller measured; it starts no server, sends no request and changes
// nothing.
package doctor

import (
	"io/fs"
	"time"

	"schedlab/internal/host"
	"schedlab/internal/record"
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
	Check string      `json:"check"`
	State State       `json:"state"`
	Fact  record.Fact `json:"fact"` // what was found, as data: the fields below are its words
	Found string      `json:"found"`
	// Spoils is what the check is for, Fix a command or a sentence; "" when nothing is to
	// be mended.
	Spoils string `json:"spoils"`
	Fix    string `json:"fix,omitempty"`
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
	r := Report{Schema: Schema, Verdict: Fit, Engine: m.Engine.time(), Noise: m.Noise}
	for _, c := range checks() {
		s := c.look(m)
		if s.state == "" {
			continue
		}
		if s.fact.Names == nil {
			s.fact.Names = record.Names{}
		}
		s.fact.Names["check"] = c.name
		if s.state == Unknown {
			s.fact.Names["untold"] = c.untold
		}
		f := Finding{Check: c.name, State: s.state, Fact: s.fact, Found: s.fact.String(), Spoils: c.spoils}
		if f.wrong() {
			f.Fix = s.fact.Part("fix")
		}
		if s.state == Bad {
			r.Verdict = Unfit
		} else if s.state == Warn && r.Verdict == Fit {
			r.Verdict = Reservations
		}
		r.Findings = append(r.Findings, f)
	}
	r.Sentence = r.Summary(len(r.Findings)).String()
	return r
}

func (f Finding) wrong() bool { return f.State == Bad || f.State == Warn }

// Summary is the verdict, and so many of the findings that it rests on at the most: of
// an unfit machine the bad ones.
func (r Report) Summary(most int) record.Fact {
	var because []record.Fact
	for _, f := range r.Findings {
		if f.wrong() && (f.State == Bad || r.Verdict != Unfit) {
			because = append(because, f.Fact)
		}
	}
	shown := min(len(because), most)
	return record.Fact{
		Code: machineVerdict, Names: record.Names{"verdict": r.Verdict},
		Values: record.Values{"more": float64(len(because) - shown)}, Because: because[:shown],
	}
}

// Named returns the names of all checks, in the order they are reported.
func Named() (names []string) {
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}
