// Package record is the run directory: the plan of a comparison, the measurements of every trial, and the
// result computed from them. It holds types, codecs and files; it measures nothing and decides nothing.
//
// A run's directory is a Dir: dir.go writes it, open.go reads it. run.json holds a Run (run.go): the Plan and, after the
// run, the Result (result.go). A Comparison is one kind of Result (comparison.go). Each trial has a Trial (trial.go), its
// requests and its stamps (package request, with their file format).
//
// Types that are written as JSON have times in seconds and ratios 0..1, unless a comment tells otherwise. An
// unknown figure is nil, below 0 or left out, as its comment tells.
package record

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/fact"
)

// Schema is the version of every JSON document this package writes. A reader refuses a larger one.
const Schema = 2

// A Result is what a run came to: a [Comparison], or a result of another kind, which the package that computes it
// declares. It is a pointer.
type Result interface {
	Head() *Common
	Contestants() []Contestant // the arms, in plan order
}

// Common is what results of every kind have.
type Common struct {
	Schema   int       `json:"schema"`
	Kind     string    `json:"kind"`            // which type it is
	Run      string    `json:"run"`             // the run's name, YYYYMMDD-HHMMSS-scenario-xxxx
	Dir      string    `json:"dir"`             // path of its record
	Scenario string    `json:"scenario"`        // scenario name
	Question string    `json:"question"`        // the scenario's question, one sentence
	Status   Status    `json:"status"`          // complete, interrupted or partial
	Seed     uint64    `json:"seed"`            // seed of every trace and order
	Asked    string    `json:"asked,omitempty"` // what a request does, in words
	Warmup   Span      `json:"warmup,omitzero"` // load before the window of a trial
	Window   Span      `json:"window"`          // measured part of one trial
	Started  time.Time `json:"started"`
	Env      Env       `json:"env"`
	// Others tells which other programs used the CPUs over the whole run; nil if unknown.
	Others *Others `json:"others,omitempty"`
	Note   string  `json:"note,omitempty"` // the user's own, from --note
	// Command is the line of a shell that asks the same again; "" if there is none, as for one run of several.
	Command string      `json:"command,omitempty"`
	Doubts  []fact.Fact `json:"doubts"` // every reservation, the weightiest first
	// NotChecked names the validity rules that could not be checked for lack of data.
	NotChecked []string `json:"not_checked"`
	// Headline is the answer in one sentence. It is empty in records: report adds it to its JSON.
	Headline string `json:"headline,omitempty"`
	// Attached is what other commands added, in the order in which they ran. JSON has each under its key, at the end.
	Attached []Attachment `json:"-"`
	// NoPage is set where the record has no report.html, as when it could not be written: then nothing names it.
	NoPage bool `json:"-"`
}

// Head returns what results of every kind have.
func (c *Common) Head() *Common { return c }

// Status tells how much of its plan a run has completed.
// Only Complete means that everything planned was measured or found unnecessary.
type Status string

// The states of a run. A killed run stays Running in its record.
const (
	Running     Status = "running"
	Complete    Status = "complete"
	Interrupted Status = "interrupted"
	Partial     Status = "partial"
)

// A Contestant identifies an arm by its server and its load. Each kind of result adds its own figures.
type Contestant struct {
	Name    string  `json:"name"`
	Mode    string  `json:"mode"`    // "" for a foreign command
	Command string  `json:"command"` // the command line a person can rerun
	Role    Role    `json:"role"`
	CopyOf  string  `json:"copy_of,omitempty"` // of a copy: the arm that it repeats
	Clients Clients `json:"clients,omitzero"`  // the load of its clients
	Procs   int     `json:"procs,omitempty"`   // GOMAXPROCS of its server, as published or else as planned; 0 for that of Env
	Busy    float64 `json:"busy,omitempty"`    // as in PlanArm
	// Attached says that the server ran before schedlab, which set nothing of it. CPUs is the set
	// it may run on, if that is more than the plan's server CPUs.
	Attached bool    `json:"attached,omitempty"`
	CPUs     string  `json:"cpus,omitempty"`
	Levels   []Level `json:"levels,omitempty"` // its values of the varied factors
	Family   string  `json:"family,omitempty"` // name without the levels
}

// Words returns the words of the arm's command; nil for a program other than schedlab, and for a command that
// cannot be read.
func (a Contestant) Words() []string {
	if a.Mode == "" {
		return nil
	}
	words, _ := cmdline.Split(a.Command)
	return words
}

// Role is an arm's part in the comparison.
type Role string

// Every comparison has one baseline, one copy of it (the A/A control) and at least one challenger.
const (
	Baseline   Role = "baseline"
	Copy       Role = "copy"
	Challenger Role = "challenger"
)

// A Level is the value that a varied factor has in an arm.
// Factor is a setting such as workers; Value is written as in the scenario.
type Level struct {
	Factor string `json:"factor"`
	Value  string `json:"value"`
}

// CellName returns the factors and values of a cell of a grid: cpu=20us, rate=500/s.
func CellName(cell []Level) string {
	var all []string
	for _, l := range cell {
		all = append(all, l.Factor+"="+l.Value)
	}
	return strings.Join(all, ", ")
}

// IsCopy reports whether it is the copy of the baseline.
func (a Contestant) IsCopy() bool { return a.Role == Copy }

// Compared is the kind of a [Comparison].
const Compared = "comparison"

// kinds are the kinds of results that run.json may hold, each with a function that returns an empty one. olderKinds are the
// kinds that schema 1 has without their names, by the part that only they have there.
var (
	kinds      = map[string]func() Result{Compared: func() Result { return new(Comparison) }}
	olderKinds = map[string]string{}
)

// Declare makes a kind of result known, so that [Open] reads it. older is the key of the part by which schema 1 knows it.
// It is called while the program starts.
func Declare(kind, older string, empty func() Result) string {
	kinds[kind], olderKinds[older] = empty, kind
	return kind
}

// emptyResult returns an empty result of the kind that JSON has, for the caller to read it into.
func emptyResult(data []byte) (Result, error) {
	var head struct{ Kind string }
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if head.Kind == "" { // schema 1
		var parts map[string]json.RawMessage
		if err := json.Unmarshal(data, &parts); err != nil {
			return nil, err
		}
		head.Kind = Compared
		for part, kind := range olderKinds {
			if _, has := parts[part]; has {
				head.Kind = kind
			}
		}
	}
	empty := kinds[head.Kind]
	if empty == nil {
		return nil, fmt.Errorf("its result is a %q, which this schedlab does not know: use a newer schedlab", head.Kind)
	}
	r := empty()
	r.Head().Kind = head.Kind
	return r, nil
}
