package record

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// profilesFile tells in a run's directory which profiles it has.
const profilesFile = "profiles.json"

// Profiles are profiles of the arms' servers, captured in extra windows that no verdict uses.
type Profiles struct {
	Arms []ProfiledArm `json:"arms"` // the arm that the others are compared with comes first
	// Flames are the flame graphs to draw: per kind one of each arm, and those of the differences.
	Flames []Flame `json:"-"`
}

// keptProfiles are Profiles as a file of the record.
type keptProfiles struct {
	Schema int `json:"schema"`
	Profiles
}

// WriteProfiles notes in the run's record which profiles it has.
func (d *Dir) WriteProfiles(p *Profiles) error {
	return d.WriteFile(profilesFile, func(w io.Writer) error { return WriteJSON(w, keptProfiles{Schema, *p}) })
}

// Profiles reads what WriteProfiles wrote; nil if there are no profiles.
func (d *Dir) Profiles() (*Profiles, error) {
	var kept keptProfiles
	switch err := readJSON(filepath.Join(d.path, profilesFile), &kept); {
	case errors.Is(err, fs.ErrNotExist):
		return d.oldProfiles()
	case err != nil:
		return nil, err
	}
	return &kept.Profiles, nil
}

// oldProfiles reads the profiles of a record whose explanation has them, as `explain --profiles` wrote
// it; nil if there are none.
func (d *Dir) oldProfiles() (*Profiles, error) {
	var x struct {
		Profiles *struct {
			Arms  []ProfiledArm   `json:"arms"`
			Moved []FunctionShare `json:"moved"` // of the second arm
		} `json:"profiles"`
	}
	switch err := readJSON(filepath.Join(d.path, whyFile), &x); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case x.Profiles == nil:
		return nil, nil
	}
	p := &Profiles{Arms: x.Profiles.Arms}
	if len(p.Arms) > 1 {
		p.Arms[1].Moved = x.Profiles.Moved
	}
	return p, nil
}

// A ProfiledArm is the profiles of one arm.
type ProfiledArm struct {
	Arm     string   `json:"arm"`
	Files   []string `json:"files"`   // below the run's directory; empty if the server offers no profiles
	Samples int64    `json:"samples"` // in the CPU profile, 0 without one
	// Moved are functions that surely differ from the first arm's in their own share of CPU samples, the
	// largest difference first.
	Moved []FunctionShare `json:"moved,omitempty"`
	// Requests sums up how the requests in the execution trace spent their time; nil if the trace
	// marks no requests.
	Requests *RequestTimes `json:"requests,omitempty"`
}

// A FunctionShare is a function's own share of all samples in both arms, 0..1.
type FunctionShare struct {
	Function string  `json:"function"`
	From     float64 `json:"from"`
	To       float64 `json:"to"`
}

// RequestTimes are times, in seconds, of the requests in a trace. The means of the states add up to Mean.
type RequestTimes struct {
	Requests int         `json:"requests"`
	Mean     float64     `json:"mean"`
	P99      float64     `json:"p99"`
	States   []StateTime `json:"states"`
}

// A StateTime is the time, in seconds, that requests spent in one state of their goroutine:
// running, runnable, syscall, GC assist, or waiting for a reason.
type StateTime struct {
	State string  `json:"state"`
	Mean  float64 `json:"mean"`
	P99   float64 `json:"p99"` // of this state's time alone: the states' P99 do not add up
}

// A Flame is a flame graph of an arm, or of the difference between two arms.
type Flame struct {
	Kind   string // cpu, allocs, ...
	Arm    string
	Base   string // the arm compared with; "" for none
	File   string // below the run's directory
	Frames []Frame
}

// A Frame is one function in a flame graph, called by the frame below it. Left is the left edge and Share the
// width, both as ratios of all samples. Frames are in the order of profile.Tree.Layout: callers before callees.
type Frame struct {
	Name        string
	Depth       int
	Left, Share float64
	Change      float64 // Share minus the other arm's share
}

// WriteProfile writes one of an arm's profiles, or a picture of it, and returns its path below
// the run's directory.
func (d *Dir) WriteProfile(arm, name string, write func(io.Writer) error) (string, error) {
	place := slug(arm)
	if len(arm) > len(place) { // slug cut the name: another arm's may begin in the same way
		place += fmt.Sprintf("-%08x", crc32.ChecksumIEEE([]byte(arm)))
	}
	below := filepath.Join("profiles", place)
	if err := os.MkdirAll(filepath.Join(d.path, below), 0o755); err != nil {
		return "", fmt.Errorf("making a directory for profiles: %w", err)
	}
	in := Dir{path: filepath.Join(d.path, below)}
	return filepath.ToSlash(filepath.Join(below, name)), in.WriteFile(name, write)
}
