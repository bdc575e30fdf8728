package queueing

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"schedlab/internal/record"
)

// A Job is one request of a trace.
type Job struct {
	At    time.Duration // arrival, from the start of the trace
	CPU   time.Duration // demand of CPU time
	Block time.Duration // time that it then keeps its worker without using a core
	Conn  int           // Loops: its connection, 0 or more, served by loop Conn mod Workers
}

// A Completion tells how a job ended. Times count from the start of the trace.
type Completion struct {
	Start  time.Duration // when a worker took it up
	Finish time.Duration
	Lost   bool // it found no place, lost its place, lost patience or was too old; Start and Finish are when
}

// Replay runs jobs, sorted by arrival, through an ideal server and returns how each ended. If
// ends and arrivals fall on the same moment, ends come first. It takes about 0.3 µs per job and
// per turn of a job, and some more with many cores or, if they share evenly, with many jobs. It
// returns an error for an impossible station or job.
func Replay(s Station, jobs []Job) ([]Completion, error) {
	if err := checkTrace(s, jobs); err != nil {
		return nil, err
	}
	r := newReplay(s, jobs)
	r.run()
	return r.completions, nil
}

// ReplayClosed is Replay for a closed loop: each client takes the next job as soon as its last one
// has ended. All begin at time 0. clients is their number, 1 or more. The At and Conn of the given
// jobs do not matter. It returns a copy of the jobs with At set to the time when each was sent,
// and Conn to its client.
func ReplayClosed(s Station, clients int, jobs []Job) ([]Job, []Completion, error) {
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
	return jobs, r.completions, nil
}

// checkTrace returns an error for an impossible station or job.
func checkTrace(s Station, jobs []Job) error {
	if err := checkStation(s); err != nil {
		return err
	}
	for i, j := range jobs {
		if j.CPU < 0 || j.Block < 0 || j.Conn < 0 || j.At < 0 || i > 0 && j.At < jobs[i-1].At {
			return fmt.Errorf("replaying a trace: job %d is %+v; sort jobs by arrival and use no negative value", i, j)
		}
	}
	return nil
}

// A replay is the state of one replay. A job is identified by its index in jobs.
type replay struct {
	station     Station
	jobs        []Job
	completions []Completion
	now         time.Duration
	cores       cores
	blocked     heap[time.Duration]
	links       links // of the jobs in all lanes and outside
	lanes       []lane
	own         []int32 // lane of each job; -1 until it is picked
	by          []int32 // lane of the worker that has the job
	outside     queue
	law         *codel // nil if the queue does not age
	chance      *rand.Rand
	closed      *heap[time.Duration] // clients by the time when they send next; nil in an open loop
}

// A lane is a queue with the workers that take jobs from it.
type lane struct {
	free    int // idle workers
	busy    int // busy workers
	room    int // free places in the queue
	waits   int
	waiting queue
}

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

func newReplay(s Station, jobs []Job) *replay {
	r := &replay{
		station: s, jobs: jobs, completions: make([]Completion, len(jobs)), links: make(links, len(jobs)), outside: empty,
		own: make([]int32, len(jobs)), by: make([]int32, len(jobs)), chance: rand.New(rand.NewPCG(uint64(len(jobs)), 2)),
	}
	if aging(s) {
		r.law = &codel{target: record.Duration(s.Target), interval: record.Duration(s.Interval)}
	}
	for i := range r.own {
		r.own[i] = -1
	}
	workers, room := roomOf(s)
	for range lanes(s) {
		r.lanes = append(r.lanes, lane{free: workers, room: room, waiting: empty})
	}
	if s.Turn == Even {
		r.cores = &sharing{cores: float64(s.Cores)}
	} else {
		r.cores = newTurns(s.Cores, s.Turn, len(jobs))
	}
	return r
}

// run replays all jobs, event by event.
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

// due returns when the next job arrives: by the trace, or when a client is free to send.
func (r *replay) due(job int) time.Duration {
	if r.closed != nil {
		return r.closed.next(never)
	}
	return r.jobs[job].At
}

// arrive gives an arriving job a worker or a place, or loses it.
func (r *replay) arrive(job int) {
	if r.closed != nil {
		r.jobs[job].At, r.jobs[job].Conn = r.now, r.closed.pop()
	}
	if r.station.Adaptive {
		for old, ok := r.expired(); ok; old, ok = r.expired() {
			r.lose(old, r.now)
		}
	}
	switch {
	case !r.outside.isEmpty():
		r.links.push(&r.outside, job)
	case r.enter(job):
	case r.station.Overflow == Blocks:
		r.links.push(&r.outside, job)
	case r.station.Overflow == Oldest && r.evict(r.laneOf(job)):
		r.enter(job)
	default:
		r.lose(job, r.now)
	}
}

// enter finds a worker or a place in its queue for a job. It returns false if there is none.
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
	case r.station.Adaptive:
		r.law.waiting = append(r.law.waiting, job)
	default:
		r.links.push(&l.waiting, job)
	}
	l.room--
	l.waits++
	r.completions[job].Start = r.now // patience counts from here
	return true
}

// start lets a worker of a lane take up a job.
func (r *replay) start(job, lane int) {
	r.lanes[lane].free--
	r.lanes[lane].busy++
	r.by[job] = int32(lane)
	r.completions[job].Start = r.now
	if cpu := r.jobs[job].CPU; cpu > 0 {
		r.cores.run(r.now, job, cpu)
		return
	}
	r.block(job)
}

// block is called after a job's time on a core, even if the job does not block. Its end is an
// event, so that ends do not nest.
func (r *replay) block(job int) { r.blocked.push(r.now+r.jobs[job].Block, job) }

// finish ends a job, and gives its worker the next one.
func (r *replay) finish(job int) {
	r.completions[job].Finish = r.now
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

// lose ends a job that was not served.
func (r *replay) lose(job int, at time.Duration) {
	r.completions[job] = Completion{Start: at, Finish: at, Lost: true}
	r.answer(job)
}

// answer tells a closed loop's client that its job has ended.
func (r *replay) answer(job int) {
	if r.closed != nil {
		r.closed.push(r.now, r.jobs[job].Conn)
	}
}
