// Package dispatch hands jobs to workers. It has the queues, the workers, and the policies for
// a queue that is full and for jobs that have waited too long. It knows nothing of HTTP,
// connections or metrics.
//
// A job is a value of any type. A caller makes a [Dispatcher] with [New], starts it, puts jobs, and
// closes it. The kinds differ only in the queue between Put and the workers. The workers, the clock
// and the overflow policy are common to all of them (base). A [Semaphore] is the alternative
// without workers: it bounds the number of callers that run at a time.
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
	// Put queues job, or follows the overflow policy when the queue is full. It blocks
	// only under [Block]. Every job put is either run once or refused once.
	Put(job T)
	// Close lets the workers finish the queued jobs, and returns when all workers have
	// ended.
	Close()
	Queue
}

// A Queue gives the figures of a dispatcher that can be watched, whatever the type of its jobs.
// Its methods are safe for concurrent use.
// Depth, Capacity and Busy are counts of jobs. Workers does not change. Two calls read two moments,
// so Depth and Busy together may count a job twice or not at all.
type Queue interface {
	Depth() int    // jobs waiting
	Capacity() int // largest number of jobs that can wait
	Workers() int
	Busy() int // workers running a job
}

// Options are the options of every kind of dispatcher. Run is required, and so is Refuse if the
// policy can refuse jobs.
// Its functions are called while no lock is held, so they may call Depth and the other methods of
// [Queue].
type Options[T any] struct {
	Settings
	Run func(T) // runs a job; called concurrently by the workers
	// Refuse is called for a job that is not run, by Put or by a worker. It must not
	// block.
	Refuse func(T, Why)
	Waited func(T, time.Duration) // called before Run with the time in the queue; nil: not called
}

// Settings are the options that do not depend on the type of the jobs. A tag names the flag of serve
// that sets a field.
// The zero value of Overflow is [Block], and the zero value of Pick is [RoundRobin]. Fields that
// another kind or policy would use are ignored. Nothing checks the ranges here: package server does
// so for its flags.
type Settings struct {
	Workers   int                 `flag:"workers"`     // number of workers, 1 or more
	Depth     int                 `flag:"queue-depth"` // places in the queue; 0 hands a job over only when a worker is free
	Overflow  Overflow            // policy for a job that finds the queue full
	Sojourned func(time.Duration) // called after Run with the time since Put; nil: not called
	Locked    bool                `flag:"locked"` // each worker is locked to an operating-system thread
	Closure   bool                // a job travels as a closure, as in most pools, which allocates
	Pick      Pick                // PerWorker: how to choose a queue
	Steal     bool                `flag:"steal"`          // PerWorker: idle workers take from the queues of others; needs Depth >= Workers
	Spin      int                 `flag:"spin"`           // Ring: how often a worker looks at an empty ring before it sleeps
	Target    time.Duration       `flag:"codel-target"`   // CoDel, Adaptive: the wait to keep to; see [CoDel]
	Interval  time.Duration       `flag:"codel-interval"` // CoDel, Adaptive: time for which the wait must exceed Target
	Held      time.Duration       // Shared: a planted fault; a worker that has taken a job sleeps this long under one lock for all workers; 0: no lock
}

// A Why is the reason for which a job was refused.
// A job is refused at most once, so it has one Why. The zero value is [Full].
type Why uint8

// The reasons of a refusal.
const (
	Full    Why = iota // no place in the queue
	Dropped            // no place in the queue, and the client gets no answer
	Evicted            // it had waited longest when another job needed its place
	Stale              // it had waited too long
)

// String returns the reason in lower case, such as full.
func (w Why) String() string { return [...]string{"full", "dropped", "evicted", "stale"}[w] }

// A Kind is an implementation of [Dispatcher].
// The zero value is [Shared], the baseline. Each of the others changes one thing about it:
// [PerWorker] has a queue for each worker, [Ring] has a queue without a lock, and [Adaptive] bounds
// the wait as well as the length of the queue.
type Kind uint8

// The kinds of dispatcher. BenchmarkHandoff measures the cost of a hand-off in each.
const (
	Shared    Kind = iota // one channel for all workers
	PerWorker             // a channel for each worker
	Ring                  // one lock-free ring; Depth is a power of two
	Adaptive              // one deque, first in first out until overload makes it last in first out; Depth >= 1
)

// New returns a dispatcher of that kind. Nothing runs until its Start.
// A kind that is not one of the constants gives a [Shared] one.
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

// An Overflow is a policy for a job that finds the queue full.
type Overflow uint8

// The overflow policies.
const (
	Block      Overflow = iota // Put waits for a place
	Reject                     // the job is refused at once, with an answer: [Full]
	Drop                       // the job is refused without an answer: [Dropped]
	DropOldest                 // the job that has waited longest is refused in its place: [Evicted]
	CoDel                      // as Reject; also, jobs that have waited too long are refused: [Stale]
)

// overflowNames has the values of --overflow, indexed by Overflow.
var overflowNames = []string{"block", "reject", "drop", "drop-oldest", "codel"}

// String returns the value of --overflow.
func (o Overflow) String() string { return overflowNames[o] }

// Set parses a policy's name.
// For an unknown name it returns an error that lists the known ones, and does not change o.
func (o *Overflow) Set(name string) error { return set(o, overflowNames, "overflow policy", name) }

// set sets value to the index of name in names. Its error calls the value what.
func set[T ~uint8](value *T, names []string, what, name string) error {
	i := slices.Index(names, name)
	if i < 0 {
		return fmt.Errorf("unknown %s %q (want one of %s)", what, name, strings.Join(names, ", "))
	}
	*value = T(i)
	return nil
}
