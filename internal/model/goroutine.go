package model

import (
	"errors"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
)

// goroutineModel runs a goroutine per connection with fasthttp's parser, and an acceptor for
// each of the listener's sockets. It is the control: with one socket it differs from fasthttp
// in scheduling only, and from nethttp in the HTTP stack only. With several sockets the kernel
// chooses one by a hash of the client's address and port, not by load, so connections spread
// unevenly.
type goroutineModel struct {
	fasthttpEngine
	// locked gives every connection an operating-system thread that is created for it and
	// ends with it. The sockets stay non-blocking under Go's poller, so this is a thread per
	// goroutine, not blocking reads. It costs the creation of the thread, and some 5 µs to
	// wake it after each wait of its goroutine.
	locked bool
}

// newGoroutine makes the model of the modes goroutine, reuseport and prefork: they differ in their
// sockets and processes.
func newGoroutine(cfg Config) Model { return &goroutineModel{fasthttpEngine: newFasthttpEngine(cfg)} }

// newThreads makes the model of the mode threads.
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

// onGoroutines calls serve for every connection that l accepts, each on a new goroutine. It
// returns when l is closed and every call of serve has returned.
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
	// The acceptors first: only they start goroutines for connections.
	acceptors.Wait()
	conns.Wait()
	return errors.Join(failed...)
}

// eachConn calls f with every connection l accepts, one at a time, and returns
// nil when l has been closed. f should return soon, because the next connection waits for it.
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

// spareThreads is the number of threads allowed for the runtime, the admin listener and system
// calls.
const spareThreads = 1000

// usualThreads is the number of threads at which Go ends the process by default.
const usualThreads = 10_000

// allowThreads raises Go's limit of usualThreads threads to n. It never lowers the limit,
// because a process above its limit ends at once.
func allowThreads(n int) {
	if n > usualThreads {
		debug.SetMaxThreads(n)
	}
}
