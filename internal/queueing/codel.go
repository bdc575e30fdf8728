package queueing

import (
	"errors"
	"fmt"
	"time"
)

// CoDelTarget and CoDelInterval are the settings that servers use for CoDel: B. Maurer, "Fail at
// Scale", ACM Queue 13(8), 2015.
const (
	CoDelTarget   = 5 * time.Millisecond
	CoDelInterval = 100 * time.Millisecond
)

// aging reports whether the station's queue ages. An aging queue refuses jobs that have waited too
// long, by the form of CoDel for servers (Maurer, as above). The queue is standing if even the
// shortest wait in a whole interval was above the target, or if the jobs refused in it would need
// more than twice the target to run at the rate of the jobs that ran. While the queue is standing,
// jobs that have waited more than twice the target are lost.
//
// With Adaptive, which is for a Pool only, the newest job is served first while the queue is
// standing, and arrivals remove jobs that are too old, and not only workers.
func aging(s Station) bool { return s.Target != 0 || s.Interval != 0 || s.Adaptive }

// checkAging returns an error for an aging queue that is impossible.
func checkAging(s Station) error {
	switch {
	case !aging(s):
		return nil
	case s.Target <= 0 || s.Interval <= 0:
		return fmt.Errorf("checking the station: a target of %g s in an interval of %g s; give both more than 0", s.Target, s.Interval)
	case !pooled(s) && s.Kind != PerWorker || s.Adaptive && !pooled(s):
		return fmt.Errorf("checking the station: the queue of %s does not age so; a pool's does", s.Kind)
	case s.Overflow == Blocks:
		return errors.New("checking the station: an aging queue does not make arrivals wait outside; drop Blocks")
	case s.Overflow == Oldest || s.Patience > 0:
		return errors.New("checking the station: an aging queue loses by age, not by place or patience; drop Oldest and Patience")
	}
	return nil
}

// codel lets a queue age. All queues of a station share one.
type codel struct {
	target, interval time.Duration
	end              time.Duration // of the current interval
	least            time.Duration // shortest wait in the interval
	ran, refused     int           // jobs in the interval
	standing         bool          // the queue was standing in the interval before
	waiting          []int         // jobs of an adaptive queue, oldest first
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

// expired removes the oldest job of an adaptive queue if it is too old. It is called at an
// arrival.
func (r *replay) expired() (job int, ok bool) {
	c := r.law
	if len(c.waiting) == 0 || !c.tooOld(r.now-r.jobs[c.waiting[0]].At) {
		return 0, false
	}
	return r.leaveAged(0), true
}

// leaveAged removes job i of an adaptive queue: 0 is the oldest, and the only other i is the
// newest.
func (r *replay) leaveAged(i int) (job int) {
	c := r.law
	job = c.waiting[i]
	if i == 0 {
		c.waiting = c.waiting[1:]
	} else {
		c.waiting = c.waiting[:i]
	}
	r.lanes[0].room++
	r.lanes[0].waits--
	return job
}

// adaptiveTurn removes the next job of an adaptive queue. The wait of the oldest job counts as the
// wait of the queue, whichever job is next.
func (r *replay) adaptiveTurn() (job int, stale, ok bool) {
	c := r.law
	last := len(c.waiting) - 1
	if last < 0 {
		return 0, false, false
	}
	stale = c.turn(r.now, r.now-r.jobs[c.waiting[0]].At)
	if !stale && c.standing {
		return r.leaveAged(last), false, true
	}
	return r.leaveAged(0), stale, true
}
