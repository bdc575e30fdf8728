package model

import (
	"errors"
	"net"
	"sync"

	"schedlab/internal/dispatch"
)

// goroutineModel is a goroutine per connection with fasthttp's parser. It is the control:
// compared with fasthttp it differs in scheduling only, compared with nethttp in the HTTP
// stack only.
type goroutineModel struct{ fasthttpEngine }

func newGoroutine(cfg Config) Model { return &goroutineModel{newFasthttpEngine(cfg)} }

func (m *goroutineModel) Serve(l *Listener) error {
	var conns sync.WaitGroup
	err := eachConn(l, func(c *Conn) {
		conns.Go(func() { m.server.ServeConn(c) })
	})
	conns.Wait()
	return err
}

func (m *goroutineModel) Queue() dispatch.Queue { return nil }

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
