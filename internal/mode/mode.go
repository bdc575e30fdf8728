// Package mode says what a scheduling model is, as far as both halves must know it.
package mode

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Axes are the coordinates of a scheduling model. Every mode is one point.
type Axes struct {
	Stack    string `json:"stack"`    // nethttp | fasthttp
	Accept   string `json:"accept"`   // how connections leave the kernel
	Unit     string `json:"unit"`     // what is dispatched: connection | request
	Executor string `json:"executor"` // what it runs on
	Queue    string `json:"queue"`    // where it waits
	Overflow string `json:"overflow"` // what happens when it cannot
	Thread   string `json:"thread"`   // free | locked
}

// String is the full tuple on one line.
func (a Axes) String() string {
	return fmt.Sprintf("stack=%s accept=%s unit=%s executor=%s queue=%s overflow=%s thread=%s",
		a.Stack, a.Accept, a.Unit, a.Executor, a.Queue, a.Overflow, a.Thread)
}

// A Mode is a named point on the axes, with all that other packages need to know of it: none
// of them asks for a mode's name.
type Mode struct {
	Name     string
	Summary  string
	Axes     Axes
	Imitates string
	Wins     string
	Starves  string
	// Flags are the serve flags that only some modes have, this one among them.
	Flags []string
	// Station is the queueing station that an ideal scheduler of this kind would be:
	// pool, per-worker, loops or goroutines, as queueing.Kind names them. "": none of
	// these, and theory has no prediction for the mode. Its workers are --workers, or
	// --listeners in a mode without those, or one.
	Station string
	Loops   bool // connections live on event loops, one for each socket
	// Threads is "connection" or "worker" if each of them has an operating-system thread of its
	// own, which are limited in number; else "".
	Threads string
	// Processes says that the mode is several processes.
	Processes bool
	Sticky    bool // a worker keeps its connection, so surplus keep-alive clients starve
	// Adaptive says that the queue refuses requests that waited too long, under every
	// overflow policy, and serves the newest first under overload.
	Adaptive bool
	Sized    bool // `schedlab size` may test its advice with the mode
	// Overflow is the policy when none is given; "" without a queue.
	Overflow string
	// Depth is the queue's depth for a number of workers when none is given;
	// nil without a queue.
	Depth func(workers int) int
	// LeastDepth is the depth the queue must have.
	LeastDepth int
	PowerOfTwo bool // the queue's depth must be a power of two
	// Without names, for some of its traits, the mode that differs in that trait alone: it
	// shows what the trait costs (package explain).
	Without map[string]string
	// Check reports what the mode's server would refuse of an arm's flags; nil: not known here.
	Check func(flags map[string]string) error
}

// The traits that [Mode.Without] knows.
const (
	Inline      = "inline"       // handlers run on the loop that reads
	Locked      = "locked"       // each worker or connection has a thread of its own
	SharedQueue = "shared queue" // all workers take from one, under a lock
	OwnSockets  = "own sockets"  // each listener has its connections, however the kernel deals them out
	OneAcceptor = "one acceptor"
	HandOff     = "hand-off"     // requests go from the goroutine that reads to a worker and back
	NewestFirst = "newest first" // goroutines wait for sockets, and Go's poller wakes the newest first
)

// Has reports whether a serve flag means something to the mode.
func (m Mode) Has(flag string) bool { return slices.Contains(m.Flags, flag) }

// Allows reports whether the mode can have that overflow policy.
func (m Mode) Allows(overflow string) bool {
	return slices.Contains(strings.Split(m.Axes.Overflow, "|"), overflow)
}

// QueuesRequests reports whether a request is put on a queue by the goroutine of its
// connection, which must run beside the handlers to fill the queue.
func (m Mode) QueuesRequests() bool {
	return m.Axes.Unit == "request" && m.Depth != nil && !m.Loops
}

// DefaultWait is how long a request may wait for its turn in a mode that bounds the wait,
// unless told otherwise.
const DefaultWait = 100 * time.Millisecond

// Wait is how long a request waits for its turn when no flag says so; 0: for ever.
func (m Mode) Wait() time.Duration {
	if m.Has("wait") {
		return DefaultWait
	}
	return 0
}
