package model

import (
	"net"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A Conn is an accepted connection in any model. It embeds the TCP connection
// itself, so ReadFrom, CloseWrite and SyscallConn stay, and owns Close, that
// is, the done count. Any goroutine may close it.
type Conn struct {
	*net.TCPConn
	listener *Listener
	phase    atomic.Uint32
	closed   atomic.Bool
	fate     atomic.Uint32
}

// A phase says whether a connection may be closed without losing a request.
const (
	waiting uint32 = iota // accepted, nothing known about a request yet
	active                // a request is being read, served or answered
	idle                  // between two requests
)

// A fate says how a connection ends: its kind, and above reasonShift the Reason.
const (
	served uint32 = iota
	rejected
	dropped

	reasonShift = 8
)

// Close closes the socket once and counts it.
func (c *Conn) Close() error {
	if !c.closed.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	err := c.TCPConn.Close()
	c.listener.release(c)
	return err
}

// reject marks c as refused with an answer; drop, as closed without one. Both
// come before Close.
func (c *Conn) reject(r Reason) { c.fate.Store(rejected | uint32(r)<<reasonShift) }
func (c *Conn) drop(r Reason)   { c.fate.Store(dropped | uint32(r)<<reasonShift) }

// quiet reports whether no byte of a request has come since the last answer,
// so that closing c loses nothing the client had sent.
func (c *Conn) quiet() bool {
	phase := c.phase.Load()
	raw, err := c.SyscallConn()
	if err != nil {
		return true // closed already
	}
	quiet := false
	err = raw.Control(func(fd uintptr) {
		if phase != idle {
			// fasthttp calls a connection active before its first byte came, so ask the kernel.
			info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
			quiet = err == nil && info.Bytes_received == 0
			return
		}
		pending, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		quiet = err == nil && pending == 0 && c.phase.Load() == idle
	})
	return err != nil || quiet
}
