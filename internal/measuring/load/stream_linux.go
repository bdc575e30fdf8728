package load

import (
	"iter"
	"sync"
	"sync/atomic"
	"time"
)

// A stream draws the schedule of an open loop while it runs, for a load with more requests than can
// be kept in memory. It fills slabs of the log with due times, some ahead of the spinner, and takes them back
// when all of their requests are over and reported. So the log has a few slabs, and more only while
// a request waits for its answer.
type stream struct {
	drawn chan part  // closed at the end of the schedule
	free  chan *slab // to be used again
	over  bool       // the spinner has seen the end of drawn

	stop   chan struct{}
	drawer sync.WaitGroup
}

// A part is the next part of a schedule. All but the last have slabSize requests.
type part struct {
	slab *slab
	n    int
}

const (
	slabsAhead = 2
	slabsFree  = 64 // of more the memory is given back
)

// newStream starts to draw. The caller calls close.
func newStream(times iter.Seq[time.Duration]) *stream {
	t := &stream{drawn: make(chan part, slabsAhead), free: make(chan *slab, slabsFree), stop: make(chan struct{})}
	t.drawer.Go(func() { t.draw(times) })
	return t
}

// draw sends the schedule to drawn, until its end or close.
func (t *stream) draw(times iter.Seq[time.Duration]) {
	defer close(t.drawn)
	var p part
	send := func() (more bool) {
		select {
		case t.drawn <- p:
			p = part{}
			return true
		case <-t.stop:
			return false
		}
	}
	for at := range times {
		if p.slab == nil {
			select {
			case p.slab = <-t.free:
			default:
				p.slab = new(slab)
			}
			p.slab.clear()
		}
		p.slab[p.n].due = int64(at)
		if p.n++; p.n == slabSize && !send() {
			return
		}
	}
	if p.n > 0 {
		send()
	}
}

// reuse takes a slab back.
func (t *stream) reuse(s *slab) {
	select {
	case t.free <- s:
	default:
	}
}

// close ends the drawing, and waits until its goroutine is gone.
func (t *stream) close() {
	close(t.stop)
	t.drawer.Wait()
}

// An ending reports that request i of the log has its outcome, which its entry holds, or that all
// requests of a slab have been reported.
type ending struct {
	i    int
	e    *entry
	slab *slab // nil for a request
}

// endings is a queue from the spinner, which never waits, to the goroutine that reports. It grows
// while the reports are slow.
type endings struct {
	block *endBlock // the spinner fills it
	n     int       // how much of it is filled
	free  chan *endBlock
}

// An endBlock is a part of the queue. The endings before ready do not change any more.
type endBlock struct {
	ends  [4096]ending
	ready atomic.Int32
	next  atomic.Pointer[endBlock] // set when the block is full
}

func newEndings() *endings { return &endings{block: new(endBlock), free: make(chan *endBlock, 8)} }

// add appends x. Only the spinner calls it.
func (q *endings) add(x ending) {
	if q.n == len(q.block.ends) {
		var b *endBlock
		select {
		case b = <-q.free:
		default:
			b = new(endBlock)
		}
		q.block.next.Store(b)
		q.block, q.n = b, 0
	}
	q.block.ends[q.n] = x
	q.n++
	// The ending is complete before the count grows, so a reader of the count may read it.
	q.block.ready.Store(int32(q.n))
}

// reader returns the endings that are there and were not read yet, each time that it is ranged over.
// Call it before the first add, and range over it in one goroutine only.
func (q *endings) reader() iter.Seq[ending] {
	b, read := q.block, 0
	return func(yield func(ending) bool) {
		for {
			for n := int(b.ready.Load()); read < n; read++ {
				if !yield(b.ends[read]) {
					return
				}
			}
			next := b.next.Load()
			if read < len(b.ends) || next == nil {
				return
			}
			// The spinner has left this block for the next one.
			done := b
			b, read = next, 0
			done.ready.Store(0)
			done.next.Store(nil)
			select {
			case q.free <- done:
			default:
			}
		}
	}
}
