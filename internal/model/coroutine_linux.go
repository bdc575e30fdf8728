package model

import (
	"iter"
	"net"

	"github.com/valyala/fasthttp"
)

// A coroutine serves one connection of its loop after the other, as long as each
// has something to say, and hands the thread back where a socket would block. A
// switch there and back costs some 0.1 µs and no scheduler. A handler that locked its
// thread would end the process: Go wants a coroutine resumed as it was made.
type coroutine struct {
	conn   *loopConn
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
}

// mostIdle is how many coroutines a loop keeps for connections to come.
const mostIdle = 64

func (l *eventLoop) newCoroutine() *coroutine {
	co := new(coroutine)
	co.resume, co.stop = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		for {
			l.server.ServeConn(httpConn{co.conn})
			l.served(co.conn)
			co.conn = nil
			if len(l.idle) == mostIdle {
				return
			}
			l.idle = append(l.idle, co)
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return co
}

// serveConn serves what has come on c, until that is done or c has to wait.
func (l *eventLoop) serveConn(c *loopConn) {
	var co *coroutine
	if n := len(l.idle); n > 0 { // the last used: its stack is in the cache
		co, l.idle = l.idle[n-1], l.idle[:n-1]
	} else {
		co = l.newCoroutine()
	}
	co.conn, c.serving = c, co
	c.begun, c.parking = false, false
	c.reads, c.readBy, c.writeBy = 0, 0, 0
	c.resume()
}

// served leaves c to wait for its next request, or forgets it.
func (l *eventLoop) served(c *loopConn) {
	c.serving = nil
	if !c.parking || c.closed.Load() {
		l.forget(c)
		return
	}
	c.awaits = request
	c.readBy = l.now + l.limits.IdleTimeout
	l.wheel.arm(c, c.readBy)
}

// An httpConn is a loopConn in fasthttp's hands.
type httpConn struct{ *loopConn }

// Close does nothing while the connection waits for a request.
func (c httpConn) Close() error {
	if c.parking {
		return nil
	}
	if c.linger.Load() && !c.closed.Load() {
		c.readOut()
	}
	if !c.shut() {
		return net.ErrClosed
	}
	return nil
}

// trackLoop tells a connection of a loop which of its bytes are answered.
func trackLoop(nc net.Conn, state fasthttp.ConnState) {
	c := nc.(httpConn).loopConn
	switch state {
	case fasthttp.StateActive:
		if c.begun { // of the first request fasthttp says so before its first byte
			c.occupy()
		}
		c.begun = true
	case fasthttp.StateIdle:
		c.settle()
		c.readBy, c.writeBy = 0, 0
	}
}
