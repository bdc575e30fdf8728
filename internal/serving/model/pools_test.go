package model_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
)

// Two workers of pool-requeue serve forty keep-alive clients that all stay: a
// connection that waits for its next request holds no worker.
func TestRequeueStarvesNobody(t *testing.T) {
	t.Parallel()
	s := start(t, lookup(t, "pool-requeue"), func(with *setup) { with.Workers = 2 })
	var clients []*client
	for range 40 {
		clients = append(clients, s.dial())
	}
	for range 3 {
		for i, c := range clients {
			if a, err := c.ask(get("/plaintext")); err != nil || a.Status != 200 {
				t.Fatalf("client %d: got %d %v, want 200", i, a.Status, err)
			}
		}
	}
	if c := s.ln.Counts(); c.Open != 40 || c.Accepted != 40 {
		t.Errorf("got %+v, want all 40 open, counted once", c)
	}
}

// No wake-up is lost between a burst's end and the wait for the next, at whatever
// moment a request comes: alone, in the middle of the one before, in pieces.
func TestRequeueLosesNoWakeUp(t *testing.T) {
	t.Parallel()
	s := start(t, lookup(t, "pool-requeue"), func(with *setup) { with.Workers = 2 })
	const clients, rounds = 16, 300
	request := get("/json")
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			c, err := s.tryDial()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for round := range rounds {
				n := 1 + (i+round)%3
				raw := strings.Repeat(request, n)
				cut := (i * round) % len(raw) // 0: in one piece
				io.WriteString(c, raw[:cut])
				io.WriteString(c, raw[cut:])
				for range n {
					if a, err := c.read("GET"); err != nil || a.Status != 200 {
						t.Errorf("client %d, round %d: got %d %v, want 200", i, round, a.Status, err)
						return
					}
				}
			}
		})
	}
	all.Wait()
}

// Heads that come in pieces hold no worker.
func TestRequeueKeepsSlowHeadsWaiting(t *testing.T) {
	t.Parallel()
	s := start(t, lookup(t, "pool-requeue"), func(with *setup) { with.Workers = 1 })
	kept := s.dial()
	if a, err := kept.ask(get("/json")); err != nil || a.Status != 200 {
		t.Fatalf("got %d %v, want 200", a.Status, err)
	}
	slow := []*client{kept}
	io.WriteString(kept, "GET /plaintext HTTP/1.1\r\nHo") // the second of its connection
	for range 4 {
		c := s.dial()
		io.WriteString(c, "GET /plaintext HTTP/1.1\r\nHo")
		slow = append(slow, c)
	}
	for range 10 {
		s.visit(1, get("/json"))
	}
	for i, c := range slow {
		if a, err := c.ask("st: test\r\n\r\n"); err != nil || a.Status != 200 || a.Body != "Hello, World!" {
			t.Errorf("client %d, a head in two pieces: got %+v %v, want 200", i, a, err)
		}
	}
}

// Whole requests are answered at once, on a worker, whatever part of the next one follows them.
func TestRequeueAnswersBeforeALongHead(t *testing.T) {
	t.Parallel()
	s := start(t, lookup(t, "pool-requeue"), func(with *setup) { with.Workers = 1 })
	for _, request := range []string{get("/plaintext"), "PUT /kv/k HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nvalue"} {
		for _, size := range []int{1, 4 << 10, 5 << 10, 15 << 10} {
			c := s.dial()
			c.SetDeadline(time.Now().Add(soon / 6))
			part := "GET /json HTTP/1.1\r\nHost: test\r\nX: " + strings.Repeat("x", size)
			io.WriteString(c, request+part)
			if a, err := c.read("GET"); err != nil || a.Status/100 != 2 {
				t.Errorf("%.3s before %d bytes of a head: got %d %v, want an answer at once", request, len(part), a.Status, err)
			}
			if a, err := c.ask("\r\n\r\n"); err != nil || a.Status != 200 {
				t.Errorf("the head of %d bytes: got %d %v, want 200", len(part), a.Status, err)
			}
		}
	}
}

// A client that never stops sending does not keep its worker from the others.
func TestRequeueSharesItsWorker(t *testing.T) {
	t.Parallel()
	s := start(t, lookup(t, "pool-requeue"), func(with *setup) { with.Workers = 1 })
	flood := s.dial()
	var stop atomic.Bool
	var sending, reading sync.WaitGroup
	sending.Go(func() {
		for batch := strings.Repeat(get("/plaintext"), 200); !stop.Load(); {
			if _, err := io.WriteString(flood, batch); err != nil {
				t.Error(err)
				return
			}
		}
	})
	reading.Go(func() {
		for {
			if _, err := flood.read("GET"); err != nil {
				return
			}
		}
	})
	eventually(t, "the flood is served", func() bool { return s.model.Requests().Started > 500 })
	other := s.dial()
	for range 20 {
		if a, err := other.ask(get("/json")); err != nil || a.Status != 200 {
			t.Errorf("during a flood: got %d %v, want 200", a.Status, err)
			break
		}
	}
	stop.Store(true)
	sending.Wait()
	flood.CloseWrite()
	reading.Wait()
}

// Where the policy is to drop, a client learns nothing and waits for as long as it
// likes, at most for the idle timeout; where it is to reject, it is told.
func TestDropLeavesClientsWaiting(t *testing.T) {
	const idle = 700 * time.Millisecond
	for _, mode := range []string{"pool", "pool-perworker", "pool-ring", "pool-requeue", "pool-request", "pool-adaptive"} {
		for _, overflow := range []string{dispatch.Drop, dispatch.Reject} {
			t.Run(fmt.Sprintf("%s/%v", mode, overflow), func(t *testing.T) {
				t.Parallel()
				s, g, waiting := full(t, mode, 1, 1, overflow, func(with *setup) { with.IdleTimeout = idle })
				began := time.Now()
				a, err := s.dial().ask(get("/plaintext"))
				took := time.Since(began)
				if overflow == dispatch.Reject {
					refusedPolitely(t, a, err)
				} else if err != io.EOF || took < idle/2 {
					t.Errorf("got %+v %v after %v, want nothing until the idle timeout of %v", a, err, took, idle)
				}
				g.open()
				for _, c := range waiting {
					if a, err := c.read("GET"); err != nil || a.Status != 200 {
						t.Errorf("got %d %v, want 200 for what was accepted", a.Status, err)
					}
					c.Close()
				}
				s.open(0)
				c, shed := s.ln.Counts(), s.model.Requests().Shed
				dropped := c.Dropped[model.Unanswered]
				if want := overflow == dispatch.Drop; (dropped == 1) != want || c.Turned() > 1 {
					t.Errorf("got %+v, want a connection dropped: %v", c, want)
				}
				if lookup(t, mode).Axes.Unit != "request" {
					return
				}
				if shed[model.Unanswered]+shed[model.QueueFull] != 1 || shed[model.Unanswered] != dropped {
					t.Errorf("got sheds %v, want one", shed)
				}
			})
		}
	}
}

// A dropped client does not hold up a drain, and is closed while requests are in flight.
func TestDrainClosesTheDropped(t *testing.T) {
	for _, mode := range []string{"pool", "pool-requeue", "pool-requeue after half a head", "pool-request"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			var s *subject
			var g *gate
			var extra *client
			rest := get("/plaintext")
			if mode == "pool-requeue after half a head" {
				s, g, extra, rest = fullAfterHalf(t, dispatch.Drop)
			} else {
				s, g, _ = full(t, mode, 1, 1, dispatch.Drop)
				extra = s.dial()
			}
			io.WriteString(extra, rest)
			s.open(3)
			time.AfterFunc(0, func() { s.drain() })
			if _, err := extra.in.ReadByte(); err != io.EOF {
				t.Errorf("got %v, want a clean close", err)
			}
			g.open()
			if drain, err := s.drain(); err != nil || drain.Forced != 0 {
				t.Errorf("got %+v %v, want nothing forced", drain, err)
			}
		})
	}
}

// With --overflow drop-oldest the oldest is refused and the newest served.
func TestDropOldestAnswersTheEvicted(t *testing.T) {
	for _, mode := range []string{"pool", "pool-perworker", "pool-ring", "pool-requeue", "pool-request", "pool-adaptive"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s, g, waiting := full(t, mode, 1, 2, dispatch.DropOldest)
			newest := s.dial()
			io.WriteString(newest, get("/plaintext"))
			a, err := waiting[1].read("GET")
			refusedPolitely(t, a, err)
			g.open()
			for i, c := range []*client{waiting[0], waiting[2], newest} {
				if a, err := c.read("GET"); err != nil || a.Status != 200 {
					t.Errorf("client %d: got %d %v, want 200", i, a.Status, err)
				}
				c.Close()
			}
			waiting[1].Close()
			s.open(0)
			byConnection, byRequest := s.ln.Counts().Rejected[model.Evicted], s.model.Requests().Shed[model.Evicted]
			if byConnection+byRequest != 1 || (byRequest == 1) != (lookup(t, mode).Axes.Unit == "request") {
				t.Errorf("got %d connections and %d requests evicted, want one", byConnection, byRequest)
			}
		})
	}
}

// A request that is too old when its turn comes is refused, where waits are
// controlled.
func TestStaleRequestsAreRefused(t *testing.T) {
	for _, mode := range []string{"pool", "pool-requeue", "pool-request", "pool-adaptive"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			overflow := dispatch.CoDel
			if mode == "pool-adaptive" {
				overflow = dispatch.Reject
			}
			const target = 20 * time.Millisecond
			s := start(t, lookup(t, mode), func(with *setup) {
				with.Workers, with.Depth, with.Overflow = 1, 1000, overflow
				with.Target, with.Interval = target, 2*target
			})
			var answered, refused atomic.Uint64
			crowd(20, 10, func() { // 20 clients with 10 ms of work each on one worker: far above the target
				c, err := s.tryDial()
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				switch a, err := c.ask(getClose("/work?sleep=10ms")); {
				case err == nil && a.Status == 200:
					answered.Add(1)
				case err == nil && a.Status == 503:
					refused.Add(1)
				default:
					t.Errorf("got %d %v, want 200 or 503", a.Status, err)
				}
			})
			s.open(0)
			stale := s.ln.Counts().Rejected[model.Stale] + s.model.Requests().Shed[model.Stale]
			if answered.Load() < 20 || refused.Load() == 0 || stale != refused.Load() {
				t.Errorf("got %d answered, %d refused and %d stale, want some of both and every refusal stale", answered.Load(), refused.Load(), stale)
			}
		})
	}
}

// A request that has waited longer than clients do is dropped when a worker is free: it gets no answer and is counted as expired.
func TestExpiredRequestsAreDropped(t *testing.T) {
	const wait = 250 * time.Millisecond // longer than a busy machine keeps the first from its worker
	for _, mode := range []string{"pool", "pool-perworker", "pool-ring", "pool-requeue", "pool-request"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s, g, waiting := full(t, mode, 1, 1, dispatch.Expire, func(with *setup) { with.Wait = wait })
			eventually(t, "the second has waited too long", func() bool { return s.ln.OldestWait() > 2*wait })
			g.open()
			if a, err := waiting[0].read("GET"); err != nil || a.Status != 200 {
				t.Errorf("the first: got %d %v, want 200", a.Status, err)
			}
			waiting[0].Close()
			waiting[1].Close()
			s.open(0)
			if n := s.ln.Counts().Dropped[model.Expired]; n != 1 {
				t.Errorf("got %d connections expired, want the second", n)
			}
			shed := s.model.Requests().Shed[model.Expired]
			if (shed == 1) != (lookup(t, mode).Axes.Unit == "request") {
				t.Errorf("got %d requests expired", shed)
			}
			if c := s.ln.Counts(); c.Turned() != 1 || c.Done != 1 {
				t.Errorf("got %+v, want one done and one dropped", c)
			}
		})
	}
}

// What flags make of the modes serves and drains as they do.
func TestVariants(t *testing.T) {
	for _, tc := range []struct {
		name, mode string
		change     func(*setup)
	}{
		{"locked", "pool", func(s *setup) { s.Locked = true }},
		{"closure", "pool", func(s *setup) { s.Job = dispatch.Closure }},
		{"least", "pool-perworker", func(s *setup) { s.Queue = dispatch.Least }},
		{"p2c", "pool-perworker", func(s *setup) { s.Queue = dispatch.TwoChoices }},
		{"steal", "pool-perworker", func(s *setup) { s.Steal = true }},
		{"locked steal", "pool-perworker", func(s *setup) { s.Steal, s.Locked = true, true }},
		{"spin", "pool-ring", func(s *setup) { s.Spin = 100 }},
		{"locked", "pool-requeue", func(s *setup) { s.Locked = true }},
		{"locked", "pool-request", func(s *setup) { s.Locked = true }},
		{"closure", "pool-request", func(s *setup) { s.Job = dispatch.Closure }},
		{"ring", "pool-request", func(s *setup) { s.Queue = "ring" }},
		{"locked", "pool-adaptive", func(s *setup) { s.Locked = true }},
	} {
		t.Run(tc.mode+"/"+tc.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, lookup(t, tc.mode), func(with *setup) {
				with.Depth, with.Overflow = 64, dispatch.Block
				tc.change(with)
			})
			crowd(4, 10, func() { s.visit(5, get("/plaintext")) })
			crowd(8, 10, func() { s.visit(1, getClose("/json")) })
			var clients sync.WaitGroup
			var answered atomic.Int64
			for range 3 { // fewer than workers: those may be sticky
				clients.Go(func() { s.loop(get("/work?sleep=1ms"), &answered) })
			}
			eventually(t, "a load", func() bool { return answered.Load() > 100 })
			if drain, err := s.drain(); err != nil || drain.Forced != 0 {
				t.Errorf("got %+v %v, want nothing forced", drain, err)
			}
			clients.Wait()
		})
	}
}

// The queues reject alike.
func TestQueuesReject(t *testing.T) {
	for _, queue := range []string{"shared", "ring"} {
		t.Run(queue, func(t *testing.T) {
			t.Parallel()
			s, g, waiting := full(t, "pool-request", 2, 2, dispatch.Reject, func(with *setup) { with.Queue = queue })
			extra := s.dial()
			for range 3 {
				a, err := extra.ask(get("/work"))
				refusedPolitely(t, a, err)
			}
			g.open()
			for _, c := range waiting {
				if a, err := c.read("GET"); err != nil || a.Status != 200 {
					t.Errorf("got %d %v, want 200 for what was accepted", a.Status, err)
				}
			}
			if got := s.model.Requests().Shed[model.QueueFull]; got != 3 {
				t.Errorf("got %d requests shed, want 3", got)
			}
		})
	}
}

// The queue of one model is not that of the next one of the same mode.
func TestQueueIsOfOneModel(t *testing.T) {
	t.Parallel()
	mode := lookup(t, "pool-request")
	with := newSetup(t, mode)
	with.Depth = 8
	for _, queue := range []string{"ring", "shared", "adaptive"} {
		with.Queue = queue
		if got := fmt.Sprintf("%T", with.model(mode).Queue()); !strings.Contains(got, queue) {
			t.Errorf("queue %s: got a %s", queue, got)
		}
	}
}
