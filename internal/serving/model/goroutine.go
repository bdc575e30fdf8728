package model

import (
	"errors"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/shared/workload"
)

// goroutineModel runs a goroutine per connection with fasthttp's parser, and an acceptor for
// each of the listener's sockets. It is the control: with one socket it differs from fasthttp
// in scheduling only, and from nethttp in the HTTP stack only. With several sockets the kernel
// chooses one by a hash of the client's address and port, not by load, so connections spread
// unevenly.
type goroutineModel struct {
	fasthttpEngine
	// locked gives every connection an operating-system thread that is created for it and
	// ends with it. The sockets stay non-blocking under Go's poller, so this is a thread per
	// goroutine, not blocking reads. It costs the creation of the thread, and some 5 µs to
	// wake it after each wait of its goroutine.
	locked bool
}

func newGoroutine(cfg Config) Model {
	return &goroutineModel{fasthttpEngine: newFasthttpEngine(newRequests(cfg)), locked: cfg.Locked}
}

func (m *goroutineModel) Serve(l *Listener) error {
	if !m.locked {
		return onGoroutines(l, func(c *Conn) { m.server.ServeConn(c) })
	}
	allowThreads(m.cfg.MaxConns + spareThreads)
	return onGoroutines(l, func(c *Conn) {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		m.server.ServeConn(c)
	})
}

// onGoroutines calls serve for every connection that l accepts, each on a new goroutine. It
// returns when l is closed and every call of serve has returned.
func onGoroutines(l *Listener, serve func(*Conn)) error {
	failed := make([]error, len(l.sockets))
	var acceptors, conns sync.WaitGroup
	for i, s := range l.sockets {
		acceptors.Go(func() {
			failed[i] = eachConn(s, func(c *Conn) {
				conns.Go(func() { serve(c) })
			})
		})
	}
	// The acceptors first: only they start goroutines for connections.
	acceptors.Wait()
	conns.Wait()
	return errors.Join(failed...)
}

// eachConn calls f with every connection s accepts, one at a time, and returns
// nil when s has been closed. f should return soon, because the next connection waits for it.
func eachConn(s *socket, f func(*Conn)) error {
	for {
		c, err := s.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		f(c.(*Conn))
	}
}

// spareThreads is the number of threads allowed for the runtime, the admin listener and system
// calls.
const spareThreads = 1000

// allowThreads raises Go's limit of 10,000 threads to n. It never lowers the limit, because a
// process above its limit ends at once.
func allowThreads(n int) {
	if n > 10_000 {
		debug.SetMaxThreads(n)
	}
}

// semaphoreModel runs handlers on the goroutines of their connections, a bounded number at a
// time. A request that gets no turn in time is answered 503 with Retry-After, and its
// connection stays open.
//
// It is pool-request without the hand-off: the handler runs where the request was read. The two
// show together what the hand-off costs.
type semaphoreModel struct {
	goroutineModel
	*dispatch.Semaphore
}

func newSemaphore(cfg Config) Model {
	m := &semaphoreModel{
		goroutineModel: goroutineModel{fasthttpEngine: newFasthttpEngine(newRequests(cfg))},
		Semaphore:      dispatch.NewSemaphore(cfg.Workers, cfg.Wait),
	}
	m.run, m.queues, m.queue = m.inTurn, true, m
	return m
}

// inTurn waits for a place, runs the handler and frees the place. It is the run of this model. A
// request that could not wait at all counts as refused for want of a place, one that waited in vain as
// stale.
func (m *semaphoreModel) inTurn(x *workload.Exchange, c openConn) {
	enqueued(x)
	wait, ok := m.Acquire()
	if !ok {
		why := dispatch.Stale
		if m.cfg.Wait <= 0 {
			why = dispatch.Full
		}
		m.turnAway(x, c, why)
		return
	}
	m.cfg.Waited(wait)
	m.tookRequest(c, wait)
	dequeued(x)
	m.runHandler(x) // returns also when the handler panics
	m.Release()
}

// Capacity returns the number of requests that can wait: one for each connection that is not
// being served.
func (m *semaphoreModel) Capacity() int { return max(0, m.cfg.MaxConns-m.Workers()) }

// requestModel reads, parses and writes on a goroutine per connection. A dispatcher hands each
// request to one of a fixed number of workers. A request that is refused is answered 503 with
// Retry-After, and its connection stays open.
//
// serve calls dispatch on the connection's goroutine, which submits a call and sleeps; a worker runs
// compute and wakes it; the connection's goroutine writes the answer. The two wake-ups are the price of
// the hand-off.
type requestModel struct {
	goroutineModel
	pool  *submitter[*call]
	calls sync.Pool
}

// A call is a request on its way to a worker. Its connection's goroutine waits for done, which tells
// whether the handler ran, or the request was refused.
type call struct {
	x    *workload.Exchange
	conn openConn
	done chan bool
	why  dispatch.Why // of a refusal
}

func newPoolRequest(cfg Config) Model {
	m := &requestModel{goroutineModel: goroutineModel{fasthttpEngine: newFasthttpEngine(newRequests(cfg))}}
	// Room for one: a worker is done at once, also when the connection's goroutine does not run
	// yet.
	m.calls.New = func() any { return &call{done: make(chan bool, 1)} }
	took := func(c *call, wait time.Duration) { m.tookRequest(c.conn, wait) }
	m.pool = newSubmitter(m.requests, dispatch.Kinds[cfg.Queue], "a request", took, m.compute, refuseCall)
	m.run, m.queues = m.dispatch, true
	return m
}

func (m *requestModel) Serve(l *Listener) error {
	m.pool.Start()
	defer m.pool.Close() // all connections are closed by then, so no request comes after it
	return m.goroutineModel.Serve(l)
}

// dispatch hands x to a worker and waits until it is done.
func (m *requestModel) dispatch(x *workload.Exchange, conn openConn) {
	c := m.calls.Get().(*call)
	c.x, c.conn = x, conn
	enqueued(x)
	m.pool.submit(c)
	// The worker no longer uses c, so it can serve another request.
	if ran := <-c.done; !ran {
		m.turnAway(x, conn, c.why)
	}
	c.x, c.conn = nil, nil
	m.calls.Put(c)
}

// compute runs on a worker.
func (m *requestModel) compute(c *call) {
	dequeued(c.x)
	m.runHandler(c.x)
	c.done <- true
}

// refuseCall passes a refusal back. The connection's goroutine turns it into an answer, so that a
// Put or a worker that refuses is not held up.
func refuseCall(c *call, why dispatch.Why) {
	c.why = why
	c.done <- false
}
