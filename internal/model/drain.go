package model

import (
	"context"
	"errors"
	"time"
)

// Serve runs m on l until ctx is done, or the socket fails, and then drains, in
// this order: accept what already waits in the kernel and stop accepting;
// answer everything with Connection: close; after a short grace close
// connections that wait for nothing; at timeout close the rest. It returns when
// every connection is closed and every goroutine of m has ended. A handler that
// outlives its connection by a second is left behind, with an error.
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
	d := Drain{Forced: l.drain(timeout)}
	var err error
	select {
	case err = <-served:
	case <-time.After(patience):
		err = errors.New("a handler is still running after its connection was cut")
	}
	d.Took = time.Since(began)
	return d, err
}

// A Drain says how a server ended: connections cut at the timeout, and the time
// from the order to the end.
type Drain struct {
	Forced int
	Took   time.Duration
}

// patience is how long Serve waits for handlers once all connections are closed.
const patience = time.Second

func (l *Listener) drain(timeout time.Duration) (forced int) {
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
		if elapsed >= timeout {
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

// force closes the sockets and every open connection, and returns their number.
func (l *Listener) force() int {
	l.cut.Store(true)
	l.stopAccepting()
	conns := l.conns()
	for _, c := range conns {
		c.Close()
	}
	return len(conns)
}
