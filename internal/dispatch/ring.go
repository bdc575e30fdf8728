package dispatch

import (
	"math/bits"
	"runtime"
	"sync/atomic"
)

// ring is one bounded lock-free queue of which workers take in order. Without
// spinning it is no faster than a channel: what costs is to sleep and to be
// woken, not the lock.
type ring[T any] struct {
	*crew[T]
	jobs   *mpmc[T]
	idle   sleepers // workers that found it empty
	full   sleepers // submitters that found it full
	closed atomic.Bool
}

func newRing[T any](o Options[T]) *ring[T] {
	return &ring[T]{
		crew: newCrew(o),
		jobs: newMPMC[T](o.Depth),
		idle: newSleepers(o.Workers),
		full: newSleepers(1),
	}
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

// take is the next job, false when there will be none.
func (r *ring[T]) take() (j queued[T], ok bool) {
	for range r.Spin + 1 {
		if j, ok = r.poll(); ok {
			break
		}
	}
	if !ok {
		r.idle.sleepUntil(func() bool {
			closed := r.closed.Load() // before the last look
			for j, ok = r.poll(); !ok && r.jobs.Depth() > 0; j, ok = r.poll() {
				runtime.Gosched() // the first job is being written
			}
			return ok || closed
		})
	}
	return j, ok
}

func (r *ring[T]) Close() {
	r.closed.Store(true)
	for range r.Options.Workers {
		r.idle.wakeOne()
	}
	r.ended.Wait()
}

func (r *ring[T]) Depth() int    { return r.jobs.Depth() }
func (r *ring[T]) Capacity() int { return len(r.jobs.slots) }

// sleepers wait until somebody says that it is worth looking again. A waker
// changes what they look at first and then looks whether anyone sleeps; a sleeper
// says first that it sleeps and then looks a last time: one of the two sees the
// other. For each sleeper that a waker has taken off the count there is a token.
type sleepers struct {
	count  atomic.Int64
	tokens chan struct{}
}

// newSleepers makes room for so many tokens; a waker waits when there are more.
func newSleepers(room int) sleepers { return sleepers{tokens: make(chan struct{}, room)} }

func (s *sleepers) wakeOne() {
	if s.takeOff() {
		s.tokens <- struct{}{}
	}
}

func (s *sleepers) takeOff() bool {
	for n := s.count.Load(); n > 0; n = s.count.Load() {
		if s.count.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

func (s *sleepers) sleepUntil(ok func() bool) {
	for {
		s.count.Add(1)
		if ok() {
			if !s.takeOff() {
				<-s.tokens // somebody has woken us all the same
			}
			return
		}
		<-s.tokens
		if ok() {
			return
		}
	}
}

// An mpmc is a bounded first-in first-out queue for many producers and many
// consumers without a lock. Each slot counts its turns: it is to be written at
// twice the round, and read at one more, so that a producer or a consumer that
// has taken a position knows whether the slot is ready for it. (E. Rigtorp,
// MPMCQueue; the idea is D. Vyukov's bounded MPMC queue.)
type mpmc[T any] struct {
	slots []slot[T]
	shift int // log2 of the number of slots
	_     [64]byte
	head  atomic.Uint64 // next position to write
	_     [56]byte
	tail  atomic.Uint64 // next position to read
	_     [56]byte
}

type slot[T any] struct {
	turn  atomic.Uint64
	value queued[T]
}

// newMPMC makes a queue of depth places, a power of two.
func newMPMC[T any](depth int) *mpmc[T] {
	return &mpmc[T]{slots: make([]slot[T], depth), shift: bits.TrailingZeros(uint(depth))}
}

func (q *mpmc[T]) at(pos uint64) (s *slot[T], turn uint64) {
	return &q.slots[pos&uint64(len(q.slots)-1)], pos >> q.shift * 2
}

// push reports false when the queue is full.
func (q *mpmc[T]) push(v queued[T]) bool {
	for pos := q.head.Load(); ; {
		s, turn := q.at(pos)
		if s.turn.Load() == turn {
			if q.head.CompareAndSwap(pos, pos+1) {
				s.value = v
				s.turn.Store(turn + 1)
				return true
			}
			pos = q.head.Load()
			continue
		}
		seen := pos
		if pos = q.head.Load(); pos == seen {
			return false
		}
	}
}

// pop reports false when the queue is empty, or its first value is still being
// written.
func (q *mpmc[T]) pop() (v queued[T], ok bool) {
	for pos := q.tail.Load(); ; {
		s, turn := q.at(pos)
		if s.turn.Load() == turn+1 {
			if q.tail.CompareAndSwap(pos, pos+1) {
				v = s.value
				s.value = queued[T]{} // the collector may have it
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

// Depth is the number of values, as of some moment.
func (q *mpmc[T]) Depth() int {
	tail := q.tail.Load() // first, so that the difference is never negative
	return min(int(q.head.Load()-tail), len(q.slots))
}
