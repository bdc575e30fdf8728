// Package doctor finds what on a machine will spoil a measurement, and says how to mend it. It reads
// the kernel's files below a given root, and judges figures that its caller measured. It starts no
// server, sends no request and changes nothing.
package doctor

import (
	"io/fs"
	"time"

	"schedlab/internal/host"
	"schedlab/internal/record"
)

// A State is the result of a check.
type State string

// The states. Unknown means that the machine does not tell; it does not count against the machine.
const (
	OK      State = "ok"
	Warn    State = "warn" // spoils some measurements, or each a little
	Bad     State = "bad"  // spoils the measurement: mend it first
	Unknown State = "unknown"
)

// A Finding is the finding of one check.
type Finding struct {
	Check string      `json:"check"`
	State State       `json:"state"`
	Fact  record.Fact `json:"fact"` // the finding as data; Found and Fix are its sentences
	Found string      `json:"found"`
	// Spoils tells what such a finding does to a measurement. Fix is a command or a sentence, "" when
	// there is nothing to mend.
	Spoils string `json:"spoils"`
	Fix    string `json:"fix,omitempty"`
}

// The verdicts on a machine.
const (
	Fit          = "fit"
	Reservations = "fit with reservations"
	Unfit        = "unfit"
)

// A Report holds the findings of all checks and the verdict on the machine.
type Report struct {
	Schema   int         `json:"schema"`
	Verdict  string      `json:"verdict"`
	Sentence string      `json:"sentence"` // the verdict with its reasons, briefly
	Findings []Finding   `json:"findings"`
	Engine   *EngineTime `json:"engine,omitempty"` // nil when it was not measured
	Noise    *Noise      `json:"noise,omitempty"`  // nil when it was not measured
}

// Schema is the version of the JSON form of a Report.
const Schema = 1

// A Machine holds the inputs of the checks. A figure that the caller did not measure stays zero, and
// its check is left out.
type Machine struct {
	Root                 fs.FS    // root of the machine's files: it contains proc and sys
	ServerCPUs, LoadCPUs []int    // ascending
	Pinned               bool     // servers and load are bound to their CPUs
	Files                Limit    // on open descriptors
	Environ              []string // like os.Environ
	Out                  string   // directory of run records
	Need                 uint64   // bytes that a record may take there

	Usage host.Usage // use of the CPUs, watched for some time
	Clock Steps
	// Lateness holds, ascending, how late the sleeps of the generator ended.
	Lateness []time.Duration
	// Pause is how long the platform takes a busy thread off its CPU; negative if it cannot be
	// measured.
	Pause  time.Duration
	Gap    Gap
	Engine Engine
	Noise  *Noise
}

// Examine runs the checks that have inputs and returns the report.
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

// wrong reports whether there is something to mend.
func (f Finding) wrong() bool { return f.State == Bad || f.State == Warn }

// Summary returns the verdict, with at most most of the findings behind it. For an unfit machine,
// these are the bad findings only.
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

// Named returns the names of all checks in the order of the report.
func Named() (names []string) {
	for _, c := range checks() {
		names = append(names, c.name)
	}
	return names
}
