package model

import (
	"context"
	"errors"
	"time"
)

// Serve runs m on l until ctx is done, or the socket fails, and then drains. A drain accepts
// the connections that already wait in the kernel and stops accepting, answers every request
// with Connection: close, closes idle connections after a short grace, and at the end drops
// the rest.
//
// Serve returns when every connection is closed and every goroutine of m has ended, at most
// timeout after the drain began. The last part of timeout, [handlerTime], is for handlers
// that still run after their connections were cut. If a handler needs longer, Serve returns an
// error without waiting for it.
func Serve(ctx context.Context, m Model, l *Listener, timeout time.Duration) (Drain, error) {
	served := make(chan error, 1)
	go func() {
		served <- m.Serve(l)
		l.stopAccepting()
	}()
	select {
	case <-l.allClosed: // the socket failed under the model
	case <-ctx.Done():
	}
	began := time.Now()
	d := Drain{Forced: l.drain(timeout - handlerTime(timeout))}
	var err error
	select {
	case err = <-served:
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

// handlerTime is the part of a drain's timeout that handlers have to end once every
// connection is closed: a quarter, at most a second.
func handlerTime(timeout time.Duration) time.Duration { return min(timeout/4, time.Second) }

// drain drains for at most length and then cuts the connections that are left. It returns how
// many of them had a request in flight.
func (l *Listener) drain(length time.Duration) (forced int) {
	l.draining.Store(true)
	var ignoring error
	for _, s := range l.sockets {
		ignoring = errors.Join(ignoring, control(s.tcp, ignoreNew))
	}
	began := time.Now()
	for _, s := range l.sockets {
		s.tcp.SetDeadline(began.Add(emptyQueueWait)) // wakes an acceptor that sleeps in Accept
		if s.ready != nil {
			_ = s.ready.SetReadDeadline(began)
		}
	}
	for {
		elapsed := time.Since(began)
		if isClosed(l.allClosed) && l.Counts().Open == 0 {
			return 0
		}
		if elapsed >= length {
			return l.force()
		}
		if elapsed >= grace {
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

// isClosed reports whether c is closed. Nothing must ever be sent on c.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// force closes the sockets and every open connection. It returns the number of connections
// that had a request in flight.
func (l *Listener) force() (forced int) {
	l.cut.Store(true)
	l.stopAccepting()
	for _, c := range l.conns() {
		if cutOff(c) {
			forced++
		}
	}
	return forced
}
