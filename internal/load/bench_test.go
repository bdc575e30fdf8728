package load

import (
	"slices"
	"syscall"
	"testing"
	"time"

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

// BenchmarkAttack sends 40,000 requests per second to a bare server in another
// process. cpu-ns/request is the generator's CPU time: 1e9 over it is what one
// core can send. Nothing is gated.
func BenchmarkAttack(b *testing.B) {
	target := []Target{{Method: "GET", URL: startBareServer(b)}}
	b.ReportAllocs()
	trace := Trace{At: Constant(40_000, time.Duration(b.N)*time.Second/40_000)}
	b.ResetTimer()
	before := cpuTime(b)
	res, err := Attack(b.Context(), Options{Targets: target, Trace: trace, Connections: 64, KeepAlive: true})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/request")
	b.ReportMetric(lagQuantile(res.Requests, 0.99), "lag-p99-ns")
	for _, r := range res.Requests {
		if !r.Good() {
			b.Fatalf("request %+v, want a good reply", r)
		}
	}
}

// BenchmarkClosed runs 64 clients without pause.
func BenchmarkClosed(b *testing.B) {
	target := []Target{{Method: "GET", URL: startBareServer(b)}}
	for b.Loop() {
		before := cpuTime(b)
		res, err := Closed(b.Context(), ClosedOptions{Targets: target, Connections: 64, KeepAlive: true, Duration: time.Second})
		if err != nil || res.Failed > 0 {
			b.Fatal(res, err)
		}
		b.ReportMetric(float64(cpuTime(b)-before)/float64(res.Answered), "cpu-ns/request")
		b.ReportMetric(res.Rate(), "requests/s")
	}
}

// lagQuantile returns the q-quantile of lag in nanoseconds, nearest rank.
func lagQuantile(reqs []record.Request, q float64) float64 {
	lags := make([]int64, len(reqs))
	for i, r := range reqs {
		lags[i] = r.Sent - r.Scheduled
	}
	slices.Sort(lags)
	return float64(lags[min(len(lags)-1, int(q*float64(len(lags))))])
}
