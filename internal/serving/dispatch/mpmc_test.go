package dispatch

import (
	"sync"
	"sync/atomic"
	"testing"
)

// Every job is taken although nothing happens after it. After each round all workers sleep. If a wake-up were lost, or a worker
// waited for one with a job in its hand, the round would not end. (Such a fault made BenchmarkHandoff with two Ps stand still in
// about every second run. It was never seen here.)
func TestSleepersKeepNothingBack(t *testing.T) {
	t.Parallel()
	var s sleepers
	s.init()
	var jobs atomic.Int64
	take := func() bool {
		for n := jobs.Load(); n > 0; n = jobs.Load() {
			if jobs.CompareAndSwap(n, n-1) {
				return true
			}
		}
		return false
	}
	const workers, rounds = 4, 3000
	done := make(chan struct{}, workers)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				s.sleepUntil(func() bool { return take() || jobs.Load() < 0 })
				if jobs.Load() < 0 {
					return
				}
				done <- struct{}{}
			}
		})
	}
	for round := range rounds {
		for range round%workers + 1 {
			all.Go(func() {
				jobs.Add(1)
				s.wakeOne()
			})
		}
		for range round%workers + 1 {
			<-done
		}
	}
	jobs.Store(-1)
	for range workers {
		s.wakeOne()
	}
	all.Wait()
	if n := s.count.Load(); n != 0 {
		t.Errorf("%d sleepers are counted after the end, want none", n)
	}
}

// Of each producer's values every consumer sees later ones later, none is lost
// and none is seen twice, in a ring of any size.
func TestMPMCKeepsOrder(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{1, 2, 4, 64} {
		const producers, consumers, values = 3, 3, 3000
		q := newMPMC[[2]int](depth)
		var seen atomic.Int64
		var all sync.WaitGroup
		for p := range producers {
			all.Go(func() {
				for v := 0; v < values; {
					if q.push(queued[[2]int]{job: [2]int{p, v}}) {
						v++
					}
				}
			})
		}
		for range consumers {
			all.Go(func() {
				last := [producers]int{-1, -1, -1}
				for seen.Load() < producers*values {
					j, ok := q.pop()
					if !ok {
						continue
					}
					seen.Add(1)
					p, v := j.job[0], j.job[1]
					if v <= last[p] {
						t.Errorf("depth %d: value %d of producer %d came after %d", depth, v, p, last[p])
					}
					last[p] = v
				}
			})
		}
		all.Wait()
		if got := q.Depth(); got != 0 {
			t.Errorf("depth %d: got %d values left, want none", depth, got)
		}
	}
}

func TestMPMCIsBounded(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{1, 2, 8} {
		q := newMPMC[int](depth)
		for round := range 3 {
			for i := range depth {
				if !q.push(queued[int]{job: i}) {
					t.Fatalf("round %d: place %d of %d is not given", round, i, depth)
				}
			}
			if q.push(queued[int]{}) || q.Depth() != depth {
				t.Errorf("round %d: took more than %d, or says it has %d", round, depth, q.Depth())
			}
			for i := range depth {
				if j, ok := q.pop(); !ok || j.job != i {
					t.Errorf("round %d: got %v %v, want %d", round, j.job, ok, i)
				}
			}
			if _, ok := q.pop(); ok {
				t.Errorf("round %d: an empty ring gave a value", round)
			}
		}
	}
}
