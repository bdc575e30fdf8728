package model_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/workload"
)

// A drain under load loses no request: whatever was sent on a connection that
// the server had taken gets its whole answer.
func TestDrainUnderLoad(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		for range 5 {
			s := start(t, mode, func(with *setup) {
				with.Depth, with.Overflow = 64, dispatch.Block
			})
			var clients sync.WaitGroup
			var answered atomic.Int64
			for range 6 {
				clients.Go(func() { s.loop(get("/work?sleep=1ms"), &answered) })
				clients.Go(func() { s.loop(getClose("/plaintext"), &answered) })
			}
			eventually(t, "a load", func() bool { return answered.Load() > 300 })
			drain, err := s.drain()
			if err != nil || drain.Forced != 0 {
				t.Errorf("got %+v %v, want nothing forced", drain, err)
			}
			clients.Wait()
		}
	})
}

// loop makes one request after the other until the server takes no more, and
// fails the test for every one that was sent and not answered.
func (s *subject) loop(request string, answered *atomic.Int64) {
	for {
		last := time.Now()
		c, err := s.tryDial()
		if err != nil {
			return // refused: not taken
		}
		for closed := false; !closed; {
			began := time.Now() // the client may be held up on either side of the call
			io.WriteString(c, request)
			idled := time.Since(last)
			a, err := c.read("GET")
			if err == io.EOF && idled > idleRace {
				break // closed before the request was sent
			}
			if err != nil || a.Status != 200 {
				s.t.Errorf("a request sent was lost: %d %v", a.Status, err)
				break
			}
			answered.Add(1)
			last, closed = began, a.field("Connection") == "close"
		}
		c.Close()
	}
}

// idleRace is far below the grace of a drain. A client that this machine held up
// for longer between two requests had an idle connection, which a drain may
// close.
const idleRace = 100 * time.Millisecond

// What the kernel had queued when the drain began is served, also when the
// model takes nothing more for a while.
func TestDrainServesTheAcceptQueue(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode, func(with *setup) {
			with.Workers, with.Depth, with.Overflow = 1, 0, dispatch.Block
			with.Socket.MaxConns = 1
		})
		const clients = 5
		var done sync.WaitGroup
		for range clients {
			c := s.dial()
			if _, err := io.WriteString(c, get("/work?sleep=100ms")); err != nil {
				t.Fatal(err)
			}
			done.Go(func() {
				if a, err := c.read("GET"); err != nil || a.Status != 200 {
					t.Errorf("got %+v %v, want 200", a, err)
				}
			})
			if s.dialled.Load() == 1 { // keeps the only place open until the drain
				eventually(t, "a request in service", func() bool { return s.model.Requests().Started == 1 })
			}
		}
		drain, err := s.drain()
		if err != nil || drain.Forced != 0 {
			t.Errorf("got %+v %v, want nothing forced", drain, err)
		}
		done.Wait()
		if got := s.ln.Counts().Done; got != clients {
			t.Errorf("got %d connections done, want %d", got, clients)
		}
	})
}

// Idle connections do not delay a drain, and do not count as forced.
func TestDrainClosesTheQuiet(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode)
		kept := s.dial()
		if _, err := kept.ask(get("/plaintext")); err != nil {
			t.Fatal(err)
		}
		quiet := []*client{kept}
		for range 8 { // more than workers: some wait in the pool's queue
			quiet = append(quiet, s.dial())
		}
		s.open(len(quiet))
		drain, err := s.drain()
		if err != nil || drain.Forced != 0 || drain.Took > 4*time.Second {
			t.Errorf("got %+v %v, want an early end and nothing forced", drain, err)
		}
		for _, c := range quiet {
			if _, err := c.in.ReadByte(); err != io.EOF {
				t.Errorf("got %v, want a clean close", err)
			}
		}
	})
}

// A request that had come in part when the drain began is answered.
func TestDrainAnswersTheHalfSent(t *testing.T) {
	for _, tc := range []struct {
		name         string
		before       int // whole requests on the connection first
		first, after string
	}{
		{"head of the first", 0, "GET /plaintext HTTP/1.1\r\nHo", "st: test\r\n\r\n"},
		{"body of the first", 0, "PUT /kv/k HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nva", "lue"},
		{"head of the second", 1, "GET /plaintext HTTP/1.1\r\nHo", "st: test\r\n\r\n"},
		{"first byte of the second", 1, "G", "ET /plaintext HTTP/1.1\r\nHost: test\r\n\r\n"},
		{"body of the second", 1, "PUT /kv/k HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nva", "lue"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachMode(t, func(t *testing.T, mode model.Mode) {
				s := start(t, mode)
				c := s.dial()
				for range tc.before {
					if _, err := c.ask(get("/plaintext")); err != nil {
						t.Fatal(err)
					}
				}
				io.WriteString(c, tc.first)
				s.open(1)
				quiet := s.dial() // it is closed when the drain's grace is over
				s.open(2)
				time.AfterFunc(0, func() { s.drain() })
				if _, err := quiet.in.ReadByte(); err != io.EOF {
					t.Fatalf("got %v, want a clean close", err)
				}
				a, err := c.ask(tc.after)
				if err != nil || a.Status/100 != 2 || a.field("Connection") != "close" {
					t.Errorf("got %+v %v, want success and close", a, err)
				}
				if drain, err := s.drain(); err != nil || drain.Forced != 0 {
					t.Errorf("got %+v %v, want nothing forced", drain, err)
				}
			})
		})
	}
}

// Requests left at the end of a drain are cut, and their connections count as dropped; idle
// ones count as done. The handlers have the rest of the timeout to end.
func TestDrainForces(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s, g := gated(t, mode, func(with *setup) { with.Drain = 4 * time.Second })
		idle, half := s.dial(), s.dial()
		io.WriteString(half, "GET /plaintext HTTP/1.1\r\nHo")
		s.open(2)
		busy := s.dial()
		io.WriteString(busy, get("/work"))
		s.open(3)
		g.holds(1)
		var cut sync.WaitGroup
		cut.Go(func() {
			s.open(0)
			g.open()
		})
		drain, err := s.drain()
		cut.Wait()
		if drain.Forced != 2 {
			t.Errorf("got %+v, want two forced", drain)
		}
		if c := s.ln.Counts(); c.Done != 1 || c.Dropped[model.DrainTimeout] != 2 {
			t.Errorf("got %+v, want the idle one done and two dropped", c)
		}
		if err != nil {
			t.Skipf("the gate opened too late: %v", err) // the machine was busy for a second
		}
		if r, want := s.model.Requests(), (model.RequestCounts{Started: 1, Aborted: 1}); r != want {
			t.Errorf("got %+v, want one started and aborted, none refused", r)
		}
		for _, c := range []*client{half, busy, idle} {
			if _, err := c.in.ReadByte(); err != io.EOF && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("got %v, want the connection closed", err)
			}
		}
	})
}

// A drain shorter than its grace drops only connections with a request in flight.
func TestDrainWithoutTime(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		ln, drain := serveFor(t, mode, newSetup(t, mode), 100*time.Millisecond)
		kept, _, half := dial(t, ln), dial(t, ln), dial(t, ln)
		if _, err := kept.ask(get("/plaintext")); err != nil {
			t.Fatal(err)
		}
		io.WriteString(half, "GET /plaintext HTTP/1.1\r\nHo")
		eventually(t, "three are open", func() bool { return ln.Counts().Open == 3 })
		d, _ := drain() // its goroutines may take longer to end than it has time
		if c := ln.Counts(); d.Forced != 1 || c.Done != 2 || c.Dropped[model.DrainTimeout] != 1 {
			t.Errorf("got %+v %+v, want two done and one dropped", d, c)
		}
	})
}

// A drain does not wait for a handler beyond its timeout. It is tried again on a busy machine.
func TestDrainHoldsItsTimeout(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		const timeout, slack, tries = time.Second, 300 * time.Millisecond, 8
		var took time.Duration
		for range tries {
			if took = leaveBehind(t, mode, timeout); took <= timeout+slack {
				return
			}
		}
		t.Errorf("took %v, want at most %v", took, timeout)
	})
}

// leaveBehind drains mode while a handler runs, and returns how long that took.
func leaveBehind(t *testing.T, mode model.Mode, timeout time.Duration) time.Duration {
	t.Helper()
	with := newSetup(t, mode)
	held, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	with.Handle = func(*workload.Exchange) {
		close(held)
		<-release
	}
	ln, drain := serveFor(t, mode, with, timeout)
	io.WriteString(dial(t, ln), get("/plaintext"))
	<-held
	d, err := drain()
	if d.Forced != 1 || err == nil || !strings.Contains(err.Error(), "--drain-timeout") {
		t.Errorf("got %+v %v, want one forced, the handler that was left behind and the flag", d, err)
	}
	return d.Took
}

// serveFor serves mode until drain is called, which may leave something behind.
func serveFor(t *testing.T, mode model.Mode, with setup, timeout time.Duration) (ln *model.Listener, drain func() (model.Drain, error)) {
	t.Helper()
	ln, err := with.Socket.Listen(t.Context(), with.warn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan struct{})
	var d model.Drain
	go func() {
		d, err = model.Serve(ctx, with.model(mode), ln, timeout)
		close(served)
	}()
	return ln, func() (model.Drain, error) {
		stop()
		<-served
		return d, err
	}
}

func dial(t *testing.T, ln *model.Listener) *client {
	t.Helper()
	nc, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(soon))
	return newClient(nc.(*net.TCPConn))
}

// When Serve returns, no goroutine and no descriptor is left. Not
// parallel, because it looks at the whole process.
func TestServeLeavesNothing(t *testing.T) {
	for _, mode := range model.Variants() {
		t.Run(mode.Name, func(t *testing.T) {
			known := goleak.IgnoreCurrent()
			files := openFiles(t)
			s := start(t, mode)
			crowd(4, 5, func() { s.visit(3, get("/plaintext")) })
			s.dial()
			for range 3 {
				c := s.dial()
				if _, err := c.ask(get("/plaintext")); err != nil {
					t.Fatal(err)
				}
				defer c.Close()
			}
			if _, err := s.drain(); err != nil {
				t.Error(err)
			}
			if err := goleak.Find(append(lingering(), known)...); err != nil {
				t.Error(err)
			}
			const clients = 4 // still hold their ends
			if got := openFiles(t); got > files+clients {
				t.Errorf("got %d descriptors, want at most %d", got, files+clients)
			}
		})
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
