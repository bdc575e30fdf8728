package model_test

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"schedlab/internal/model"
)

// thorough asks, in the environment, for crowds, churn and overloads of full size.
const thorough = "SCHEDLAB_LONG"

// sized is n, or its full size if asked for.
func sized(n, full int) int {
	if os.Getenv(thorough) != "" {
		return full
	}
	return n
}

// A dawdle is a way to hold a connection without using it.
type dawdle struct {
	name  string
	begin func(*client) error
	drip  string // what comes later, so that it is slow and not dead
	idle  bool   // between two requests
}

func dawdles() []dawdle {
	send := func(raw string) func(*client) error {
		return func(c *client) error { _, err := io.WriteString(c, raw); return err }
	}
	return []dawdle{
		{"slow heads", send("GET /plaintext HTTP/1.1\r\nHo"), "s", false},
		{"slow bodies", send("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\nhe"), "l", false},
		{"slow readers", func(c *client) error {
			c.SetReadBuffer(4096)
			_, err := io.WriteString(c, get("/bytes/1048576"))
			return err
		}, "", false},
		{"idle clients", func(c *client) error { _, err := c.ask(get("/plaintext")); return err }, "", true},
	}
}

// held reports whether a dawdling client keeps one of few workers from others,
// which is what the mode is there to show.
func held(mode model.Mode, d dawdle) bool {
	return mode.Sticky || mode.Name == "pool-requeue" && !d.idle
}

// Crowds of clients that send or read slowly, or nothing, keep nobody from being
// served; where they hold the workers, it is for as long as the timeouts allow.
func TestHostileCrowds(t *testing.T) {
	t.Parallel()
	for _, mode := range model.Modes() {
		t.Run(mode.Name, func(t *testing.T) {
			for _, d := range dawdles() {
				if held(mode, d) {
					crowdedOut(t, mode, d)
				} else {
					crowdSurvived(t, mode, d)
				}
			}
		})
	}
}

// crowdSurvived sends many requests while a crowd is there that no timeout ends.
func crowdSurvived(t *testing.T, mode model.Mode, d dawdle) {
	most := sized(500, 2000)
	s := start(t, mode, func(with *setup) {
		with.HeaderTimeout, with.BodyTimeout, with.WriteTimeout, with.IdleTimeout = soon, soon, soon, soon
		with.Socket.MaxConns = 2 * most
		with.Drain = time.Second
	})
	clients := s.gather(most, d)
	probes := sized(200, 1000)
	var answered, slowest atomic.Int64
	probe := func() {
		began := time.Now()
		c, err := s.tryDial()
		if err != nil {
			return
		}
		defer c.Close()
		if a, err := c.ask(getClose("/plaintext")); err == nil && a.Status == 200 {
			answered.Add(1)
			took := int64(time.Since(began))
			for old := slowest.Load(); took > old && !slowest.CompareAndSwap(old, took); old = slowest.Load() {
			}
		}
	}
	crowd(4, probes/8, probe)
	for _, c := range clients {
		io.WriteString(c, d.drip)
	}
	crowd(4, probes/8, probe)
	if got := answered.Load(); float64(got) < 0.995*float64(probes) {
		t.Errorf("%d %s: %d of %d requests were answered, want 99.5 %%", most, d.name, got, probes)
	}
	if open := s.ln.Counts().Open; open < uint64(most) {
		t.Errorf("%d %s: only %d connections were open, so the crowd was none", most, d.name, open)
	}
	t.Logf("%d %s: %d of %d answered, the slowest after %v", most, d.name, answered.Load(), probes, time.Duration(slowest.Load()))
	for _, c := range clients {
		c.reset()
	}
	s.open(0)
}

// crowdedOut sends requests behind three dawdling clients for each worker.
func crowdedOut(t *testing.T, mode model.Mode, d dawdle) {
	const short, workers, rounds = 300 * time.Millisecond, 4, 3
	s := start(t, mode, func(with *setup) {
		with.Workers = workers
		with.HeaderTimeout, with.BodyTimeout, with.WriteTimeout, with.IdleTimeout = short, short, short, short
	})
	var clients []*client
	for range workers * rounds {
		c := s.dial()
		clients = append(clients, c)
		go d.begin(c) // an idle client is served first, in its turn
	}
	eventually(t, "a crowd", func() bool { return s.ln.Counts().Accepted >= workers })
	began := time.Now()
	crowd(4, 1, func() { s.visit(1, getClose("/plaintext")) })
	// net/http's time for a whole request is that of its head and of its body.
	if took, most := time.Since(began), rounds*2*short+slack; took > most {
		t.Errorf("%s: served after %v, want %v at most", d.name, took, most)
	}
	for _, c := range clients {
		c.reset()
	}
	s.open(0)
}

// gather makes a crowd and waits until all of it is there.
func (s *subject) gather(n int, d dawdle) []*client {
	s.t.Helper()
	clients := make([]*client, n)
	var all sync.WaitGroup
	for part := range 8 {
		all.Go(func() {
			for i := part; i < n; i += 8 {
				c, err := s.tryDial()
				if err == nil {
					err = d.begin(c)
				}
				if err != nil {
					s.t.Errorf("%s: %v", d.name, err)
					return
				}
				clients[i] = c
			}
		})
	}
	all.Wait()
	if s.t.Failed() {
		s.t.FailNow()
	}
	s.open(n)
	return clients
}
