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
// more than twice the target are stale. This is the form for servers, whose
// arrivals do not slow down when some are refused, after B. Maurer, "Fail at
// Scale", ACM Queue 13(8), 2015, and HBase's AdaptiveLifoCoDelCallQueue; the
// control law for packets (Nichols and Jacobson, "Controlling Queue Delay", ACM
// Queue 10(5), 2012) drops too slowly for them. Safe for concurrent use.
type codel struct {
	target, interval time.Duration

	mu       sync.Mutex
	end      time.Duration // of the interval
	least    time.Duration // wait in it
	standing bool          // as of the interval before
}

// stale reports whether a job that has waited for that long when its turn comes
// should not be run any more.
func (c *codel) stale(now, waited time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observe(now, waited)
	return c.tooOld(waited)
}

// observe takes note of a wait that ended now. The caller holds the lock.
func (c *codel) observe(now, waited time.Duration) {
	if now < c.end {
		c.least = min(c.least, waited)
		return
	}
	c.standing = c.end > 0 && c.least > c.target
	c.end, c.least = now+c.interval, waited
}

func (c *codel) tooOld(waited time.Duration) bool { return c.standing && waited > 2*c.target }
