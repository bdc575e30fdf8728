package profile

import "math"

// A FunctionShare is a function's share of all samples in both arms, 0..1: its own, or with Callees that of all it calls as well.
type FunctionShare struct {
	Function string  `json:"function"`
	From     float64 `json:"from"`
	To       float64 `json:"to"`
	Callees  bool    `json:"with_callees,omitempty"`
	// Caller is the function of the program's own module that calls this one, the nearest on the stack, through which at
	// least half of the change came. It is nil if there is none, as for the garbage collector, and for a function of the module.
	Caller *CallerShare `json:"caller,omitempty"`
}

// change is by how much the share differs between the arms, 0..1.
func (f FunctionShare) change() float64 { return math.Abs(f.To - f.From) }

// A CallerShare is the share of all samples, in both arms, of a function with all that it calls, 0..1.
type CallerShare struct {
	Function string  `json:"function"`
	From     float64 `json:"from"`
	To       float64 `json:"to"`
}

// A Change is the difference between two CPU profiles.
type Change struct {
	// Moved are the functions with another share of the samples, the largest change first.
	Moved []FunctionShare `json:"moved,omitempty"`
	// Leads is a place to look where no share surely rose: the function of the program's own module that gained, with all that it
	// calls, at least half of the added samples, and more than chance easily adds. It is not sure, because a CPU that became slower
	// adds samples everywhere. Nil if there is none.
	Leads *Lead `json:"leads,omitempty"`
	// Least is the smallest change of a function's share, 0..1, that these numbers of samples can show. It is 1 if they
	// show none, and 0 in records of schedlabs that did not compute it.
	Least float64 `json:"least_change,omitempty"`
}

// A Lead is a function with all that it calls, and how many samples it has in both arms, over the same time.
type Lead struct {
	Function string `json:"function"`
	From     int    `json:"from"`
	To       int    `json:"to"`
	Of       int    `json:"of"` // samples that were added in all
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

// A Frame is one function in a flame graph, called by the frame below it. Left is the left edge and Share the
// width, both as ratios of all samples. Frames are in the order of profile.Tree.Layout: callers before callees.
type Frame struct {
	Name        string
	Depth       int
	Left, Share float64
	Change      float64 // Share minus the other arm's share
}
