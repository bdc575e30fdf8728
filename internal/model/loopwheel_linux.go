package model

import "time"

// A wheel holds the deadlines of a loop's connections: a ring of lists, one for each tick. A
// connection moves only when its deadline becomes earlier. When it becomes later, as with
// each request, that is noticed when the old tick comes, so a request costs the wheel
// nothing. (Varghese and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, scheme 6.)
type wheel struct {
	slots [wheelSlots]*loopConn
	now   int64 // the last tick that was handled
}

const (
	wheelTick  = 50 * time.Millisecond
	wheelSlots = 1024
)

// begin sets the wheel to the clock.
func (w *wheel) begin(now time.Duration) { w.now = int64(now / wheelTick) }

// due reports whether a tick has passed.
func (w *wheel) due(now time.Duration) bool { return int64(now/wheelTick) > w.now }

// arm makes advance look at c when by has passed, at most a tick later.
func (w *wheel) arm(c *loopConn, by time.Duration) {
	tick := min(max(int64(by/wheelTick), w.now)+1, w.now+wheelSlots-1)
	if c.tick != 0 && c.tick <= tick {
		return
	}
	w.disarm(c)
	c.tick = tick
	head := &w.slots[tick%wheelSlots]
	if c.later = *head; c.later != nil {
		c.later.earlier = c
	}
	*head = c
}

// disarm takes c out.
func (w *wheel) disarm(c *loopConn) {
	if c.tick == 0 {
		return
	}
	if c.later != nil {
		c.later.earlier = c.earlier
	}
	if c.earlier != nil {
		c.earlier.later = c.later
	} else {
		w.slots[c.tick%wheelSlots] = c.later
	}
	c.tick, c.earlier, c.later = 0, nil, nil
}

// advance calls expire for every connection whose deadline has passed, and arms again those
// whose deadline has become later.
func (w *wheel) advance(now time.Duration, expire func(*loopConn)) {
	for end := int64(now / wheelTick); w.now < end; {
		w.now++
		for c := w.slots[w.now%wheelSlots]; c != nil; c = w.slots[w.now%wheelSlots] {
			w.disarm(c)
			switch by := c.deadline(); {
			case by == 0: // it does not wait for its client
			case by <= now:
				expire(c)
			default:
				w.arm(c, by)
			}
		}
	}
}
