package dispatch

import (
	"math/rand/v2"
	"sync/atomic"
)

// perWorker is a bounded channel for each worker. Workers do not share a lock,
// but a job waits behind whatever its own worker is doing, though others may be
// idle: head-of-line blocking, which stealing takes away.
type perWorker[T any] struct {
	*crew[T]
	lanes []*workerLane[T]
	// weighed says that somebody asks for loads; to keep them costs 10 ns a job.
	weighed bool
	// news has a token for each job that was put while thieves may have slept. It
	// has room for one for each worker: more could not be of use.
	news   chan struct{}
	steals atomic.Uint64
	_      [64]byte      // every job writes turn and reads what is above
	turn   atomic.Uint64 // of round robin
	_      [56]byte
}

type workerLane[T any] struct {
	lane[T]
	load atomic.Int64 // jobs waiting in it and being run by its worker
	_    [48]byte     // other workers' loads on other cache lines
}

func newPerWorker[T any](o Options[T]) *perWorker[T] {
	p := &perWorker[T]{crew: newCrew(o), weighed: o.Pick != RoundRobin || o.Steal, news: make(chan struct{}, o.Workers)}
	for i := range o.Workers {
		depth := o.Depth / o.Workers
		if i < o.Depth%o.Workers {
			depth++
		}
		p.lanes = append(p.lanes, &workerLane[T]{lane: make(lane[T], depth)})
	}
	return p
}

func (p *perWorker[T]) Start() {
	if p.Steal {
		p.start(p.workOrSteal)
		return
	}
	p.start(func(i int) {
		own := p.lanes[i]
		for j := range own.lane {
			p.do(j)
			if p.weighed {
				own.load.Add(-1)
			}
		}
	})
}

// workOrSteal empties the worker's own queue first, then takes from the others.
func (p *perWorker[T]) workOrSteal(i int) {
	own := p.lanes[i]
	for {
		if j, ok := own.lane.poll(); ok {
			p.do(j)
			own.load.Add(-1)
			continue
		}
		if p.steal(i) {
			continue
		}
		select {
		case j, ok := <-own.lane:
			if !ok {
				return
			}
			p.do(j)
			own.load.Add(-1)
		case <-p.news:
		}
	}
}

// steal runs the longest waiting job of the next worker that has one waiting.
func (p *perWorker[T]) steal(i int) bool {
	p.lanes[i].load.Add(1) // before looking, so that what is put for this worker now is told to the others
	defer p.lanes[i].load.Add(-1)
	for k := 1; k < len(p.lanes); k++ {
		if j, ok := p.lanes[(i+k)%len(p.lanes)].poll(); ok {
			p.steals.Add(1)
			p.do(j)
			return true
		}
	}
	return false
}

func (p *perWorker[T]) Put(job T) {
	l, j := p.lanes[p.pick()], p.stamp(job)
	if !p.weighed {
		p.put(l.lane, j)
		return
	}
	p.put(l, j)
	if p.Steal && l.load.Load() > 1 { // its worker has something else to do
		select {
		case p.news <- struct{}{}:
		default:
		}
	}
}

// offer, wait and poll keep the load; a worker's own lane is read past them.
func (l *workerLane[T]) offer(j queued[T]) bool {
	l.load.Add(1)
	if l.lane.offer(j) {
		return true
	}
	l.load.Add(-1)
	return false
}

func (l *workerLane[T]) wait(j queued[T]) {
	l.load.Add(1)
	l.lane.wait(j)
}

func (l *workerLane[T]) poll() (queued[T], bool) {
	j, ok := l.lane.poll()
	if ok {
		l.load.Add(-1)
	}
	return j, ok
}

func (p *perWorker[T]) Close() {
	for _, l := range p.lanes {
		close(l.lane)
	}
	p.ended.Wait()
}

// Steals is the number of jobs run by another worker than the one they were put
// for.
func (p *perWorker[T]) Steals() uint64 { return p.steals.Load() }

func (p *perWorker[T]) Depth() (n int) {
	for _, l := range p.lanes {
		n += len(l.lane)
	}
	return n
}

func (p *perWorker[T]) Capacity() int { return p.Options.Depth }

// Pick says which of the workers' queues a job is put into.
type Pick uint8

// The ways to pick.
const (
	RoundRobin Pick = iota // one after the other, whatever they have to do
	Least                  // the one with least to do, found by looking at all
	TwoChoices             // the one with less to do of two taken by chance
)

var pickNames = []string{"rr", "least", "p2c"}

func (p Pick) String() string { return pickNames[p] }

// Set parses a name.
func (p *Pick) Set(name string) error { return set(p, pickNames, "queue choice", name) }

// pick returns the number of the queue for the next job.
func (p *perWorker[T]) pick() int {
	n := len(p.lanes)
	switch p.Pick {
	case Least:
		best, load := 0, p.lanes[0].load.Load()
		for i := 1; i < n && load > 0; i++ {
			if l := p.lanes[i].load.Load(); l < load {
				best, load = i, l
			}
		}
		return best
	case TwoChoices: // M. Mitzenmacher, "The power of two choices", IEEE TPDS 12(10), 2001
		if n == 1 {
			return 0
		}
		a, b := rand.IntN(n), rand.IntN(n-1)
		if b >= a {
			b++
		}
		if p.lanes[b].load.Load() < p.lanes[a].load.Load() {
			return b
		}
		return a
	}
	return int((p.turn.Add(1) - 1) % uint64(n))
}
