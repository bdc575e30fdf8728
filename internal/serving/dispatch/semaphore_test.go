package dispatch

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A semaphore serves as many as it has places, in the order they came, and
// refuses those whose wait is over.
func TestSemaphoreBoundsTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []time.Duration
		s := NewSemaphore(1, 100*time.Millisecond)
		var order []int
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 4 { // each serves 60 ms: 0 at once, 1 at 60 ms, 2 and 3 give up at 100 ms
			all.Go(func() {
				time.Sleep(time.Duration(i)) // one after the other
				wait, ok := s.Acquire()
				mu.Lock()
				told = append(told, wait)
				mu.Unlock()
				if !ok {
					return
				}
				defer s.Release()
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(60 * time.Millisecond)
			})
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if s.Depth() != 3 || s.Busy() != 1 || s.Workers() != 1 {
			t.Errorf("got depth %d, busy %d, workers %d, want 3, 1, 1", s.Depth(), s.Busy(), s.Workers())
		}
		all.Wait()
		if len(order) != 2 || order[0] != 0 || order[1] != 1 {
			t.Errorf("got served %v, want [0 1]", order)
		}
		if want := []time.Duration{0, 60*time.Millisecond - 1, 100 * time.Millisecond, 100 * time.Millisecond}; !slices.Equal(told, want) {
			t.Errorf("got told %v, want %v", told, want)
		}
		if s.Depth() != 0 || s.Busy() != 0 {
			t.Errorf("afterwards: got depth %d, busy %d, want none", s.Depth(), s.Busy())
		}
	})
}

// Without a wait a full semaphore refuses at once.
func TestSemaphoreWithoutWait(t *testing.T) {
	t.Parallel()
	s := NewSemaphore(2, 0)
	for i, want := range []bool{true, true, false} {
		if _, got := s.Acquire(); got != want {
			t.Errorf("acquire %d: got %v, want %v", i, got, want)
		}
	}
	s.Release()
	if _, ok := s.Acquire(); !ok {
		t.Error("got refused after a release")
	}
}

// Neither a turn at once nor a wait allocates.
func TestSemaphoreAllocatesNothing(t *testing.T) {
	s := NewSemaphore(1, time.Minute)
	if got := testing.AllocsPerRun(1000, func() {
		s.Acquire()
		s.Release()
	}); got != 0 {
		t.Errorf("a turn: got %g allocations, want 0", got)
	}
	turn := make(chan struct{})
	go func() { // gives the place back whenever the caller waits for it
		for range turn {
			for s.Depth() == 0 {
				time.Sleep(time.Microsecond)
			}
			s.Release()
		}
	}()
	defer close(turn)
	s.Acquire()
	if got := testing.AllocsPerRun(100, func() {
		turn <- struct{}{}
		s.Acquire()
	}); got != 0 {
		t.Errorf("a wait: got %g allocations, want 0", got)
	}
}

// BenchmarkSemaphore is a turn while there are places.
func BenchmarkSemaphore(b *testing.B) {
	s := NewSemaphore(8, time.Second)
	b.ReportAllocs()
	for b.Loop() {
		s.Acquire()
		s.Release()
	}
}
