package dispatch

import (
	"sync"
	"time"
)

// The defaults of the CoDel law, from "Fail at Scale" (see codel).
const (
	DefaultTarget   = 5 * time.Millisecond
	DefaultInterval = 100 * time.Millisecond
)

// A codel tells a standing queue from a burst. The queue stands when in a whole
// interval even the shortest wait was above target; then jobs that have waited
// more than twice the target are stale. It stands on while those refused would,
// had they been kept, make it wait longer than that again: refusing empties the
// queue, which proves nothing. This is the form for servers, whose arrivals do not
// slow down when some are refused, after B. Maurer, "Fail at Scale", ACM Queue
// 13(8), 2015, and HBase's AdaptiveLifoCoDelCallQueue; the control law for packets
// (Nichols and Jacobson, "Controlling Queue Delay", ACM Queue 10(5), 2012) drops
// too slowly for them. Safe for concurrent use.
type codel struct {
	target, interval time.Duration

	mu           sync.Mutex
	end          time.Duration // of the interval
	least        time.Duration // wait in it
	ran, refused int           // jobs in it
	standing     bool          // as of the interval before
}

// stale reports whether a job that has waited for that long when its turn comes
// should not be run any more.
func (c *codel) stale(now, waited time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn(now, waited)
}

// turn is stale for a caller that holds the lock.
func (c *codel) turn(now, waited time.Duration) bool {
	if now < c.end {
		c.least = min(c.least, waited)
	} else {
		c.standing = c.end > 0 && (c.least > c.target || c.owes())
		c.end, c.least, c.ran, c.refused = now+c.interval, waited, 0, 0
	}
	if c.tooOld(waited) {
		return true
	}
	c.ran++
	return false
}

// owes reports whether the jobs refused in the interval would take longer than
// twice the target to run, at the rate of those that ran.
func (c *codel) owes() bool {
	return time.Duration(c.refused)*c.interval > time.Duration(c.ran)*2*c.target
}

// tooOld reports whether a waiting job is stale, and counts it if so.
func (c *codel) tooOld(waited time.Duration) bool {
	if !c.standing || waited <= 2*c.target {
		return false
	}
	c.refused++
	return true
}
