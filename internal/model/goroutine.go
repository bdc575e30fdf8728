package model

import (
	"errors"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
)

// goroutineModel is a goroutine per connection with fasthttp's parser, and an acceptor for each
// of the listener's sockets. It is the control: with one socket it differs from fasthttp in
// scheduling only, and from nethttp in the HTTP stack only. Of several sockets the kernel
// chooses one by a hash of the client's address and port, not by who has time, so connections
// spread unevenly.
type goroutineModel struct {
	fasthttpEngine
	// locked gives every connection an operating-system thread that is made for it and ends
	// with it. The sockets stay non-blocking under Go's poller, so this is a thread per
	// goroutine, not blocking reads. The cost is making the thread, and waking it: some 5 µs
	// for each time its goroutine waited.
	locked bool
}

func newGoroutine(cfg Config) Model { return &goroutineModel{fasthttpEngine: newFasthttpEngine(cfg)} }

func newThreads(cfg Config) Model {
	return &goroutineModel{fasthttpEngine: newFasthttpEngine(cfg), locked: true}
}

func (m *goroutineModel) Serve(l *Listener) error {
	if !m.locked {
		return onGoroutines(l, func(c *Conn) { m.server.ServeConn(c) })
	}
	allowThreads(l.MaxConns() + spareThreads)
	return onGoroutines(l, func(c *Conn) {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		m.server.ServeConn(c)
	})
}

// onGoroutines calls serve with every connection that l accepts, each on a goroutine of its
// own, and returns when l is closed and all of them have returned.
func onGoroutines(l *Listener, serve func(*Conn)) error {
	failed := make([]error, len(l.sockets))
	var acceptors, conns sync.WaitGroup
	for i, s := range l.sockets {
		acceptors.Go(func() {
			failed[i] = eachConn(s, func(c *Conn) {
				conns.Go(func() { serve(c) })
			})
		})
	}
	acceptors.Wait()
	conns.Wait()
	return errors.Join(failed...)
}

// eachConn calls f with every connection l accepts, one at a time, and returns
// nil when l has been closed.
func eachConn(l acceptor, f func(*Conn)) error {
	for {
		c, err := l.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return err
		}
		f(c.(*Conn))
	}
}

// An acceptor is a Listener or one of its sockets.
type acceptor interface{ Accept() (net.Conn, error) }

// spareThreads are for the runtime, the admin listener and system calls.
const spareThreads = 1000

// usualThreads is the number of threads at which Go ends the process by default.
const usualThreads = 10_000

// allowThreads raises that limit to n. It never lowers it: a process above its limit ends at
// once.
func allowThreads(n int) {
	if n > usualThreads {
		debug.SetMaxThreads(n)
	}
}
