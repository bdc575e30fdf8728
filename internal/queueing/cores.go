package queueing

import (
	"math"
	"time"
)

// turns are cores that run jobs in turn: the job that has been ready longest is next.
type turns struct {
	turn    time.Duration
	idle    int
	running heap[time.Duration] // by the end of their turn
	left    []time.Duration     // demand of each job that is left after its current turn
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

// begin starts a turn of job on a core.
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
