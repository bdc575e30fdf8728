package model

import (
	"io"
	"math"
	"net"
	"sync/atomic"
	"time"
)

// A Conn is an accepted connection in every mode without event loops. It embeds the TCP
// connection, so ReadFrom, CloseWrite and SyscallConn stay. It overrides Close, to count the
// connection, Read, to note which bytes have been answered, and Write, for the timeline. Any
// goroutine may close it.
//
// A Conn counts the bytes that were read and the bytes that were answered. A drain compares them
// with the bytes that the kernel has received, and so knows whether it may close the connection
// (isIdle).
type Conn struct {
	*net.TCPConn
	entry
	framing *framing // nil: framing is not watched
}

// An openConn is an open connection as the ledger and the drain see it. Any
// goroutine may call its methods.
type openConn interface {
	ledgerEntry() *entry
	control(f func(fd int)) // calls f with the descriptor, unless the connection is closed
	net.Conn
}

// An entry holds the state of a connection, of either kind, that the ledger and the drain use.
//
// The counters, the fate and the flags are atomic, because a drain or a scrape looks at them from
// another goroutine. answers belongs to the goroutine that serves the connection.
type entry struct {
	listener *Listener
	socket   *socket       // the socket that accepted it
	read     atomic.Uint64 // bytes read
	answered atomic.Uint64 // bytes read by the end of the last answer; unanswered while a request is served
	closed   atomic.Bool
	linger   atomic.Bool // the client may still be sending when the connection is closed
	fate     atomic.Uint32
	waiting  atomic.Int64 // start of its wait for a worker, on the timeline's clock; 0: it does not wait
	gaveUp   atomic.Bool  // its client had gone when a worker took it
	stamps   *stamps      // nil: nothing is stamped
	answers  int          // answers so far, counted where they are limited, by the goroutine that serves it
	hangUp   atomic.Bool  // close it, unannounced, once all bytes read are answered
}

// ledgerEntry makes every type that embeds an entry an openConn.
func (e *entry) ledgerEntry() *entry { return e }

// A fate tells how a connection ends. The low reasonShift bits hold one of these kinds, the
// bits above them the Reason.
const (
	served uint32 = iota
	rejected
	dropped

	reasonShift = 8
)

// unanswered is a value of answered that no number of bytes read can reach.
const unanswered = math.MaxUint64

// Read reads from the connection and counts the bytes.
func (c *Conn) Read(p []byte) (int, error) {
	if c.hangsUp() {
		return 0, io.EOF
	}
	n, err := c.receive(p)
	if n > 0 { // net/http interrupts one read for each request
		c.read.Add(uint64(n))
		if c.framing != nil {
			c.framing.scan(p[:n])
		}
	}
	return n, err
}

// receive reads into p and stamps the read.
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

// Write stamps the requests that wait for this write, and writes p. It also tells the framing
// about answers that no handler made, and how many bytes had been read before the write.
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

// beginRequest notes that a request is being served. This matters only when the request was
// read together with the one before, so that all bytes seemed answered.
func (e *entry) beginRequest() {
	// For an unpipelined request the bytes just read are not answered, so the two differ already.
	if e.answered.Load() == e.read.Load() {
		e.answered.Store(unanswered)
	}
}

// hasUnanswered reports whether bytes were read that are not answered yet.
func (e *entry) hasUnanswered() bool { return e.answered.Load() != e.read.Load() }

// hangsUp reports whether the server closes the connection now without having announced it. The
// next Read then returns [io.EOF]: to the HTTP library it looks as if the client had closed.
func (e *entry) hangsUp() bool { return e.hangUp.Load() && !e.hasUnanswered() }

// markAnswered notes that every request read so far is answered.
func (e *entry) markAnswered() { e.answered.Store(e.read.Load()) }

// Close closes the socket once and counts it.
func (c *Conn) Close() error {
	// Several goroutines may close: the one that serves, a drain, net/http. The first one counts
	// it.
	if !c.closed.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	if c.linger.Load() {
		c.discardInput()
	}
	// The descriptor is closed before release frees its place, so that there are never more than
	// the cap allows.
	err := c.TCPConn.Close()
	c.listener.release(c)
	return err
}

// After a refusal a client may still send lingerBytes, for lingerTime. A round trip fits into
// lingerTime on most networks. lingerBytes is above the default limit of a body, so most clients
// can send the rest of their request.
const (
	lingerTime  = 250 * time.Millisecond
	lingerBytes = 4 << 20
)

// discardInput closes our side and reads the bytes that the client still sends. Closing a
// socket with unread bytes resets it, and the reset overtakes the answer (RFC 9112 §9.6).
func (c *Conn) discardInput() {
	if c.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	// An error does not matter: the socket is closed next.
	_, _ = io.Copy(io.Discard, io.LimitReader(c.TCPConn, lingerBytes))
}

// reject marks the connection as refused with an answer, drop as closed without one. Call
// either before Close. The last call counts.
func (e *entry) reject(r Reason) { e.fate.Store(rejected | uint32(r)<<reasonShift) }
func (e *entry) drop(r Reason)   { e.fate.Store(dropped | uint32(r)<<reasonShift) }

// cutOff closes a connection at the end of a drain's time. A connection with a request in
// flight counts as dropped, unless it was turned away before, and cutOff reports true. An idle
// one counts as done. If the kernel cannot tell the two apart, the connection counts as
// dropped.
func cutOff(c openConn) bool {
	e := c.ledgerEntry()
	// Otherwise Close would wait up to lingerTime for each of many connections.
	e.linger.Store(false) // there is no time left to discard input
	lost := !isIdle(c) && e.fate.CompareAndSwap(served, dropped|uint32(DrainTimeout)<<reasonShift)
	c.Close()
	return lost
}

// isIdle reports whether no byte of a request has come since the last answer, so that closing c
// loses nothing that the client has sent. Note: isIdle asks the kernel for the bytes received,
// because any time may pass between a read and its count. The states that HTTP libraries
// report are late (net/http: once a head is complete) or early (fasthttp: before its first
// byte).
func isIdle(c openConn) bool {
	idle := true // closed already
	c.control(func(fd int) {
		n, err := received(fd)
		idle = err == nil && n == c.ledgerEntry().answered.Load()
	})
	return idle
}

// isGone reports whether the client has closed c or only its sending side; the kernel does not
// distinguish these. Off Linux it always reports false.
func isGone(c openConn) (gone bool) {
	c.control(func(fd int) { gone = hungUp(fd) })
	return gone
}

func (c *Conn) control(f func(fd int)) {
	// The runtime keeps the descriptor open during the call, so f never gets one that belongs to
	// another connection by now.
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { f(int(fd)) }) // fails without a call of f
	}
}
