package load

import (
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"schedlab/internal/record"
)

// cpuTime returns what this process has used so far.
func cpuTime(tb testing.TB) time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// BenchmarkAttack drives a bare server in another process over 64 connections.
// cpu-ns/request is the generator's CPU time: 1e9 over it is what one core can
// send. Saturated is that limit, with vegeta's workers capped so that the
// schedule never runs away; transport=default is vegeta's own, for comparison.
// At a rate, most of the time goes into sleeping and waking. Nothing is gated.
func BenchmarkAttack(b *testing.B) {
	url := startBareServer(b)
	targets := []Target{{Method: "GET", URL: url}}
	b.Run("load=saturated/transport=lean", func(b *testing.B) {
		c, err := newClient(targets, true, false, 0, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer c.hangUp()
		conns := newPool(c, workers)
		c.open(b.Context(), 0)
		p := &pacer{ctx: b.Context(), at: make([]time.Duration, b.N), limit: maxInFlight}
		t := &transport{ctx: b.Context(), client: c, conns: conns, pacer: p, requests: make([]record.Request, b.N), seen: unread()}
		saturate(b, t, anyTarget, p)
	})
	b.Run("load=saturated/transport=default", func(b *testing.B) {
		t := &http.Transport{MaxIdleConnsPerHost: workers}
		defer t.CloseIdleConnections()
		p := &pacer{ctx: b.Context(), at: make([]time.Duration, b.N), limit: maxInFlight}
		saturate(b, t, vegeta.NewStaticTargeter(vegeta.Target{Method: "GET", URL: url}), p)
	})
	b.Run("load=2000", func(b *testing.B) { benchmarkRate(b, targets, 2000) })
	b.Run("load=40000", func(b *testing.B) { benchmarkRate(b, targets, 40_000) })
}

func saturate(b *testing.B, t http.RoundTripper, targeter vegeta.Targeter, p *pacer) {
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime(b)
	attacker := vegeta.NewAttacker(vegeta.Workers(workers), vegeta.MaxWorkers(workers), vegeta.MaxBody(0), vegeta.Client(&http.Client{Transport: t}))
	for range attacker.Attack(targeter, p, 0, "") {
		p.ended.Add(1)
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/request")
}

func benchmarkRate(b *testing.B, targets []Target, rate float64) {
	trace := Trace{At: Constant(rate, time.Duration(float64(b.N)/rate*1e9))}
	b.ResetTimer()
	before := cpuTime(b)
	res, err := Attack(b.Context(), Options{Targets: targets, Trace: trace, Connections: 64, KeepAlive: true})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/request")
	b.ReportMetric(lagQuantile(res.Requests, 0.5), "lag-p50-ns")
	b.ReportMetric(lagQuantile(res.Requests, 0.99), "lag-p99-ns")
}

// BenchmarkClosed runs clients without pause, a second each time. With Spin the
// driver is one thread that is always busy: requests/s is what a core can drive,
// or what the server can serve.
func BenchmarkClosed(b *testing.B) {
	targets := []Target{{Method: "GET", URL: startBareServer(b)}}
	for _, o := range []ClosedOptions{
		{Connections: 64}, {Connections: 64, Pipeline: 16},
		{Connections: 64, Spin: true}, {Connections: 64, Pipeline: 16, Spin: true}, {Connections: 4096, Spin: true},
	} {
		o.Targets, o.KeepAlive, o.Duration = targets, true, time.Second
		b.Run(fmt.Sprintf("spin=%v/connections=%d/pipeline=%d", o.Spin, o.Connections, max(1, o.Pipeline)), func(b *testing.B) {
			before, answered := cpuTime(b), 0
			for range b.N {
				res, err := Closed(b.Context(), o)
				if err != nil || res.Failed > 0 {
					b.Fatal(res, err)
				}
				answered += res.Answered
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(answered), "cpu-ns/request")
			b.ReportMetric(float64(answered)/float64(b.N), "requests/s")
		})
	}
}

// lagQuantile returns the q-quantile of lag in nanoseconds, nearest rank; 0 for
// no requests.
func lagQuantile(reqs []record.Request, q float64) float64 {
	if len(reqs) == 0 {
		return 0
	}
	lags := make([]int64, len(reqs))
	for i, r := range reqs {
		lags[i] = r.Sent - r.Scheduled
	}
	slices.Sort(lags)
	return float64(lags[min(len(lags)-1, int(q*float64(len(lags))))])
}
