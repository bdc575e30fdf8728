package model

import (
	"sync"
	"time"

	"schedlab/internal/dispatch"
	"schedlab/internal/workload"
)

// requestModel reads, parses and writes on a goroutine per connection. A dispatcher hands each
// request to one of a fixed number of workers. A request that is refused is answered 503 with
// Retry-After, and its connection stays open.
//
// The way of a request: serve calls dispatch on the connection's goroutine, which submits a call
// and sleeps; a worker runs compute and wakes it; the connection's goroutine writes the answer. The
// two wake-ups are the price of the hand-off.
type requestModel struct {
	goroutineModel
	pool  *submitter[*call]
	calls sync.Pool
}

// A call is a request on its way to a worker; its connection's goroutine waits for done.
type call struct {
	x       *workload.Exchange
	conn    openConn
	done    chan struct{}
	refused bool
	why     dispatch.Why
}

// requestsOver returns the constructor of a requestModel with that kind of dispatcher. Another
// Executor in the Config replaces it.
func requestsOver(kind dispatch.Kind) func(Config) Model {
	return func(cfg Config) Model {
		m := &requestModel{goroutineModel: goroutineModel{fasthttpEngine: newFasthttpEngine(cfg)}}
		// Room for one: a worker is done at once, also when the connection's goroutine does not run
		// yet.
		m.calls.New = func() any { return &call{done: make(chan struct{}, 1)} }
		if cfg.Executor != dispatch.Shared {
			kind = cfg.Executor
		}
		m.pool = newSubmitter(cfg, kind, "a request", m.took, m.compute, refuseCall)
		m.run, m.queues = m.dispatch, true
		return m
	}
}

func (m *requestModel) Serve(l *Listener) error {
	m.pool.Start()
	// All connections are closed when this returns, so no request comes after Close.
	err := m.goroutineModel.Serve(l)
	m.pool.Close()
	return err
}

func (m *requestModel) Queue() dispatch.Queue { return m.pool.Dispatcher }

// dispatch hands x to a worker and waits until it is done. It runs on the connection's
// goroutine, compute on a worker.
func (m *requestModel) dispatch(x *workload.Exchange, conn openConn) {
	c := m.calls.Get().(*call)
	c.x, c.conn, c.refused = x, conn, false
	enqueued(x)
	m.pool.submit(c)
	// The worker no longer uses c, so it can serve another request.
	<-c.done
	if c.refused {
		m.turnAway(x, conn, c.why)
	}
	c.x, c.conn = nil, nil
	m.calls.Put(c)
}

func (m *requestModel) took(c *call, wait time.Duration) { m.tookRequest(c.conn, wait) }

// compute runs the handler, on a worker.
func (m *requestModel) compute(c *call) {
	dequeued(c.x)
	m.runHandler(c.x)
	c.done <- struct{}{}
}

// refuseCall passes a refusal back. The connection's goroutine turns it into an answer, so that a
// Put or a worker that refuses is not held up.
func refuseCall(c *call, why dispatch.Why) {
	c.refused, c.why = true, why
	c.done <- struct{}{}
}
