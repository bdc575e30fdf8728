package model

import (
	"io"
	"math"
	"net"
	"sync/atomic"
	"time"
)

// A Conn is an accepted connection in any model. It embeds the TCP connection
// itself, so ReadFrom, CloseWrite and SyscallConn stay, and owns Close, that
// is, the done count, Read, to know which bytes have had their answer, and Write
// for its timeline. Any goroutine may close it.
type Conn struct {
	*net.TCPConn
	entry
	framing *framing // nil: nobody asks
}

// An openConn is an open connection as the ledger and the drain see it. Any
// goroutine may call its methods.
type openConn interface {
	ledgerEntry() *entry
	quiet() bool // no byte of a request has come since the last answer
	clientGone() bool
	net.Conn
}

// An entry is what the ledger and the drain keep of a connection, whoever holds
// its socket.
type entry struct {
	listener *Listener
	socket   *socket       // that accepted it
	read     atomic.Uint64 // bytes
	answered atomic.Uint64 // of those, by the end of the last answer; unanswered while a request is served
	closed   atomic.Bool
	linger   atomic.Bool // the client may still be sending when it is closed
	fate     atomic.Uint32
	waiting  atomic.Int64 // for a worker, since then by the timeline's clock; 0: not
	gaveUp   atomic.Bool  // its client had gone when a worker took it
	stamps   *stamps      // nil: nobody asks
}

func (e *entry) ledgerEntry() *entry { return e }

// A fate says how a connection ends: its kind, and above reasonShift the Reason.
const (
	served uint32 = iota
	rejected
	dropped

	reasonShift = 8
)

// unanswered is more than can be read.
const unanswered = math.MaxUint64

// Read counts what is read.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.receive(p)
	if n > 0 { // net/http breaks off one read for each request
		c.read.Add(uint64(n))
		if c.framing != nil {
			c.framing.see(p[:n])
		}
	}
	return n, err
}

// receive reads, and stamps it.
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
		c.stamps.sawRead(at)
	}
	return n, err
}

// Write stamps what waits for it, and lets the framing see the answers that no
// handler made, and what had been read before each.
func (c *Conn) Write(p []byte) (int, error) {
	if c.stamps != nil {
		c.stamps.flush()
	}
	if c.framing != nil {
		c.framing.sent(p)
		c.framing.asked = c.read.Load()
	}
	return c.TCPConn.Write(p)
}

// occupy says that a request is served. What it has to say is only news when the
// request was read along with the one before.
func (e *entry) occupy() {
	if e.answered.Load() == e.read.Load() {
		e.answered.Store(unanswered)
	}
}

// unsettled reports whether something was read that is not answered yet.
func (e *entry) unsettled() bool { return e.answered.Load() != e.read.Load() }

// settle says that every request read is answered.
func (e *entry) settle() { e.answered.Store(e.read.Load()) }

// Close closes the socket once and counts it.
func (c *Conn) Close() error {
	if !c.closed.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	if c.linger.Load() {
		c.readOut()
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

// readOut ends our side and takes what the client still sends: closing a socket
// with unread bytes resets it, and the reset overtakes the answer (RFC 9112 §9.6).
func (c *Conn) readOut() {
	if c.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	// How it ends does not matter: the socket is closed next.
	_, _ = io.Copy(io.Discard, io.LimitReader(c.TCPConn, lingerBytes))
}

// reject marks c as refused with an answer; drop, as closed without one. Both
// come before Close.
func (e *entry) reject(r Reason) { e.fate.Store(rejected | uint32(r)<<reasonShift) }
func (e *entry) drop(r Reason)   { e.fate.Store(dropped | uint32(r)<<reasonShift) }

// cutOff closes a connection that a drain waits for no longer. With a request under
// way it is dropped, unless it was turned away before, and true is reported; with
// none it is done. Where the kernel does not tell, it counts as dropped.
func cutOff(c openConn) bool {
	e := c.ledgerEntry()
	e.linger.Store(false) // reading out takes time that is over
	lost := !c.quiet() && e.fate.CompareAndSwap(served, dropped|uint32(DrainTimeout)<<reasonShift)
	c.Close()
	return lost
}

// quiet reports whether no byte of a request has come since the last answer,
// so that closing c loses nothing the client had sent. Note: the kernel is asked
// for all it ever received, because between a read and its record there may lie
// any time, and the states that HTTP libraries tell are late (net/http, once a
// head is complete) or early (fasthttp, before its first byte).
func (c *Conn) quiet() bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true // closed already
	}
	quiet := false
	err = raw.Control(func(fd uintptr) {
		n, err := received(int(fd))
		quiet = err == nil && n == c.answered.Load()
	})
	return err != nil || quiet
}

// clientGone reports whether the client has closed c, or its sending side: the
// kernel does not tell these apart. It is false where the kernel tells neither.
func (c *Conn) clientGone() (gone bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return false // closed here
	}
	err = raw.Control(func(fd uintptr) { gone = hungUp(int(fd)) })
	return err == nil && gone
}
