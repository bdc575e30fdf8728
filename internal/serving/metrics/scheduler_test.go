package metrics

import (
	"math"
	"runtime/metrics"
	"slices"
	"testing"
)

// runtimeBuckets returns the limits of the runtime's own buckets of waits.
func runtimeBuckets(t *testing.T) []float64 {
	t.Helper()
	sample := []metrics.Sample{{Name: latencies}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		t.Fatalf("the runtime has no %s", latencies)
	}
	return sample[0].Value.Float64Histogram().Buckets
}

// Every limit is one of the runtime's, so no wait is in a wrong bucket; one is at 10 ms, and no step is
// wider than two.
func TestWaitLimits(t *testing.T) {
	t.Parallel()
	own := runtimeBuckets(t)
	for i, limit := range waitLimits {
		if !slices.Contains(own, limit) {
			t.Errorf("%v is no limit of the runtime's: %v", limit, own)
		}
		if i > 0 && limit != 2*waitLimits[i-1] {
			t.Errorf("from %v to %v is not a step of two", waitLimits[i-1], limit)
		}
	}
	if first, last := waitLimits[0], waitLimits[len(waitLimits)-1]; first > 2e-6 || last < 1 || !slices.Contains(waitLimits[:], .01048576) {
		t.Errorf("the limits are %v, want 2 µs to 1 s, and 10.5 ms", waitLimits)
	}
}

// Waits of a known length are counted below the limits above them, and their sum is theirs but for half a
// bucket of the runtime's: an eighth at most.
func TestWaited(t *testing.T) {
	t.Parallel()
	own := runtimeBuckets(t)
	for _, wait := range []float64{700e-9, 5e-6, 123e-6, 1e-3, 9.9e-3, 11e-3, .2, .9} {
		h := &metrics.Float64Histogram{Buckets: own, Counts: make([]uint64, len(own)-1)}
		i, _ := slices.BinarySearch(own, wait)
		h.Counts[i-1] = 1000
		count, sum, below := waited(h)
		if mean := sum / float64(count); count != 1000 || math.Abs(mean-wait) > wait/8 {
			t.Errorf("1000 waits of %v s: got %d of %v s on average", wait, count, mean)
		}
		for _, limit := range waitLimits {
			want := uint64(0)
			if wait < limit {
				want = 1000
			}
			if below[limit] != want {
				t.Errorf("1000 waits of %v s: %d below %v, want %d", wait, below[limit], limit, want)
			}
		}
	}
	// The outermost buckets have no middle.
	h := &metrics.Float64Histogram{Buckets: own, Counts: make([]uint64, len(own)-1)}
	h.Counts[0], h.Counts[len(h.Counts)-1] = 1, 1
	if count, sum, below := waited(h); count != 2 || math.IsInf(sum, 0) || math.IsNaN(sum) || below[waitLimits[0]] != 1 {
		t.Errorf("got %d waits of %v s together, %v", count, sum, below)
	}
}

// The goroutines of a scrape are not among the runnable ones. Not parallel: the goroutines of other tests
// would be.
func TestScrapeDoesNotCountItself(t *testing.T) {
	m := full()
	var runnable []float64
	for range 51 {
		for _, g := range gather(t, m)["schedlab_goroutines"].GetMetric() {
			for _, l := range g.GetLabel() {
				if l.GetValue() == "runnable" {
					runnable = append(runnable, g.GetGauge().GetValue())
				}
			}
		}
	}
	slices.Sort(runnable)
	if len(runnable) != 51 || runnable[25] != 0 {
		t.Errorf("runnable goroutines in 51 scrapes of an idle process: %v, want 0 in most", runnable)
	}
}
