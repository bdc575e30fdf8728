package model

import (
	"bytes"
	"cmp"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/shared/timeline"
)

// poolModel has a fixed number of workers, to which a dispatcher hands whole connections. A
// worker keeps a connection until it closes. When there are more keep-alive clients than
// workers, the others starve until one of these is idle for the idle timeout.
//
// The goroutine of Serve accepts and submits. With --overflow block it waits for a place in the
// queue, and connections then wait in the kernel. refuser answers the connections that the
// dispatcher refuses.
type poolModel struct {
	fasthttpEngine
	pool    *submitter[*Conn]
	refuser *refuser
}

func newPool(cfg Config) Model {
	e := newFasthttpEngine(newRequests(cfg))
	m := &poolModel{fasthttpEngine: e, refuser: newRefuser(e.requests)}
	kind := dispatch.Kinds[cfg.Queue]
	m.pool = newSubmitter(e.requests, kind, "accepting", tookConn[*Conn], m.serveConn, func(c *Conn, why dispatch.Why) { m.refuser.turnAway(c, why) })
	// Depth and Capacity are sums over all queues there.
	if kind == dispatch.PerWorker {
		m.pool.queues = cfg.Workers
	}
	return m
}

// Serve accepts from the first socket only: every mode with this model has one.
func (m *poolModel) Serve(l *Listener) error {
	m.pool.Start()
	defer m.refuser.active.Wait()
	defer m.pool.Close() // the workers end once the queue is empty and their connections are closed
	return eachConn(l.sockets[0], func(c *Conn) {
		c.enqueue(timeline.Now())
		m.pool.submit(c)
	})
}

func (m *poolModel) serveConn(c *Conn) {
	c.dequeue()
	m.server.ServeConn(c)
}

// stallTime is the wait for a place in the queue after which a warning is logged.
const stallTime = time.Second

// A submitter is a mode's dispatcher. If the overflow policy is to block, it logs a warning when a
// job waits long for a place in the queue.
//
// The models with a queue use it for connections (pool), bursts (pool-requeue), requests
// (pool-request) and suspended connections (loop-offload).
type submitter[T any] struct {
	dispatch.Dispatcher[T]
	what    string // the thing that waits when the queue is full, for the warning
	queues  int    // number of queues among which Capacity is divided
	blocks  bool   // the policy is to block
	log     *slog.Logger
	limiter warnLimiter
}

// newSubmitter returns a submitter over a dispatcher of that kind, which is r's queue from then on.
// took is called with each job that will run, and the job's wait in the queue.
func newSubmitter[T any](r *requests, kind dispatch.Kind, what string, took func(T, time.Duration), run func(T), refuse func(T, dispatch.Why)) *submitter[T] {
	cfg := r.cfg
	if cfg.Locked {
		allowThreads(cfg.Workers + spareThreads)
	}
	waited := func(job T, wait time.Duration) {
		cfg.Waited(wait)
		took(job, wait)
	}
	pool := dispatch.New(kind, dispatch.Options[T]{Settings: cfg.Settings, Run: run, Refuse: refuse, Waited: waited})
	r.queue = pool
	return &submitter[T]{Dispatcher: pool, what: what, queues: 1, blocks: cmp.Or(cfg.Overflow, dispatch.Block) == dispatch.Block, log: cfg.Log}
}

// submit queues job. It starts a timer only when a queue may be full. It is safe for concurrent
// use.
func (e *submitter[T]) submit(job T) {
	// One of several queues may be full as soon as Depth reaches Capacity/queues.
	if !e.blocks || (e.Depth()+1)*e.queues <= e.Capacity() {
		e.Put(job)
		return
	}
	// The warning must come while Put waits, so it cannot be written after it.
	stalled := time.AfterFunc(stallTime, e.warn)
	e.Put(job)
	stalled.Stop()
}

func (e *submitter[T]) warn() {
	if e.limiter.allow() {
		e.log.Warn("the queue is full and "+e.what+" waits for a worker; raise --workers or --queue-depth, or refuse with --overflow reject",
			"for", stallTime, "workers", e.Workers(), "queue_depth", e.Capacity())
	}
}

// A refuser answers connections that no worker will serve: it reads the request, answers 503
// with Retry-After and closes. If it did not read first, the kernel would reset the connection
// of a client that is still sending. It reads no more of a body than a handler would get, and
// keeps none of it.
type refuser struct {
	server     *fasthttp.Server
	slots      chan struct{}
	active     sync.WaitGroup
	unanswered time.Duration // how long a client that gets no answer is left waiting
}

const (
	refuserSlots   = 256             // most refusals at a time; further connections are closed at once
	refusalTimeout = 1 * time.Second // for reading the request, and again for writing the refusal
)

// newRefuser makes a fasthttp server with handlers and shorter timeouts for refusals.
func newRefuser(r *requests) *refuser {
	s := &refuser{server: newServer(r.cfg), slots: make(chan struct{}, refuserSlots), unanswered: r.cfg.IdleTimeout}
	refuse := func(ctx *fasthttp.RequestCtx) {
		ctx.Conn().(openConn).ledgerEntry().refuse()
		ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
		ctx.Response.Header.Set("Retry-After", retryAfter)
		ctx.SetContentType("text/plain; charset=utf-8")
		ctx.SetBodyString("overloaded\n")
		ctx.SetConnectionClose()
	}
	s.server.Handler = func(ctx *fasthttp.RequestCtx) {
		if body := ctx.RequestBodyStream(); body != nil {
			most := int64(r.cfg.MaxBody)
			n, err := io.Copy(io.Discard, io.LimitReader(body, most))
			ctx.Conn().(openConn).ledgerEntry().linger.Store(err != nil || n == most)
		}
		refuse(ctx)
	}
	// A client that waits to send its body is refused at once, and not told to go on.
	s.server.ExpectHandler = func(ctx *fasthttp.RequestCtx) int {
		ctx.Conn().(openConn).ledgerEntry().linger.Store(true)
		refuse(ctx)
		return fasthttp.StatusServiceUnavailable
	}
	s.server.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) {
		if e := ctx.Conn().(openConn).ledgerEntry(); e.read.Load() > 0 && !isBroken(err) { // otherwise no answer arrives
			e.refuse()
		}
		r.end(ctx, err)
	}
	s.server.ReadTimeout, s.server.WriteTimeout = refusalTimeout, refusalTimeout
	return s
}

// turnAway refuses c, a connection that a dispatcher did not run, or leaves it unanswered. It
// returns at once: a refusal is answered on a new goroutine. With all slots taken it closes c.
func (s *refuser) turnAway(c openConn, why dispatch.Why) {
	e := c.ledgerEntry()
	e.waiting.Store(0)
	if why.Unanswered() {
		s.active.Go(func() { leaveUnanswered(c, s.unanswered, reasons[why]) })
		return
	}
	select {
	case s.slots <- struct{}{}:
	default:
		e.drop(ShedBusy)
		c.Close()
		return
	}
	e.drop(reasons[why]) // until it is answered
	s.active.Go(func() {
		s.server.ServeConn(c)
		<-s.slots
	})
}

// leaveUnanswered gives c no answer, for a reason. It closes c when the client does, or after longest.
func leaveUnanswered(c openConn, longest time.Duration, why Reason) {
	e := c.ledgerEntry()
	e.drop(why)
	unread := make([]byte, 512)
	for err := c.SetReadDeadline(time.Now().Add(longest)); err == nil; _, err = c.Read(unread) {
		e.markAnswered() // so that a drain does not wait for it
	}
	c.Close()
}

// requeueModel has a fixed number of workers that serve a connection for one burst: the
// requests that were readable when its turn came. Each connection also has a goroutine, which
// waits between bursts for the next request and watches the timeouts. So neither idle clients
// nor slow heads occupy a worker. A body that comes slowly, or an answer that is read slowly,
// does.
//
// A connection goes round: its goroutine waits (await), submits it and sleeps; a worker serves a
// burst and sends to back; the goroutine waits again. fasthttp knows nothing of it. For fasthttp
// each burst is a whole connection, which ends with [io.EOF].
type requeueModel struct {
	fasthttpEngine
	pool    *submitter[*burstConn]
	refuser *refuser
}

func newPoolRequeue(cfg Config) Model {
	e := newFasthttpEngine(newRequests(cfg))
	m := &requeueModel{fasthttpEngine: e, refuser: newRefuser(e.requests)}
	m.server.ConnState = func(nc net.Conn, state fasthttp.ConnState) {
		c := nc.(*burstConn)
		c.track(state)
		c.served = c.served || state == fasthttp.StateIdle
	}
	m.pool = newSubmitter(e.requests, dispatch.Shared, "a connection's burst", tookConn[*burstConn], m.burst, m.turnAway)
	return m
}

func (m *requeueModel) Serve(l *Listener) error {
	m.pool.Start()
	defer m.refuser.active.Wait()
	defer m.pool.Close()
	return onGoroutines(l, m.serveBursts)
}

// serveBursts waits for each of the connection's bursts and queues it, until the connection is
// closed.
func (m *requeueModel) serveBursts(conn *Conn) {
	c := &burstConn{Conn: conn, back: make(chan bool, 1)}
	c.check = c.peek
	var err error
	if c.raw, err = conn.SyscallConn(); err != nil {
		conn.Close()
		return
	}
	// by is the deadline of the next head. It begins with the accept, and stays as it is when a
	// burst brought only a part of the head.
	by := time.Now().Add(m.cfg.HeaderTimeout)
	for again := true; again; again = <-c.back {
		switch {
		case c.served && len(c.buffered) == 0:
			by = time.Now().Add(m.cfg.IdleTimeout)
		case c.served: // a part of the next head has come
			by = time.Now().Add(m.cfg.HeaderTimeout)
		}
		if !c.await(by) {
			m.endWaiting(c)
			return
		}
		now := time.Now()
		// The first byte of the next head has come: from now on the limit is on the head, and not
		// on idling.
		if c.served && len(c.buffered) == 0 {
			by = now.Add(m.cfg.HeaderTimeout)
		}
		c.fresh, c.begun, c.parked, c.served = true, false, false, false
		c.enqueue(timeline.At(now))
		m.pool.submit(c)
	}
}

// endWaiting closes a connection when its next request has not come in time. If a part of the
// head has come, endWaiting answers first. This never waits, so it needs no worker.
func (m *requeueModel) endWaiting(c *burstConn) {
	if len(c.buffered) == 0 || c.closed.Load() || c.failed {
		c.Conn.Close()
		return
	}
	c.late, c.begun, c.parked = true, false, false
	m.server.ServeConn(c)
}

// burst runs on a worker.
func (m *requeueModel) burst(c *burstConn) {
	c.dequeue()
	m.server.ServeConn(c)
	c.back <- c.parked
}

// turnAway refuses a connection that waits for a worker, and ends its goroutine.
func (m *requeueModel) turnAway(c *burstConn, why dispatch.Why) {
	c.refused = true
	m.refuser.turnAway(c, why)
	c.back <- false
}

// A burstConn is a connection that is served in bursts. Where it would have to wait for a
// request, Read returns [io.EOF]. fasthttp then ends the connection, but the Close that follows
// leaves the socket open.
type burstConn struct {
	*Conn
	back     chan bool // from the worker: whether the connection is still open
	buffered []byte    // bytes read and kept for the next burst
	fresh    bool      // no read has been made in this burst
	served   bool      // a request was answered in this burst
	parked   bool      // Close leaves the socket open
	late     bool      // the timeout has passed: Read returns only buffered
	refused  bool      // no worker will serve it: Read returns buffered, and then what comes

	raw    syscall.RawConn
	check  func(fd uintptr) bool // peek, made once
	peeked [1]byte
	ended  bool // the client has closed its side
	failed bool // the client has reset the connection; the kernel tells it once
}

// endOfHead is the empty line after a head, with the end of the line before it.
var endOfHead = []byte("\r\n\r\n")

// Read returns the bytes that have come, up to the end of the last whole head. So a client that
// sends all the time waits for its turn like the others, and one that sends a head in pieces
// occupies no worker. Read waits only in the middle of a request.
func (c *burstConn) Read(p []byte) (int, error) {
	if c.late || c.refused {
		n := copy(p, c.buffered)
		c.buffered = c.buffered[n:]
		switch {
		case n > 0:
			c.fillHost(p[:n])
			c.read.Add(uint64(n))
			return n, nil
		case c.refused:
			return c.Conn.Read(p)
		}
		return 0, &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
	}
	// All that came is answered, so the burst ends. With hangUp the socket is not left open.
	if !c.fresh && !c.hasUnanswered() {
		c.parked = !c.hangUp.Load()
		return 0, io.EOF
	}
	n := copy(p, c.buffered)
	c.buffered = c.buffered[n:]
	searched := max(0, n-len(endOfHead)) // buffered holds no whole head
	var err error
	if (c.fresh || n == 0) && n < len(p) {
		var more int
		more, err = c.receive(p[n:])
		n += more
	}
	whole := 0 // end of the last whole head; an empty line in a body may be taken for it, which does no harm
	if i := bytes.LastIndex(p[searched:n], endOfHead); i >= 0 {
		whole = searched + i + len(endOfHead)
	}
	// The bytes after the last whole head are kept for a later burst, unless this one has to read
	// on: in the middle of a body, or when the buffer is full.
	if err == nil && whole < n && (whole > 0 || c.fresh && n < len(p)) {
		c.buffered = append(bytes.Clone(p[whole:n]), c.buffered...)
		n = whole
	}
	c.fresh = false
	switch {
	case n > 0: // the next read will return an error again
		c.fillHost(p[:n])
		c.read.Add(uint64(n))
		return n, nil
	case err == nil:
		c.parked = true
		return 0, io.EOF
	}
	c.brokeOff = true
	return 0, err
}

// Close closes the connection, but does nothing between two bursts.
func (c *burstConn) Close() error {
	if c.parked {
		return nil
	}
	return c.Conn.Close()
}

// await waits until there are bytes for a worker to read. It reports false when none came by
// then, or when either side has closed the connection.
func (c *burstConn) await(by time.Time) bool {
	return c.SetReadDeadline(by) == nil && c.raw.Read(c.check) == nil && !c.failed && (!c.ended || len(c.buffered) > 0)
}

// peek reports whether a read would return at once. It must ask the socket every time, because
// the runtime resets its readiness before it calls peek and does not report bytes that arrived
// earlier.
func (c *burstConn) peek(fd uintptr) bool {
	for {
		n, _, err := unix.Recvfrom(int(fd), c.peeked[:], unix.MSG_PEEK)
		if err != unix.EINTR {
			c.ended = n == 0 && err == nil
			c.failed = err != nil && err != unix.EAGAIN
			return err != unix.EAGAIN
		}
	}
}
