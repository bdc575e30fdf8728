package model

import (
	"time"

	"schedlab/internal/dispatch"
	"schedlab/internal/timeline"
)

// poolModel has a fixed number of workers, to which a dispatcher hands whole connections. A
// worker keeps a connection until it closes, so of keep-alive clients only as many as there
// are workers are served at a time: the others starve until the idle timeout frees a worker.
type poolModel struct {
	fasthttpEngine
	pool      dispatch.Dispatcher[*Conn]
	submitter *submitter[*Conn]
	refuser   *refuser
}

// poolOver makes a pool on that kind of dispatcher.
func poolOver(kind dispatch.Kind) func(Config) Model {
	return func(cfg Config) Model {
		e := newFasthttpEngine(cfg)
		m := &poolModel{fasthttpEngine: e, refuser: newRefuser(cfg, e.requests)}
		m.pool = dispatch.New(kind, options(cfg, tookConn[*Conn], m.serveConn, m.refuser.turnAway))
		m.submitter = newSubmitter(cfg, m.pool, "accepting")
		if kind == dispatch.PerWorker {
			m.submitter.queues = cfg.Workers
		}
		return m
	}
}

// lockedPool is a pool whose workers are operating-system threads.
func lockedPool(cfg Config) Model {
	cfg.Locked = true
	return poolOver(dispatch.Shared)(cfg)
}

func (m *poolModel) Serve(l *Listener) error {
	m.pool.Start()
	err := eachConn(l, func(c *Conn) {
		c.enqueue(timeline.Now())
		m.submitter.submit(c)
	})
	m.pool.Close()
	m.refuser.wait()
	return err
}

func (m *poolModel) serveConn(c *Conn) {
	c.dequeue()
	m.server.ServeConn(c)
}

func (m *poolModel) Queue() dispatch.Queue { return m.pool }

// options are a mode's settings for a dispatcher. took is called with each job that is to be
// run, and its wait.
func options[T any](cfg Config, took func(T, time.Duration), run func(T), refuse func(T, dispatch.Why)) dispatch.Options[T] {
	if cfg.Locked {
		allowThreads(cfg.Workers + spareThreads)
	}
	waited := took
	if cfg.Waited != nil {
		waited = func(job T, wait time.Duration) {
			cfg.Waited(wait)
			took(job, wait)
		}
	}
	return dispatch.Options[T]{
		Workers: cfg.Workers, Depth: cfg.QueueDepth, Overflow: cfg.Overflow,
		Run: run, Refuse: refuse, Waited: waited, Sojourned: cfg.Sojourned,
		Locked: cfg.Locked, Closure: cfg.Closure,
		Pick: cfg.Pick, Steal: cfg.Steal, Spin: cfg.Spin,
		Target: cfg.Target, Interval: cfg.Interval, Held: cfg.Held,
	}
}
