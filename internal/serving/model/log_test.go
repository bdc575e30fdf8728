package model_test

import (
	"bytes"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
)

// A logbook is a log to be read while it is written.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// At the connection cap the log says so and which flag to change, at most once in ten seconds.
func TestWarnsAtTheConnectionCap(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		const most = 3
		var log logbook
		with := newSetup(t, mode)
		with.Socket.MaxConns = most
		with.warn = slog.New(slog.NewTextHandler(&log, nil)).Warn
		ln, drain := serveFor(t, mode, with, soon)
		defer drain()
		for round := range uint64(3) {
			var all []*client
			for range most {
				c := dial(t, ln)
				if _, err := c.ask(get("/plaintext")); err != nil {
					t.Fatal(err)
				}
				all = append(all, c)
			}
			over := dial(t, ln) // is let in when another goes
			eventually(t, "a warning", func() bool { return strings.Contains(log.String(), "--max-conns") })
			for _, c := range append(all, over) {
				c.Close()
			}
			eventually(t, "all are closed", func() bool { c := ln.Counts(); return c.Open == 0 && c.Accepted >= (round+1)*(most+1) })
		}
		var last time.Time
		for line := range strings.Lines(log.String()) {
			said, _, _ := strings.Cut(strings.TrimPrefix(line, "time="), " ")
			at, err := time.Parse(time.RFC3339, said)
			if err != nil || !strings.Contains(line, "max_conns=3") {
				t.Fatalf("got the line %q, %v; want a warning and its time", line, err)
			}
			// A clock that is set, and the moment between decision and line, aside.
			if !last.IsZero() && at.Sub(last) < 9*time.Second {
				t.Errorf("warned again %v after the last time:\n%s", at.Sub(last), log.String())
			}
			last = at
		}
	})
}

// A long wait for a place behind the acceptor is logged, too.
func TestWarnsOfStalledRequests(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, want string }{
		{"pool-requeue", "a connection's burst waits"},
		{"pool-request", "a request waits"},
		{"pool-adaptive", "a request waits"},
		{"loop-offload", "a loop with all its connections waits"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var log logbook
			s, g, _ := full(t, tc.name, 1, 1, dispatch.Block, func(with *setup) {
				with.Log = slog.New(slog.NewTextHandler(&log, nil))
				with.Socket.Sockets = 0
			})
			if log.String() != "" {
				t.Errorf("before anybody waits: got %s", log.String())
			}
			c := s.dial()
			io.WriteString(c, getClose("/work"))
			eventually(t, "a warning", func() bool { return strings.Contains(log.String(), tc.want) })
			g.open()
			if a, err := c.read("GET"); err != nil || a.Status != 200 {
				t.Errorf("got %d %v, want 200 in the end", a.Status, err)
			}
			if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "--overflow reject") {
				t.Errorf("got %d warnings, want one with the fix:\n%s", n, log.String())
			}
		})
	}
}

// When an acceptor waits long for a place in the queue, the log says so and which flags to
// change; otherwise it says nothing.
func TestWarnsOfAStalledAcceptor(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pool", "pool-perworker", "pool-ring", "threadpool"} {
		for _, overflow := range []string{dispatch.Block, dispatch.Reject} {
			t.Run(name+" "+overflow, func(t *testing.T) {
				t.Parallel()
				var log logbook
				s, g := gated(t, lookup(t, name), func(with *setup) {
					with.Workers, with.Depth, with.Overflow = 2, 2, overflow
					with.Log = slog.New(slog.NewTextHandler(&log, nil))
				})
				for i := range 5 { // two in service, two in the queue, one more
					c := s.dial()
					io.WriteString(c, getClose("/work"))
					eventually(t, "accepted", func() bool { return s.ln.Counts().Accepted == uint64(i+1) })
				}
				if overflow == dispatch.Block {
					eventually(t, "a warning", func() bool {
						return strings.Contains(log.String(), "--workers") && strings.Contains(log.String(), "--overflow reject")
					})
				}
				g.open()
				s.open(0)
				if n := strings.Count(log.String(), "accepting waits"); n > 1 || n > 0 && overflow == dispatch.Reject {
					t.Errorf("got %d warnings under %v:\n%s", n, overflow, log.String())
				}
			})
		}
	}
}
