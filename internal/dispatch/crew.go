package dispatch

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A crew is what all kinds share: workers, what they do with a job, and what is
// done with a job for which there is no place.
type crew[T any] struct {
	Options[T]
	epoch time.Time
	timed bool // somebody wants to know how long jobs wait
	law   *codel
	ended sync.WaitGroup
	_     [64]byte // every job writes busy and reads what is above
	busy  atomic.Int64
	_     [56]byte
}

// A queued job knows when it was put, by its crew's clock.
type queued[T any] struct {
	job T
	at  time.Duration
}

// A place is a queue that can be full.
type place[T any] interface {
	offer(queued[T]) bool    // false: it is full
	wait(queued[T])          // until there is a place
	poll() (queued[T], bool) // takes the job that has waited longest, if there is one
}

func newCrew[T any](o Options[T]) *crew[T] {
	c := &crew[T]{Options: o, epoch: time.Now()}
	if o.Overflow == CoDel {
		c.law = &codel{target: o.Target, interval: o.Interval}
	}
	c.timed = o.Waited != nil || o.Sojourned != nil || c.law != nil
	return c
}

// clock is the time since the crew was made: one reading of the clock where
// time.Now makes two.
func (c *crew[T]) clock() time.Duration { return time.Since(c.epoch) }

func (c *crew[T]) stamp(job T) queued[T] {
	if !c.timed {
		return queued[T]{job: job}
	}
	return queued[T]{job, c.clock()}
}

// start starts the workers, each with its number.
func (c *crew[T]) start(work func(worker int)) {
	for i := range c.Options.Workers {
		c.ended.Go(func() {
			if c.Locked {
				runtime.LockOSThread() // the thread ends with the worker
			}
			work(i)
		})
	}
}

// put is the overflow policy.
func (c *crew[T]) put(p place[T], j queued[T]) {
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

// do runs a job, unless it is too old.
func (c *crew[T]) do(j queued[T]) {
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
	c.busy.Add(1)
	c.Run(j.job)
	c.busy.Add(-1)
	if c.Sojourned != nil {
		c.Sojourned(c.clock() - j.at)
	}
}

func (c *crew[T]) Workers() int { return c.Options.Workers }
func (c *crew[T]) Busy() int    { return int(c.busy.Load()) }

// closures are jobs as most pools have them, a function that knows what to do. A
// job costs one allocation more than a pointer does.
type closures[T any] struct {
	run    func(T)
	refuse func(T, Why)
	waited func(T, time.Duration)
	tasks  Dispatcher[task]
	Queue
}

// A task does what is asked of it with its job; why and waited are for [refuse]
// and [tellWait] alone.
type task func(do step, why Why, waited time.Duration)

// A step is what is done with a job.
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
	tasks.Closure = false
	if o.Waited != nil {
		tasks.Waited = func(t task, d time.Duration) { t(tellWait, 0, d) }
	}
	c.tasks = New(kind, tasks)
	c.Queue = c.tasks
	return c
}

func (c *closures[T]) Put(job T) {
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

// shared is one bounded channel from which all workers take, first come first
// served; of idle workers the one idle longest is next. A hand-off costs two
// goroutine switches, about 0.3 µs.
type shared[T any] struct {
	*crew[T]
	jobs lane[T]
	lock sync.Mutex // of Options.Held
}

func newShared[T any](o Options[T]) *shared[T] {
	return &shared[T]{crew: newCrew(o), jobs: make(lane[T], o.Depth)}
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

func (s *shared[T]) Close() {
	close(s.jobs)
	s.ended.Wait()
}

func (s *shared[T]) Depth() int    { return len(s.jobs) }
func (s *shared[T]) Capacity() int { return cap(s.jobs) }

// A lane is a queue in a channel.
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
