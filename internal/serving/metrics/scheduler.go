package metrics

import (
	"math"
	"regexp"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ownReading matches the runtime's metrics that client_golang would report wrongly. It merges the
// buckets of a wait into buckets ten times as wide and adds each wait at its bucket's lower end. And it
// counts the goroutines while goroutines of the scrape itself are waiting to run.
var ownReading = regexp.MustCompile(`^/sched/(latencies|goroutines)[:/]`)

// schedReading holds the runtime's figures about its scheduler. A scrape starts goroutines that would count as
// runnable: net/http one for each request, and the registry one for each of several collectors. So the
// runtime is read before the registry, and after a pause in which the first of them runs. A goroutine that
// a timer wakes runs before the runnable ones, so it finds them all.
type schedReading struct {
	mu      sync.Mutex // held during a reading of the registry
	samples []metrics.Sample
}

// The runtime's metrics that read takes: the waits, and then the goroutines by state.
const latencies = "/sched/latencies:seconds"

var states = [...]string{"runnable", "running", "waiting", "not-in-go"}

// readPause is the pause before a reading.
const readPause = 100 * time.Microsecond

// read reads the runtime. The caller holds mu.
func (r *schedReading) read() {
	time.Sleep(readPause)
	metrics.Read(r.samples)
}

// watchScheduler adds the waits of runnable goroutines, and the numbers of goroutines.
func (m *Metrics) watchScheduler() {
	waits := prometheus.NewDesc("schedlab_sched_latency_seconds",
		"Time that goroutines were runnable before they ran. The sum takes each wait at the middle of one of the runtime's own buckets, a quarter to a seventh of its size wide. The runtime looks at one wait in eight, but at 15 in 64 of the first waits of goroutines, so counts of modes that start goroutines and of modes that keep them do not compare.",
		nil, m.labels)
	m.sched.samples = []metrics.Sample{{Name: latencies}}
	for _, state := range states {
		m.sched.samples = append(m.sched.samples, metrics.Sample{Name: "/sched/goroutines/" + state + ":goroutines"})
	}
	m.sched.read() // to register is to collect once
	m.read(func(s scrape) {
		if h := m.sched.samples[0].Value; h.Kind() == metrics.KindFloat64Histogram {
			count, sum, below := waited(h.Float64Histogram())
			s.ch <- prometheus.MustNewConstHistogram(waits, count, sum, below)
		}
		for i, state := range states {
			if n := m.sched.samples[i+1].Value; n.Kind() == metrics.KindUint64 {
				s.gauge("goroutines", "Goroutines by state, the runtime's own among them, as a scrape begins: runnable ones wait for a processor, not-in-go ones are in a system call or in C; one of those running reads this.", float64(n.Uint64()), "state", state)
			}
		}
	})
}

// waitLimits are the upper limits of the buckets of waits in seconds: 1.28 µs, doubled 20 times. Each is
// a limit of the runtime's own buckets, which have four steps for each doubling. One is 10.5 ms: the
// runtime preempts a goroutine after 10 ms.
var waitLimits = func() (all [21]float64) {
	for i := range all {
		all[i] = float64(int64(1280)<<i) / 1e9
	}
	return all
}()

// waited returns the number of waits in a histogram of the runtime, their sum in seconds, and how many are
// below each of waitLimits.
func waited(h *metrics.Float64Histogram) (count uint64, sum float64, below map[float64]uint64) {
	below = make(map[float64]uint64, len(waitLimits))
	next := 0
	for i, n := range h.Counts {
		low, high := h.Buckets[i], h.Buckets[i+1]
		for next < len(waitLimits) && waitLimits[next] < high {
			below[waitLimits[next]] = count
			next++
		}
		count += n
		switch {
		case math.IsInf(low, -1): // no time is negative
		case math.IsInf(high, 1):
			sum += float64(n) * low
		default:
			sum += float64(n) * (low + high) / 2
		}
	}
	return count, sum, below
}
