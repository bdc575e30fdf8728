package model

import (
	"context"
	"errors"
	"time"
)

// Serve runs m on l until ctx is done, or the socket fails, and then drains. A drain accepts
// the connections that already wait in the kernel and stops accepting, answers every request
// with Connection: close, closes idle connections after a grace, and at the end drops the rest.
//
// So no request is lost that the server has begun to receive, that waits for a worker, or that comes
// within the grace. One can be lost that is still on its way when its connection, idle for the
// whole grace, is closed; a client may send such a request again (RFC 9112 §9.3.1). Another is one
// that needs longer than timeout.
//
// Serve returns when every connection is closed and every goroutine of m has ended, at most
// timeout after the drain began. The last quarter of timeout, at most a second of it, is for
// handlers that still run after their connections were cut. If a handler needs longer, Serve
// returns an error without waiting for it.
//
// First the kernel ignores new handshakes, and acceptors empty the accept queues. After [Socket].Grace
// the drain closes each connection that is idle, and looks again every [drainTick]. When the time for
// connections is over, force closes the rest.
func Serve(ctx context.Context, m Model, l *Listener, timeout time.Duration) (Drain, error) {
	// Room for the result: the goroutine must also end after Serve has given up.
	served := make(chan error, 1)
	go func() {
		served <- m.Serve(l)
		// A model that fails closes the sockets, so the drain below begins for its other
		// connections.
		l.stopAccepting()
	}()
	select {
	case <-l.allClosed: // the socket failed under the model
	case <-ctx.Done():
	}
	began := time.Now()
	d := Drain{Forced: l.drain(timeout - min(timeout/4, time.Second))}
	var err error
	select {
	case err = <-served:
	// A goroutine cannot be stopped from outside, so the handler is left behind.
	case <-time.After(timeout - time.Since(began)):
		err = errors.New("a handler outlived the drain; raise --drain-timeout above the longest request")
	}
	d.Took = time.Since(began)
	return d, err
}

// A Drain reports how a drain went. Took is its duration.
type Drain struct {
	// Forced is the number of connections that were cut with a request in flight.
	Forced int
	Took   time.Duration
}

// drain drains for at most length and then cuts the connections that are left. It returns how
// many of them had a request in flight.
func (l *Listener) drain(length time.Duration) (forced int) {
	// First, so that an acceptor that the deadline below wakes sees it.
	l.draining.Store(true)
	var ignoring error
	began := time.Now()
	for _, s := range l.sockets {
		ignoring = errors.Join(ignoring, control(s.tcp, ignoreNew))
		s.tcp.SetDeadline(began.Add(emptyQueueWait)) // wakes an acceptor that sleeps in Accept
		if s.ready != nil {
			_ = s.ready.SetReadDeadline(began)
		}
	}
	for {
		elapsed := time.Since(began)
		// An acceptor closes its socket when the accept queue is empty, so no connection comes later.
		if l.openSockets.Load() == 0 && l.Counts().Open == 0 {
			return 0
		}
		if elapsed >= length {
			return l.force()
		}
		// Before, a client may still send a request on a connection that it took for open. It is
		// then answered, with Connection: close.
		if elapsed >= l.asked.Grace {
			if ignoring != nil { // new connections could keep the accept queue from ever being empty
				l.stopAccepting()
			}
			for _, c := range l.conns() {
				if isIdle(c) {
					c.Close()
				}
			}
		}
		time.Sleep(drainTick)
	}
}

// force closes the sockets and every open connection. It returns the number of connections
// that had a request in flight.
func (l *Listener) force() (forced int) {
	// First, because Accept looks at cut after it has entered a connection. So a
	// connection is either in conns below or closed by Accept.
	l.cut.Store(true)
	l.stopAccepting()
	for _, c := range l.conns() {
		if cutOff(c) {
			forced++
		}
	}
	return forced
}
