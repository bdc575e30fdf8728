// Package dispatch hands jobs to workers. It has the queues, the workers, and the policies for
// a queue that is full and for jobs that have waited too long. It knows nothing of HTTP,
// connections or metrics.
//
// A job is a value of any type. A caller makes a [Dispatcher] with [New], starts it, puts jobs, and
// closes it. The kinds differ only in the queue between Put and the workers. The workers, the clock
// and the overflow policy are common to all of them (base). A [Semaphore] is the alternative
// without workers: it bounds the number of callers that run at a time.
package dispatch

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A Dispatcher hands each job to one of its workers, or refuses it. Put may be
// called concurrently, but not before Start nor during or after Close.
type Dispatcher[T any] interface {
	// Start starts the workers.
	Start()
	// Put queues job, or follows the overflow policy when the queue is full. It blocks
	// only under [Block]. Every job put is either run once or refused once.
	Put(job T)
	// Close lets the workers finish the queued jobs, and returns when all workers have
	// ended.
	Close()
	Queue
}

// A Queue gives the figures of a dispatcher that can be watched, whatever the type of its jobs.
// Its methods are safe for concurrent use.
// Two calls read two moments, so Depth and Busy together may count a job twice or not at all.
type Queue interface {
	Depth() int    // jobs waiting
	Capacity() int // largest number of jobs that can wait
	Workers() int
	Busy() int // workers running a job
}

// Options are the options of every kind of dispatcher. Run is required, and so is Refuse if the
// policy can refuse jobs.
// Its functions are called while no lock is held, so they may call Depth and the other methods of
// [Queue].
type Options[T any] struct {
	Settings
	Run func(T) // runs a job; called concurrently by the workers
	// Refuse is called for a job that is not run, by Put or by a worker. It must not
	// block.
	Refuse func(T, Why)
	Waited func(T, time.Duration) // called before Run with the time in the queue; nil: not called
}

// Settings are the options that do not depend on the type of the jobs. A tag names the flag of serve
// that sets a field.
// Without an Overflow the policy is [Block], and without a Queue the choice among queues is [RoundRobin]. Fields that
// another kind or policy would use are ignored. Nothing checks the words and ranges here: package
// server does so for its flags.
type Settings struct {
	Workers   int                 `flag:"workers"`     // number of workers, 1 or more
	Depth     int                 `flag:"queue-depth"` // places in the queue; 0 hands a job over only when a worker is free
	Overflow  string              `flag:"overflow"`    // policy for a job that finds the queue full
	Sojourned func(time.Duration) // called after Run with the time since Put; nil: not called
	Locked    bool                `flag:"locked"`         // each worker is locked to an operating-system thread
	Job       string              `flag:"job"`            // [Closure]: a job travels as a closure, as in most pools, which allocates; else as a value
	Queue     string              `flag:"queue"`          // one of [Kinds]; PerWorker: how to choose a queue
	Steal     bool                `flag:"steal"`          // PerWorker: idle workers take from the queues of others; needs Depth >= Workers
	Spin      int                 `flag:"spin"`           // Ring: how often a worker looks at an empty ring before it sleeps
	Wait      time.Duration       `flag:"wait"`           // Expire: longest wait of a job; of a mode with a semaphore, that of a caller (0: none)
	Target    time.Duration       `flag:"codel-target"`   // CoDel, Adaptive: the wait to keep to; see [CoDel]
	Interval  time.Duration       `flag:"codel-interval"` // CoDel, Adaptive: time for which the wait must exceed Target
	Held      time.Duration       // Shared: a planted fault; a worker that has taken a job sleeps this long under one lock for all workers; 0: no lock
}

// A Why is the reason for which a job was refused.
type Why uint8

// Unanswered reports whether the client of a job that was refused for this reason gets no answer.
func (w Why) Unanswered() bool { return w == Dropped || w == Expired }

// The reasons of a refusal.
const (
	Full    Why = iota // no place in the queue
	Dropped            // no place in the queue, and the client gets no answer
	Evicted            // it had waited longest when another job needed its place
	Stale              // it had waited too long
	Expired            // its client has given up by now, so it gets no answer
)

// A Kind is an implementation of [Dispatcher]. The zero value is [Shared], the baseline; each of the
// others changes one thing about it. BenchmarkHandoff measures the cost of a hand-off in each.
type Kind uint8

// The kinds of dispatcher.
const (
	Shared    Kind = iota // one channel for all workers
	PerWorker             // a channel for each worker
	Ring                  // one lock-free ring; Depth is a power of two
	Adaptive              // one deque, first in first out until overload makes it last in first out; Depth >= 1
)

// Kinds are the kinds by the words of a Queue; "" is Shared. It must not be modified.
var Kinds = map[string]Kind{
	"shared": Shared, "ring": Ring, "adaptive": Adaptive,
	RoundRobin: PerWorker, Least: PerWorker, TwoChoices: PerWorker,
}

// New returns a dispatcher of that kind. Nothing runs until its Start.
func New[T any](kind Kind, o Options[T]) Dispatcher[T] {
	if o.Job == Closure {
		return newClosures(kind, o)
	}
	return newKind(kind, o)
}

// newKind is New without regard to Closure.
func newKind[T any](kind Kind, o Options[T]) Dispatcher[T] {
	switch kind {
	case PerWorker:
		return newPerWorker(o)
	case Ring:
		return newRing(o)
	case Adaptive:
		return newAdaptive(o)
	}
	return &shared[T]{base: newBase(o), jobs: make(lane[T], o.Depth)}
}

// The overflow policies, for a job that finds the queue full.
const (
	Block      = "block"       // Put waits for a place
	Reject     = "reject"      // the job is refused at once, with an answer: [Full]
	Drop       = "drop"        // the job is refused without an answer: [Dropped]
	DropOldest = "drop-oldest" // the job that has waited longest is refused in its place: [Evicted]
	Expire     = "expire"      // as Reject; also, a job that has waited longer than Wait is refused before it takes a worker: [Expired]
	CoDel      = "codel"       // as Reject; also, jobs that have waited too long are refused: [Stale]
)

// Closure is the Job of [Settings] that makes jobs travel as closures.
const Closure = "closure"

// A base is the part that all kinds of dispatcher share: the workers, running a job, and the
// overflow policy.
//
// Each kind embeds a base and adds its queue. Put stamps the job and gives it to [base.put], with a
// [place] as the queue. A worker, which [base.start] started, takes jobs from the queue and gives
// each to [base.do]. Close tells the workers to end, each kind in its way, and waits for ended. law
// is nil unless the policy is [CoDel].
type base[T any] struct {
	Options[T]
	epoch time.Time
	timed bool // the waits of jobs are measured
	law   *codel
	ended sync.WaitGroup
	_     [64]byte // every job writes busy and reads the fields above: keep them on separate cache lines
	busy  atomic.Int64
	_     [56]byte
}

// A queued job carries the time of its Put, on the base's clock; 0 if the base is not timed.
type queued[T any] struct {
	job T
	at  time.Duration
}

// A place is a queue that can be full.
type place[T any] interface {
	offer(queued[T]) bool    // queues the job; false when full
	wait(queued[T])          // queues the job, after waiting for a place
	poll() (queued[T], bool) // takes the job that has waited longest; false when empty
}

func newBase[T any](o Options[T]) *base[T] {
	c := &base[T]{Options: o, epoch: time.Now()}
	if o.Overflow == CoDel {
		c.law = &codel{target: o.Target, interval: o.Interval}
	}
	// Reading the clock takes a large part of a hand-off's time, so it is read only if somebody needs the wait.
	c.timed = o.Waited != nil || o.Sojourned != nil || c.law != nil || o.Overflow == Expire
	return c
}

// clock returns the time since the base was made. It reads one clock where time.Now reads two.
func (c *base[T]) clock() time.Duration { return time.Since(c.epoch) }

// stamp begins the job's wait.
func (c *base[T]) stamp(job T) queued[T] {
	if !c.timed {
		return queued[T]{job: job}
	}
	return queued[T]{job, c.clock()}
}

// start starts the workers. Each runs work with its number, from 0.
func (c *base[T]) start(work func(worker int)) {
	for i := range c.Options.Workers {
		c.ended.Go(func() {
			if c.Locked {
				runtime.LockOSThread() // the thread ends with the worker
			}
			work(i)
		})
	}
}

// put queues j in p. If p is full it follows the overflow policy.
func (c *base[T]) put(p place[T], j queued[T]) {
	// Each round tries again from the start. After an eviction another Put may have taken the free
	// place, and poll finds no job when the workers have emptied the queue meanwhile.
	for !p.offer(j) {
		switch c.Overflow {
		case Block, "":
			p.wait(j)
			return
		case DropOldest:
			if oldest, ok := p.poll(); ok {
				c.Refuse(oldest.job, Evicted)
			}
		case Drop:
			c.Refuse(j.job, Dropped)
			return
		default:
			c.Refuse(j.job, Full)
			return
		}
	}
}

// do runs a job, or refuses it if it is too old.
func (c *base[T]) do(j queued[T]) {
	// One reading of the clock ends the wait for the law and for Waited, so both see the same wait.
	// A job that is refused here has no Waited and no Sojourned.
	if c.timed {
		now := c.clock()
		if c.law != nil && c.law.stale(now, now-j.at) {
			c.Refuse(j.job, Stale)
			return
		}
		if c.Overflow == Expire && now-j.at > c.Wait {
			c.Refuse(j.job, Expired)
			return
		}
		if c.Waited != nil {
			c.Waited(j.job, now-j.at)
		}
	}
	c.busy.Add(1)
	c.Run(j.job)
	c.busy.Add(-1)
	if c.Sojourned != nil {
		c.Sojourned(c.clock() - j.at)
	}
}

func (c *base[T]) Workers() int { return c.Options.Workers }
func (c *base[T]) Busy() int    { return int(c.busy.Load()) }

// closures is a dispatcher in which jobs travel as closures, as in most pools. A job costs one
// allocation more than a pointer does. It wraps a dispatcher of any kind.
type closures[T any] struct {
	Dispatcher[task[T]]
	run func(T)
}

// A task is a job with the closure that runs it. The job itself is for Refuse and Waited.
type task[T any] struct {
	run func()
	job T
}

func newClosures[T any](kind Kind, o Options[T]) Dispatcher[T] {
	tasks := Options[task[T]]{
		Settings: o.Settings,
		Run:      func(t task[T]) { t.run() },
		Refuse:   func(t task[T], why Why) { o.Refuse(t.job, why) },
	}
	// Without Waited the base need not read the clock, so the field must stay nil.
	if o.Waited != nil {
		tasks.Waited = func(t task[T], d time.Duration) { o.Waited(t.job, d) }
	}
	return &closures[T]{newKind(kind, tasks), o.Run}
}

func (c *closures[T]) Put(job T) {
	c.Dispatcher.Put(task[T]{func() { c.run(job) }, job}) // the allocation that the option is there to measure
}

// shared is one bounded channel from which all workers take, first come first served. The worker
// that has been idle longest takes the next job. A hand-off costs two goroutine switches, about
// 0.3 µs.
type shared[T any] struct {
	*base[T]
	jobs lane[T]
	lock sync.Mutex // held during Options.Held
}

func (s *shared[T]) Start() {
	s.start(func(int) {
		for j := range s.jobs {
			if s.Held > 0 {
				s.lock.Lock()
				time.Sleep(s.Held)
				s.lock.Unlock()
			}
			s.do(j)
		}
	})
}

func (s *shared[T]) Put(job T) { s.put(s.jobs, s.stamp(job)) }

// Close ends the workers' loops once the channel is empty.
func (s *shared[T]) Close() {
	close(s.jobs)
	s.ended.Wait()
}

func (s *shared[T]) Depth() int    { return len(s.jobs) }
func (s *shared[T]) Capacity() int { return cap(s.jobs) }

// A lane is a place in the form of a channel. With capacity 0 offer succeeds only while a worker is
// receiving.
type lane[T any] chan queued[T]

func (l lane[T]) offer(j queued[T]) bool {
	select {
	case l <- j:
		return true
	default:
		return false
	}
}

func (l lane[T]) wait(j queued[T]) { l <- j }

func (l lane[T]) poll() (j queued[T], ok bool) {
	select {
	case j, ok = <-l:
	default:
	}
	return j, ok
}
