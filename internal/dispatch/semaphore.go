package dispatch

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Semaphore lets a bounded number of callers run at a time, each on its own
// goroutine, and lets the others wait for a bounded time, first come first
// served. It is the usual Go alternative to a pool: nothing is handed over, so
// a turn costs some 40 ns while there are places, against two goroutine switches.
// All methods are safe for concurrent use; none allocates once it is warm.
type Semaphore struct {
	places  chan struct{}
	wait    time.Duration
	waited  func(time.Duration)
	waiting atomic.Int64
	timers  sync.Pool
}

// NewSemaphore makes a semaphore of that many places, for which a caller waits
// at most wait; 0 does not wait. waited, if not nil, is called at each
// successful Acquire with the time it took.
func NewSemaphore(places int, wait time.Duration, waited func(time.Duration)) *Semaphore {
	if waited == nil {
		waited = func(time.Duration) {}
	}
	return &Semaphore{places: make(chan struct{}, places), wait: wait, waited: waited}
}

// Acquire takes a place, after a wait, and reports whether there was one in time.
func (s *Semaphore) Acquire() (wait time.Duration, ok bool) {
	select {
	case s.places <- struct{}{}:
		s.waited(0)
		return 0, true
	default:
		if s.wait <= 0 {
			return 0, false
		}
		return s.acquireLater()
	}
}

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
		wait = time.Since(began)
		s.waited(wait)
		return wait, true
	case <-timer.C:
		return s.wait, false
	}
}

// Release gives a place back.
func (s *Semaphore) Release() { <-s.places }

// Depth is the number of callers waiting.
func (s *Semaphore) Depth() int { return int(s.waiting.Load()) }

// Workers is the number of places.
func (s *Semaphore) Workers() int { return cap(s.places) }

// Busy is the number of places taken.
func (s *Semaphore) Busy() int { return len(s.places) }
