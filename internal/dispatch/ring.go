package dispatch

import (
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
