//go:build linux

package model_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/workload"
)

// loops runs f for the modes whose connections live on event loops.
func loops(t *testing.T, f func(t *testing.T, mode model.Mode)) {
	t.Parallel()
	for _, mode := range variants() {
		if mode.Loops {
			t.Run(mode.Name, func(t *testing.T) {
				t.Parallel()
				f(t, mode)
			})
		}
	}
}

// A single loop takes a connection when it has served the one before: past
// capacity accepted and done stay together, where net/http takes all and serves
// them at once.
func TestLoopSingleTakesWhatItServes(t *testing.T) {
	t.Parallel()
	const clients, each = 16, 6
	ahead := func(name string) (most uint64) {
		s := start(t, lookup(t, name))
		var answered atomic.Int64
		watched := make(chan struct{})
		stop := make(chan struct{})
		go func() {
			defer close(watched)
			for {
				select {
				case <-stop:
					return
				default:
				}
				// Once every client has one that waits, until the first of them leave.
				if n := answered.Load(); n > clients && n < clients*(each-1) {
					c := s.ln.Counts()
					most = max(most, c.Accepted-c.Done)
				}
				runtime.Gosched()
			}
		}()
		crowd(clients, each, func() {
			s.visit(1, getClose("/work?iters=3000000"))
			answered.Add(1)
		})
		close(stop)
		<-watched
		return most
	}
	if got := ahead("loop-single"); got > 1 {
		t.Errorf("loop-single: %d connections were accepted ahead of those done, want at most 1", got)
	}
	if got := ahead("nethttp"); got < clients/2 {
		t.Errorf("nethttp: %d connections were accepted ahead of those done, want most of %d", got, clients)
	}
}

// A handler that waits holds up its loop, unless workers run it.
func TestLoopIsHeldUp(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		held bool
	}{{"loop-single", true}, {"loop-offload", false}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, g := gated(t, lookup(t, tc.name))
			slow, quick := s.dial(), s.dial()
			for _, c := range []*client{slow, quick} { // both have been served
				if a, err := c.ask(get("/plaintext")); err != nil || a.Status != 200 {
					t.Fatalf("got %d %v, want 200", a.Status, err)
				}
			}
			io.WriteString(slow, get("/work"))
			g.holds(1)
			io.WriteString(quick, get("/plaintext"))
			if tc.held {
				quick.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
				if _, err := quick.in.Peek(1); err == nil {
					t.Error("a request was answered while the loop's only thread was held")
				}
				quick.SetReadDeadline(time.Now().Add(soon))
				g.open()
			}
			if a, err := quick.read("GET"); err != nil || a.Status != 200 {
				t.Errorf("got %d %v, want 200", a.Status, err)
			}
			g.open()
			if a, err := slow.read("GET"); err != nil || a.Status != 200 {
				t.Errorf("the slow request: got %d %v, want 200", a.Status, err)
			}
		})
	}
}

// Requests that came while the loop was held are served in their order, or the newest first.
func TestLoopServesABatchInOrder(t *testing.T) {
	t.Parallel()
	for want, batch := range map[string]string{"1 2 3 4": "in-order", "4 3 2 1": model.NewestFirst} {
		var order []string // of the loop's goroutine
		s, g := gated(t, lookup(t, "loop-single"), func(with *setup) {
			with.Batch = batch
			serve := with.Handle
			with.Handle = func(x *workload.Exchange) {
				if x.Query != "" {
					order = append(order, strings.Clone(x.Query)) // a view, valid as long as the request
				}
				serve(x)
			}
		})
		clients := make([]*client, 5)
		for i := range clients {
			clients[i] = s.dial()
			if a, err := clients[i].ask(get("/plaintext")); err != nil || a.Status != 200 {
				t.Fatalf("got %d %v, want 200", a.Status, err)
			}
		}
		io.WriteString(clients[0], get("/work"))
		g.holds(1)
		for i, c := range clients[1:] {
			io.WriteString(c, get(fmt.Sprint("/plaintext?", i+1)))
		}
		g.open()
		for _, c := range clients {
			if a, err := c.read("GET"); err != nil || a.Status != 200 {
				t.Errorf("got %d %v, want 200", a.Status, err)
			}
		}
		s.drain()
		if got := strings.Join(order, " "); got != want {
			t.Errorf("%s: served %s, want %s", batch, got, want)
		}
	}
}

// Full workers refuse a request on its live connection, and the loops go on.
func TestLoopOffloadRejects(t *testing.T) {
	t.Parallel()
	s, g, waiting := full(t, "loop-offload", 2, 2, dispatch.Reject)
	extra := s.dial()
	for range 3 {
		a, err := extra.ask(get("/work"))
		refusedPolitely(t, a, err)
		if a.field("Connection") != "" {
			t.Errorf("got Connection %q, want the connection kept", a.field("Connection"))
		}
	}
	g.open()
	for _, c := range waiting {
		if a, err := c.read("GET"); err != nil || a.Status != 200 {
			t.Errorf("got %d %v, want 200 for what was accepted", a.Status, err)
		}
	}
	eventually(t, "idle workers", func() bool { return s.model.Queue().Busy() == 0 })
	if a, err := extra.ask(get("/plaintext")); err != nil || a.Status != 200 {
		t.Errorf("the next request: got %d %v, want 200", a.Status, err)
	}
}

// A request that comes byte by byte, answers that leave the same way, and
// requests that never pause: the loop serves others between any two steps.
func TestLoopServesInSteps(t *testing.T) {
	loops(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode, func(with *setup) {
			with.Socket.Sockets = 1 // everybody on one loop
			with.Depth = 1000
		})
		var all sync.WaitGroup
		all.Go(func() { // byte by byte
			c := s.dial()
			for _, b := range []byte(upload("POST /echo", "bytes", "Expect: 100-continue")) {
				c.Write([]byte{b})
				time.Sleep(time.Millisecond)
			}
			if a, err := c.read("POST"); err != nil || a.Body != "bytes" {
				t.Errorf("byte by byte: got %+v %v, want the echo", a, err)
			}
		})
		all.Go(func() { // answers larger than every buffer, read late
			c := s.dial()
			c.SetReadBuffer(64 << 10)
			for range 4 {
				io.WriteString(c, get("/bytes/1048576"))
			}
			for range 4 {
				if a, err := c.read("GET"); err != nil || len(a.Body) != 1<<20 {
					t.Errorf("large answers: got %d bytes %v, want 1 MiB", len(a.Body), err)
				}
			}
		})
		all.Go(func() { // never pausing
			c := s.dial()
			const n = 5000
			all.Go(func() { io.WriteString(c, strings.Repeat(get("/plaintext"), n)) })
			for i := range n {
				c.SetDeadline(time.Now().Add(soon)) // each in time: all of them can take longer beside other tests
				if a, err := c.read("GET"); err != nil || a.Status != 200 {
					t.Errorf("pipelined request %d: got %d %v, want 200", i, a.Status, err)
					return
				}
			}
		})
		for range 200 { // more than the coroutines that a loop keeps
			c := s.dial()
			all.Go(func() {
				for i := range 5 {
					if a, err := c.ask(get(fmt.Sprintf("/bytes/%d", i))); err != nil || len(a.Body) != i {
						t.Errorf("one of many: got %d bytes %v, want %d", len(a.Body), err, i)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

// An idle connection of a loop has no goroutine, coroutine or buffers.
// Not parallel: goroutines are counted in the whole process.
func TestLoopIdleConnectionsHoldNothing(t *testing.T) {
	const clients = 400
	s := start(t, lookup(t, "loop-single"))
	before := runtime.NumGoroutine()
	for range clients {
		if a, err := s.dial().ask(get("/plaintext")); err != nil || a.Status != 200 {
			t.Fatalf("got %d %v, want 200", a.Status, err)
		}
	}
	s.open(clients)
	if grown := runtime.NumGoroutine() - before; grown > 10 {
		t.Errorf("%d idle connections have %d goroutines, want the few that serve all of them", clients, grown)
	}
}

// A request and its answer allocate nothing, from the socket to the handler and
// back. Not parallel: allocations are counted in the whole process.
func TestLoopAllocatesNothing(t *testing.T) {
	for _, name := range []string{"loop", "loop-single", "loop-offload"} {
		s := start(t, lookup(t, name))
		c := s.dial()
		a, err := c.ask(get("/plaintext"))
		if err != nil {
			t.Fatal(err)
		}
		request, answer := []byte(get("/plaintext")), make([]byte, a.Size)
		got := testing.AllocsPerRun(1000, func() {
			c.Write(request)
			io.ReadFull(c.TCPConn, answer)
		})
		if got != 0 {
			t.Errorf("%s: got %g allocations for a request, want 0", name, got)
		}
		s.drain()
	}
}

// The lag of a loop is as long as its handlers hold it, and an idle loop has none.
func TestLoopLag(t *testing.T) {
	t.Parallel()
	lags := make(chan time.Duration, 1000)
	s := start(t, lookup(t, "loop-single"), func(with *setup) {
		with.Lagged = func(d time.Duration) { lags <- d }
	})
	s.visit(1, get("/work?sleep=120ms"))
	s.open(0)
	s.drain()
	close(lags)
	var longest time.Duration
	n := 0
	for d := range lags {
		longest = max(longest, d)
		n++
	}
	if longest < 120*time.Millisecond || n > 5 {
		t.Errorf("got %d lags of at most %v, want few, and one of 120ms", n, longest)
	}
}

// What a loop reports as its work is the CPU time of its handlers and its own, not the time
// that it waits.
func TestLoopWork(t *testing.T) {
	t.Parallel()
	const turns, each = 400, time.Millisecond
	threadCPU := func() (int, time.Duration) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var now unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
		return unix.Gettid(), time.Duration(now.Nano())
	}
	var worked atomic.Int64
	s := start(t, lookup(t, "loop-single"), func(with *setup) {
		with.Worked = func(d time.Duration) { worked.Add(int64(d)) }
		with.Handle = func(x *workload.Exchange) {
			x.Status = 200
			if x.Path == "/plaintext" { // that of start, which waits until the server is ready
				return
			}
			thread, begun := threadCPU()
			for now, used := thread, begun; used-begun < each; now, used = threadCPU() {
				if now != thread { // another thread's clock
					thread, begun = now, used
				}
			}
		}
	})
	for range turns {
		s.visit(1, get("/busy"))
	}
	s.open(0)
	s.drain()
	if got := time.Duration(worked.Load()); got < turns*each/2 || got > 3*turns*each {
		t.Errorf("got %v of CPU time, want some %v", got, turns*each)
	}
}

// A body of which there is always more to read, because others keep the loop busy
// while its client sends on, ends at the body's time all the same.
func TestLoopEndsABodyWithoutPause(t *testing.T) {
	t.Parallel()
	const others, short = 16, 300 * time.Millisecond
	s := start(t, lookup(t, "loop-single"), func(with *setup) { with.BodyTimeout, with.MaxBody = short, 1<<30 })
	over := make(chan struct{})
	var busy sync.WaitGroup
	for range others {
		c := s.dial()
		busy.Go(func() {
			defer c.Close()
			for {
				select {
				case <-over:
					return
				default:
				}
				if _, err := c.ask(get("/work?sleep=5ms")); err != nil {
					t.Errorf("during the flood: %v", err)
					return
				}
			}
		})
	}
	flood, began := s.dial(), time.Now()
	defer flood.Close()
	go func() {
		chunks := strings.Repeat("1\r\ny\r\n", 5000)
		for _, err := io.WriteString(flood, request("POST /echo", "Transfer-Encoding: chunked")); err == nil; {
			_, err = io.WriteString(flood, chunks)
		}
	}()
	if a, err := flood.read("POST"); err == nil && a.Status < 400 {
		t.Errorf("got %d, want a refusal or a close", a.Status)
	}
	s.open(others)
	if took := time.Since(began); took > short+slack {
		t.Errorf("it took %v, want %v", took, short)
	}
	close(over)
	busy.Wait()
	s.open(0)
}
