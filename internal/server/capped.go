package server

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

// A cappedListener holds a bounded number of connections open for an
// [http.Server], whose ConnState is to be track. At the cap a new connection takes
// the place of the one that has waited longest of those without a request: who
// does not finish a head, or stays idle, keeps nobody out. While all have a request
// Accept waits.
type cappedListener struct {
	net.Listener
	most int

	mu      sync.Mutex
	change  sync.Cond // a place is free, or closed
	open    map[net.Conn]struct{}
	waiting []net.Conn // of the open ones those without a request, longest first
	closed  bool
}

func newCappedListener(ln net.Listener, most int) *cappedListener {
	l := &cappedListener{Listener: ln, most: most, open: map[net.Conn]struct{}{}}
	l.change.L = &l.mu
	return l
}

// Accept implements net.Listener.
func (l *cappedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.open) >= l.most && !l.closed {
		if len(l.waiting) == 0 {
			l.change.Wait()
			continue
		}
		oldest := l.waiting[0]
		l.forget(oldest)
		oldest.Close()
	}
	if l.closed {
		c.Close()
		return nil, net.ErrClosed
	}
	l.open[c] = struct{}{}
	l.waiting = append(l.waiting, c)
	return c, nil
}

// track takes note of a connection's state.
func (l *cappedListener) track(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.open[c]; !ok {
		return // it had to make room
	}
	switch state {
	case http.StateActive: // its head is complete
		l.waiting = slices.DeleteFunc(l.waiting, func(w net.Conn) bool { return w == c })
	case http.StateIdle:
		l.waiting = append(l.waiting, c)
	case http.StateClosed, http.StateHijacked:
		l.forget(c)
	}
	l.change.Signal()
}

// forget gives c's place away. l.mu is held.
func (l *cappedListener) forget(c net.Conn) {
	delete(l.open, c)
	l.waiting = slices.DeleteFunc(l.waiting, func(w net.Conn) bool { return w == c })
}

// Close implements net.Listener.
func (l *cappedListener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.change.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}
