package queueing

import (
	"fmt"
	"math"
	"time"
)

// A Job is one request of a trace.
type Job struct {
	At    time.Duration // of its arrival, from the trace's start
	CPU   time.Duration // its demand on a core
	Block time.Duration // then it keeps its worker for so long without a core
	Conn  int           // Loops: its connection, 0 or more, served by loop Conn mod Workers
}

// A Fate is what became of a job. Times count from the trace's start.
type Fate struct {
	Start  time.Duration // a worker took it up
	Finish time.Duration
	Lost   bool // it found no place or waited too long; Start and Finish are when that was
}

// Replay runs jobs, which are in order of arrival, through an ideal server and
// returns the fate of each. At one moment what ends comes before what arrives. It
// takes about 0.3 µs for a job and each of its turns, and some more where there are
// many cores or, sharing evenly, many jobs. It returns an error for a station or a
// job that cannot be.
func Replay(s Station, jobs []Job) ([]Fate, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	for i, j := range jobs {
		if j.CPU < 0 || j.Block < 0 || j.Conn < 0 || j.At < 0 || i > 0 && j.At < jobs[i-1].At {
			return nil, fmt.Errorf("replaying a trace: job %d is %+v; sort jobs by arrival and use no negative value", i, j)
		}
	}
	r := newReplay(s, jobs)
	r.run()
	return r.fates, nil
}

// A replay is one at work. A job is its index.
type replay struct {
	station Station
	jobs    []Job
	fates   []Fate
	now     time.Duration
	cores   cores
	blocked heap[time.Duration]
	links   links // of the jobs in all lanes and outside
	lanes   []lane
	outside queue
	law     *codel // nil: the queue does not age
}

// A lane is a queue and the workers that take from it.
type lane struct {
	free    int // workers
	room    int // places in the queue that are free
	waiting queue
}

// cores run what workers hand them.
type cores interface {
	run(now time.Duration, job int, demand time.Duration)
	next() time.Duration // of the next step; never when nothing runs
	// step does what is due at next, and returns the job that has ended, or none.
	step() (job int, ended bool)
}

const never = time.Duration(math.MaxInt64)

func newReplay(s Station, jobs []Job) *replay {
	r := &replay{station: s, jobs: jobs, fates: make([]Fate, len(jobs)), links: make(links, len(jobs)), outside: empty}
	if (s.Aging != Aging{}) {
		r.law = &codel{Aging: s.Aging}
	}
	workers, room := s.lane()
	for range s.lanes() {
		r.lanes = append(r.lanes, lane{workers, room, empty})
	}
	if s.Turn == Even {
		r.cores = &sharing{cores: float64(s.Cores)}
	} else {
		r.cores = newTurns(s.Cores, s.Turn, len(jobs))
	}
	return r
}

func (r *replay) run() {
	for arrived := 0; ; {
		arrival := never
		if arrived < len(r.jobs) {
			arrival = r.jobs[arrived].At
		}
		core, wake := r.cores.next(), r.blocked.next(never)
		r.now = min(arrival, core, wake)
		switch r.now {
		case never:
			return
		case core:
			if job, ended := r.cores.step(); ended {
				r.block(job)
			}
		case wake:
			r.finish(r.blocked.pop())
		default:
			r.arrive(arrived)
			arrived++
		}
	}
}

func (r *replay) arrive(job int) {
	if r.law != nil && r.law.Adaptive {
		for old, ok := r.expired(); ok; old, ok = r.expired() {
			r.lanes[0].room++
			r.lose(old)
		}
	}
	switch {
	case !r.outside.isEmpty():
		r.links.push(&r.outside, job)
	case r.enter(job):
	case r.station.Blocks:
		r.links.push(&r.outside, job)
	default:
		r.lose(job)
	}
}

func (r *replay) lose(job int) { r.fates[job] = Fate{Start: r.now, Finish: r.now, Lost: true} }

// enter finds job a worker or a place in its queue, if there is one.
func (r *replay) enter(job int) bool {
	l := r.laneOf(job)
	switch {
	case l.free > 0:
		l.free--
		if r.law != nil {
			r.law.turn(r.now, 0)
		}
		r.start(job)
	case l.room == 0:
		return false
	case r.station.Newest:
		l.room--
		r.links.pushFront(&l.waiting, job)
	case r.station.Aging.Adaptive:
		l.room--
		r.law.waiting = append(r.law.waiting, job)
	default:
		l.room--
		r.links.push(&l.waiting, job)
	}
	return true
}

func (r *replay) laneOf(job int) *lane {
	switch r.station.Kind {
	case PerWorker:
		return &r.lanes[job%len(r.lanes)]
	case Loops:
		return &r.lanes[r.jobs[job].Conn%len(r.lanes)]
	}
	return &r.lanes[0]
}

// start has a worker take job up.
func (r *replay) start(job int) {
	r.fates[job].Start = r.now
	if cpu := r.jobs[job].CPU; cpu > 0 {
		r.cores.run(r.now, job, cpu)
		return
	}
	r.block(job)
}

// block comes after the job's time on a core, also when it blocks for no time: its
// end is an event, so that ends do not nest.
func (r *replay) block(job int) { r.blocked.push(r.now+r.jobs[job].Block, job) }

func (r *replay) finish(job int) {
	r.fates[job].Finish = r.now
	r.takeUp(r.laneOf(job))
	for !r.outside.isEmpty() {
		if next := r.links.pop(&r.outside); !r.enter(next) {
			r.links.pushFront(&r.outside, next)
			return
		}
	}
}

// takeUp gives the worker that has become free the next job of its queue, past those
// that have waited too long.
func (r *replay) takeUp(l *lane) {
	for {
		job, stale, ok := r.turn(l)
		if !ok {
			l.free++
			return
		}
		l.room++
		if !stale {
			r.start(job)
			return
		}
		r.lose(job)
	}
}

// turn takes the job out of a queue whose turn it is; ok is false when none waits.
func (r *replay) turn(l *lane) (job int, stale, ok bool) {
	switch {
	case r.station.Aging.Adaptive:
		return r.adaptiveTurn()
	case l.waiting.isEmpty():
		return 0, false, false
	}
	job = r.links.pop(&l.waiting)
	return job, r.law != nil && r.law.turn(r.now, r.now-r.jobs[job].At), true
}
