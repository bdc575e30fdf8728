package queueing

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// A Station is an arm as queueing theory sees it: an ideal server. Switching between requests costs
// it nothing, and all its cores are equal.
//
// Requests come in, wait in one or more queues, and share cores.
type Station struct {
	Kind    string `json:"kind"`              // pool, per-worker, loops or goroutines, see [Pool]; "" is pool
	Workers int    `json:"workers,omitempty"` // 1 or more; 0 with goroutines
	Cores   int    `json:"cores"`             // 1 or more, shared by all workers
	// Places is the most requests that may be present, those in service included; 0: no bound. If
	// each worker has a queue, it applies to each worker.
	Places int `json:"places,omitempty"`
	// Overflow is what happens to an arrival that finds no place, if that can matter. With block
	// it waits outside for a place, and all later arrivals behind it, as behind an acceptor. With
	// drop-oldest it replaces the request that has waited longest, and that one is lost. With
	// anything else, such as reject or drop, it is lost itself.
	Overflow string `json:"overflow,omitempty"`
	Pick     string `json:"pick,omitempty"`     // how the queue of an arrival is chosen, if each worker has one: rr, least or p2c; "" is rr
	Steal    bool   `json:"steal,omitempty"`    // a worker with nothing in its queue takes from the others' queues
	Patience Span   `json:"patience,omitempty"` // time that a request waits in a queue before it leaves and is lost; 0: for ever
	// Target and Interval are CoDel's parameters, both above 0 if CoDel manages the queue. With
	// Adaptive the queue serves the newest request first while it is congested.
	Target   Span   `json:"target,omitempty"`
	Interval Span   `json:"interval,omitempty"`
	Adaptive bool   `json:"adaptive,omitempty"`
	Sticky   bool   `json:"sticky,omitempty"`  // a worker keeps its connection
	Unknown  string `json:"unknown,omitempty"` // why no ideal scheduler can represent it
	// Turn is the time that a request may keep a core while others are ready. Then it goes to the
	// end of their line. It is not recorded: who simulates chooses it.
	Turn time.Duration `json:"-"`
}

// A Span is a time that JSON has in seconds.
type Span time.Duration

// MarshalJSON writes the seconds.
func (s Span) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// UnmarshalJSON reads seconds, to the nearest nanosecond.
func (s *Span) UnmarshalJSON(text []byte) error {
	var seconds float64
	err := json.Unmarshal(text, &seconds)
	*s = Span(math.Round(seconds * float64(time.Second)))
	return err
}

// The kinds of stations: how requests reach the cores.
const (
	// Pool is one queue for all workers: a worker pool, or a semaphore. A Kind of "" is a Pool, too.
	Pool = "pool"
	// PerWorker is a queue for each worker. Requests are dealt to the queues; see Least.
	PerWorker = "per-worker"
	// Loops is a queue for each worker, and each worker serves its own connections: event loops,
	// or workers that keep their connections.
	Loops = "loops"
	// Goroutines has no queue and a worker for each request, like net/http, which leaves all
	// scheduling to Go's scheduler.
	Goroutines = "goroutines"
)

// Values of Station.Pick. With any other PerWorker takes one queue after the other, whatever work
// they hold.
const (
	Least      = "least" // the queue with the fewest jobs, waiting or running; the first of several
	TwoChoices = "p2c"   // the queue with fewer jobs of two taken at random; every replay takes the same two
)

// Values of Station.Overflow. With any other an arrival that finds no place is lost.
const (
	Blocks = "block"       // it waits outside
	Oldest = "drop-oldest" // it replaces the job that has waited longest
)

// GoTurn is the Station.Turn of Go: its scheduler preempts a goroutine after this time (forcePreemptNS in runtime/proc.go).
const GoTurn = 10 * time.Millisecond

// CoDelTarget and CoDelInterval are the settings that servers use for CoDel: B. Maurer, "Fail at
// Scale", ACM Queue 13(8), 2015.
const (
	CoDelTarget   = 5 * time.Millisecond
	CoDelInterval = 100 * time.Millisecond
)

func pooled(s Station) bool { return s.Kind == Pool || s.Kind == "" }

// inTurn reports whether arrivals are dealt to the queues in turn.
func inTurn(s Station) bool { return s.Pick != Least && s.Pick != TwoChoices }

// checkStation returns an error for settings that are impossible or do not go together.
func checkStation(s Station) error {
	switch dealt := s.Kind == PerWorker; {
	case !pooled(s) && !dealt && s.Kind != Loops && s.Kind != Goroutines,
		s.Cores < 1 || s.Workers < 1 && s.Kind != Goroutines,
		s.Turn < 0 || s.Places < 0 || s.Patience < 0,
		(!inTurn(s) || s.Steal) && !dealt, // there are no queues to pick or steal from
		// An aging queue is a pool's or, unless it is adaptive, a worker's. It loses jobs by their age only.
		aging(s) && (s.Target <= 0 || s.Interval <= 0 || !pooled(s) && (s.Adaptive || !dealt)),
		aging(s) && (s.Overflow == Blocks || s.Overflow == Oldest || s.Patience > 0):
		return fmt.Errorf("no station can be like this: %+v", s)
	}
	return nil
}

// layout returns the number of queues, and for each how many workers take jobs from it and how many
// jobs may wait in it.
func layout(s Station) (queues, workers, room int) {
	queues, workers, room = 1, s.Workers, math.MaxInt
	switch s.Kind {
	case PerWorker, Loops:
		queues, workers = s.Workers, 1
	case Goroutines:
		workers = math.MaxInt
	}
	if s.Places > 0 {
		workers = min(workers, s.Places)
		room = s.Places - workers
	}
	return queues, workers, room
}

// aging reports whether the station's queue ages. An aging queue refuses jobs that have waited too
// long, by the form of CoDel for servers (Maurer, as above). The queue is standing if even the
// shortest wait in a whole interval was above the target, or if the jobs refused in it would need
// more than twice the target to run at the rate of the jobs that ran. While the queue is standing,
// jobs that have waited more than twice the target are lost.
//
// With Adaptive, which is for a Pool only, the newest job is served first while the queue is
// standing, and arrivals remove jobs that are too old, and not only workers.
func aging(s Station) bool { return s.Target != 0 || s.Interval != 0 || s.Adaptive }

// codel lets a queue age. All queues of a station share one.
type codel struct {
	target, interval time.Duration
	end              time.Duration // of the current interval
	least            time.Duration // shortest wait in the interval
	ran, refused     int           // jobs in the interval
	standing         bool          // the queue was standing in the interval before
}

// turn reports whether a job is too old to run when its turn comes. waited is its wait.
func (c *codel) turn(now, waited time.Duration) bool {
	if now < c.end {
		c.least = min(c.least, waited)
	} else {
		owed := time.Duration(c.refused) * c.interval
		c.standing = c.least > c.target || owed > time.Duration(c.ran)*2*c.target
		c.end, c.least, c.ran, c.refused = now+c.interval, waited, 0, 0
	}
	if c.tooOld(waited) {
		return true
	}
	c.ran++
	return false
}

// tooOld reports whether a job with this wait must be refused, and counts it if so.
func (c *codel) tooOld(waited time.Duration) bool {
	if !c.standing || waited <= 2*c.target {
		return false
	}
	c.refused++
	return true
}

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
// per turn of a job, and some more with many cores. It returns an error for an impossible station or
// job, for more than 65,536 queues or 40 million turns, and for a Turn of 0.
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
	r.closed = &heap{}
	for i := range min(clients, len(jobs)) { // more find no job left
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
	if s.Turn == 0 {
		return errors.New("replaying a trace: a turn of 0; give a turn above 0")
	}
	if queues, _, _ := layout(s); queues > mostQueues {
		return fmt.Errorf("replaying a trace: a station of %d queues; the most is %d", queues, mostQueues)
	}
	turns := 0.0
	for i, j := range jobs {
		if j.CPU < 0 || j.Block < 0 || j.Conn < 0 || j.At < 0 || i > 0 && j.At < jobs[i-1].At {
			return fmt.Errorf("replaying a trace: job %d is %+v; sort jobs by arrival and use no negative value", i, j)
		}
		turns += float64(j.CPU / s.Turn)
	}
	if turns > mostTurns {
		return fmt.Errorf("replaying a trace: its jobs need %.3g turns of %v; the most is %d", turns, s.Turn, mostTurns)
	}
	return nil
}

// Bounds of a replay. Its sizes may come from a stranger's record. Forty million turns of 10 ms are four
// days of CPU time, and take some ten seconds.
const (
	mostQueues = 1 << 16
	mostTurns  = 40_000_000
)

// A replay is the state of one replay. A job is identified by its index in jobs.
type replay struct {
	station     Station
	jobs        []Job
	completions []Completion
	now         time.Duration
	cores       turns
	blocked     heap // jobs that have had their time on a core, by their end
	lanes       []lane
	reach       int     // lanes that a worker takes jobs from, its own first
	own         []int32 // lane of each job, and of its worker once it has one; -1 until it is picked
	outside     []int   // jobs that wait for a place, oldest first
	law         *codel  // nil if the queue does not age
	chance      *rand.Rand
	closed      *heap // clients by the time when they send next; nil in an open loop
}

// A lane is a queue with the workers that take jobs from it.
type lane struct {
	workers, busy int
	room          int   // most jobs that may wait
	waiting       []int // oldest first
}

func newReplay(s Station, jobs []Job) *replay {
	r := &replay{
		station: s, jobs: jobs, completions: make([]Completion, len(jobs)),
		own: slices.Repeat([]int32{-1}, len(jobs)), chance: rand.New(rand.NewPCG(uint64(len(jobs)), 2)),
		cores: turns{turn: s.Turn, idle: s.Cores, left: make([]time.Duration, len(jobs))},
	}
	if aging(s) {
		r.law = &codel{target: time.Duration(s.Target), interval: time.Duration(s.Interval)}
	}
	queues, workers, room := layout(s)
	r.lanes, r.reach = slices.Repeat([]lane{{workers: workers, room: room}}, queues), 1
	if s.Steal {
		r.reach = len(r.lanes)
	}
	return r
}

// run replays all jobs, event by event.
func (r *replay) run() {
	for arrived := 0; ; {
		arrival := never
		switch {
		case arrived == len(r.jobs):
		case r.closed != nil: // when a client is free to send
			arrival = r.closed.next()
		default:
			arrival = r.jobs[arrived].At
		}
		core, wake := r.cores.running.next(), r.blocked.next()
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

// arrive gives an arriving job a worker or a place, or loses it.
func (r *replay) arrive(job int) {
	if r.closed != nil {
		r.jobs[job].At, r.jobs[job].Conn = r.now, r.closed.pop()
	}
	if l := &r.lanes[0]; r.station.Adaptive { // it has one lane
		for len(l.waiting) > 0 && r.law.tooOld(r.waited(l)) {
			r.lose(l.oldest(), r.now)
		}
	}
	switch {
	case len(r.outside) > 0:
		r.outside = append(r.outside, job)
	case r.enter(job):
	case r.station.Overflow == Blocks:
		r.outside = append(r.outside, job)
	case r.station.Overflow == Oldest && len(r.laneOf(job).waiting) > 0:
		r.lose(r.laneOf(job).oldest(), r.now)
		r.enter(job)
	default:
		r.lose(job, r.now)
	}
}

// enter finds a worker or a place in its queue for a job. It returns false if there is none.
func (r *replay) enter(job int) bool {
	l := r.laneOf(job)
	if len(l.waiting) >= l.room {
		r.expire(l)
	}
	if worker := r.idle(int(r.own[job])); worker >= 0 {
		if r.law != nil {
			r.law.turn(r.now, 0)
		}
		r.start(job, worker)
		return true
	}
	if len(l.waiting) >= l.room {
		return false
	}
	l.waiting = append(l.waiting, job)
	r.completions[job].Start = r.now // patience counts from here
	return true
}

// start lets a worker of a lane take up a job.
func (r *replay) start(job, lane int) {
	r.lanes[lane].busy++
	r.own[job] = int32(lane)
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
	worker := int(r.own[job])
	r.lanes[worker].busy--
	if next := r.take(worker); next >= 0 {
		r.start(next, worker)
	}
	for len(r.outside) > 0 && r.enter(r.outside[0]) {
		r.outside = r.outside[1:]
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

// laneOf returns the job's queue. The queue is picked at the first call for the job.
func (r *replay) laneOf(job int) *lane {
	if r.own[job] < 0 {
		r.own[job] = int32(r.pick(job))
	}
	return &r.lanes[r.own[job]]
}

// pick chooses the queue of an arrival.
func (r *replay) pick(job int) int {
	n := len(r.lanes)
	switch {
	case r.station.Kind == Loops:
		return r.jobs[job].Conn % n
	case r.station.Kind != PerWorker || n == 1:
		return 0
	case r.station.Pick == Least:
		best := 0
		for i := range r.lanes {
			if r.lanes[i].load() < r.lanes[best].load() {
				best = i
			}
		}
		return best
	case r.station.Pick == TwoChoices:
		a, b := r.chance.IntN(n), r.chance.IntN(n-1)
		if b >= a {
			b++
		}
		if r.lanes[b].load() < r.lanes[a].load() {
			return b
		}
		return a
	}
	return job % n
}

// load returns the number of jobs in a lane, waiting or running.
func (l *lane) load() int { return len(l.waiting) + l.busy }

// oldest removes the job that has waited longest.
func (l *lane) oldest() int {
	job := l.waiting[0]
	l.waiting = l.waiting[1:]
	return job
}

// newest removes the job that has waited shortest.
func (l *lane) newest() int {
	last := len(l.waiting) - 1
	job := l.waiting[last]
	l.waiting = l.waiting[:last]
	return job
}

// waited returns how long the oldest job in a lane has been there.
func (r *replay) waited(l *lane) time.Duration { return r.now - r.jobs[l.waiting[0]].At }

// idle returns the lane of an idle worker for a job in the given lane: this lane or, if workers
// steal, another. It returns -1 if all are busy.
func (r *replay) idle(lane int) int {
	for k := range r.reach {
		i := (lane + k) % len(r.lanes)
		if l := &r.lanes[i]; l.busy < l.workers {
			return i
		}
	}
	return -1
}

// take returns the next job for a worker of the lane; -1 if there is none. Jobs that are too old
// are lost on the way.
func (r *replay) take(lane int) int {
	for k := range r.reach {
		l := &r.lanes[(lane+k)%len(r.lanes)]
		r.expire(l)
		for len(l.waiting) > 0 {
			job, stale := r.next(l)
			if !stale {
				return job
			}
			r.lose(job, r.now)
		}
	}
	return -1
}

// next removes the next job from a queue. stale reports that it has waited too long. The wait of
// the oldest job counts as the wait of the queue, whichever job is next.
func (r *replay) next(l *lane) (job int, stale bool) {
	stale = r.law != nil && r.law.turn(r.now, r.waited(l))
	if r.station.Adaptive && r.law.standing && !stale {
		return l.newest(), false
	}
	return l.oldest(), stale
}

// expire loses the jobs at the head of a queue that have run out of patience. It is called when a
// worker wants the head or an arrival wants a place, because only then does it make a difference.
func (r *replay) expire(l *lane) {
	if r.station.Patience == 0 {
		return
	}
	for len(l.waiting) > 0 {
		by := r.completions[l.waiting[0]].Start + time.Duration(r.station.Patience)
		if by >= r.now {
			return
		}
		r.lose(l.oldest(), by)
	}
}

// never is the time of an event that does not come.
const never = time.Duration(math.MaxInt64)

// turns are cores that run the jobs that workers hand them, in turn: the job that has been ready
// longest is next.
type turns struct {
	turn    time.Duration
	idle    int
	running heap            // by the end of their turn
	left    []time.Duration // demand of each job that is left after its current turn
	ready   []int           // jobs that wait for a core, the longest first
}

// run takes a job that needs a core for some time.
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

// step ends the first turn that is running. It returns its job; ended is false if the job needs
// another turn.
func (t *turns) step() (job int, ended bool) {
	now := t.running.next()
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

// A heap returns jobs in the order of their times. Jobs of one time come in the order in which they
// were pushed. Its zero value is empty.
type heap struct {
	items []event
	count uint64 // of pushes
}

// An event is an item of a heap. order is the number of its push.
type event struct {
	at    time.Duration
	order uint64
	job   int
}

func (a event) before(b event) bool { return a.at < b.at || a.at == b.at && a.order < b.order }

// next returns the first time; never if the heap is empty.
func (h *heap) next() time.Duration {
	if len(h.items) == 0 {
		return never
	}
	return h.items[0].at
}

func (h *heap) push(at time.Duration, job int) {
	h.count++
	h.items = append(h.items, event{at, h.count, job})
	for i := len(h.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.items[i].before(h.items[parent]) {
			return
		}
		h.items[i], h.items[parent] = h.items[parent], h.items[i]
		i = parent
	}
}

func (h *heap) pop() int {
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
