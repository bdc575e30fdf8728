package queueing

import (
	"errors"
	"fmt"
	"time"
)

// The settings that servers take for CoDel: B. Maurer, "Fail at Scale", ACM Queue
// 13(8), 2015.
const (
	CoDelTarget   = 5 * time.Millisecond
	CoDelInterval = 100 * time.Millisecond
)

// An Aging queue refuses jobs that have waited too long, by CoDel in its form for
// servers (Maurer, as above). The queue stands when in a whole interval even the
// shortest wait was above target, or when those refused in it would take more
// than twice the target to run at the rate of those that ran. While it stands,
// jobs that have waited for more than twice the target are lost. The zero value
// loses none.
type Aging struct {
	Target, Interval time.Duration // both or neither above 0
	// Adaptive serves the newest first while the queue stands, and lets arrivals
	// take out what is too old, not only workers. Of a Pool alone.
	Adaptive bool
}

func (a Aging) check(s Station) error {
	switch {
	case a == Aging{}:
		return nil
	case a.Target <= 0 || a.Interval <= 0:
		return fmt.Errorf("checking the station: a target of %v in an interval of %v; give both more than 0", a.Target, a.Interval)
	case s.Kind != Pool && s.Kind != PerWorker || a.Adaptive && s.Kind != Pool:
		return fmt.Errorf("checking the station: the queue of %v does not age so; a pool's does", s.Kind)
	case s.Blocks || s.Newest:
		return fmt.Errorf("checking the station: an aging queue neither makes arrivals wait outside nor is newest first for ever; drop Blocks and Newest")
	case s.Oldest || s.Patience > 0:
		return errors.New("checking the station: an aging queue loses by age, not by place or patience; drop Oldest and Patience")
	}
	return nil
}

// codel is the law at work, one for all queues of a station.
type codel struct {
	Aging
	end          time.Duration // of the interval
	least        time.Duration // wait in it
	ran, refused int           // jobs in it
	standing     bool          // as of the interval before
	waiting      []int         // of an adaptive queue: its jobs, oldest first
}

// turn reports whether a job that has waited for that long when its turn comes is
// too old to run.
func (c *codel) turn(now, waited time.Duration) bool {
	if now < c.end {
		c.least = min(c.least, waited)
	} else {
		owed := time.Duration(c.refused) * c.Interval
		c.standing = c.least > c.Target || owed > time.Duration(c.ran)*2*c.Target
		c.end, c.least, c.ran, c.refused = now+c.Interval, waited, 0, 0
	}
	if c.tooOld(waited) {
		return true
	}
	c.ran++
	return false
}

func (c *codel) tooOld(waited time.Duration) bool {
	if !c.standing || waited <= 2*c.Target {
		return false
	}
	c.refused++
	return true
}

// expired takes the oldest job of an adaptive queue if it is too old at an arrival.
func (r *replay) expired() (job int, ok bool) {
	c := r.law
	if len(c.waiting) == 0 || !c.tooOld(r.now-r.jobs[c.waiting[0]].At) {
		return 0, false
	}
	return r.leaveAged(0), true
}

// leaveAged takes the oldest job, 0, or the newest out of an adaptive queue.
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

// adaptiveTurn is the job of an adaptive queue whose turn it is. The oldest one's wait is the
// queue's, whichever comes next.
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
