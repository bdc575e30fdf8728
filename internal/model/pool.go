package model

import (
	"time"

	"schedlab/internal/dispatch"
)

// poolModel has a fixed number of workers to whom a dispatcher hands whole
// connections. A worker keeps a connection until it closes, so with keep-alive
// clients only as many as there are workers are served at a time: the others
// starve until the idle timeout frees a worker.
type poolModel struct {
	fasthttpEngine
	pool  dispatch.Dispatcher[*Conn]
	shed  *shed
	waits bool // the acceptor waits for a place in the queue
	often seldom
}

// stallTime is how long the acceptor waits for a place before it is said.
const stallTime = time.Second

// poolOver makes a pool on that kind of dispatcher.
func poolOver(kind dispatch.Kind) func(Config) Model {
	return func(cfg Config) Model {
		e := newFasthttpEngine(cfg)
		m := &poolModel{fasthttpEngine: e, shed: newShed(cfg, e.requests), waits: cfg.Overflow == dispatch.Block}
		m.pool = dispatch.New(kind, options(cfg, m.serveConn, m.shed.turnAway))
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
	err := eachConn(l, m.put)
	m.pool.Close()
	m.shed.wait()
	return err
}

func (m *poolModel) serveConn(c *Conn) {
	c.dequeue()
	m.server.ServeConn(c)
}

// put says so when it waits long for a place.
func (m *poolModel) put(c *Conn) {
	c.enqueue()
	if !m.waits || (m.pool.Depth()+1)*m.pool.Workers() <= m.pool.Capacity() { // no worker's queue can be full
		m.pool.Put(c)
		return
	}
	stalled := time.AfterFunc(stallTime, m.warnStalled)
	m.pool.Put(c)
	stalled.Stop()
}

func (m *poolModel) warnStalled() {
	if m.often.now() {
		m.log.Warn("the queue is full and accepting waits for a worker; raise --workers or --queue-depth, or refuse with --overflow reject",
			"for", stallTime, "workers", m.pool.Workers(), "queue_depth", m.pool.Capacity())
	}
}

func (m *poolModel) Queue() dispatch.Queue { return m.pool }

// options are a mode's settings as a dispatcher takes them.
func options[T any](cfg Config, run func(T), refuse func(T, dispatch.Why)) dispatch.Options[T] {
	if cfg.Locked {
		allowThreads(cfg.Workers + spareThreads)
	}
	return dispatch.Options[T]{
		Workers: cfg.Workers, Depth: cfg.QueueDepth, Overflow: cfg.Overflow,
		Run: run, Refuse: refuse, Waited: cfg.Waited, Sojourned: cfg.Sojourned,
		Locked: cfg.Locked, Closure: cfg.Closure,
		Pick: cfg.Pick, Steal: cfg.Steal, Spin: cfg.Spin,
		Target: cfg.Target, Interval: cfg.Interval,
	}
}
