package dispatch

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

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
	// A hand-off is too short to read the clock where nobody needs the wait.
	c.timed = o.Waited != nil || o.Sojourned != nil || c.law != nil
	return c
}

// clock returns the time since the base was made. It reads one clock where time.Now reads two.
func (c *base[T]) clock() time.Duration { return time.Since(c.epoch) }

// stamp makes a job ready for the queue: the wait begins now.
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
		case Block:
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
		if c.Waited != nil {
			c.Waited(j.job, now-j.at)
		}
	}
	// Busy covers Run alone. A job between the queue and this line counts in neither Depth nor
	// Busy.
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
// allocation more than a pointer does.
//
// It wraps a dispatcher of any kind. That dispatcher sees jobs of one type, [task], and calls the
// task for each step instead of calling Run, Refuse or Waited with a job.
type closures[T any] struct {
	run    func(T)
	refuse func(T, Why)
	waited func(T, time.Duration)
	tasks  Dispatcher[task]
	Queue
}

// A task performs a step on the job that it encloses. why is used only by [refuse], waited only
// by [tellWait].
type task func(do step, why Why, waited time.Duration)

// A step is one of the things that a dispatcher does with a job.
type step uint8

const (
	run step = iota
	refuse
	tellWait
)

func newClosures[T any](kind Kind, o Options[T]) Dispatcher[T] {
	c := &closures[T]{run: o.Run, refuse: o.Refuse, waited: o.Waited}
	tasks := Options[task]{
		Settings: o.Settings,
		Run:      func(t task) { t(run, 0, 0) },
		Refuse:   func(t task, why Why) { t(refuse, why, 0) },
	}
	// Otherwise New would wrap the tasks in closures again, without end.
	tasks.Closure = false
	// Without Waited the base need not read the clock, so the field must stay nil.
	if o.Waited != nil {
		tasks.Waited = func(t task, d time.Duration) { t(tellWait, 0, d) }
	}
	c.tasks = New(kind, tasks)
	c.Queue = c.tasks
	return c
}

func (c *closures[T]) Put(job T) {
	// This closure holds job and c: the allocation that the option is there to measure.
	c.tasks.Put(func(do step, why Why, waited time.Duration) {
		switch do {
		case run:
			c.run(job)
		case refuse:
			c.refuse(job, why)
		case tellWait:
			c.waited(job, waited)
		}
	})
}

func (c *closures[T]) Start() { c.tasks.Start() }
func (c *closures[T]) Close() { c.tasks.Close() }

// shared is one bounded channel from which all workers take, first come first served. The worker
// that has been idle longest takes the next job. A hand-off costs two goroutine switches, about
// 0.3 µs.
type shared[T any] struct {
	*base[T]
	jobs lane[T]
	lock sync.Mutex // held during Options.Held
}

func newShared[T any](o Options[T]) *shared[T] {
	return &shared[T]{base: newBase(o), jobs: make(lane[T], o.Depth)}
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

// Close ends the workers' loops once the channel is empty. A Put after it would panic: a send on a
// closed channel.
func (s *shared[T]) Close() {
	close(s.jobs)
	s.ended.Wait()
}

func (s *shared[T]) Depth() int    { return len(s.jobs) }
func (s *shared[T]) Capacity() int { return cap(s.jobs) }

// A lane is a place in the form of a channel.
// With capacity 0 it has no places: offer succeeds only while a worker is receiving.
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
