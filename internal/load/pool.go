package load

import (
	"sync"
	"sync/atomic"
	"time"

	"schedlab/internal/record"
)

// A pool hands connections to requests. With a limit it has exactly that many
// places, used in turn, and requests wait for one in order of arrival; without,
// it prefers the place used last and makes a new one when all are taken.
type pool struct {
	c    *client
	turn chan *conn // nil without a limit

	waited atomic.Int64 // requests that found no place free

	mu   sync.Mutex
	idle []*conn
}

func newPool(c *client, limit int) *pool {
	p := &pool{c: c}
	if limit > 0 {
		p.turn = make(chan *conn, limit)
		for range limit {
			p.turn <- c.place()
		}
	}
	return p
}

// get returns a place, or what became of a request that waited for one in vain.
func (p *pool) get(deadline time.Time) (*conn, record.Outcome) {
	if p.turn == nil {
		return p.unlimited(), record.Answered
	}
	select {
	case k := <-p.turn:
		return k, record.Answered
	default:
	}
	p.waited.Add(1)
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case k := <-p.turn:
		return k, record.Answered
	case <-timer.C:
		return nil, record.TimedOut
	case <-p.c.over:
		return nil, record.Cut
	}
}

func (p *pool) unlimited() *conn {
	p.mu.Lock()
	if last := len(p.idle) - 1; last >= 0 {
		k := p.idle[last]
		p.idle = p.idle[:last]
		p.mu.Unlock()
		return k
	}
	p.mu.Unlock()
	return p.c.place()
}

// put gives a place back, with or without a socket in it.
func (p *pool) put(k *conn) {
	if p.turn != nil {
		p.turn <- k
		return
	}
	p.mu.Lock()
	p.idle = append(p.idle, k)
	p.mu.Unlock()
}
