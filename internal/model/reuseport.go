package model

import (
	"errors"
	"sync"
)

// reuseportModel is a goroutine per connection behind several listening sockets of one
// address, each with an acceptor and an accept queue of its own. The kernel chooses the socket
// by a hash of the client's address and port, not by who has time, so connections spread
// unevenly.
type reuseportModel struct{ goroutineModel }

func newReuseport(cfg Config) Model {
	return &reuseportModel{goroutineModel{newFasthttpEngine(cfg)}}
}

func (m *reuseportModel) Serve(l *Listener) error {
	failed := make([]error, len(l.sockets))
	var acceptors, conns sync.WaitGroup
	for i, s := range l.sockets {
		acceptors.Go(func() {
			failed[i] = eachConn(s, func(c *Conn) {
				conns.Go(func() { m.server.ServeConn(c) })
			})
		})
	}
	acceptors.Wait()
	conns.Wait()
	return errors.Join(failed...)
}
