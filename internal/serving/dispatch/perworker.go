package dispatch

import (
	"math/rand/v2"
	"sync/atomic"
)

// perWorker has a bounded channel for each worker. Workers do not share a lock, but a job waits
// until its own worker is free, even when others are idle. Stealing removes this head-of-line
// blocking.
//
// Put chooses a lane with pick. A worker serves its own lane (Start) or, with stealing, its own
// lane first and then the lanes of the others (workOrSteal).
type perWorker[T any] struct {
	*base[T]
	lanes []*workerLane[T]
	// pick returns the number of the lane for the next job. weighed is true when the loads of the lanes
	// are needed; keeping them costs 10 ns per job.
	pick    func() int
	weighed bool
	// news gets a token for each job that was put while other workers may have been asleep.
	// It has room for one token per worker: more would be of no use.
	news   chan struct{}
	steals atomic.Uint64
	_      [64]byte      // every job writes turn and reads the fields above: keep them on separate cache lines
	turn   atomic.Uint64 // the next round-robin position
	_      [56]byte
}

// A workerLane is one worker's queue and its load, by which Put chooses a lane.
type workerLane[T any] struct {
	lane[T]
	load atomic.Int64 // jobs that wait in the lane or are being run by its worker
	_    [48]byte     // keeps the loads of different workers on different cache lines
}

func newPerWorker[T any](o Options[T]) *perWorker[T] {
	p := &perWorker[T]{base: newBase(o), weighed: o.Steal, news: make(chan struct{}, o.Workers)}
	switch o.Queue {
	case Least:
		p.pick, p.weighed = p.least, true
	case TwoChoices:
		p.pick, p.weighed = p.twoChoices, true
	default:
		p.pick = func() int { return int((p.turn.Add(1) - 1) % uint64(len(p.lanes))) }
	}
	for i := range o.Workers {
		// The capacities add up to Depth exactly.
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
		// A token in news is a hint and not a job. A worker that gets one looks into all lanes, and
		// sleeps again if it finds nothing.
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

// steal runs the longest waiting job of the next worker that has one. It reports false if none
// has.
func (p *perWorker[T]) steal(i int) bool {
	p.lanes[i].load.Add(1) // first, so that a Put to this worker's lane from now on wakes another worker
	defer p.lanes[i].load.Add(-1)
	// It starts with its neighbour, so that thieves spread over the lanes instead of all taking
	// from the first.
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
	if p.Steal && l.load.Load() > 1 { // the lane's worker has other jobs
		select {
		case p.news <- struct{}{}:
		default:
		}
	}
}

// offer, wait and poll also maintain the load. A worker reads its own lane without them, and
// maintains the load itself.
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

// Close closes every lane. A worker ends when its own lane is empty.
func (p *perWorker[T]) Close() {
	for _, l := range p.lanes {
		close(l.lane)
	}
	p.ended.Wait()
}

// Steals returns the number of jobs that ran on another worker than the one for which they were
// put. It is safe for concurrent use.
func (p *perWorker[T]) Steals() uint64 { return p.steals.Load() }

func (p *perWorker[T]) Depth() (n int) {
	for _, l := range p.lanes {
		n += len(l.lane)
	}
	return n
}

func (p *perWorker[T]) Capacity() int { return p.Options.Depth }

// The ways to choose a worker's queue for a job.
const (
	RoundRobin = "rr"    // each queue in turn, whatever its load
	Least      = "least" // the queue with the lowest load of all
	TwoChoices = "p2c"   // the queue with the lower load of two chosen at random
)

// least picks the lane with the lowest load.
func (p *perWorker[T]) least() int {
	best, load := 0, p.lanes[0].load.Load()
	// No load is below 0, so the first idle lane ends the search. A busy pool reads the load of
	// every lane.
	for i := 1; i < len(p.lanes) && load > 0; i++ {
		if l := p.lanes[i].load.Load(); l < load {
			best, load = i, l
		}
	}
	return best
}

// twoChoices picks the better of two different lanes (M. Mitzenmacher, "The power of two choices",
// IEEE TPDS 12(10), 2001).
func (p *perWorker[T]) twoChoices() int {
	n := len(p.lanes)
	if n == 1 {
		return 0
	}
	a, b := rand.IntN(n), rand.IntN(n-1)
	if b >= a { // b is drawn from the n-1 others and moved past a
		b++
	}
	if p.lanes[b].load.Load() < p.lanes[a].load.Load() {
		return b
	}
	return a
}
