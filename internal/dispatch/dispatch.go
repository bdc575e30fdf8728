// Package dispatch hands jobs to workers: queues, workers and what happens
// when a queue is full or what waits in it is too old. It knows nothing of HTTP,
// connections or metrics.
package dispatch

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Dispatcher hands each job to one of its workers, or refuses it. Put may be
// called concurrently, but not before Start nor during or after Close.
type Dispatcher[T any] interface {
	// Start starts the workers.
	Start()
	// Put queues job, or does what the overflow policy says: it blocks only under
	// [Block]. Every job put is run once or refused once.
	Put(job T)
	// Close lets the workers finish what is queued and returns when all of them
	// have ended.
	Close()
	Queue
}

// A Queue is what can be watched of a dispatcher, whatever its jobs are, at any
// time.
type Queue interface {
	Depth() int    // jobs waiting
	Capacity() int // jobs that can wait
	Workers() int
	Busy() int // workers running a job
}

// Options are what every kind of dispatcher is told. Run is required, and Refuse
// wherever the policy can refuse.
type Options[T any] struct {
	Settings
	Run func(T)
	// Refuse takes a job that is not run. It is called by Put or by a worker, and
	// must not block.
	Refuse func(T, Why)
	Waited func(T, time.Duration) // called before Run with the time in the queue; nil: not at all
}

// Settings are the options that do not depend on what the jobs are.
type Settings struct {
	Workers   int                 // 1 or more
	Depth     int                 // places in the queue; 0 hands a job over only when a worker is free
	Overflow  Overflow            // what happens to a job that finds the queue full
	Sojourned func(time.Duration) // called after Run with the time since Put; nil: not at all
	Locked    bool                // each worker has an operating-system thread of its own
	Closure   bool                // a job travels as a closure, as most pools have it, which allocates
	Pick      Pick                // PerWorker: which queue
	Steal     bool                // PerWorker: idle workers take from the others' queues; needs Depth >= Workers
	Spin      int                 // Ring: looks at an empty ring before a worker sleeps
	Target    time.Duration       // CoDel, Adaptive: the wait to stay near; see [CoDel]
	Interval  time.Duration       // CoDel, Adaptive: how long it must be exceeded
	Held      time.Duration       // Shared: a worker that has taken a job sleeps for this time under a lock of all workers; 0: there is no lock. A planted fault
}

// Why says why a job was refused.
type Why uint8

// The reasons.
const (
	Full    Why = iota // no place in the queue
	Dropped            // no place in the queue, and nobody is to be told
	Evicted            // it had waited longest when another needed its place
	Stale              // it had waited too long when its turn came
)

func (w Why) String() string { return [...]string{"full", "dropped", "evicted", "stale"}[w] }

// A Kind is an implementation of [Dispatcher].
type Kind uint8

// The kinds. What a hand-off costs each is measured by BenchmarkHandoff.
const (
	Shared    Kind = iota // one channel for all workers
	PerWorker             // a channel for each worker
	Ring                  // one lock-free ring; Depth is a power of two
	Adaptive              // one deque that turns around under overload; Depth >= 1
)

// New makes a dispatcher. Nothing runs until its Start.
func New[T any](kind Kind, o Options[T]) Dispatcher[T] {
	if o.Closure {
		return newClosures(kind, o)
	}
	switch kind {
	case PerWorker:
		return newPerWorker(o)
	case Ring:
		return newRing(o)
	case Adaptive:
		return newAdaptive(o)
	}
	return newShared(o)
}

// Overflow says what happens to a job that finds the queue full.
type Overflow uint8

// The overflow policies.
const (
	Block      Overflow = iota // the submitter waits for a place
	Reject                     // the job is refused at once, with an answer: [Full]
	Drop                       // the job is refused without an answer: [Dropped]
	DropOldest                 // the job that has waited longest makes place: [Evicted]
	CoDel                      // as Reject; and jobs that waited too long are [Stale]
)

var overflowNames = []string{"block", "reject", "drop", "drop-oldest", "codel"}

func (o Overflow) String() string { return overflowNames[o] }

// Set parses a policy's name.
func (o *Overflow) Set(name string) error { return set(o, overflowNames, "overflow policy", name) }

// set sets a value to the number of a name, and calls it what in its error.
func set[T ~uint8](value *T, names []string, what, name string) error {
	i := slices.Index(names, name)
	if i < 0 {
		return fmt.Errorf("unknown %s %q (want one of %s)", what, name, strings.Join(names, ", "))
	}
	*value = T(i)
	return nil
}
