package queueing

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"schedlab/internal/record"
)

// A Station is an ideal server; see record.Station.
type Station = record.Station

// The kinds of stations: how requests reach the cores.
const (
	// Pool is one queue for all workers: a worker pool, or a semaphore. A Kind of "" is a Pool, too.
	Pool = "pool"
	// PerWorker is a queue for each worker. Requests are dealt to the queues; see Least.
	PerWorker = "per-worker"
	// Loops is a queue for each worker, and each worker serves its own connections: event loops,
	// or workers that keep their connections.
	Loops = "loops"
	// Goroutines has no queue and a worker for each request, like net/http, which leaves all
	// scheduling to Go's scheduler.
	Goroutines = "goroutines"
)

// Values of Station.Pick. With any other PerWorker takes one queue after the other, whatever work
// they hold.
const (
	Least      = "least" // the queue with the fewest jobs, waiting or running; the first of several
	TwoChoices = "p2c"   // the queue with fewer jobs of two taken at random; every replay takes the same two
)

// Values of Station.Overflow. With any other an arrival that finds no place is lost.
const (
	Blocks = "block"       // it waits outside
	Oldest = "drop-oldest" // it replaces the job that has waited longest
)

// Named values of Station.Turn.
const (
	GoTurn = 10 * time.Millisecond // after this time Go's scheduler preempts a goroutine (forcePreemptNS in runtime/proc.go)
	Whole  = time.Duration(math.MaxInt64)
	Even   = time.Duration(0) // the limit of short turns: all jobs present share the cores evenly
)

// pooled reports whether the station is a Pool.
func pooled(s Station) bool { return s.Kind == Pool || s.Kind == "" }

// inTurn reports whether arrivals are dealt to the queues in turn.
func inTurn(s Station) bool { return s.Pick != Least && s.Pick != TwoChoices }

// checkStation returns an error, with its remedy, for settings that are impossible or do not go
// together.
func checkStation(s Station) error {
	switch {
	case !pooled(s) && s.Kind != PerWorker && s.Kind != Loops && s.Kind != Goroutines:
		return fmt.Errorf("checking the station: unknown kind %q; use Pool, PerWorker, Loops or Goroutines", s.Kind)
	case s.Cores < 1:
		return fmt.Errorf("checking the station: %d cores; give 1 or more", s.Cores)
	case s.Workers < 1 && s.Kind != Goroutines:
		return fmt.Errorf("checking the station: %d workers in a %s; give 1 or more", s.Workers, cmp.Or(s.Kind, Pool))
	case s.Turn < 0 || s.Places < 0:
		return fmt.Errorf("checking the station: turn %v and %d places; neither is negative", s.Turn, s.Places)
	case s.Patience < 0:
		return fmt.Errorf("checking the station: a patience of %g s; give none or a positive one", s.Patience)
	case (!inTurn(s) || s.Steal) && s.Kind != PerWorker:
		return fmt.Errorf("checking the station: a %s has no queues to pick or steal from; drop both", cmp.Or(s.Kind, Pool))
	}
	return checkAging(s)
}

// lanes returns the number of queues.
func lanes(s Station) int {
	if s.Kind == PerWorker || s.Kind == Loops {
		return s.Workers
	}
	return 1
}

// roomOf returns how many workers a queue has, and how many jobs may wait in it.
func roomOf(s Station) (workers, room int) {
	switch {
	case pooled(s):
		workers = s.Workers
	case s.Kind == Goroutines:
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
