package queueing

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// A Kind tells how requests reach the cores.
type Kind uint8

// The kinds.
const (
	// Pool is one queue for all workers: a worker pool, or a semaphore.
	Pool Kind = iota
	// PerWorker is a queue for each worker. Requests are dealt to the queues; see Pick.
	PerWorker
	// Loops is a queue for each worker, and each worker serves its own connections: event loops,
	// or workers that keep their connections.
	Loops
	// Goroutines has no queue and a worker for each request, like net/http, which leaves all
	// scheduling to Go's scheduler.
	Goroutines
)

func (k Kind) String() string {
	return [...]string{"pool", "per-worker", "loops", "goroutines"}[k]
}

// A Pick tells how PerWorker chooses the queue of an arrival.
type Pick uint8

// The ways to pick.
const (
	InTurn     Pick = iota // one queue after the other, whatever work they hold
	Least                  // the queue with the fewest jobs, waiting or running; the first of several
	TwoChoices             // the queue with fewer jobs of two taken at random; every replay takes the same two
)

// Named values of Station.Turn.
const (
	GoTurn = 10 * time.Millisecond // after this time Go's scheduler preempts a goroutine (forcePreemptNS in runtime/proc.go)
	Whole  = time.Duration(math.MaxInt64)
	Even   = time.Duration(0) // the limit of short turns: all jobs present share the cores evenly
)

// A Station is an ideal server: switching between jobs costs nothing, and all cores are equal.
type Station struct {
	Kind    Kind
	Workers int // 1 or more; ignored for Goroutines
	Cores   int // 1 or more, shared by all workers
	// Turn is the time that a job may keep a core while others are ready. Then it goes to the end
	// of their line.
	Turn time.Duration
	// Places is the most requests that may be present, those in service included; 0: no bound. If
	// each worker has a queue, it applies to each worker.
	Places int
	// Blocks makes an arrival that finds no place wait outside for one, and all later arrivals
	// behind it, as behind an acceptor. Without Blocks such an arrival is lost.
	Blocks bool
	// Newest lets workers take the newest job of their queue first, not the oldest.
	Newest bool
	// Aging loses jobs that have waited too long.
	Aging Aging
	// Oldest lets an arrival that finds no place replace the job that has waited longest. That job
	// is lost.
	Oldest bool
	// Patience is how long a job waits in a queue before it leaves and is lost. 0: for ever.
	Patience time.Duration
	Pick     Pick // PerWorker
	Steal    bool // PerWorker: a worker with nothing in its own queue takes from the others'
}

// check returns an error, with its remedy, for settings that are impossible or do not go together.
func (s Station) check() error {
	switch {
	case s.Kind > Goroutines:
		return fmt.Errorf("checking the station: unknown kind %d; use Pool, PerWorker, Loops or Goroutines", s.Kind)
	case s.Cores < 1:
		return fmt.Errorf("checking the station: %d cores; give 1 or more", s.Cores)
	case s.Workers < 1 && s.Kind != Goroutines:
		return fmt.Errorf("checking the station: %d workers in a %v; give 1 or more", s.Workers, s.Kind)
	case s.Turn < 0 || s.Places < 0:
		return fmt.Errorf("checking the station: turn %v and %d places; neither is negative", s.Turn, s.Places)
	case s.Patience < 0:
		return fmt.Errorf("checking the station: a patience of %v; give none or a positive one", s.Patience)
	case s.Newest && (s.Oldest || s.Patience > 0):
		return errors.New("checking the station: the newest first, and the oldest lost or leaving by themselves; drop one")
	case s.Pick > TwoChoices:
		return fmt.Errorf("checking the station: unknown pick %d; use InTurn, Least or TwoChoices", s.Pick)
	case (s.Pick != InTurn || s.Steal) && s.Kind != PerWorker:
		return fmt.Errorf("checking the station: a %v has no queues to pick or steal from; drop both", s.Kind)
	}
	return s.Aging.check(s)
}

// lanes returns the number of queues.
func (s Station) lanes() int {
	if s.Kind == PerWorker || s.Kind == Loops {
		return s.Workers
	}
	return 1
}

// lane returns how many workers a queue has, and how many jobs may wait in it.
func (s Station) lane() (workers, room int) {
	switch s.Kind {
	case Pool:
		workers = s.Workers
	case Goroutines:
		if s.Places > 0 {
			return s.Places, 0
		}
		return math.MaxInt, 0
	default:
		workers = 1
	}
	if s.Places == 0 {
		return workers, math.MaxInt
	}
	workers = min(workers, s.Places)
	return workers, s.Places - workers
}
