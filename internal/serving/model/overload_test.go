package model_test

import (
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/workload"
)

// A gate holds requests to /work until it is opened, and serves the others.
type gate struct {
	t      *testing.T
	held   chan struct{} // one for each request held
	opened chan struct{}
	open   func()
}

// gated starts mode with a gate.
func gated(t *testing.T, mode model.Mode, changes ...func(*setup)) (*subject, *gate) {
	g := &gate{t: t, held: make(chan struct{}, 1000), opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	s := start(t, mode, append(changes, func(with *setup) {
		serve := with.Handle
		with.Handle = func(x *workload.Exchange) {
			if strings.HasPrefix(x.Path, "/work") {
				g.held <- struct{}{}
				<-g.opened
			}
			serve(x)
		}
	})...)
	t.Cleanup(g.open)
	return s, g
}

// holds waits until the gate holds n requests.
func (g *gate) holds(n int) {
	g.t.Helper()
	eventually(g.t, "a request in service", func() bool { return len(g.held) == n })
}

// full starts the mode of that name, and fills its workers and its queue with
// the requests of the clients it returns.
func full(t *testing.T, name string, workers, depth int, overflow string, changes ...func(*setup)) (*subject, *gate, []*client) {
	t.Helper()
	s, g := gated(t, lookup(t, name), append(changes, func(with *setup) {
		with.Workers, with.Depth, with.Overflow = workers, depth, overflow
	})...)
	return s, g, g.fill(s, workers, depth)
}

// fill fills the workers and the queue of s, which are empty.
func (g *gate) fill(s *subject, workers, depth int) (waiting []*client) {
	g.t.Helper()
	for i := range workers + depth {
		c := s.dial()
		io.WriteString(c, get("/work"))
		waiting = append(waiting, c)
		if i < workers {
			g.holds(i + 1)
		} else {
			eventually(g.t, "a queued job", func() bool { return s.model.Queue().Depth() == i-workers+1 })
		}
	}
	return waiting
}

// fullAfterHalf is full for pool-requeue with one worker and a queue for one. Before that another
// client has sent half a head, which the server keeps for the connection's next burst; rest is the
// other half.
func fullAfterHalf(t *testing.T, overflow string) (s *subject, g *gate, half *client, rest string) {
	t.Helper()
	var bursts atomic.Int64
	s, g = gated(t, lookup(t, "pool-requeue"), func(with *setup) {
		with.Workers, with.Depth, with.Overflow = 1, 1, overflow
		with.Waited = func(time.Duration) { bursts.Add(1) }
	})
	half, rest = s.dial(), "st: test\r\n\r\n"
	io.WriteString(half, "GET /plaintext HTTP/1.1\r\nHo")
	eventually(t, "the worker takes it", func() bool { return bursts.Load() == 1 })
	g.fill(s, 1, 1) // the worker takes these after it
	return s, g, half, rest
}

func refusedPolitely(t *testing.T, a answer, err error) {
	t.Helper()
	if err != nil || a.Status != 503 || len(a.Interim) > 0 || a.field("Retry-After") != "1" || a.Body != "overloaded\n" ||
		a.field("Content-Type") != "text/plain; charset=utf-8" || a.field("Server") != "schedlab" {
		t.Errorf("got %+v %v, want 503 with Retry-After", a, err)
	}
}

// A full pool refuses connections with an answer that its clients can read, also
// those that are still sending. One that waits to send its body is refused at once, and a silent one
// is closed without an answer.
func TestPoolRejects(t *testing.T) {
	t.Parallel()
	s, g, waiting := full(t, "pool", 1, 1, dispatch.Reject)
	var refused atomic.Uint64
	body := strings.Repeat("b", 300_000)
	waits := request("POST /echo", "Content-Length: 5", "Expect: 100-continue")
	for _, raw := range []string{getClose("/plaintext"), get("/plaintext"), upload("POST /echo", body), waits} {
		crowd(10, 2, func() {
			c, err := s.tryDial()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			a, err := c.ask(raw)
			refusedPolitely(t, a, err)
			if _, err := c.in.ReadByte(); err != io.EOF {
				t.Errorf("after the refusal: got %v, want a clean close", err)
			}
			refused.Add(1)
		})
	}
	if _, err := s.dial().in.ReadByte(); err != io.EOF {
		t.Errorf("a silent client: got %v, want a clean close", err)
	}
	s.dial().Close() // as a balancer does that looks whether the port is open
	eventually(t, "all but those that wait are gone", func() bool { return s.ln.Counts().Open == 2 })
	g.open()
	for _, c := range waiting {
		if a, err := c.read("GET"); err != nil || a.Status != 200 {
			t.Errorf("got %d %v, want 200 for what was accepted", a.Status, err)
		}
		c.Close()
	}
	s.open(0)
	if c := s.ln.Counts(); c.Rejected[model.QueueFull] != refused.Load() || c.Dropped[model.QueueFull] != 2 || c.Turned() != refused.Load()+2 {
		t.Errorf("got %+v, want %d rejected and two dropped", c, refused.Load())
	}
	if got, want := s.model.Requests(), (model.RequestCounts{Started: 2}); got != want {
		t.Errorf("got %+v, want none refused: their connections were", got)
	}
	s.visit(1, getClose("/plaintext"))
}

// A connection of which half a head had been read before is refused for its whole request.
func TestRequeueRejectsAfterHalfAHead(t *testing.T) {
	t.Parallel()
	for _, overflow := range []string{dispatch.Reject, dispatch.DropOldest} {
		s, _, half, rest := fullAfterHalf(t, overflow)
		io.WriteString(half, rest)
		if overflow == dispatch.DropOldest { // it takes the place of the one that waits, and the next takes its
			eventually(t, "the one that waits is evicted", func() bool { return s.ln.Counts().Open == 2 })
			io.WriteString(s.dial(), get("/plaintext"))
		}
		a, err := half.read("GET")
		refusedPolitely(t, a, err)
		if got, want := s.model.Requests(), (model.RequestCounts{Started: 1}); got != want {
			t.Errorf("%s: got %+v, want none refused: the connection was", overflow, got)
		}
	}
}

// With too many refusals in progress connections are dropped, under a reason of their own.
func TestPoolDropsPastTheRefusals(t *testing.T) {
	t.Parallel()
	s, _, _ := full(t, "pool", 1, 1, dispatch.Reject)
	free := model.BusyRefuser(s.model)
	c := s.dial()
	if _, err := c.in.ReadByte(); err != io.EOF {
		t.Errorf("got %v, want the connection closed", err)
	}
	free()
	a, err := s.dial().ask(getClose("/plaintext"))
	refusedPolitely(t, a, err)
	s.open(2) // the two that are held
	if c := s.ln.Counts(); c.Dropped[model.ShedBusy] != 1 || c.Rejected[model.QueueFull] != 1 || c.Turned() != 2 {
		t.Errorf("got %+v, want one dropped and one rejected", c)
	}
}

// A blocking pool lets everybody wait, in its queue, in the acceptor and in the
// kernel, and answers all.
func TestPoolBlocks(t *testing.T) {
	t.Parallel()
	s, g, waiting := full(t, "pool", 1, 2, dispatch.Block)
	for range 20 {
		c := s.dial()
		io.WriteString(c, getClose("/work"))
		waiting = append(waiting, c)
	}
	// One in service, two queued, one in the acceptor's hands; the kernel has the rest.
	eventually(t, "four accepted", func() bool { return s.ln.Counts().Accepted == 4 })
	g.open()
	for i, c := range waiting {
		if a, err := c.read("GET"); err != nil || a.Status != 200 {
			t.Errorf("client %d: got %d %v, want 200", i, a.Status, err)
		}
		c.Close()
	}
	s.open(0)
	if c := s.ln.Counts(); c.Turned() != 0 || c.Done != 23 {
		t.Errorf("got %+v, want 23 done", c)
	}
}

// pool-request refuses a request and keeps its connection, which then works.
func TestPoolRequestRejects(t *testing.T) {
	t.Parallel()
	s, g, waiting := full(t, "pool-request", 2, 2, dispatch.Reject)
	extra := s.dial()
	for range 3 {
		a, err := extra.ask(get("/work"))
		refusedPolitely(t, a, err)
		if a.field("Connection") != "" {
			t.Errorf("got Connection %q, want the connection kept", a.field("Connection"))
		}
	}
	a, err := extra.ask(upload("POST /echo", strings.Repeat("b", 300_000)))
	refusedPolitely(t, a, err)

	g.open()
	for _, c := range waiting {
		if a, err := c.read("GET"); err != nil || a.Status != 200 {
			t.Errorf("got %d %v, want 200 for what was accepted", a.Status, err)
		}
	}
	eventually(t, "an idle pool", func() bool { return s.model.Queue().Busy() == 0 })
	if a, err := extra.ask(get("/plaintext")); err != nil || a.Status != 200 {
		t.Errorf("the next request: got %d %v, want 200", a.Status, err)
	}
	if c := s.ln.Counts(); c.Turned() != 0 {
		t.Errorf("got %+v: a refused request is no refused connection", c)
	}
}

// A worker of a sticky pool keeps its connection: of four keep-alive clients on two
// workers two get nothing until the idle timeout frees a worker.
func TestStickyPoolsStarveSurplusClients(t *testing.T) {
	t.Parallel()
	for _, mode := range model.Variants() {
		if mode.Sticky {
			t.Run(mode.Name, func(t *testing.T) {
				t.Parallel()
				starve(t, mode)
			})
		}
	}
}

func starve(t *testing.T, mode model.Mode) {
	const idle = 600 * time.Millisecond
	s := start(t, mode, func(with *setup) {
		with.Workers, with.IdleTimeout = 2, idle
	})
	began := time.Now()
	var served []*client
	for range 2 {
		c := s.dial()
		if a, err := c.ask(get("/plaintext")); err != nil || a.Status != 200 {
			t.Fatalf("got %d %v, want 200", a.Status, err)
		}
		served = append(served, c)
	}
	var starved sync.WaitGroup
	for range 2 {
		c := s.dial()
		io.WriteString(c, getClose("/plaintext"))
		starved.Go(func() {
			a, err := c.read("GET")
			if err != nil || a.Status != 200 {
				t.Errorf("a starved client in the end: got %d %v, want 200", a.Status, err)
			}
			if waited := time.Since(began); waited < idle/2 {
				t.Errorf("a surplus client was answered after %v, want it to starve for the idle timeout of %v", waited, idle)
			}
			if n := s.ln.Counts(); n.Done == 0 {
				t.Errorf("got %+v, want one that was served done first", n)
			}
		})
	}
	starved.Wait()
	for _, c := range served {
		if _, err := c.in.ReadByte(); err != io.EOF {
			t.Errorf("got %v, want the idle connection closed", err)
		}
	}
	s.open(0)
	if n := s.ln.Counts(); n.Done != 4 || s.model.Requests().Started != 4 {
		t.Errorf("got %+v and %d requests, want four of each", n, s.model.Requests().Started)
	}
}
