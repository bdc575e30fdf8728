package dispatch

import "time"

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
		Workers: o.Workers, Depth: o.Depth, Overflow: o.Overflow, Locked: o.Locked,
		Sojourned: o.Sojourned,
		Pick:      o.Pick, Steal: o.Steal, Spin: o.Spin, Target: o.Target, Interval: o.Interval,
		Run:    func(t task) { t(run, 0, 0) },
		Refuse: func(t task, why Why) { t(refuse, why, 0) },
	}
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
