package dispatch

// closures are jobs as most pools have them, a function that knows what to do. A
// job costs one allocation more than a pointer does.
type closures[T any] struct {
	run    func(T)
	refuse func(T, Why)
	tasks  Dispatcher[task]
	Queue
}

// A task runs its job, or refuses it for a reason.
type task func(run bool, why Why)

func newClosures[T any](kind Kind, o Options[T]) Dispatcher[T] {
	c := &closures[T]{run: o.Run, refuse: o.Refuse}
	c.tasks = New(kind, Options[task]{
		Workers: o.Workers, Depth: o.Depth, Overflow: o.Overflow, Locked: o.Locked,
		Waited: o.Waited, Sojourned: o.Sojourned,
		Pick: o.Pick, Steal: o.Steal, Spin: o.Spin, Target: o.Target, Interval: o.Interval,
		Run:    func(t task) { t(true, 0) },
		Refuse: func(t task, why Why) { t(false, why) },
	})
	c.Queue = c.tasks
	return c
}

func (c *closures[T]) Put(job T) {
	c.tasks.Put(func(run bool, why Why) {
		if run {
			c.run(job)
		} else {
			c.refuse(job, why)
		}
	})
}

func (c *closures[T]) Start() { c.tasks.Start() }
func (c *closures[T]) Close() { c.tasks.Close() }
