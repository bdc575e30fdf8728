package load

import (
	"context"
	"sync"
	"time"
)

// IdleConns is what became of connections that were asked once and then kept
// open beside a load.
type IdleConns struct {
	Opened   int // connections made
	Answered int // those that got their one reply
	// Lost are those that ended, or sent what nobody asked for, before the load
	// did; FirstLost is when the first of them did, from the load's start, below 0
	// when that was earlier.
	Lost      int
	FirstLost time.Duration
}

// An idleCrowd holds idle connections: a goroutine each, which waits for the end.
type idleCrowd struct {
	client   *client
	watching sync.WaitGroup
	settled  sync.WaitGroup // until every one is answered, or failed

	mu    sync.Mutex
	seen  IdleConns
	first time.Time // of the losses
}

// crowd opens n connections, 64 at a time, asks on each once, with sequence
// numbers from seq on, and returns when all are answered or failed.
func (c *client) crowd(ctx context.Context, n int, seq uint64) *idleCrowd {
	w := &idleCrowd{client: c}
	w.settled.Add(n)
	opening := make(chan struct{}, openers)
	for i := range n {
		k := c.place()
		w.watching.Go(func() { w.hold(ctx, k, seq+uint64(i), opening) })
	}
	w.settled.Wait()
	return w
}

func (w *idleCrowd) hold(ctx context.Context, k *conn, seq uint64, opening chan struct{}) {
	defer k.close()
	opening <- struct{}{}
	deadline := time.Now().Add(w.client.timeout)
	err := w.client.dial(ctx, k, deadline)
	<-opening
	if err != nil {
		w.settled.Done()
		return
	}
	tp := w.client.template(seq)
	k.out = tp.request(nil, seq, Demand{})
	rep, err := k.exchange(deadline, tp.bodiless)
	w.count(func(s *IdleConns) {
		s.Opened++
		if err == nil {
			s.Answered++
		}
	})
	w.settled.Done()
	if err == nil && rep.keep && k.nc.SetDeadline(time.Time{}) == nil {
		k.br, k.out = nil, nil // a crowd should cost little
		_, _ = k.nc.Read(make([]byte, 1))
	}
	if !w.client.hung.Load() {
		w.count(func(s *IdleConns) {
			if s.Lost++; s.Lost == 1 {
				w.first = time.Now()
			}
		})
	}
}

func (w *idleCrowd) count(change func(*IdleConns)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.seen)
}

// end closes the connections and tells what became of them; start is the load's.
func (w *idleCrowd) end(start time.Time) IdleConns {
	w.client.hangUp()
	w.watching.Wait()
	if w.seen.Lost > 0 {
		w.seen.FirstLost = w.first.Sub(start)
	}
	return w.seen
}
