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
