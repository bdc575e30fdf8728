package dispatch

import (
	"math/bits"
	"sync/atomic"
)

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
