package model

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"schedlab/internal/dispatch"
	"schedlab/internal/timeline"
)

// requeueModel has a fixed number of workers that keep a connection for one burst:
// what was readable when its turn came. Between bursts it waits, without a worker,
// for its next request, on a goroutine of its own that also keeps its timeouts; so
// neither idle clients nor slow heads starve anybody. A request whose body comes
// slowly, or whose answer is read slowly, does hold its worker.
type requeueModel struct {
	fasthttpEngine
	pool dispatch.Dispatcher[*burstConn]
	door *entrance[*burstConn]
	shed *shed
}

func newPoolRequeue(cfg Config) Model {
	e := newFasthttpEngine(cfg)
	m := &requeueModel{fasthttpEngine: e, shed: newShed(cfg, e.requests)}
	m.server.ConnState = trackBurst
	m.pool = dispatch.New(dispatch.Shared, options(cfg, tookConn[*burstConn], m.burst, m.turnAway))
	m.door = newEntrance(cfg, m.pool, "a connection's burst")
	return m
}

func (m *requeueModel) Serve(l *Listener) error {
	m.pool.Start()
	var conns sync.WaitGroup
	err := eachConn(l, func(c *Conn) {
		conns.Go(func() { m.attend(c) })
	})
	conns.Wait()
	m.pool.Close()
	m.shed.wait()
	return err
}

func (m *requeueModel) Queue() dispatch.Queue { return m.pool }

// attend waits for the connection's bursts and queues each, until it is closed.
func (m *requeueModel) attend(conn *Conn) {
	c := &burstConn{Conn: conn, back: make(chan bool, 1)}
	c.look = c.peek
	var err error
	if c.raw, err = conn.SyscallConn(); err != nil {
		conn.Close()
		return
	}
	by := time.Now().Add(m.limits.HeaderTimeout)
	for again := true; again; again = <-c.back {
		switch {
		case c.served && len(c.held) == 0:
			by = time.Now().Add(m.limits.IdleTimeout)
		case c.served: // and then the next head began
			by = time.Now().Add(m.limits.HeaderTimeout)
		}
		if !c.await(by) {
			m.end(c)
			return
		}
		now := time.Now()
		if c.served && len(c.held) == 0 {
			by = now.Add(m.limits.HeaderTimeout)
		}
		c.fresh, c.begun, c.parking, c.served = true, false, false, false
		c.enqueue(timeline.At(now))
		m.door.put(c)
	}
}

// end closes a connection whose next request has not come, and answers first if a
// part of its head has. That waits for nobody, so no worker is asked for it.
func (m *requeueModel) end(c *burstConn) {
	if len(c.held) == 0 || c.closed.Load() {
		c.Conn.Close()
		return
	}
	c.late, c.begun, c.parking = true, false, false
	m.server.ServeConn(c)
}

// burst is a worker's part.
func (m *requeueModel) burst(c *burstConn) {
	c.dequeue()
	m.server.ServeConn(c)
	c.back <- c.parking
}

func (m *requeueModel) turnAway(c *burstConn, why dispatch.Why) {
	m.shed.turnAway(c.Conn, why)
	c.back <- false
}

// A burstConn is a connection in a worker's hands for a burst. Where it would wait
// for a request Read reports [io.EOF], which fasthttp takes for the end, and the
// Close that follows leaves the socket open.
type burstConn struct {
	*Conn
	back    chan bool // from the worker: whether there may be another burst
	held    []byte    // read, and kept for the next burst: a part of a head
	fresh   bool      // nothing was read in this burst yet
	begun   bool      // fasthttp has begun with a request, and the next is not the first
	served  bool      // a request was answered in this burst
	parking bool      // it is to be left open
	late    bool      // what is held is all that has come in time

	raw    syscall.RawConn
	look   func(fd uintptr) bool // peek, made once
	peeked [1]byte
	ended  bool // the client sends no more
}

// Read returns what has come, but keeps what follows the last whole head: a client
// that sends without end gets its turn like the others, and one that sends a head
// in pieces holds no worker. Only in the middle of a request does it wait.
func (c *burstConn) Read(p []byte) (int, error) {
	if c.late {
		n := copy(p, c.held)
		c.held = c.held[n:]
		c.read.Add(uint64(n))
		if n == 0 {
			return 0, &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}
		}
		return n, nil
	}
	if !c.fresh && !c.unsettled() {
		c.parking = true
		return 0, io.EOF
	}
	n := copy(p, c.held)
	c.held = c.held[n:]
	var err error
	if (c.fresh || n == 0) && n < len(p) {
		var more int
		more, err = c.receive(p[n:])
		n += more
	}
	if whole := heads(p[:n]); err == nil && whole < n && (whole > 0 || c.fresh && n < len(p)) {
		c.held = append(bytes.Clone(p[whole:n]), c.held...)
		n = whole
	}
	c.fresh = false
	switch {
	case n > 0: // an error comes again
		c.read.Add(uint64(n))
		return n, nil
	case err == nil:
		c.parking = true
		return 0, io.EOF
	}
	return 0, err
}

// heads returns where the last whole head in b ends, as far as four bytes can tell
// that: a body may look like it, which does no harm. It looks at the end only.
func heads(b []byte) int {
	from := max(0, len(b)-4<<10)
	i := bytes.LastIndex(b[from:], []byte("\r\n\r\n"))
	if i < 0 {
		return 0
	}
	return from + i + 4
}

// Close does nothing between two bursts.
func (c *burstConn) Close() error {
	if c.parking {
		return nil
	}
	return c.Conn.Close()
}

// await waits until there is something for a worker to read, and reports false when
// there was nothing in time or the connection is closed, by either side.
func (c *burstConn) await(by time.Time) bool {
	return c.SetReadDeadline(by) == nil && c.raw.Read(c.look) == nil && (!c.ended || len(c.held) > 0)
}

// peek reports whether a read would not wait. It must ask the socket every time:
// the runtime has forgotten what it knew when it calls, and whatever arrived
// before is told by nothing else.
func (c *burstConn) peek(fd uintptr) bool {
	for {
		n, _, err := unix.Recvfrom(int(fd), c.peeked[:], unix.MSG_PEEK)
		if err != unix.EINTR {
			c.ended = n == 0 && err == nil
			return err != unix.EAGAIN
		}
	}
}

// trackBurst tells a connection whether it is in the middle of a request.
func trackBurst(nc net.Conn, state fasthttp.ConnState) {
	c := nc.(*burstConn)
	switch state {
	case fasthttp.StateActive:
		if c.begun { // of the first request fasthttp says so before its first byte
			c.occupy()
		}
		c.begun = true
	case fasthttp.StateIdle:
		c.served = true
		c.settle()
	}
}
