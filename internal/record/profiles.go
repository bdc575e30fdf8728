package record

import (
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// Profiles are what the servers of two arms showed of themselves in windows of their own,
// which enter no verdict.
type Profiles struct {
	Arms  []ProfiledArm   `json:"arms"`  // the arm that is compared with first
	Moved []FunctionShare `json:"moved"` // functions whose own share of the CPU samples surely differs, the most first
	// Flames are the flame graphs, to be drawn: per kind one of each arm, and the difference.
	Flames []Flame `json:"-"`
}

// A ProfiledArm is one arm's profiles.
type ProfiledArm struct {
	Arm     string   `json:"arm"`
	Files   []string `json:"files"`   // below the run's directory; empty where the server shows no profiles
	Samples int64    `json:"samples"` // of the CPU profile, 0 without one
	// Requests are the requests of its execution trace by what their goroutines did; nil
	// where the trace marks none.
	Requests *RequestTimes `json:"requests,omitempty"`
}

// A FunctionShare is a function's own share of all samples, in two arms.
type FunctionShare struct {
	Function string  `json:"function"`
	From     float64 `json:"from"`
	To       float64 `json:"to"`
}

// RequestTimes are seconds of the requests in a trace. The means of the states add up to Mean.
type RequestTimes struct {
	Requests int         `json:"requests"`
	Mean     float64     `json:"mean"`
	P99      float64     `json:"p99"`
	States   []StateTime `json:"states"`
}

// A StateTime is what requests spent in one state of their goroutine: running, runnable,
// syscall, GC assist, or waiting for a reason.
type StateTime struct {
	State string  `json:"state"`
	Mean  float64 `json:"mean"`
	P99   float64 `json:"p99"` // of this state's time over the requests: these do not add up
}

// A Flame is a flame graph: of an arm, or of the difference of an arm from another one.
type Flame struct {
	Kind   string // cpu, allocs, ...
	Arm    string
	Base   string // that it is compared with; "" for none
	File   string // below the run's directory
	Frames []Frame
}

// A Frame is one function of a flame graph, called by the one below it. Left and Share are
// shares of all samples.
type Frame struct {
	Name        string
	Depth       int
	Left, Share float64
	Change      float64 // of the share from that of the other arm
}

// WriteProfile writes one of an arm's profiles, or a picture of it, and returns where it is
// below the run's directory.
func (d *Dir) WriteProfile(arm, name string, write func(io.Writer) error) (string, error) {
	place := slug(arm)
	if len(arm) > len(place) { // another one's may begin in the same way
		place += fmt.Sprintf("-%08x", crc32.ChecksumIEEE([]byte(arm)))
	}
	below := filepath.Join("profiles", place)
	if err := os.MkdirAll(filepath.Join(d.path, below), 0o755); err != nil {
		return "", fmt.Errorf("making a directory for profiles: %w", err)
	}
	in := Dir{path: filepath.Join(d.path, below)}
	return filepath.ToSlash(filepath.Join(below, name)), in.WriteFile(name, write)
}
