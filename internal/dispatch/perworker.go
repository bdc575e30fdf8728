package dispatch

import "sync/atomic"

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
