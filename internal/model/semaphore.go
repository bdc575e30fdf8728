package model

import (
	"sync/atomic"

	"schedlab/internal/dispatch"
	"schedlab/internal/workload"
)

// semaphoreModel runs handlers on the goroutines of their connections, a bounded number at a
// time. A request that gets no turn in time is answered 503 with Retry-After, and its
// connection stays open.
//
// It is pool-request without the hand-off: the handler runs where the request was read. The two
// show together what the hand-off costs.
type semaphoreModel struct {
	goroutineModel
	*dispatch.Semaphore
	late  dispatch.Why // the reason counted for a request that gets no turn
	conns atomic.Int64 // the cap on connections, which also bounds the requests that wait
}

// newSemaphore makes the model. A request that could not wait at all counts as refused for want of
// a place, and one that waited in vain as stale.
func newSemaphore(cfg Config) Model {
	m := &semaphoreModel{
		goroutineModel: goroutineModel{fasthttpEngine: newFasthttpEngine(cfg)},
		Semaphore:      dispatch.NewSemaphore(cfg.Workers, cfg.Wait, cfg.Waited),
	}
	if m.late = dispatch.Stale; cfg.Wait <= 0 {
		m.late = dispatch.Full
	}
	m.run, m.queues = m.inTurn, true
	return m
}

func (m *semaphoreModel) Serve(l *Listener) error {
	m.conns.Store(int64(l.MaxConns()))
	return m.goroutineModel.Serve(l)
}

// inTurn waits for a place, runs the handler and frees the place. It is the run of this model.
func (m *semaphoreModel) inTurn(x *workload.Exchange, c openConn) {
	enqueued(x)
	wait, ok := m.Acquire()
	if !ok {
		m.turnAway(x, c, m.late)
		return
	}
	m.tookRequest(c, wait)
	dequeued(x)
	m.runHandler(x) // returns also when the handler panics
	m.Release()
}

func (m *semaphoreModel) Queue() dispatch.Queue { return m }

// Capacity returns the number of requests that can wait: one for each connection that is not
// being served.
func (m *semaphoreModel) Capacity() int { return max(0, int(m.conns.Load())-m.Workers()) }
