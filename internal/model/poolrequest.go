package model

import (
	"sync"

	"schedlab/internal/dispatch"
	"schedlab/internal/workload"
)

// poolRequestModel reads, parses and writes on a goroutine per connection and
// runs handlers on a fixed number of workers behind a bounded queue. A full
// queue is answered 503 with Retry-After on the live connection.
type poolRequestModel struct {
	goroutineModel
	pool     *dispatch.Pool[*call]
	overflow dispatch.Overflow
	calls    sync.Pool
}

// A call is a request handed to a worker by the goroutine that waits for it.
type call struct {
	x    *workload.Exchange
	done chan struct{}
}

func newPoolRequest(cfg Config) Model {
	m := &poolRequestModel{goroutineModel: goroutineModel{newFasthttpEngine(cfg)}, overflow: cfg.Overflow}
	m.calls.New = func() any { return &call{done: make(chan struct{}, 1)} }
	m.pool = dispatch.New(cfg.Workers, cfg.QueueDepth, func(c *call) {
		m.contain(c.x)
		c.done <- struct{}{}
	}, cfg.Waited)
	m.run = m.dispatch
	return m
}

func (m *poolRequestModel) Serve(l *Listener) error {
	m.pool.Start()
	err := m.goroutineModel.Serve(l)
	m.pool.Close()
	return err
}

func (m *poolRequestModel) Queue() dispatch.Queue { return m.pool }

func (m *poolRequestModel) dispatch(x *workload.Exchange) {
	c := m.calls.Get().(*call)
	c.x = x
	if m.overflow == dispatch.Block {
		m.pool.Submit(c)
	} else if !m.pool.TrySubmit(c) {
		m.calls.Put(c)
		x.Route = workload.RouteOf(x.Path)
		refuse(x, 503, "overloaded\n")
		x.RetryAfter = retryAfter
		return
	}
	<-c.done
	c.x = nil
	m.calls.Put(c)
}
