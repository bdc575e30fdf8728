// Package mode describes the scheduling models for the two halves of the program, the one that
// serves and the one that measures.
package mode

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Axes are the coordinates of a scheduling model. Every mode is one point. In a mode's
// description an axis may list alternatives, separated by |, the default first.
type Axes struct {
	Stack    string `json:"stack"`    // nethttp | fasthttp
	Accept   string `json:"accept"`   // how connections leave the kernel
	Unit     string `json:"unit"`     // the thing that is dispatched: connection | burst | request | inline
	Executor string `json:"executor"` // what serves a unit, such as fixed (workers) or loop
	Queue    string `json:"queue"`    // the kind of queue in which a unit waits
	Overflow string `json:"overflow"` // the policy for a unit that finds the queue full
	Thread   string `json:"thread"`   // whether the executor is locked to a thread: free | locked
}

// String returns all coordinates on one line.
func (a Axes) String() string {
	return fmt.Sprintf("stack=%s accept=%s unit=%s executor=%s queue=%s overflow=%s thread=%s",
		a.Stack, a.Accept, a.Unit, a.Executor, a.Queue, a.Overflow, a.Thread)
}

// A Mode is a named point on the axes. Its fields hold all that other packages need to know about
// it, so that none of them depends on a mode's name. JSON has the fields that describe it to people.
type Mode struct {
	Name     string `json:"name"`    // the value of --mode
	Summary  string `json:"summary"` // one line for lists
	Axes     Axes   `json:"axes"`
	Imitates string `json:"imitates"`     // the real servers or libraries that it stands for
	Wins     string `json:"wins"`         // the loads on which it does well
	Starves  string `json:"starves"`      // the clients or requests that it makes wait, and when
	Do       string `json:"do,omitempty"` // what the experiments say to do with it; "" for nothing in particular
	// Flags lists the flags of serve that this mode has and some other modes do not.
	Flags []string `json:"flags"`
	// Parts are what flags may exchange in the mode, in the order in which they change it. The other
	// fields describe the mode without those flags; see [Mode.With].
	Parts []Part `json:"-"`
	// Spelling is set by With: the mode and its parts as flags, like --mode pool --queue ring.
	Spelling string `json:"-"`
	// Station is the queueing station that models an ideal scheduler of this kind: pool,
	// per-worker, loops or goroutines, as package queueing names them. "" means none of these,
	// so that theory has no prediction for the mode. The station's number of servers is
	// --workers, or --listeners in a mode without workers, or one.
	Station string `json:"-"`
	Loops   bool   `json:"-"` // connections live on event loops, one for each socket
	HTTP2   bool   `json:"-"` // over TLS it speaks HTTP/2, too
	// Threads is "connection" or "worker" if each of them has a separate operating-system
	// thread, so that the limit on threads applies; else "".
	Threads string `json:"-"`
	// Processes is set when the mode runs several processes.
	Processes bool `json:"-"`
	Sticky    bool `json:"-"` // a worker keeps its connection, so surplus keep-alive clients starve
	// Adaptive is set when the queue refuses requests that waited too long, under every
	// overflow policy, and serves the newest first under overload.
	Adaptive bool `json:"-"`
	// Overflow is the default policy; "" without a queue.
	Overflow string `json:"-"`
	// Depth returns the default depth of the queue for a number of workers; nil without a
	// queue.
	Depth func(workers int) int `json:"-"`
	// LeastDepth is the smallest depth that the queue may have.
	LeastDepth int  `json:"-"`
	PowerOfTwo bool `json:"-"` // the queue's depth must be a power of two
	// Without maps some of the mode's traits, such as Inline, to the name of the mode that
	// lacks just that trait, in some cases only with a flag. A comparison with it shows the cost of the trait (package explain).
	Without map[string]string `json:"-"`
	// Check returns the error with which the mode's server would refuse an arm's flags; nil
	// where this is not known.
	Check func(flags map[string]string) error `json:"-"`
}

// The traits that are keys of [Mode.Without].
const (
	Inline      = "inline"       // handlers run on the loop that reads
	SharedQueue = "shared queue" // all workers take from one queue, under a lock
	OwnSockets  = "own sockets"  // each acceptor has a socket, and gets the connections that the kernel gives to it
	OneAcceptor = "one acceptor"
	HandOff     = "hand-off"     // requests go from the goroutine that reads to a worker and back
	NewestFirst = "newest first" // goroutines wait for sockets, and Go's poller wakes the newest first
)

// Has reports whether the mode has that flag of serve, given without dashes. It is for flags that
// only some modes have.
func (m Mode) Has(flag string) bool { return slices.Contains(m.Flags, flag) }

// HandlersOnLoop reports whether an event loop runs the handlers itself, and so serves nothing else while one waits.
func (m Mode) HandlersOnLoop() bool { return m.Loops && !m.Has("workers") }

// Allows reports whether the mode supports that overflow policy.
func (m Mode) Allows(overflow string) bool {
	return slices.Contains(strings.Split(m.Axes.Overflow, "|"), overflow)
}

// QueuesRequests reports whether the goroutine of a connection puts each request on a queue. This
// goroutine needs CPU time while handlers run, or it cannot fill the queue.
func (m Mode) QueuesRequests() bool {
	return m.Axes.Unit == "request" && m.Depth != nil && !m.Loops
}

// Wait returns the mode's default for the longest wait for a turn; 0 if the mode does
// not bound the wait.
func (m Mode) Wait() time.Duration {
	if m.Has("wait") {
		return 100 * time.Millisecond
	}
	return 0
}
