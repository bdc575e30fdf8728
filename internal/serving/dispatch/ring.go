package dispatch

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// ring is one bounded lock-free queue from which workers take jobs in order. Without spinning it
// is no faster than a channel: the cost lies in sleeping and waking, not in the lock.
//
// The jobs lie in an [mpmc], which never waits. Waiting is the task of two [sleepers]: workers
// sleep in idle while there is no job, and callers of Put sleep in full while there is no place.
type ring[T any] struct {
	*base[T]
	jobs   *mpmc[T]
	idle   sleepers // workers that found the queue empty
	full   sleepers // callers of Put that found the queue full
	closed atomic.Bool
}

func newRing[T any](o Options[T]) *ring[T] {
	r := &ring[T]{base: newBase(o), jobs: newMPMC[T](o.Depth)}
	r.idle.init()
	r.full.init()
	return r
}

func (r *ring[T]) Start() {
	r.start(func(int) {
		for {
			j, ok := r.take()
			if !ok {
				return
			}
			r.do(j)
		}
	})
}

func (r *ring[T]) Put(job T) { r.put(r, r.stamp(job)) }

func (r *ring[T]) offer(j queued[T]) bool {
	// The order matters: a worker that is woken must find the job.
	if !r.jobs.push(j) {
		return false
	}
	r.idle.wakeOne()
	return true
}

func (r *ring[T]) wait(j queued[T]) {
	r.full.sleepUntil(func() bool { return r.offer(j) })
}

func (r *ring[T]) poll() (queued[T], bool) {
	j, ok := r.jobs.pop()
	if ok {
		r.full.wakeOne()
	}
	return j, ok
}

// take waits for the next job. It reports false when the ring is closed and empty.
func (r *ring[T]) take() (j queued[T], ok bool) {
	for range r.Spin + 1 {
		if j, ok = r.poll(); ok {
			break
		}
	}
	if !ok {
		r.idle.sleepUntil(func() bool {
			closed := r.closed.Load() // read before the last look at the queue
			for j, ok = r.poll(); !ok && r.jobs.Depth() > 0; j, ok = r.poll() {
				// If the worker slept here, it could lose the wake-up of a later job: one that was
				// complete before the first, and woke this worker.
				runtime.Gosched() // a Put is still writing the first job
			}
			return ok || closed
		})
	}
	return j, ok
}

func (r *ring[T]) Close() {
	// A worker that is awake sees closed before it sleeps; the others are woken.
	r.closed.Store(true)
	for range r.Options.Workers {
		r.idle.wakeOne()
	}
	r.ended.Wait()
}

func (r *ring[T]) Depth() int    { return r.jobs.Depth() }
func (r *ring[T]) Capacity() int { return len(r.jobs.slots) }

// sleepers is a set of goroutines that wait for a condition. No wake-up is lost: a waker first
// changes the condition and then reads the count, and a sleeper first raises the count and then
// checks the condition a last time, so at least one of the two sees the other. A goroutine whose
// condition holds never waits here: a worker would hold a job meanwhile, and with nobody to wake
// it that job would not be done.
type sleepers struct {
	count atomic.Int64  // goroutines asleep, or about to sleep
	wakes atomic.Uint64 // calls of wakeOne that saw one; changed under mu
	mu    sync.Mutex
	woken sync.Cond // of mu
}

// init is called once, before any other method.
func (s *sleepers) init() { s.woken.L = &s.mu }

// wakeOne wakes one sleeper, if there is one. Call it after changing the condition.
func (s *sleepers) wakeOne() {
	if s.count.Load() == 0 {
		return
	}
	s.mu.Lock()
	s.wakes.Add(1) // who is about to sleep checks once more instead
	s.woken.Signal()
	s.mu.Unlock()
}

// sleepUntil sleeps until ok returns true. It calls ok before the first sleep and after each
// wake-up, and never under the lock, since ok may wake others.
func (s *sleepers) sleepUntil(ok func() bool) {
	s.count.Add(1)
	defer s.count.Add(-1)
	for seen := s.wakes.Load(); !ok(); seen = s.wakes.Load() {
		s.mu.Lock()
		if s.wakes.Load() == seen {
			s.woken.Wait()
		}
		s.mu.Unlock()
	}
}

// An mpmc is a bounded first-in first-out queue for many producers and many consumers, without a
// lock. Each slot counts its turns. In round r of the ring, turn 2r means that the slot may be
// written and 2r+1 that it may be read, so a producer or a consumer can tell whether the slot is
// ready for its position. (E. Rigtorp, MPMCQueue; the idea is D. Vyukov's bounded MPMC queue.)
//
// Padding keeps head and tail on separate cache lines: producers write one and consumers the other.
type mpmc[T any] struct {
	slots []slot[T]
	shift int // log2 of the number of slots
	_     [64]byte
	head  atomic.Uint64 // next position to write
	_     [56]byte
	tail  atomic.Uint64 // next position to read
	_     [56]byte
}

// A slot holds one value, and the turn that tells who may use it next.
type slot[T any] struct {
	turn  atomic.Uint64
	value queued[T]
}

// newMPMC returns a queue with depth places, a power of two.
func newMPMC[T any](depth int) *mpmc[T] {
	return &mpmc[T]{slots: make([]slot[T], depth), shift: bits.TrailingZeros(uint(depth))}
}

// at returns the slot of a position, and the turn in which a producer may write it; a consumer may
// read it in the turn after.
func (q *mpmc[T]) at(pos uint64) (s *slot[T], turn uint64) {
	return &q.slots[pos&uint64(len(q.slots)-1)], pos >> q.shift * 2
}

// push appends v. It reports false when the queue is full.
func (q *mpmc[T]) push(v queued[T]) bool {
	for pos := q.head.Load(); ; {
		s, turn := q.at(pos)
		// The slot is free for this position. The first producer that moves head gets it.
		if s.turn.Load() == turn {
			if q.head.CompareAndSwap(pos, pos+1) {
				s.value = v
				s.turn.Store(turn + 1)
				return true
			}
			pos = q.head.Load()
			continue
		}
		// The slot still holds the value of the round before, or another producer took the position
		// since head was read. Only if head has not moved is the queue full.
		seen := pos
		if pos = q.head.Load(); pos == seen {
			return false
		}
	}
}

// pop removes the first value. It reports false when the queue is empty, or when its first value
// is still being written.
func (q *mpmc[T]) pop() (v queued[T], ok bool) {
	for pos := q.tail.Load(); ; {
		s, turn := q.at(pos)
		if s.turn.Load() == turn+1 {
			if q.tail.CompareAndSwap(pos, pos+1) {
				v = s.value
				s.value = queued[T]{} // keep no reference to the job
				s.turn.Store(turn + 2)
				return v, true
			}
			pos = q.tail.Load()
			continue
		}
		seen := pos
		if pos = q.tail.Load(); pos == seen {
			return v, false
		}
	}
}

// Depth returns the number of values at some moment during the call.
func (q *mpmc[T]) Depth() int {
	tail := q.tail.Load() // first, so that the difference is never negative
	return min(int(q.head.Load()-tail), len(q.slots))
}
