package cluster

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/load"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/workload"
)

// drawn returns an open load with demands and targets of its own for each request.
func drawn(n int, span time.Duration) load.Options {
	rng := rand.New(rand.NewPCG(1, 2))
	o := load.Options{Targets: []load.Target{{Method: "GET", URL: "http://x/a"}, {Method: "GET", URL: "http://x/b"}}}
	for range n {
		o.Trace.At = append(o.Trace.At, time.Duration(rng.Int64N(int64(span))))
		o.Trace.Demand = append(o.Trace.Demand, arrivals.Demand{Iters: rng.Uint32N(1000)})
	}
	slices.Sort(o.Trace.At)
	return o
}

// TestPartsAreTheWhole: the parts together are the load, each request once, at its time, with its demand
// and its target; connections are divided without a remainder.
func TestPartsAreTheWhole(t *testing.T) {
	for _, n := range []int{1, 2, 3, 7, 300} {
		o := drawn(1000, time.Second)
		o.Connections, o.KeepAlive, o.Idle, o.OpenRate = 10, true, 5, 100
		dealt := parts(o, n)
		if want := min(n, 10); len(dealt) != want {
			t.Fatalf("%d shards: %d parts; want %d, since there are 10 connections", n, len(dealt), want)
		}
		connections, idle, requests := 0, 0, 0
		for i, p := range dealt {
			if err := p.Trace.Check(); err != nil {
				t.Fatal(err)
			}
			connections, idle = connections+p.Connections, idle+p.Idle
			for k, at := range p.Trace.At {
				whole := i + k*len(dealt)
				if at != o.Trace.At[whole] || p.Trace.Demand[k] != o.Trace.Demand[whole] || int(p.Trace.Which[k]) != whole%2 {
					t.Fatalf("part %d of %d, request %d is not request %d", i, n, k, whole)
				}
				requests++
			}
		}
		if connections != 10 || idle != 5 || requests != 1000 {
			t.Errorf("%d shards: %d connections, %d idle ones, %d requests; want 10, 5, 1000", n, connections, idle, requests)
		}
	}
}

// TestClosedParts: clients and pace are divided, and no two shards begin with the same demands.
func TestClosedParts(t *testing.T) {
	o := drawn(90, time.Second)
	o.Trace.At, o.Loop, o.Connections, o.Rate, o.Seed = nil, "closed", 10, 100, 7
	dealt := parts(o, 3)
	clients, rate := 0, 0.0
	for i, p := range dealt {
		clients, rate = clients+p.Connections, rate+p.Rate
		if p.Trace.Demand[0] != o.Trace.Demand[30*i] || len(p.Trace.Demand) != 90 {
			t.Errorf("part %d begins with another demand than that of place %d", i, 30*i)
		}
	}
	if clients != 10 || rate < 99.9 || rate > 100.1 || dealt[0].Seed == dealt[1].Seed {
		t.Errorf("%d clients, %v/s, seeds %d and %d; want 10, 100/s and different ones", clients, rate, dealt[0].Seed, dealt[1].Seed)
	}
	if alone := parts(o, 30); len(alone) != 10 {
		t.Errorf("%d parts for 10 clients; want 10", len(alone))
	}
}

// A counted server answers everything, and counts.
func counted(t *testing.T) (addr string, served *atomic.Int64) {
	served = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }))
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://"), served
}

// shardsFor returns a site with n real shards on loopback, each with a clock that is ahead by minutes if
// ahead is set.
func shardsFor(t testing.TB, n int) *Site {
	site := &Site{Settings: Settings{Name: "test", Namespace: "ns", Shards: n, Token: "secret"}, client: &http.Client{}}
	for i := range n {
		s := httptest.NewServer(&shard{token: "secret", shared: true})
		t.Cleanup(s.Close)
		site.shards = append(site.shards, &remoteShard{Index: i, Pod: fmt.Sprintf("load-%d", i), Node: "node", addr: strings.TrimPrefix(s.URL, "http://"), token: "secret"})
	}
	return site
}

// TestAttackFromShards: real shards send a load together; every request comes back in its place, and
// quantiles of the merged requests are those of all requests, since they are the requests.
func TestAttackFromShards(t *testing.T) {
	addr, served := counted(t)
	site := shardsFor(t, 3)
	o := drawn(600, 300*time.Millisecond)
	o.Trace.Demand = nil
	for i := range o.Targets {
		o.Targets[i] = o.Targets[i].At(addr)
	}
	var started time.Time
	closing := 0
	o.Started, o.Closing = func(at time.Time) { started = at }, func() { closing++ }
	r, used, err := site.Send(t.Context(), o, workload.Dist{})
	if err != nil || used.Lost != nil {
		t.Fatal(err, used.Lost)
	}
	for i, q := range r.Requests {
		if !q.Good() || q.Scheduled != int64(o.Trace.At[i]) || q.Sent < q.Scheduled || q.Done < q.Sent {
			t.Fatalf("request %d of %v: %+v", i, o.Trace.At[i], q)
		}
	}
	if served.Load() != 600 || r.Proof.Sent != 600 || r.Proof.Planned != 600 || r.Dialled < 3 {
		t.Errorf("%d served, %d of %d sent on %d connections; want 600 of 600", served.Load(), r.Proof.Sent, r.Proof.Planned, r.Dialled)
	}
	if !started.Equal(r.Start) || closing != 1 || used.CPU <= 0 {
		t.Errorf("started %v, start %v, closed %d times, %v s of CPU time", started, r.Start, closing, used.CPU)
	}
	if c := site.Describe(); c.ClockError <= 0 || c.ClockError > .1 {
		t.Errorf("the shards' clocks are known to %v s", c.ClockError)
	}
}

// TestClockIsAskedOnAnOpenConnection: the time that it takes to open a connection makes a shard's clock neither wrong nor uncertain.
func TestClockIsAskedOnAnOpenConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var serving sync.WaitGroup
		defer serving.Wait()
		dial := func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(time.Second)
			ours, theirs := net.Pipe()
			serving.Go(func() {
				defer theirs.Close()
				r, err := http.ReadRequest(bufio.NewReader(theirs))
				if err != nil {
					t.Error(err)
					return
				}
				w := httptest.NewRecorder()
				(&shard{token: "secret"}).ServeHTTP(w, r)
				_ = w.Result().Write(theirs)
			})
			return ours, nil
		}
		client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
		s := &remoteShard{addr: "shard", token: "secret"}
		if err := s.setClock(t.Context(), client); err != nil || s.offset != 0 || s.doubt != 0 {
			t.Errorf("a clock ahead by %v, known to %v, %v; want the same clock", s.offset, s.doubt, err)
		}
	})
}

// TestClosedFromShards: clients of several shards, with think times, are counted together.
func TestClosedFromShards(t *testing.T) {
	addr, served := counted(t)
	site := shardsFor(t, 2)
	think, err := workload.ParseDist("5ms")
	if err != nil {
		t.Fatal(err)
	}
	r, _, err := site.Send(t.Context(), load.Options{
		Clients: record.Clients{Loop: "closed", Connections: 5, KeepAlive: true}, Targets: []load.Target{{Method: "GET", URL: "http://" + addr + "/"}},
		Duration: 200 * time.Millisecond,
	}, think)
	if err != nil {
		t.Fatal(err)
	}
	if r.Answered != len(r.Requests) || r.Answered < 50 || r.Answered > 205 || r.Failed != 0 || r.Asked != 5 || int(served.Load()) < r.Answered {
		t.Errorf("%d answered of %d, %d failed, %d clients, %d served; want some 180 of 5 clients", r.Answered, len(r.Requests), r.Failed, r.Asked, served.Load())
	}
	if !slices.IsSortedFunc(r.Requests, func(a, b request.Request) int { return int(a.Sent - b.Sent) }) {
		t.Error("requests are not in the order they were sent")
	}
}

// TestLostShard: the requests of a shard that breaks off count as not sent, and the error names it; one
// that is away before the load ends the trial.
func TestLostShard(t *testing.T) {
	addr, _ := counted(t)
	site := shardsFor(t, 3)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/clock" {
			(&shard{token: "secret", shared: true}).ServeHTTP(w, r)
			return
		}
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(broken.Close)
	site.shards[1].addr = strings.TrimPrefix(broken.URL, "http://")
	o := drawn(300, 100*time.Millisecond)
	for i := range o.Targets {
		o.Targets[i] = o.Targets[i].At(addr)
	}
	r, used, err := site.Send(t.Context(), o, workload.Dist{})
	if err != nil || used.Lost == nil || !strings.Contains(used.Lost.Error(), "shard 1 (Pod load-1 on node node) is lost") || !strings.Contains(used.Lost.Error(), "kubectl -n ns describe pod load-1") {
		t.Fatalf("lost: %v, error: %v", used.Lost, err)
	}
	for i, q := range r.Requests {
		if lost := q.Outcome == request.Cut && q.Sent == -1; lost != (i%3 == 1) {
			t.Fatalf("request %d: %+v", i, q)
		}
	}
	broken.Close()
	if _, _, err := site.Send(t.Context(), o, workload.Dist{}); err == nil || !strings.Contains(err.Error(), "shard 1") {
		t.Errorf("the shard is away: %v", err)
	}
}

// TestShardRefuses: a shard does nothing without the token, one load at a time, and no nonsense.
func TestShardRefuses(t *testing.T) {
	shard := &shard{token: "secret", shared: true}
	ask := func(method, path, token, body string) int {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		shard.ServeHTTP(w, r)
		return w.Code
	}
	for _, c := range []struct {
		method, path, token, body string
		want                      int
	}{
		{"GET", "/clock", "secret", "", http.StatusOK},
		{"GET", "/clock", "", "", http.StatusForbidden},
		{"POST", "/load", "guess", "", http.StatusForbidden},
		{"POST", "/load", "secret", "nonsense", http.StatusBadRequest},
		{"GET", "/load", "secret", "", http.StatusNotFound},
	} {
		if got := ask(c.method, c.path, c.token, c.body); got != c.want {
			t.Errorf("%s %s with token %q: %d; want %d", c.method, c.path, c.token, got, c.want)
		}
	}
}

// TestInterrupted: a load ends with its context.
func TestInterrupted(t *testing.T) {
	addr, _ := counted(t)
	site := shardsFor(t, 2)
	o := load.Options{Targets: []load.Target{{Method: "GET", URL: "http://" + addr + "/"}}, Trace: arrivals.Trace{At: []time.Duration{0, time.Hour}}}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, _, err := site.Send(ctx, o, workload.Dist{}); err == nil || time.Since(begun) > 10*time.Second {
		t.Errorf("after %v: %v; want the context's error at once", time.Since(begun), err)
	}
}
