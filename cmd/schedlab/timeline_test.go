package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/load"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// timeline reads the server's stamps.
func (c *child) timeline(t *testing.T) []timeline.Server {
	t.Helper()
	reply, err := http.Get("http://" + c.admin + "/debug/timeline?format=binary")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	stamps, err := timeline.Read(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return stamps
}

// accounts divides every good request of an attack, by number.
func (c *child) accounts(t *testing.T, a *load.Result) (all map[int]timeline.Parts) {
	t.Helper()
	seqs := make([]uint64, len(a.Requests))
	for i := range seqs {
		seqs[i] = uint64(i)
	}
	return c.divides(t, a.Start, a.Requests, a.Stamps, seqs)
}

// divides the good requests that bear these numbers and that the server knows, by
// their place.
func (c *child) divides(t *testing.T, start time.Time, requests []request.Request, stamps []request.Stamps, seqs []uint64) (all map[int]timeline.Parts) {
	t.Helper()
	server := map[uint64]timeline.Server{}
	for _, s := range c.timeline(t) {
		if _, twice := server[s.Seq]; twice && s.Seq != timeline.Unnumbered {
			t.Fatalf("request %d is stamped twice", s.Seq)
		}
		server[s.Seq] = s
	}
	zero := timeline.At(start)
	all = map[int]timeline.Parts{}
	for i, r := range requests {
		s, joined := server[seqs[i]]
		if !r.Good() || !joined {
			continue
		}
		st := stamps[i]
		all[i] = timeline.Split(timeline.Client{
			Scheduled: zero + r.Scheduled, Sent: zero + r.Sent, Ready: zero + st.Ready,
			Wrote: zero + st.Wrote, First: zero + st.First, Done: zero + r.Done,
		}, s)
	}
	return all
}

func good(requests []request.Request) (n int) {
	for _, r := range requests {
		if r.Good() {
			n++
		}
	}
	return n
}

// fullest is the most that can be stamped here.
func fullest() string {
	if runtime.GOOS == "linux" {
		return "full"
	}
	return "basic"
}

// Under load, in every mode, every request that was answered well is accounted
// for by the server, and its parts are none below zero and add up to the
// client's response time to the nanosecond.
func TestEveryNanosecondIsAccountedFor(t *testing.T) {
	for _, mode := range model.Variants() {
		for _, keepAlive := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/keepalive=%v", mode.Name, keepAlive), func(t *testing.T) {
				t.Parallel()
				flags := []string{"--iters", "1000", "--stamps", fullest()}
				if mode.Has("workers") {
					flags = append(flags, "--workers", "32")
				}
				c := serve(t, mode.Name, flags...)
				rng := rand.New(rand.NewPCG(1, 1))
				trace := arrivals.Process{}.Draw(300, 500*time.Millisecond, rng)
				for range trace.At {
					trace.Demand = append(trace.Demand, arrivals.Demand{Iters: 50_000, Sleep: time.Duration(rng.IntN(2)) * time.Millisecond})
				}
				o := load.Options{
					Clients: record.Clients{KeepAlive: keepAlive},
					Targets: []load.Target{{Method: "GET", URL: "http://" + c.addr + "/work"}}, Trace: trace,
				}
				if keepAlive {
					o.Connections = 16
				}
				a, err := load.Attack(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				all := c.accounts(t, a)
				if n := good(a.Requests); len(all) != n || len(all) < len(trace.At)*9/10 {
					t.Errorf("%d of %d requests got a good answer, %d of them are accounted for", n, len(trace.At), len(all))
				}
				exact(t, a.Requests, all)
			})
		}
	}
}

// exact fails the test unless the parts of every request are none below zero and
// add up to its time.
func exact(t *testing.T, requests []request.Request, all map[int]timeline.Parts) {
	t.Helper()
	for i, p := range all {
		r, sum := requests[i], int64(0)
		for _, d := range p {
			sum += d
		}
		if part, negative := p.Negative(); negative || sum != r.Done-r.Scheduled {
			t.Fatalf("request %d: %v is %d ns, the sum %d of %d ns", i, part, p[part], sum, r.Done-r.Scheduled)
		}
		if p[timeline.Service] < r.Sleep {
			t.Fatalf("request %d slept for %d ns in a service of %d ns", i, r.Sleep, p[timeline.Service])
		}
	}
}

// The same is true of clients that wait for their replies, in a pipeline and
// without.
func TestEveryNanosecondOfAClosedLoopIsAccountedFor(t *testing.T) {
	for _, mode := range model.Variants() {
		for _, how := range []struct {
			name     string
			pipeline int
		}{{"pipeline=1", 1}, {"pipeline=4", 4}} {
			t.Run(mode.Name+"/"+how.name, func(t *testing.T) {
				t.Parallel()
				flags := []string{"--iters", "1000", "--stamps", fullest()}
				if mode.Has("workers") {
					flags = append(flags, "--workers", "8")
				}
				var c *child
				var a load.ClosedResult
				// On a busy machine a server may not run at all for a while.
				for duration := 150 * time.Millisecond; good(a.Requests) == 0 && duration < childLimit; duration *= 4 {
					c = serve(t, mode.Name, flags...)
					var err error
					if a, err = load.Closed(t.Context(), load.Options{
						Clients: record.Clients{Connections: 4, KeepAlive: true, Pipeline: how.pipeline},
						Targets: []load.Target{{Method: "GET", URL: "http://" + c.addr + "/work"}},
						Trace:   arrivals.Trace{Demand: []arrivals.Demand{{Iters: 50_000}, {Sleep: 100 * time.Microsecond}}},
						Warmup:  20 * time.Millisecond, Duration: duration,
					}); err != nil {
						t.Fatal(err)
					}
				}
				all := c.divides(t, a.Start, a.Requests, a.Stamps, a.Seqs)
				if n := good(a.Requests); n == 0 || len(all) != n {
					t.Errorf("%d of %d requests got a good answer, %d of them are accounted for", n, len(a.Requests), len(all))
				}
				exact(t, a.Requests, all)
			})
		}
	}
}

// A goroutine that hogs the server's only P makes requests wait to be run after the
// kernel has them, for milliseconds; without it they wait for a fiftieth of that at most,
// in the best of some short runs: others on this machine make a server wait, too, and
// none makes it wait less than it does.
func TestSchedulingWaitIsReal(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("NOT RUN: only Linux tells when its kernel received a request")
	}
	t.Setenv("GOMAXPROCS", "1")
	const runs, times = 5, 50
	busy := wakeups(t, true)
	if p99 := stats.Quantile(busy, .99); p99 < 2e-3 {
		t.Errorf("beside a hog p99 of waiting to be run is %.3f ms, want milliseconds", 1e3*p99)
	}
	for range runs {
		idle := wakeups(t, false)
		t.Logf("waiting to be run, idle: p50 %.1f µs, p99 %.1f µs; beside a hog: p50 %.1f µs, p99 %.1f µs",
			1e6*stats.Quantile(idle, .5), 1e6*stats.Quantile(idle, .99), 1e6*stats.Quantile(busy, .5), 1e6*stats.Quantile(busy, .99))
		if times*stats.Quantile(idle, .5) <= stats.Quantile(busy, .5) {
			return
		}
	}
	t.Errorf("in none of %d runs without a hog did requests wait to be run for a %dth at most of what they wait beside it, at p50", runs, times)
}

// wakeups is how long requests waited to be run by a fresh server, sorted, in
// seconds.
func wakeups(t *testing.T, hogged bool) (sorted []float64) {
	c := serve(t, "nethttp", "--stamps", "full", "--iters", "1000")
	defer c.stop(t)
	if hogged { // requests without a number, which burn one second each
		hog, stop := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() {
			for hog.Err() == nil {
				req, err := http.NewRequestWithContext(hog, http.MethodGet, fmt.Sprintf("http://%s/work?cpu=1s", c.addr), nil)
				if err != nil {
					t.Error(err)
					return
				}
				if reply, err := http.DefaultClient.Do(req); err == nil {
					reply.Body.Close()
				}
			}
		})
		defer func() { stop(); ended.Wait() }()
	}
	a, err := load.Attack(t.Context(), load.Options{
		Clients: record.Clients{KeepAlive: true, Connections: 64},
		Targets: []load.Target{{Method: "GET", URL: "http://" + c.addr + "/plaintext"}},
		Trace:   arrivals.Process{Kind: arrivals.KindConstant}.Draw(200, time.Second, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.accounts(t, a) {
		sorted = append(sorted, time.Duration(p[timeline.Wakeup]).Seconds())
	}
	if len(sorted) < 150 {
		t.Fatalf("%d of 200 requests are accounted for", len(sorted))
	}
	slices.Sort(sorted)
	return sorted
}
