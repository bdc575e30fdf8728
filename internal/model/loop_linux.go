package model

import (
	"errors"
	"sync"
	"time"

	"schedlab/internal/dispatch"
	"schedlab/internal/workload"
)

// loopModel runs event loops, one for each of the listener's sockets. No connection has a
// goroutine, and a handler runs on the loop that read its request. A handler that waits
// makes every connection of its loop wait.
//
// Each loop has a socket, an epoll, connections and a fasthttp server; the loops share the
// counters. A connection stays on the loop that accepted it.
type loopModel struct {
	fasthttpEngine // every loop makes its own engine and server, and shares this one's tally and clock
	cfg            Config
	offload        func(*workload.Exchange, openConn) // runs a connection's request; nil: handlers run inline
}

// newLoop makes the model of the modes loop and loop-single, which differ in the number of sockets.
func newLoop(cfg Config) Model { return newLoopModel(cfg) }

func newLoopModel(cfg Config) *loopModel {
	return &loopModel{fasthttpEngine: newFasthttpEngine(cfg), cfg: cfg}
}

func (m *loopModel) Serve(l *Listener) error {
	failed := make([]error, len(l.sockets))
	var loops sync.WaitGroup
	for i, s := range l.sockets {
		loop := m.newEventLoop()
		loops.Go(func() {
			defer loop.stop()
			err := loop.start(s)
			if err == nil {
				err = loop.loop()
			}
			if err != nil && !loop.socketClosed() { // a drain may close the socket before its loop starts
				failed[i] = err
				l.stopAccepting()
			}
		})
	}
	loops.Wait()
	return errors.Join(failed...)
}

// newEventLoop makes a loop that shares its counters with the others. fasthttp's server keeps
// its connections in a map under a lock, so each loop gets a separate server.
func (m *loopModel) newEventLoop() *eventLoop {
	l := &eventLoop{fasthttpEngine: newFasthttpEngine(m.cfg), lagged: m.cfg.Lagged, worked: m.cfg.Worked, reverse: m.cfg.Reverse}
	l.server.ConnState = trackLoop
	// A loop sets deadlines itself, and only when it has to wait, because fasthttp reads the
	// clock for each deadline. fasthttp sets only the deadline for a request's body.
	l.server.ReadTimeout, l.server.WriteTimeout, l.server.IdleTimeout = 0, 0, 0
	l.requests.tally, l.epoch, l.zero = m.tally, m.epoch, m.zero
	if m.offload != nil {
		l.run, l.queues = m.offload, true
	}
	return l
}

// offloadModel runs event loops that read, parse and write, and a fixed number of workers
// behind one bounded queue that run handlers. While a worker runs a connection's request the
// connection is suspended, and its loop serves others.
type offloadModel struct {
	*loopModel
	pool *submitter[*loopConn]
}

// newLoopOffload makes the model of the mode loop-offload. Workers and refusals answer a loop by a
// message, because only the loop may resume a connection.
func newLoopOffload(cfg Config) Model {
	m := &offloadModel{loopModel: newLoopModel(cfg)}
	m.pool = newSubmitter(cfg, dispatch.Shared, "a loop with all its connections", func(c *loopConn, wait time.Duration) {
		m.tookRequest(c, wait)
	}, func(c *loopConn) {
		dequeued(c.exchange)
		m.runHandler(c.exchange)
		c.loop.send(c, true)
	}, func(c *loopConn, why dispatch.Why) {
		m.turnAway(c.exchange, c, why)
		c.loop.send(c, true)
	})
	m.loopModel.offload = func(x *workload.Exchange, c openConn) { m.dispatch(c.(httpConn).loopConn, x) }
	return m
}

func (m *offloadModel) Serve(l *Listener) error {
	m.pool.Start()
	err := m.loopModel.Serve(l)
	// The loops have ended, so no request is on its way to a worker.
	m.pool.Close()
	return err
}

func (m *offloadModel) Queue() dispatch.Queue { return m.pool.Dispatcher }

// dispatch hands x, a request on c, to a worker, and suspends c until x is computed. With
// --overflow block the loop, and every connection on it, waits for a place in the queue.
func (m *offloadModel) dispatch(c *loopConn, x *workload.Exchange) {
	c.exchange, c.computed = x, false
	enqueued(x)
	m.pool.submit(c)
	// If anything else resumed the coroutine it would have to wait again: the worker still has x.
	for !c.computed {
		c.wait(forWorker)
	}
	c.exchange = nil
}
