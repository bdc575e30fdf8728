package model_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
)

// crowd runs f on n goroutines, times times each, and waits.
func crowd(n, times int, f func()) {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for range times {
				f()
			}
		})
	}
	all.Wait()
}

// Every connection is counted once when accepted and once when closed,
// whatever its client does.
func TestCounting(t *testing.T) {
	upload := "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("b", 5000)
	cut := func(sent string) func(*subject) {
		return func(s *subject) {
			if c, err := s.tryDial(); err == nil {
				io.WriteString(c, sent)
				c.reset()
			}
		}
	}
	for _, tc := range []struct {
		name     string
		visit    func(*subject)
		requests uint64 // each visit has answered; 0: the client did not wait to know
	}{
		{"keep-alive", func(s *subject) { s.visit(10, get("/plaintext")) }, 10},
		{"close", func(s *subject) { s.visit(1, getClose("/plaintext")) }, 1},
		{"client closes", func(s *subject) { s.visit(1, get("/json")) }, 1},
		{"reset at once", cut(""), 0},
		{"reset in the head", cut("GET /plaintext HTTP/1.1\r\nHo"), 0},
		{"reset in the body", cut(upload), 0},
		{"reset before reading", cut(get("/bytes/500000")), 0},
		{"reset while served", cut(get("/work?sleep=2ms")), 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachMode(t, func(t *testing.T, mode model.Mode) {
				s := start(t, mode, func(with *setup) {
					if mode.Name == "pool-request" {
						with.Depth = 16 // room for everybody
					}
				})
				const clients, times = 8, 10
				crowd(clients, times, func() { tc.visit(s) })
				s.open(0)
				eventually(t, "all connects are accepted", func() bool { return s.ln.Counts().Accepted == s.dialled.Load() })
				if c := s.ln.Counts(); c.Turned() != 0 {
					t.Errorf("got %+v, want none turned away", c)
				}
				if want := clients * times * tc.requests; want > 0 && s.model.Requests().Started != want {
					t.Errorf("requests started: got %d, want %d", s.model.Requests().Started, want)
				}
			})
		})
	}
}

// visit connects and makes n requests, each of which must be answered with 200.
func (s *subject) visit(n int, request string) {
	c, err := s.tryDial()
	if err != nil {
		s.t.Error(err)
		return
	}
	defer c.Close()
	for range n {
		if a, err := c.ask(request); err != nil || a.Status != 200 {
			s.t.Errorf("got %d %v, want 200", a.Status, err)
			return
		}
	}
}

// With a limit of answers for each connection, the last answer says that the connection
// closes, the server closes it, and it counts as done.
func TestCloseAfter(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode, func(with *setup) { with.CloseAfter = 3 })
		for range 4 {
			c := s.dial()
			for i, want := range []string{"", "", "close"} {
				a, err := c.ask(get("/plaintext"))
				if err != nil || a.Status != 200 || a.field("Connection") != want {
					t.Fatalf("answer %d: got %d with Connection %q %v, want 200 with %q", i+1, a.Status, a.field("Connection"), err, want)
				}
			}
			if n, err := io.Copy(io.Discard, c); n != 0 || err != nil {
				t.Errorf("after the last answer: got %d bytes %v, want the end", n, err)
			}
		}
		s.open(0)
		if c := s.ln.Counts(); c.Accepted != 4 || c.Done != 4 {
			t.Errorf("got %+v, want 4 accepted and done", c)
		}
	})
}

// A connection that closes silently gives its last answer like any other, and counts as done.
// Requests that came together with the last are answered first.
func TestCloseSilently(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode, func(with *setup) { with.CloseAfter, with.Silently = 3, true })
		for _, last := range []int{1, 2} {
			c := s.dial()
			for i := range 2 + last {
				request := get("/plaintext")
				switch {
				case i == 2:
					request = strings.Repeat(request, last)
				case i > 2:
					request = "" // sent already
				}
				a, err := c.ask(request)
				if err != nil || a.Status != 200 || a.field("Connection") != "" {
					t.Fatalf("answer %d: got %d with Connection %q %v, want 200 with none", i+1, a.Status, a.field("Connection"), err)
				}
			}
			if n, err := io.Copy(io.Discard, c); n != 0 || err != nil {
				t.Errorf("after the last answer: got %d bytes %v, want the end", n, err)
			}
		}
		s.open(0)
		if c := s.ln.Counts(); c.Accepted != 2 || c.Done != 2 {
			t.Errorf("got %+v, want 2 accepted and done", c)
		}
	})
}

// Connections turned away are not counted as served.
func TestCountingUnderOverload(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode, func(with *setup) {
			with.Workers, with.Depth, with.Overflow = 1, 1, dispatch.Reject
		})
		var mu sync.Mutex
		statuses := map[int]uint64{}
		crowd(16, 5, func() {
			c, err := s.tryDial()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			a, _ := c.ask(getClose("/work?sleep=2ms"))
			mu.Lock()
			defer mu.Unlock()
			statuses[a.Status]++
		})
		s.open(0)
		c := s.ln.Counts()
		tooSlow := c.Dropped[model.QueueFull] // this machine was too slow even for a refusal; so it was with a 408
		refused := statuses[503] + statuses[408] + tooSlow
		if c.Accepted != s.dialled.Load() || statuses[200]+refused != c.Accepted {
			t.Errorf("got %+v and statuses %v of %d connects", c, statuses, s.dialled.Load())
		}
		if rejects := mode.Depth != nil; (refused > 0) != rejects {
			t.Errorf("got %d refusals, want some: %v", refused, rejects)
		}
		byConnection := uint64(0) // or else requests are refused, not connections
		if mode.Axes.Unit != "request" {
			byConnection = refused
		}
		if c.Turned() != byConnection || c.Rejected[model.QueueFull]+tooSlow != byConnection {
			t.Errorf("got %+v, want %d rejected because the queue was full", c, byConnection)
		}
	})
}

// The connections a model calls open are those the kernel knows.
func TestOpenAgreesWithKernel(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode)
		var clients []*client
		for range 3 {
			c := s.dial()
			if _, err := c.ask(get("/plaintext")); err != nil {
				t.Fatal(err)
			}
			clients = append(clients, c)
		}
		for range 3 { // beyond the pool's workers: queued, and still open
			clients = append(clients, s.dial())
		}
		for len(clients) > 0 {
			s.open(len(clients))
			s.kernelHolds(len(clients))
			clients[0].Close()
			clients = clients[1:]
		}
		s.open(0)
	})
}

// kernelHolds waits until the kernel lists n connections of the server. It looks repeatedly,
// because a listing is not atomic and other sockets are opened meanwhile.
func (s *subject) kernelHolds(n int) {
	s.t.Helper()
	eventually(s.t, "the kernel lists as many connections", func() bool {
		if s.kernelOpen() == n {
			return true
		}
		time.Sleep(50 * time.Millisecond) // a listing is work for the kernel
		return false
	})
}

// kernelOpen is the number of connections of the server's port that the kernel
// lists: established, or closed by the client alone. (/proc/net/tcp; states of
// include/net/tcp_states.h.)
func (s *subject) kernelOpen() int {
	const established, closeWait = "01", "08"
	list, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		s.t.Fatal(err)
	}
	port := fmt.Sprintf(":%04X", s.ln.Addr().(*net.TCPAddr).Port)
	remotes := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		if !strings.Contains(line, port) {
			continue
		}
		field := strings.Fields(line) // number, local, remote, state, ...
		if strings.HasSuffix(field[1], port) && (field[3] == established || field[3] == closeWait) {
			remotes[field[2]] = true
		}
	}
	return len(remotes)
}
