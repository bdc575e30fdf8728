package model

import (
	"net"
	"time"

	"schedlab/internal/shared/workload"
)

// ServeExchange runs x as every adapter does, on a connection without a socket.
func ServeExchange(m Model, l *Listener) func(x *workload.Exchange) {
	r := m.(interface {
		serve(*workload.Exchange, openConn, time.Duration)
		clock() time.Duration
	})
	c := &Conn{TCPConn: &net.TCPConn{}, entry: entry{listener: l}} // asked whether its client has gone, it knows nothing
	return func(x *workload.Exchange) { r.serve(x, c, r.clock()) }
}

// BusyRefuser takes every slot for refusals of m until the returned function is called.
func BusyRefuser(m Model) (free func()) {
	slots := m.(*poolModel).refuser.slots
	for range cap(slots) {
		slots <- struct{}{}
	}
	return func() {
		for range cap(slots) {
			<-slots
		}
	}
}

// Turned is the number of connections rejected or dropped.
func (c Counts) Turned() (n uint64) {
	for i := range c.Rejected {
		n += c.Rejected[i] + c.Dropped[i]
	}
	return n
}

// Sockets returns the number of listening sockets.
func (l *Listener) Sockets() int { return len(l.sockets) }
