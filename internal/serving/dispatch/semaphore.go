package dispatch

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Semaphore lets a bounded number of callers run at a time, each on its own goroutine. The
// others wait for a bounded time, first come first served. It is the usual Go alternative to a
// pool: no job changes its goroutine, so a turn costs some 40 ns while there are free places,
// where a pool needs two goroutine switches. All methods are safe for concurrent use. None
// allocates, apart from the first timers.
//
// Each element in the channel places is a place taken. So a caller takes a place by a send and
// frees it by a receive. Go's channels serve blocked senders in the order in which they came, and a
// receive hands its room to the first of them: no later caller overtakes.
type Semaphore struct {
	places  chan struct{}
	wait    time.Duration
	waiting atomic.Int64
	timers  sync.Pool
}

// NewSemaphore returns a semaphore with that number of places. A caller waits for a place for at
// most wait; with 0 it does not wait.
func NewSemaphore(places int, wait time.Duration) *Semaphore {
	return &Semaphore{places: make(chan struct{}, places), wait: wait}
}

// Acquire takes a place. If none is free it waits for one. It returns the length of the wait,
// and whether it got a place in time; if so the caller must call Release.
func (s *Semaphore) Acquire() (wait time.Duration, ok bool) {
	select {
	case s.places <- struct{}{}:
		return 0, true
	// Without this case the caller would need a timer, which costs more than the rest of Acquire.
	default:
		if s.wait <= 0 {
			return 0, false
		}
		return s.acquireLater()
	}
}

// acquireLater waits for a place. It reuses timers, so that waiting seldom allocates.
func (s *Semaphore) acquireLater() (wait time.Duration, ok bool) {
	began := time.Now()
	timer, ok := s.timers.Get().(*time.Timer)
	if ok {
		timer.Reset(s.wait)
	} else {
		timer = time.NewTimer(s.wait)
	}
	s.waiting.Add(1)
	defer func() {
		s.waiting.Add(-1)
		timer.Stop() // nothing can be received from it afterwards (Go 1.23)
		s.timers.Put(timer)
	}()
	select {
	case s.places <- struct{}{}:
		return time.Since(began), true
	case <-timer.C:
		return s.wait, false
	}
}

// Release frees a place.
func (s *Semaphore) Release() { <-s.places }

// Depth returns the number of callers waiting.
func (s *Semaphore) Depth() int { return int(s.waiting.Load()) }

// Workers returns the number of places.
func (s *Semaphore) Workers() int { return cap(s.places) }

// Busy returns the number of places taken.
func (s *Semaphore) Busy() int { return len(s.places) }
