package model

import (
	"net"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A Conn is an accepted connection in any model. It embeds the TCP connection
// itself, so ReadFrom, CloseWrite and SyscallConn stay, and owns Close, that
// is, the done count, and Read, that is, when it became busy. Any goroutine may close it.
type Conn struct {
	*net.TCPConn
	entry
}

// An openConn is an open connection as the ledger and the drain see it. Any
// goroutine may call its methods.
type openConn interface {
	ledgerEntry() *entry
	quiet() bool // no byte of a request has come since the last answer
	Close() error
}

// An entry is what the ledger and the drain keep of a connection, whoever holds
// its socket.
type entry struct {
	listener *Listener
	socket   *socket     // that accepted it
	busy     atomic.Bool // part of a request has come, or its answer is not out yet
	closed   atomic.Bool
	fate     atomic.Uint32
}

func (e *entry) ledgerEntry() *entry { return e }

// A fate says how a connection ends: its kind, and above reasonShift the Reason.
const (
	served uint32 = iota
	rejected
	dropped

	reasonShift = 8
)

// Read makes the connection busy from a request's first byte. The HTTP libraries
// are no help there: fasthttp calls a connection active before it, and net/http
// only once the whole head has come. That it is idle again is theirs to say.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	if n > 0 {
		c.occupy()
	}
	return n, err
}

// occupy makes the connection busy.
func (e *entry) occupy() {
	if !e.busy.Load() { // a load costs nothing, a store some nanoseconds
		e.busy.Store(true)
	}
}

// Close closes the socket once and counts it.
func (c *Conn) Close() error {
	if !c.closed.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	err := c.TCPConn.Close()
	c.listener.release(c)
	return err
}

// reject marks the connection as refused with an answer; drop, as closed without one. Both
// come before Close.
func (e *entry) reject(r Reason) { e.fate.Store(rejected | uint32(r)<<reasonShift) }
func (e *entry) drop(r Reason)   { e.fate.Store(dropped | uint32(r)<<reasonShift) }

// quiet reports whether no byte of a request has come since the last answer,
// so that closing c loses nothing the client had sent.
func (c *Conn) quiet() bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return true // closed already
	}
	unread := 0
	if err := raw.Control(func(fd uintptr) { unread, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }); err != nil {
		return true
	}
	return unread == 0 && !c.busy.Load()
}
