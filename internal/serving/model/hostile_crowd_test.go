package model_test

import (
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	"schedlab/internal/serving/model"
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

// A slowClient is a way to keep a connection open and hardly use it.
type slowClient struct {
	name  string
	begin func(*client) error
	drip  string // what comes later, so that it is slow and not dead
	idle  bool   // between two requests
}

func slowClients() []slowClient {
	send := func(raw string) func(*client) error {
		return func(c *client) error { _, err := io.WriteString(c, raw); return err }
	}
	return []slowClient{
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

// holdsWorkers reports whether such clients occupy the workers of a mode, which is what the
// mode is there to show.
func holdsWorkers(mode model.Mode, d slowClient) bool {
	return mode.Sticky || mode.Name == "pool-requeue" && !d.idle
}

// probedIn bounds 95 % of the response times with a crowd connected, on an idle machine.
const probedIn = 50 * time.Millisecond

// With crowds of clients that send or read slowly, or not at all, other clients are served;
// where the crowd occupies the workers, that lasts no longer than the timeouts.
func TestHostileCrowds(t *testing.T) {
	t.Parallel()
	for _, mode := range model.Variants() {
		t.Run(mode.Name, func(t *testing.T) {
			for _, d := range slowClients() {
				t.Run(d.name, func(t *testing.T) {
					if holdsWorkers(mode, d) {
						crowdedOut(t, mode, d)
					} else {
						crowdSurvived(t, mode, d)
					}
				})
			}
		})
	}
}

// crowdSurvived sends many requests with a crowd connected that no timeout ends.
func crowdSurvived(t *testing.T, mode model.Mode, d slowClient) {
	most := sized(500, 2000)
	s := start(t, mode, func(with *setup) {
		with.Socket.MaxConns = 2 * most
		with.Drain = time.Second
	})
	clients := s.gather(most, d)
	if !d.idle && d.drip == "" { // whole requests: a short queue may still be full of them
		eventually(t, "the crowd's requests are taken", func() bool {
			q := s.model.Queue()
			return s.model.Requests().Started >= uint64(most) && (q == nil || q.Depth() == 0)
		})
	}
	judged(t, func() string {
		began := time.Now()
		took := s.probe(sized(100, 500))
		for _, c := range clients {
			io.WriteString(c, d.drip)
		}
		took = append(took, s.probe(sized(100, 500))...)
		t.Logf("%d %s: %d requests answered in %v, 95 %% within %v", most, d.name, len(took), time.Since(began), quantile(took, 0.95))
		if p95 := quantile(took, 0.95); p95 > probedIn {
			return fmt.Sprintf("among %d %s 95 %% were answered within %v, want %v", most, d.name, p95, probedIn)
		}
		return ""
	})
	if open := s.ln.Counts().Open; open < uint64(most) {
		t.Errorf("%d %s: only %d connections were open, so the crowd was none", most, d.name, open)
	}
	for _, c := range clients {
		c.reset()
	}
	s.open(0)
}

// probe makes n requests, each on a connection of its own, all of which must be
// answered, and returns how long each took.
func (s *subject) probe(n int) (took []time.Duration) {
	var mu sync.Mutex
	crowd(4, n/4, func() {
		began := time.Now()
		s.visit(1, getClose("/plaintext"))
		mu.Lock()
		defer mu.Unlock()
		took = append(took, time.Since(began))
	})
	return took
}

// crowdedOut sends requests behind three slow clients for each worker.
func crowdedOut(t *testing.T, mode model.Mode, d slowClient) {
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

// gather connects a crowd and waits until all of it is connected.
func (s *subject) gather(n int, d slowClient) []*client {
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
