package model

import (
	"bytes"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"schedlab/internal/dispatch"
	"schedlab/internal/timeline"
)

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
	e := newFasthttpEngine(cfg)
	m := &requeueModel{fasthttpEngine: e, refuser: newRefuser(cfg, e.requests)}
	m.server.ConnState = trackBurst
	m.pool = newSubmitter(cfg, dispatch.Shared, "a connection's burst", tookConn[*burstConn], m.burst, m.turnAway)
	return m
}

func (m *requeueModel) Serve(l *Listener) error {
	m.pool.Start()
	err := onGoroutines(l, m.serveBursts)
	m.pool.Close()
	m.refuser.wait()
	return err
}

func (m *requeueModel) Queue() dispatch.Queue { return m.pool.Dispatcher }

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
	by := time.Now().Add(m.limits.HeaderTimeout)
	for again := true; again; again = <-c.back {
		switch {
		case c.served && len(c.buffered) == 0:
			by = time.Now().Add(m.limits.IdleTimeout)
		case c.served: // a part of the next head has come
			by = time.Now().Add(m.limits.HeaderTimeout)
		}
		// No worker is occupied here, however long the client takes.
		if !c.await(by) {
			m.endWaiting(c)
			return
		}
		now := time.Now()
		// The first byte of the next head has come: from now on the limit is on the head, and not
		// on idling.
		if c.served && len(c.buffered) == 0 {
			by = now.Add(m.limits.HeaderTimeout)
		}
		c.fresh, c.begun, c.parked, c.served = true, false, false, false
		c.enqueue(timeline.At(now))
		m.pool.submit(c)
	}
}

// endWaiting closes a connection when its next request has not come in time. If a part of the
// head has come, endWaiting answers first. This never waits, so it needs no worker.
func (m *requeueModel) endWaiting(c *burstConn) {
	if len(c.buffered) == 0 || c.closed.Load() {
		c.Conn.Close()
		return
	}
	c.late, c.begun, c.parked = true, false, false
	m.server.ServeConn(c)
}

// burst serves a burst, on a worker.
func (m *requeueModel) burst(c *burstConn) {
	c.dequeue()
	m.server.ServeConn(c)
	c.back <- c.parked
}

// turnAway refuses a connection that waits for a worker, and ends its goroutine.
func (m *requeueModel) turnAway(c *burstConn, why dispatch.Why) {
	m.refuser.turnAway(c.Conn, why)
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
	begun    bool      // fasthttp has begun the first request of this burst
	served   bool      // a request was answered in this burst
	parked   bool      // Close leaves the socket open
	late     bool      // the timeout has passed: Read returns only buffered

	raw    syscall.RawConn
	check  func(fd uintptr) bool // peek, made once
	peeked [1]byte
	ended  bool // the client has closed its side
}

// endOfHead is the empty line after a head, with the end of the line before it.
var endOfHead = []byte("\r\n\r\n")

// Read returns the bytes that have come, up to the end of the last whole head. So a client that
// sends all the time waits for its turn like the others, and one that sends a head in pieces
// occupies no worker. Read waits only in the middle of a request.
func (c *burstConn) Read(p []byte) (int, error) {
	if c.late {
		n := copy(p, c.buffered)
		c.buffered = c.buffered[n:]
		c.read.Add(uint64(n))
		if n == 0 {
			return 0, &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
		}
		return n, nil
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
		c.read.Add(uint64(n))
		return n, nil
	case err == nil:
		c.parked = true
		return 0, io.EOF
	}
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
	return c.SetReadDeadline(by) == nil && c.raw.Read(c.check) == nil && (!c.ended || len(c.buffered) > 0)
}

// peek reports whether a read would return at once. It must ask the socket every time, because
// the runtime resets its readiness before it calls peek and does not report bytes that arrived
// earlier.
func (c *burstConn) peek(fd uintptr) bool {
	for {
		n, _, err := unix.Recvfrom(int(fd), c.peeked[:], unix.MSG_PEEK)
		if err != unix.EINTR {
			c.ended = n == 0 && err == nil
			return err != unix.EAGAIN
		}
	}
}

// trackBurst notes whether a connection is in the middle of a request.
func trackBurst(nc net.Conn, state fasthttp.ConnState) {
	c := nc.(*burstConn)
	switch state {
	case fasthttp.StateActive:
		if c.begun { // fasthttp reports the first request before its first byte
			c.beginRequest()
		}
		c.begun = true
	case fasthttp.StateIdle:
		c.served = true
		c.markAnswered()
	}
}
