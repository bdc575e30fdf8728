package queueing

import (
	"math"
	"time"
)

// turns are cores that run jobs in turn, the one ready longest next.
type turns struct {
	turn    time.Duration
	idle    int
	running heap[time.Duration] // by the end of their turn
	left    []time.Duration     // of each job's demand, after its turn
	links   links
	ready   queue
}

func newTurns(cores int, turn time.Duration, jobs int) *turns {
	return &turns{turn: turn, idle: cores, left: make([]time.Duration, jobs), links: make(links, jobs), ready: empty}
}

func (t *turns) run(now time.Duration, job int, demand time.Duration) {
	t.left[job] = demand
	if t.idle == 0 {
		t.links.push(&t.ready, job)
		return
	}
	t.idle--
	t.begin(now, job)
}

func (t *turns) begin(now time.Duration, job int) {
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
		t.links.push(&t.ready, job)
	}
	if t.ready.isEmpty() {
		t.idle++
	} else {
		t.begin(now, t.links.pop(&t.ready))
	}
	return job, ended
}

// sharing is cores on which all jobs advance at one speed: a core each, or an even
// share when there are more jobs than cores. So they end in the order of how far
// the clock of work must have advanced.
type sharing struct {
	cores   float64
	at      time.Duration // when work was right
	work    float64       // that a job present since the start would have had done, ns
	present heap[float64]
}

// advance brings the clock of work to now.
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
		s.work = 0 // so that it stays exact in long traces
	}
	return job, true
}
