package dispatch

import (
	"sync"
	"time"
)

// adaptive is one bounded deque under a lock. Usually it is first come first served. When a
// standing queue has formed (see codel), the newest job is next, since its client is still
// there. Jobs that have waited for more than twice the target are then refused as [Stale], by
// the next worker or the next Put, whichever comes first: under overload Puts come more often
// than workers. (Adaptive LIFO with controlled delay: B. Maurer, "Fail at Scale", ACM Queue
// 13(8), 2015.) A hand-off costs about 0.4 µs.
type adaptive[T any] struct {
	*base[T]
	age codel // its lock is not needed: mu is held

	mu     sync.Mutex
	jobs   deque[T]
	some   sync.Cond // signalled when there is a job, or when closed
	room   sync.Cond // signalled when there is a place
	closed bool
}

// newAdaptive allocates the whole deque, so that queueing a job allocates nothing. o.Depth is 1 or
// more.
func newAdaptive[T any](o Options[T]) *adaptive[T] {
	a := &adaptive[T]{base: newBase(o), jobs: deque[T]{slots: make([]queued[T], o.Depth)}}
	a.timed = true
	a.base.law = nil // take applies the CoDel law to the queue, so base.do must not apply it to the job
	a.age = codel{target: o.Target, interval: o.Interval}
	a.some.L, a.room.L = &a.mu, &a.mu
	return a
}

func (a *adaptive[T]) Start() {
	a.start(func(int) {
		for {
			j, stale, ok := a.take()
			switch {
			case !ok:
				return
			case stale:
				a.Refuse(j.job, Stale)
			default:
				a.do(j)
			}
		}
	})
}

func (a *adaptive[T]) Put(job T) {
	j := a.stamp(job)
	// Stale jobs go first: the new job may get the place of one of them, and their clients hear at once.
	for old, ok := a.expired(j.at); ok; old, ok = a.expired(j.at) {
		a.Refuse(old.job, Stale)
	}
	a.put(a, j)
}

// expired removes and returns the oldest job if it is stale.
func (a *adaptive[T]) expired(now time.Duration) (j queued[T], ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.jobs.n == 0 || !a.age.tooOld(now-a.jobs.oldest().at) {
		return j, false
	}
	a.room.Signal()
	return a.jobs.popOldest(), true
}

// take waits for the next job to run or, if stale is true, to refuse. ok is false when the
// queue is empty and closed.
func (a *adaptive[T]) take() (j queued[T], stale, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.jobs.n == 0 {
		if a.closed {
			return j, false, false
		}
		a.some.Wait()
	}
	defer a.room.Signal()
	// Whichever job is next, the oldest job's wait is the measure of the queue.
	now := a.clock()
	switch {
	case a.age.turn(now, now-a.jobs.oldest().at):
		return a.jobs.popOldest(), true, true
	case a.age.standing:
		return a.jobs.popNewest(), false, true
	}
	return a.jobs.popOldest(), false, true
}

// offer, wait and poll make adaptive a [place]. poll takes the oldest job, also in a standing
// queue, because only the policy to evict the oldest uses it.
func (a *adaptive[T]) offer(j queued[T]) bool { return a.add(j, false) }
func (a *adaptive[T]) wait(j queued[T])       { a.add(j, true) }

// add queues j. If the deque is full it waits for a place, or reports false.
func (a *adaptive[T]) add(j queued[T], wait bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.jobs.n == len(a.jobs.slots) {
		if !wait {
			return false
		}
		a.room.Wait()
	}
	a.jobs.push(j)
	a.some.Signal()
	return true
}

func (a *adaptive[T]) poll() (j queued[T], ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.jobs.n == 0 {
		return j, false
	}
	return a.jobs.popOldest(), true
}

// Close wakes all workers. They run the jobs that are left, because take reports closed only for an
// empty queue.
func (a *adaptive[T]) Close() {
	a.mu.Lock()
	a.closed = true
	a.some.Broadcast()
	a.mu.Unlock()
	a.ended.Wait()
}

func (a *adaptive[T]) Depth() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.jobs.n
}

func (a *adaptive[T]) Capacity() int { return len(a.jobs.slots) }

// A deque is a bounded queue that can be taken from at both ends: a ring of n jobs from slot first on,
// oldest first. The caller checks that there is room for a push and a job for a pop.
type deque[T any] struct {
	slots []queued[T]
	first int // the oldest job's slot
	n     int
}

// push adds the newest job. oldest returns the slot of the oldest one and does not remove it.
func (d *deque[T]) oldest() *queued[T]   { return &d.slots[d.first] }
func (d *deque[T]) push(j queued[T])     { d.n++; *d.slot(d.n - 1) = j }
func (d *deque[T]) popNewest() queued[T] { d.n--; return d.clear(d.slot(d.n)) }

func (d *deque[T]) popOldest() queued[T] {
	j := d.clear(d.oldest())
	d.n--
	if d.first++; d.first == len(d.slots) {
		d.first = 0
	}
	return j
}

// slot returns the slot of job i, counted from 0 for the oldest.
func (d *deque[T]) slot(i int) *queued[T] {
	if i += d.first; i >= len(d.slots) {
		i -= len(d.slots)
	}
	return &d.slots[i]
}

// clear empties a slot and returns its job, so that the slot keeps no reference to it.
func (d *deque[T]) clear(slot *queued[T]) (j queued[T]) {
	j, *slot = *slot, j
	return j
}

// The defaults of the CoDel law, from "Fail at Scale" (see codel).
const (
	DefaultTarget   = 5 * time.Millisecond
	DefaultInterval = 100 * time.Millisecond
)

// A codel distinguishes a standing queue from a burst. The queue is standing when even the
// shortest wait of a whole interval was above target. Jobs that have waited more than twice the
// target are then stale. Refusing them empties the queue, so a short wait alone does not end the
// standing queue: it also goes on while the refused jobs, had they been kept, would make the
// wait longer than twice the target again.
//
// This is the form for servers, where arrivals do not slow down when some are refused (B.
// Maurer, "Fail at Scale", ACM Queue 13(8), 2015, and HBase's AdaptiveLifoCoDelCallQueue). The
// control law for packets (Nichols and Jacobson, "Controlling Queue Delay", ACM Queue 10(5),
// 2012) drops too slowly for servers. stale is safe for concurrent use.
//
// Two callers use it. [base.do] calls stale when a worker has a job. [adaptive] holds a lock of its
// own, so it calls turn and tooOld.
type codel struct {
	target, interval time.Duration

	mu           sync.Mutex
	end          time.Duration // end of the present interval, on the base's clock
	least        time.Duration // shortest wait in the interval
	ran, refused int           // jobs in the interval
	standing     bool          // the interval before ended with a standing queue
}

// stale reports whether a job is too old to run. waited is its wait when its turn comes, at now.
func (c *codel) stale(now, waited time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn(now, waited)
}

// turn does the same as stale, for a caller that holds the lock.
func (c *codel) turn(now, waited time.Duration) bool {
	if now < c.end {
		c.least = min(c.least, waited)
	} else {
		// An interval ends with the first job after its time. The very first call has no interval
		// behind it, so it finds no standing queue.
		// The refused jobs would have taken refused*interval/ran, at the rate at which jobs ran. The
		// queue also stands if this is above twice the target. Both sides are multiplied by ran, which
		// may be 0.
		owes := time.Duration(c.refused)*c.interval > time.Duration(c.ran)*2*c.target
		c.standing = c.end > 0 && (c.least > c.target || owes)
		c.end, c.least, c.ran, c.refused = now+c.interval, waited, 0, 0
	}
	if c.tooOld(waited) {
		return true
	}
	c.ran++
	return false
}

// tooOld reports whether a job with that wait is stale, and counts it as refused if so.
func (c *codel) tooOld(waited time.Duration) bool {
	if !c.standing || waited <= 2*c.target {
		return false
	}
	c.refused++
	return true
}
