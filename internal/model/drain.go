package model

import (
	"context"
	"errors"
	"time"
)

// Serve runs m on l until ctx is done, or the socket fails, and then drains, in
// this order: accept what already waits in the kernel and stop accepting;
// answer everything with Connection: close; after a short grace close
// connections that wait for nothing; drop the rest. It returns when every
// connection is closed and every goroutine of m has ended, within timeout: the last
// part of it, [patience], is for handlers whose connections were cut. A handler that
// needs longer is left behind, with an error.
func Serve(ctx context.Context, m Model, l *Listener, timeout time.Duration) (Drain, error) {
	served := make(chan error, 1)
	go func() {
		served <- m.Serve(l)
		l.stopAccepting()
	}()
	select {
	case <-l.swept: // the socket failed under the model
	case <-ctx.Done():
	}
	began := time.Now()
	d := Drain{Forced: l.drain(timeout - patience(timeout))}
	var err error
	select {
	case err = <-served:
	case <-time.After(timeout - time.Since(began)):
		err = errors.New("a handler outlived the drain; raise --drain-timeout above the longest request")
	}
	d.Took = time.Since(began)
	return d, err
}

// A Drain says how a server ended: connections cut with a request under way, and
// the time from the order to the end.
type Drain struct {
	Forced int
	Took   time.Duration
}

// patience is the part of a drain's timeout that is left for handlers to end once
// every connection is closed: a quarter, at most a second.
func patience(timeout time.Duration) time.Duration { return min(timeout/4, time.Second) }

// drain drains for that long, then cuts, and returns how many connections it cut
// with a request under way.
func (l *Listener) drain(length time.Duration) (forced int) {
	l.draining.Store(true)
	var ignoring error
	for _, s := range l.sockets {
		ignoring = errors.Join(ignoring, control(s.tcp, ignoreNew))
	}
	began := time.Now()
	for _, s := range l.sockets {
		s.tcp.SetDeadline(began.Add(sweepQuiet)) // wakes an acceptor that sleeps in Accept
		if s.ready != nil {
			_ = s.ready.SetReadDeadline(began)
		}
	}
	for {
		elapsed := time.Since(began)
		if l.isSwept() && l.Counts().Open == 0 {
			return 0
		}
		if elapsed >= length {
			return l.force()
		}
		if elapsed >= grace {
			if ignoring != nil { // newcomers could keep the accept queue from ever being empty
				l.stopAccepting()
			}
			for _, c := range l.conns() {
				if c.quiet() {
					c.Close()
				}
			}
		}
		time.Sleep(drainTick)
	}
}

func (l *Listener) isSwept() bool {
	select {
	case <-l.swept:
		return true
	default:
		return false
	}
}

// force closes the sockets and every open connection.
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
