package scenario

import (
	"slices"
	"time"
)

// A Mode is what planning must know of a mode.
type Mode struct {
	// Check reports what the mode's server would refuse of an arm's flags.
	Check func(flags map[string]string) error

	Flags []string // the serve flags that mean something to it, besides every mode's
	// Station is the name of the [queueing.Kind] that its ideal twin is; "": none is.
	Station  string
	Sticky   bool // a worker keeps its connection
	Adaptive bool // its queue ages whatever the overflow policy, and may serve the newest first
	// QueuesRequests says that a request is put on its queue by the goroutine of its
	// connection, which must run beside the handlers to fill the queue.
	QueuesRequests bool
	// Overflow is the policy of its queue when none is given, Depth the depth for a
	// number of workers; "" and nil without a queue. Wait is how long a request waits
	// for a turn then; 0: for ever.
	Overflow string
	Depth    func(workers int) int
	Wait     time.Duration
	Blocks   bool              // a full queue may make clients wait
	Without  map[string]string // the mode that is like it but for a trait, by the trait
}

// The traits of Without: handlers that run on the loop that reads; threads of their own; a
// queue that all workers take from under one lock; connections that the kernel deals out to
// listeners; one acceptor; requests that go to a worker and back; a poller
// that wakes the newest first.
const (
	Inline      = "inline"
	Locked      = "locked"
	SharedQueue = "shared queue"
	OwnSockets  = "own sockets"
	OneAcceptor = "one acceptor"
	HandOff     = "hand-off"
	NewestFirst = "newest first"
)

// Has reports whether a serve flag means something to the mode.
func (m Mode) Has(flag string) bool { return slices.Contains(m.Flags, flag) }
