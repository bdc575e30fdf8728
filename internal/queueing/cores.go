package queueing

import (
	"cmp"
	"math"
	"time"
)

// cores run the jobs that workers hand them.
type cores interface {
	run(now time.Duration, job int, demand time.Duration)
	next() time.Duration // time of the next step; never if nothing runs
	// step does the step due at next. It returns the job that ran; ended is false if the job needs
	// another turn.
	step() (job int, ended bool)
}

// never is the time of an event that does not come.
const never = time.Duration(math.MaxInt64)

// turns are cores that run jobs in turn: the job that has been ready longest is next.
type turns struct {
	turn    time.Duration
	idle    int
	running heap[time.Duration] // by the end of their turn
	left    []time.Duration     // demand of each job that is left after its current turn
	ready   []int               // jobs that wait for a core, the longest first
}

func (t *turns) run(now time.Duration, job int, demand time.Duration) {
	t.left[job] = demand
	t.ready = append(t.ready, job)
	if t.idle > 0 {
		t.idle--
		t.begin(now)
	}
}

// begin starts a turn of the first ready job on a core.
func (t *turns) begin(now time.Duration) {
	job := t.ready[0]
	t.ready = t.ready[1:]
	turn := min(t.turn, t.left[job])
	t.left[job] -= turn
	t.running.push(now+turn, job)
}

func (t *turns) next() time.Duration { return t.running.next(never) }

func (t *turns) step() (job int, ended bool) {
	now := t.next()
	job = t.running.pop()
	ended = t.left[job] == 0
	if !ended {
		t.ready = append(t.ready, job)
	}
	if len(t.ready) == 0 {
		t.idle++
	} else {
		t.begin(now)
	}
	return job, ended
}

// sharing are cores on which all jobs advance at the same speed: each has a core, or an even share
// if there are more jobs than cores. So jobs end in the order of the amount of work that the clock
// of work must reach.
type sharing struct {
	cores   float64
	at      time.Duration // time of the last update of work
	work    float64       // clock of work: what a job present since the start would have had done, ns
	present heap[float64]
}

// advance moves the clock of work forward to now.
func (s *sharing) advance(now time.Duration) {
	if n := float64(s.present.len()); n > 0 {
		s.work += float64(now-s.at) * min(1, s.cores/n)
	}
	s.at = now
}

func (s *sharing) run(now time.Duration, job int, demand time.Duration) {
	s.advance(now)
	s.present.push(s.work+float64(demand), job)
}

func (s *sharing) next() time.Duration {
	n := float64(s.present.len())
	if n == 0 {
		return never
	}
	rest := max(0, s.present.next(0)-s.work) * max(1, n/s.cores)
	return s.at + time.Duration(math.Round(rest))
}

func (s *sharing) step() (job int, ended bool) {
	now, done := s.next(), s.present.next(0)
	s.advance(now)
	job = s.present.pop()
	if s.work = max(s.work, done); s.present.len() == 0 {
		s.work = 0 // restart the clock, which keeps it exact in long traces
	}
	return job, true
}

// A heap returns jobs in the order of a key. Jobs with equal keys come in the order in which they
// were pushed. Its zero value is empty.
type heap[K cmp.Ordered] struct {
	items []keyed[K]
	count uint64 // of pushes
}

// keyed is an item of a heap. order is the number of its push.
type keyed[K cmp.Ordered] struct {
	key   K
	order uint64
	job   int
}

func (a keyed[K]) before(b keyed[K]) bool {
	return a.key < b.key || a.key == b.key && a.order < b.order
}

func (h *heap[K]) len() int { return len(h.items) }

// next returns the smallest key; none if the heap is empty.
func (h *heap[K]) next(none K) K {
	if len(h.items) == 0 {
		return none
	}
	return h.items[0].key
}

func (h *heap[K]) push(key K, job int) {
	h.count++
	h.items = append(h.items, keyed[K]{key, h.count, job})
	for i := len(h.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.items[i].before(h.items[parent]) {
			return
		}
		h.items[i], h.items[parent] = h.items[parent], h.items[i]
		i = parent
	}
}

func (h *heap[K]) pop() int {
	top, n := h.items[0].job, len(h.items)-1
	x := h.items[n]
	h.items = h.items[:n]
	i := 0
	for child := 1; child < n; child = 2*i + 1 {
		if child+1 < n && h.items[child+1].before(h.items[child]) {
			child++
		}
		if !h.items[child].before(x) {
			break
		}
		h.items[i] = h.items[child]
		i = child
	}
	if n > 0 {
		h.items[i] = x
	}
	return top
}
