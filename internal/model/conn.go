package model

import (
	"io"
	"math"
	"net"
	"sync/atomic"
	"time"
)

// A Conn is an accepted connection in every mode without event loops. It embeds the TCP
// connection itself, so ReadFrom, CloseWrite and SyscallConn stay. It has a Close of its own,
// which counts, a Read that notes which bytes have been answered, and a Write for the
// timeline. Any goroutine may close it.
type Conn struct {
	*net.TCPConn
	entry
	framing *framing // nil: not watched
}

// An openConn is an open connection as the ledger and the drain see it. Any
// goroutine may call its methods.
type openConn interface {
	ledgerEntry() *entry
	control(f func(fd int)) // calls f with the descriptor, unless the connection is closed
	net.Conn
}

// An entry is what the ledger and the drain know of a connection, of either kind.
type entry struct {
	listener *Listener
	socket   *socket       // the one that accepted it
	read     atomic.Uint64 // bytes
	answered atomic.Uint64 // bytes read by the end of the last answer; unanswered while a request is served
	closed   atomic.Bool
	linger   atomic.Bool // the client may still be sending when it is closed
	fate     atomic.Uint32
	waiting  atomic.Int64 // since when it waits for a worker, by the timeline's clock; 0: it does not
	gaveUp   atomic.Bool  // its client had gone when a worker took it
	stamps   *stamps      // nil: nothing is stamped
	answers  int          // so far, where they are limited; only the goroutine that serves it counts
	hangUp   atomic.Bool  // it is to be closed, unannounced, once what was read is answered
}

func (e *entry) ledgerEntry() *entry { return e }

// A fate says how a connection ends: its kind, and above reasonShift the Reason.
const (
	served uint32 = iota
	rejected
	dropped

	reasonShift = 8
)

// unanswered is more bytes than can be read.
const unanswered = math.MaxUint64

// Read counts what is read.
func (c *Conn) Read(p []byte) (int, error) {
	if c.hangsUp() {
		return 0, io.EOF
	}
	n, err := c.receive(p)
	if n > 0 { // net/http breaks off one read for each request
		c.read.Add(uint64(n))
		if c.framing != nil {
			c.framing.scan(p[:n])
		}
	}
	return n, err
}

// receive reads, and stamps the read.
func (c *Conn) receive(p []byte) (n int, err error) {
	if c.stamps == nil {
		return c.TCPConn.Read(p)
	}
	var at readTimes
	if k := c.stamps.kernel; k != nil {
		n, at, err = k.read(c.TCPConn, p)
	} else {
		n, err = c.TCPConn.Read(p)
	}
	if n > 0 {
		c.stamps.noteRead(at)
	}
	return n, err
}

// Write stamps the requests that wait for it. It shows the framing the answers that no handler
// made, and how many bytes had been read before each.
func (c *Conn) Write(p []byte) (int, error) {
	if c.stamps != nil {
		c.stamps.flush()
	}
	if c.framing != nil {
		c.framing.countOwnAnswer(p)
		c.framing.readBeforeWrite = c.read.Load()
	}
	return c.TCPConn.Write(p)
}

// beginRequest says that a request is served. That changes something only when the request
// was read together with the one before, so that all bytes seemed answered.
func (e *entry) beginRequest() {
	if e.answered.Load() == e.read.Load() {
		e.answered.Store(unanswered)
	}
}

// hasUnanswered reports whether something was read that is not answered yet.
func (e *entry) hasUnanswered() bool { return e.answered.Load() != e.read.Load() }

// hangsUp reports whether the server closes the connection now without having announced it. Its
// next Read then reports [io.EOF]: to the HTTP library it looks as if the client had closed it.
func (e *entry) hangsUp() bool { return e.hangUp.Load() && !e.hasUnanswered() }

// markAnswered says that every request read so far is answered.
func (e *entry) markAnswered() { e.answered.Store(e.read.Load()) }

// Close closes the socket once and counts it.
func (c *Conn) Close() error {
	if !c.closed.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	if c.linger.Load() {
		c.discardInput()
	}
	err := c.TCPConn.Close()
	c.listener.release(c)
	return err
}

// What a client may still send after a refusal, and for how long.
const (
	lingerTime  = 250 * time.Millisecond
	lingerBytes = 4 << 20
)

// discardInput closes our side and reads what the client still sends: closing a socket with
// unread bytes resets it, and the reset overtakes the answer (RFC 9112 §9.6).
func (c *Conn) discardInput() {
	if c.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	// How it ends does not matter: the socket is closed next.
	_, _ = io.Copy(io.Discard, io.LimitReader(c.TCPConn, lingerBytes))
}

// reject marks the connection as refused with an answer; drop, as closed without one. Both
// are called before Close.
func (e *entry) reject(r Reason) { e.fate.Store(rejected | uint32(r)<<reasonShift) }
func (e *entry) drop(r Reason)   { e.fate.Store(dropped | uint32(r)<<reasonShift) }

// cutOff closes a connection at the end of a drain's time. With a request in flight it counts
// as dropped, unless it was turned away before, and cutOff reports true; an idle one counts
// as done. Where the kernel does not say which it is, it counts as dropped.
func cutOff(c openConn) bool {
	e := c.ledgerEntry()
	e.linger.Store(false) // there is no time left to discard input
	lost := !isIdle(c) && e.fate.CompareAndSwap(served, dropped|uint32(DrainTimeout)<<reasonShift)
	c.Close()
	return lost
}

// isIdle reports whether no byte of a request has come since the last answer, so that closing c
// loses nothing the client has sent. Note: it asks the kernel for the bytes received, because
// any time may pass between a read and its count, and the states that HTTP libraries report
// are late (net/http: once a head is complete) or early (fasthttp: before its first byte).
func isIdle(c openConn) bool {
	idle := true // closed already
	c.control(func(fd int) {
		n, err := received(fd)
		idle = err == nil && n == c.ledgerEntry().answered.Load()
	})
	return idle
}

// isGone reports whether the client has closed c, or its sending side: the kernel does not
// distinguish these. It is false off Linux.
func isGone(c openConn) (gone bool) {
	c.control(func(fd int) { gone = hungUp(fd) })
	return gone
}

func (c *Conn) control(f func(fd int)) {
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { f(int(fd)) }) // fails without a call of f
	}
}
