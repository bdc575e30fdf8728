package model

import (
	"schedlab/internal/dispatch"
)

// poolModel has a fixed number of workers and one shared queue of connections.
// A worker keeps a connection until it closes, so with keep-alive clients only
// as many as there are workers are served at a time: the others starve until
// the idle timeout frees a worker.
type poolModel struct {
	fasthttpEngine
	pool     *dispatch.Pool[*Conn]
	overflow dispatch.Overflow
	shed     *shed
}

func newPool(cfg Config) Model {
	m := &poolModel{fasthttpEngine: newFasthttpEngine(cfg), overflow: cfg.Overflow, shed: newShed(cfg)}
	m.pool = dispatch.New(cfg.Workers, cfg.QueueDepth, func(c *Conn) { m.server.ServeConn(c) }, cfg.Waited)
	return m
}

func (m *poolModel) Serve(l *Listener) error {
	m.pool.Start()
	err := eachConn(l, func(c *Conn) {
		if m.overflow == dispatch.Block {
			m.pool.Submit(c)
		} else if !m.pool.TrySubmit(c) {
			m.shed.refuse(c, QueueFull)
		}
	})
	m.pool.Close()
	m.shed.wait()
	return err
}

func (m *poolModel) Queue() dispatch.Queue { return m.pool }
