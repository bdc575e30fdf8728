package model_test

import (
	"errors"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"

	"schedlab/internal/serving/model"
	"schedlab/internal/shared/workload"
)

// A gate never has more connections in service than places; the others are
// accepted, counted, and served in their turn.
func TestGateBoundsTheConnectionsInService(t *testing.T) {
	t.Parallel()
	const places, clients = 3, 12
	s, g := gated(t, lookup(t, "nethttp-gate"), func(with *setup) { with.Workers = places })
	var all []*client
	for range clients {
		c := s.dial()
		io.WriteString(c, getClose("/work"))
		all = append(all, c)
	}
	s.open(clients)
	g.holds(places)
	q := s.model.Queue()
	eventually(t, "the rest waits at the gate", func() bool { return q.Depth() == clients-places })
	if q.Busy() != places || q.Workers() != places || q.Capacity() != 1000-places || len(g.held) != places {
		t.Errorf("got busy %d, workers %d, capacity %d, %d in service, want %d, %d, %d, %d",
			q.Busy(), q.Workers(), q.Capacity(), len(g.held), places, places, 1000-places, places)
	}
	g.open()
	for i, c := range all {
		if a, err := c.read("GET"); err != nil || a.Status != 200 {
			t.Errorf("client %d: got %d %v, want 200", i, a.Status, err)
		}
	}
	s.open(0)
	eventually(t, "an empty gate", func() bool { return q.Busy() == 0 && q.Depth() == 0 })
	if c := s.ln.Counts(); c.Accepted != clients || c.Done != clients {
		t.Errorf("got %+v, want %d accepted and done", c, clients)
	}
}

// A gate starves surplus keep-alive clients until the idle timeout.
func TestGateStarvesSurplusClients(t *testing.T) {
	t.Parallel()
	const idle = 600 * time.Millisecond
	s := start(t, lookup(t, "nethttp-gate"), func(with *setup) { with.Workers, with.IdleTimeout = 1, idle })
	first := s.dial()
	if a, err := first.ask(get("/plaintext")); err != nil || a.Status != 200 {
		t.Fatalf("got %d %v, want 200", a.Status, err)
	}
	began := time.Now()
	a, err := s.dial().ask(getClose("/plaintext"))
	if waited := time.Since(began); err != nil || a.Status != 200 || waited < idle/2 {
		t.Errorf("got %d %v after %v, want 200 after the idle timeout of %v", a.Status, err, waited, idle)
	}
}

// A request that gets no turn in time is refused on a connection that goes on.
func TestSemaphoreRefusesAfterItsWait(t *testing.T) {
	t.Parallel()
	const wait = 50 * time.Millisecond
	s, g := gated(t, lookup(t, "semaphore"), func(with *setup) { with.Workers, with.Wait = 2, wait })
	var busy []*client
	for i := range 2 {
		c := s.dial()
		io.WriteString(c, get("/work"))
		g.holds(i + 1)
		busy = append(busy, c)
	}
	extra := s.dial()
	for range 2 {
		began := time.Now()
		a, err := extra.ask(get("/work"))
		refusedPolitely(t, a, err)
		if took := time.Since(began); took < wait {
			t.Errorf("refused after %v, want a wait of %v", took, wait)
		}
		if a.field("Connection") != "" {
			t.Errorf("got Connection %q, want the connection kept", a.field("Connection"))
		}
	}
	if c := s.ln.Counts(); c.Turned() != 0 {
		t.Errorf("got %+v: a refused request is no refused connection", c)
	}
	if shed := s.model.Requests().Shed; shed[model.Stale] != 2 {
		t.Errorf("got %v shed, want two that waited too long", shed)
	}
	g.open()
	for _, c := range append(busy, extra) {
		if c != extra {
			if a, err := c.read("GET"); err != nil || a.Status != 200 {
				t.Errorf("got %d %v, want 200", a.Status, err)
			}
		}
		if a, err := c.ask(get("/plaintext")); err != nil || a.Status != 200 {
			t.Errorf("the next request: got %d %v, want 200", a.Status, err)
		}
	}
}

// A panic gives its turn back.
func TestSemaphoreSurvivesPanics(t *testing.T) {
	t.Parallel()
	s := start(t, lookup(t, "semaphore"), func(with *setup) {
		with.Workers, with.Wait = 1, 0
		with.Handle = func(*workload.Exchange) { panic("planned") }
	})
	for range 3 {
		if a, err := s.dial().ask(get("/plaintext")); err != nil || a.Status != 500 {
			t.Errorf("got %d %v, want 500", a.Status, err)
		}
	}
	eventually(t, "a free semaphore", func() bool { return s.model.Queue().Busy() == 0 })
}

// Connections spread over the sockets of an address, and are counted by socket.
func TestReuseportSpreads(t *testing.T) {
	t.Parallel()
	const sockets, clients = 4, 200
	s := start(t, lookup(t, "reuseport"), func(with *setup) { with.Socket.Sockets = sockets })
	if got := s.ln.Sockets(); got != sockets {
		t.Fatalf("got %d sockets, want %d", got, sockets)
	}
	var all []*client
	for range clients {
		c := s.dial()
		if a, err := c.ask(get("/plaintext")); err != nil || a.Status != 200 {
			t.Fatalf("got %d %v, want 200", a.Status, err)
		}
		all = append(all, c)
	}
	var accepted, open uint64
	for i, c := range s.ln.SocketCounts() {
		if c.Accepted == 0 || c.Accepted != c.Open { // none: (3/4)^200
			t.Errorf("socket %d: got %+v, want some, all open", i, c)
		}
		accepted, open = accepted+c.Accepted, open+c.Open
	}
	if accepted != clients || open != clients {
		t.Errorf("got %d accepted and %d open, want %d", accepted, open, clients)
	}
	for _, c := range all {
		c.Close()
	}
	s.open(0)
	for i, c := range s.ln.SocketCounts() {
		if c.Open != 0 {
			t.Errorf("socket %d: got %d open, want none", i, c.Open)
		}
	}
}

// Connections are dealt out at random, or all to the first socket where that fault is
// planted; at random goes before it.
func TestDeal(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the kernel is told how by a program that Linux takes")
	}
	const sockets, clients = 4, 200
	for _, deal := range []struct {
		random, first bool
		used          int // sockets that have connections
	}{{true, false, sockets}, {false, true, 1}, {true, true, sockets}} {
		s := start(t, lookup(t, "reuseport"), func(with *setup) {
			with.Socket.Sockets, with.Socket.Random, with.Socket.First = sockets, deal.random, deal.first
		})
		for range clients {
			if a, err := s.dial().ask(get("/plaintext")); err != nil || a.Status != 200 {
				t.Fatalf("got %d %v, want 200", a.Status, err)
			}
		}
		counts, used := s.ln.SocketCounts(), 0
		for _, c := range counts {
			if c.Accepted > 0 {
				used++
			}
		}
		if used != deal.used || counts[0].Accepted == 0 {
			t.Errorf("%+v: got connections at %d sockets, %+v", deal, used, counts)
		}
	}
}

// An acceptor with a planted pause accepts no sooner.
func TestPlantedPause(t *testing.T) {
	t.Parallel()
	const pause, clients = 20 * time.Millisecond, 5
	s := start(t, lookup(t, "nethttp"), func(with *setup) { with.Socket.Pause = pause })
	began := time.Now()
	for range clients {
		if a, err := s.dial().ask(get("/plaintext")); err != nil || a.Status != 200 {
			t.Fatalf("got %d %v, want 200", a.Status, err)
		}
	}
	if took := time.Since(began); took < (clients-1)*pause {
		t.Errorf("%d connections took %v, want a pause of %v between two", clients, took, pause)
	}
}

// A server of several sockets leaves an address alone that somebody has, though
// the kernel would let it in.
func TestReuseportFindsTheAddressTaken(t *testing.T) {
	t.Parallel()
	several := model.Socket{Addr: "127.0.0.1:0", MaxConns: 1, Sockets: 2}
	first, err := several.Listen(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	several.Addr = first.Addr().String()
	if second, err := several.Listen(t.Context(), nil); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v %v, want the address in use", second, err)
	}
	several.Shared = true
	third, err := several.Listen(t.Context(), nil)
	if err != nil {
		t.Fatalf("shared: got %v, want it let in", err)
	}
	third.Close()
}

// What waits in the kernel is seen, and its limit.
func TestAcceptQueue(t *testing.T) {
	t.Parallel()
	ln, err := model.Socket{Addr: "127.0.0.1:0", Backlog: 7, MaxConns: 1}.Listen(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for waiting := range 4 {
		eventually(t, "a connection in the queue", func() bool {
			q, ok := ln.AcceptQueue(0)
			return ok && q == model.AcceptQueue{Waiting: waiting, Limit: 7}
		})
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	ln.Close()
	if q, ok := ln.AcceptQueue(0); ok {
		t.Errorf("got %+v of a closed socket", q)
	}
}
