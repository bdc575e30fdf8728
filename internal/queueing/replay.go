package queueing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
	Lost   bool // it found no place, lost it, lost patience or was too old; Start and Finish are when
}

// Replay runs jobs, which are in order of arrival, through an ideal server and
// returns the fate of each. At one moment what ends comes before what arrives. It
// takes about 0.3 µs for a job and each of its turns, and some more where there are
// many cores or, sharing evenly, many jobs. It returns an error for a station or a
// job that cannot be.
func Replay(s Station, jobs []Job) ([]Fate, error) {
	if err := checkTrace(s, jobs); err != nil {
		return nil, err
	}
	r := newReplay(s, jobs)
	r.run()
	return r.fates, nil
}

// ReplayClosed is Replay for a closed loop: that many clients, each of which takes
// the next job as soon as its last one has ended, all beginning at time 0. The jobs'
// own At and Conn do not matter; it returns them as they were sent, Conn being the
// client.
func ReplayClosed(s Station, clients int, jobs []Job) ([]Job, []Fate, error) {
	if clients < 1 {
		return nil, nil, fmt.Errorf("replaying a closed loop: %d clients; give 1 or more", clients)
	}
	jobs = slices.Clone(jobs)
	for i := range jobs {
		jobs[i].At, jobs[i].Conn = 0, 0
	}
	if err := checkTrace(s, jobs); err != nil {
		return nil, nil, err
	}
	r := newReplay(s, jobs)
	r.closed = &heap[time.Duration]{}
	for i := range clients {
		r.closed.push(0, i)
	}
	r.run()
	return jobs, r.fates, nil
}

// checkTrace reports a station or a job that cannot be.
func checkTrace(s Station, jobs []Job) error {
	if err := s.check(); err != nil {
		return err
	}
	for i, j := range jobs {
		if j.CPU < 0 || j.Block < 0 || j.Conn < 0 || j.At < 0 || i > 0 && j.At < jobs[i-1].At {
			return fmt.Errorf("replaying a trace: job %d is %+v; sort jobs by arrival and use no negative value", i, j)
		}
	}
	return nil
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
	own     []int32 // the lane of each job, -1 as long as none was picked
	by      []int32 // the lane whose worker has it
	outside queue
	law     *codel // nil: the queue does not age
	chance  *rand.Rand
	closed  *heap[time.Duration] // clients by when they send next; nil in an open loop
}

// A lane is a queue and the workers that take from it.
type lane struct {
	free    int // workers
	busy    int // workers
	room    int // places in the queue that are free
	waits   int
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
	r := &replay{
		station: s, jobs: jobs, fates: make([]Fate, len(jobs)), links: make(links, len(jobs)), outside: empty,
		own: make([]int32, len(jobs)), by: make([]int32, len(jobs)), chance: rand.New(rand.NewPCG(uint64(len(jobs)), 2)),
	}
	if (s.Aging != Aging{}) {
		r.law = &codel{Aging: s.Aging}
	}
	for i := range r.own {
		r.own[i] = -1
	}
	workers, room := s.lane()
	for range s.lanes() {
		r.lanes = append(r.lanes, lane{free: workers, room: room, waiting: empty})
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
			arrival = r.due(arrived)
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

// due is when the next job arrives: by its trace, or when a client is free to send.
func (r *replay) due(job int) time.Duration {
	if r.closed != nil {
		return r.closed.next(never)
	}
	return r.jobs[job].At
}

func (r *replay) arrive(job int) {
	if r.closed != nil {
		r.jobs[job].At, r.jobs[job].Conn = r.now, r.closed.pop()
	}
	if r.law != nil && r.law.Adaptive {
		for old, ok := r.expired(); ok; old, ok = r.expired() {
			r.lose(old, r.now)
		}
	}
	switch {
	case !r.outside.isEmpty():
		r.links.push(&r.outside, job)
	case r.enter(job):
	case r.station.Blocks:
		r.links.push(&r.outside, job)
	case r.station.Oldest && r.evict(r.laneOf(job)):
		r.enter(job)
	default:
		r.lose(job, r.now)
	}
}

// enter finds job a worker or a place in its queue, if there is one.
func (r *replay) enter(job int) bool {
	i := r.laneOf(job)
	l := &r.lanes[i]
	if l.room == 0 {
		r.expire(l)
	}
	worker := r.idle(i)
	switch {
	case worker >= 0:
		if r.law != nil {
			r.law.turn(r.now, 0)
		}
		r.start(job, worker)
		return true
	case l.room == 0:
		return false
	case r.station.Newest:
		r.links.pushFront(&l.waiting, job)
	case r.station.Aging.Adaptive:
		r.law.waiting = append(r.law.waiting, job)
	default:
		r.links.push(&l.waiting, job)
	}
	l.room--
	l.waits++
	r.fates[job].Start = r.now // for its patience
	return true
}

// start has a worker of a lane take job up.
func (r *replay) start(job, lane int) {
	r.lanes[lane].free--
	r.lanes[lane].busy++
	r.by[job] = int32(lane)
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
	r.answer(job)
	worker := int(r.by[job])
	r.lanes[worker].free++
	r.lanes[worker].busy--
	if next := r.take(worker); next >= 0 {
		r.start(next, worker)
	}
	for !r.outside.isEmpty() {
		if next := r.links.pop(&r.outside); !r.enter(next) {
			r.links.pushFront(&r.outside, next)
			return
		}
	}
}

func (r *replay) lose(job int, at time.Duration) {
	r.fates[job] = Fate{Start: at, Finish: at, Lost: true}
	r.answer(job)
}

// answer tells a closed loop's client that its job has ended.
func (r *replay) answer(job int) {
	if r.closed != nil {
		r.closed.push(r.now, r.jobs[job].Conn)
	}
}
