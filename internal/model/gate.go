package model

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"schedlab/internal/dispatch"
	"schedlab/internal/timeline"
)

// gateModel is net/http with a bounded number of connections in service. It is no pool:
// net/http still makes a goroutine for each connection in service. Connections are accepted,
// and counted, as they come, and then wait at the gate, first come first served.
type gateModel struct {
	*nethttpModel
	waited   func(time.Duration)
	places   chan struct{}
	waiting  atomic.Int64
	maxConns atomic.Int64 // the cap on open connections, and so on those that wait
}

func newGate(cfg Config) Model {
	m := &gateModel{
		nethttpModel: newNethttp(cfg).(*nethttpModel),
		waited:       cfg.Waited,
		places:       make(chan struct{}, cfg.Workers),
	}
	if m.waited == nil {
		m.waited = func(time.Duration) {}
	}
	m.server.ConnState = func(c net.Conn, state http.ConnState) {
		m.track(c, state)
		if state == http.StateClosed || state == http.StateHijacked {
			<-m.places
		}
	}
	return m
}

func (m *gateModel) Serve(l *Listener) error {
	m.maxConns.Store(int64(l.MaxConns()))
	g := &gateListener{Listener: l, gate: m, arrivals: make(chan *Conn, l.MaxConns())}
	var failed error
	var acceptor sync.WaitGroup
	acceptor.Go(func() {
		failed = eachConn(l, func(c *Conn) {
			m.waiting.Add(1)
			c.enqueue(timeline.Now())
			g.arrivals <- c
		})
		close(g.arrivals)
	})
	err := m.serveOn(g)
	acceptor.Wait()
	if failed != nil {
		return failed
	}
	return err
}

func (m *gateModel) Queue() dispatch.Queue { return (*gateQueue)(m) }

// A gateListener hands out connections as places for them become free.
type gateListener struct {
	*Listener
	gate     *gateModel
	arrivals chan *Conn
}

func (l *gateListener) Accept() (net.Conn, error) {
	c, ok := <-l.arrivals
	if !ok {
		return nil, net.ErrClosed
	}
	l.gate.places <- struct{}{}
	l.gate.waiting.Add(-1)
	wait := time.Duration(timeline.Now() - c.waiting.Load())
	l.gate.waited(wait)
	tookConn(c, wait)
	c.dequeue()
	return c, nil
}

// gateQueue is the gate as a queue: its places are the workers.
type gateQueue gateModel

func (g *gateQueue) Depth() int    { return int(g.waiting.Load()) }
func (g *gateQueue) Capacity() int { return max(0, int(g.maxConns.Load())-cap(g.places)) }
func (g *gateQueue) Workers() int  { return cap(g.places) }
func (g *gateQueue) Busy() int     { return len(g.places) }
