package queueing

import (
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
	Even   = time.Duration(0) // the limit of short turns: all jobs present share the cores evenly; for formulas only
)

// CoDelTarget and CoDelInterval are the settings that servers use for CoDel: B. Maurer, "Fail at
// Scale", ACM Queue 13(8), 2015.
const (
	CoDelTarget   = 5 * time.Millisecond
	CoDelInterval = 100 * time.Millisecond
)

// pooled reports whether the station is a Pool.
func pooled(s Station) bool { return s.Kind == Pool || s.Kind == "" }

// inTurn reports whether arrivals are dealt to the queues in turn.
func inTurn(s Station) bool { return s.Pick != Least && s.Pick != TwoChoices }

// checkStation returns an error for settings that are impossible or do not go together.
func checkStation(s Station) error {
	switch dealt := s.Kind == PerWorker; {
	case !pooled(s) && !dealt && s.Kind != Loops && s.Kind != Goroutines,
		s.Cores < 1 || s.Workers < 1 && s.Kind != Goroutines,
		s.Turn < 0 || s.Places < 0 || s.Patience < 0,
		(!inTurn(s) || s.Steal) && !dealt, // there are no queues to pick or steal from
		// An aging queue is a pool's or, unless it is adaptive, a worker's. It loses jobs by their age only.
		aging(s) && (s.Target <= 0 || s.Interval <= 0 || !pooled(s) && (s.Adaptive || !dealt)),
		aging(s) && (s.Overflow == Blocks || s.Overflow == Oldest || s.Patience > 0):
		return fmt.Errorf("no station can be like this: %+v", s)
	}
	return nil
}

// layout returns the number of queues, and for each how many workers take jobs from it and how many
// jobs may wait in it.
func layout(s Station) (queues, workers, room int) {
	queues, workers, room = 1, s.Workers, math.MaxInt
	switch s.Kind {
	case PerWorker, Loops:
		queues, workers = s.Workers, 1
	case Goroutines:
		workers = math.MaxInt
	}
	if s.Places > 0 {
		workers = min(workers, s.Places)
		room = s.Places - workers
	}
	return queues, workers, room
}

// aging reports whether the station's queue ages. An aging queue refuses jobs that have waited too
// long, by the form of CoDel for servers (Maurer, as above). The queue is standing if even the
// shortest wait in a whole interval was above the target, or if the jobs refused in it would need
// more than twice the target to run at the rate of the jobs that ran. While the queue is standing,
// jobs that have waited more than twice the target are lost.
//
// With Adaptive, which is for a Pool only, the newest job is served first while the queue is
// standing, and arrivals remove jobs that are too old, and not only workers.
func aging(s Station) bool { return s.Target != 0 || s.Interval != 0 || s.Adaptive }

// codel lets a queue age. All queues of a station share one.
type codel struct {
	target, interval time.Duration
	end              time.Duration // of the current interval
	least            time.Duration // shortest wait in the interval
	ran, refused     int           // jobs in the interval
	standing         bool          // the queue was standing in the interval before
}

// turn reports whether a job is too old to run when its turn comes. waited is its wait.
func (c *codel) turn(now, waited time.Duration) bool {
	if now < c.end {
		c.least = min(c.least, waited)
	} else {
		owed := time.Duration(c.refused) * c.interval
		c.standing = c.least > c.target || owed > time.Duration(c.ran)*2*c.target
		c.end, c.least, c.ran, c.refused = now+c.interval, waited, 0, 0
	}
	if c.tooOld(waited) {
		return true
	}
	c.ran++
	return false
}

// tooOld reports whether a job with this wait must be refused, and counts it if so.
func (c *codel) tooOld(waited time.Duration) bool {
	if !c.standing || waited <= 2*c.target {
		return false
	}
	c.refused++
	return true
}
