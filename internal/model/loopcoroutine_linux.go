package model

import (
	"iter"
	"net"

	"github.com/valyala/fasthttp"
)

// A coroutine serves connections of its loop, one after the other, each until it has no more
// requests, and yields to the loop where a socket would block. Switching there and back costs
// some 0.1 µs and does not involve the scheduler. A handler must not lock its thread: Go ends
// the process when a coroutine is resumed in another state of locking than it was made in.
type coroutine struct {
	conn   *loopConn
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
}

// maxIdleCoroutines is how many unused coroutines a loop keeps.
const maxIdleCoroutines = 64

func (l *eventLoop) newCoroutine() *coroutine {
	co := new(coroutine)
	co.resume, co.stop = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		for {
			l.server.ServeConn(httpConn{co.conn})
			l.served(co.conn)
			co.conn = nil
			if len(l.idleCoroutines) == maxIdleCoroutines {
				return
			}
			l.idleCoroutines = append(l.idleCoroutines, co)
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return co
}

// serveConn serves the requests that have come on c, until none is left or c has to wait.
func (l *eventLoop) serveConn(c *loopConn) {
	var co *coroutine
	if n := len(l.idleCoroutines); n > 0 { // the one used last: its stack is in the cache
		co, l.idleCoroutines = l.idleCoroutines[n-1], l.idleCoroutines[:n-1]
	} else {
		co = l.newCoroutine()
	}
	co.conn, c.serving = c, co
	c.begun, c.parked = false, false
	c.reads, c.readBy, c.writeBy = 0, 0, 0
	c.resume()
}

// served leaves c to wait for its next request, or forgets it.
func (l *eventLoop) served(c *loopConn) {
	c.serving = nil
	if !c.parked || c.closed.Load() {
		l.forget(c)
		return
	}
	c.awaits = forRequest
	c.readBy = l.now + l.limits.IdleTimeout
	l.wheel.arm(c, c.readBy)
}

// An httpConn is a loopConn as fasthttp sees it.
type httpConn struct{ *loopConn }

// Close does nothing while the connection waits for a request.
func (c httpConn) Close() error {
	if c.parked {
		return nil
	}
	if c.linger.Load() && !c.closed.Load() {
		c.discardInput()
	}
	if !c.shut() {
		return net.ErrClosed
	}
	return nil
}

// trackLoop notes which bytes of a loop's connection have been answered.
func trackLoop(nc net.Conn, state fasthttp.ConnState) {
	c := nc.(httpConn).loopConn
	switch state {
	case fasthttp.StateActive:
		if c.begun { // for the first request fasthttp reports this before its first byte
			c.beginRequest()
		}
		c.begun = true
	case fasthttp.StateIdle:
		c.markAnswered()
		c.readBy, c.writeBy = 0, 0
	}
}
