package queueing

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// batches serves requests of one second each on one core, as a poller finds them: all that came
// while the last batch was served, in order or the newest first. next is when the client of an
// answered request sends again; it returns the response times.
func batches(n int, arrivals []float64, newestFirst bool, next func(done float64) float64) (took []float64) {
	for now := 0.0; len(took) < n && len(arrivals) > 0; {
		now = max(now, arrivals[0])
		ready, _ := slices.BinarySearch(arrivals, math.Nextafter(now, math.Inf(1)))
		batch := slices.Clone(arrivals[:ready])
		arrivals = arrivals[ready:]
		if newestFirst {
			slices.Reverse(batch)
		}
		for _, at := range batch {
			now++
			took = append(took, now-at)
			if next != nil {
				arrivals = append(arrivals, next(now))
			}
		}
		if next != nil {
			slices.Sort(arrivals)
		}
	}
	return took
}

// How the order within a poll's batch changes p50, p90 and p99, which docs/experiments/order.md
// explains its measurements with. It does not change the mean.
func TestTheNewestOfABatchFirst(t *testing.T) {
	t.Parallel()
	const n = 40_000
	open := func(rho float64) func(*rand.Rand, bool) []float64 {
		return func(rng *rand.Rand, newestFirst bool) []float64 {
			arrivals := make([]float64, n)
			for i, at := 0, 0.0; i < n; i++ {
				at += rng.ExpFloat64() / rho
				arrivals[i] = at
			}
			return batches(n, arrivals, newestFirst, nil)
		}
	}
	closed := func(clients int, pause float64) func(*rand.Rand, bool) []float64 {
		return func(rng *rand.Rand, newestFirst bool) []float64 {
			return batches(n, make([]float64, clients), newestFirst, func(done float64) float64 { return done + pause*rng.ExpFloat64() })
		}
	}
	for _, c := range []struct {
		name string
		of   func(*rand.Rand, bool) []float64
		want [3]float64 // p50, p90, p99, in reverse over in order
	}{
		{"4 clients", closed(4, .1), [3]float64{1, 1.49, 1.5}},
		{"16 clients", closed(16, .1), [3]float64{1, 1.75, 1.87}},
		{"64 clients", closed(64, .1), [3]float64{1, 1.78, 1.97}},
		{"16 clients that pause for two requests' time", closed(16, 2), [3]float64{1, 1.62, 1.75}},
		{"open, 0.3", open(.3), [3]float64{1, .97, 1.03}},
		{"open, 0.6", open(.6), [3]float64{.89, 1.07, 1.18}},
		{"open, 0.85", open(.85), [3]float64{.83, 1.08, 1.29}},
	} {
		var q [2][]float64
		for i, newestFirst := range []bool{false, true} {
			took := c.of(rand.New(rand.NewPCG(1, 2)), newestFirst)
			mean := 0.0
			for _, v := range took {
				mean += v / float64(len(took))
			}
			slices.Sort(took)
			q[i] = []float64{took[len(took)/2], took[len(took)*9/10], took[len(took)*99/100], mean}
		}
		t.Logf("%s: %.2f in order, %.2f in reverse", c.name, q[0], q[1])
		for i, name := range []string{"p50", "p90", "p99"} {
			if got := q[1][i] / q[0][i]; math.Abs(got-c.want[i]) > .05 {
				t.Errorf("%s: %s in reverse is %.2f of that in order, want %.2f", c.name, name, got, c.want[i])
			}
		}
		if got := q[1][3] / q[0][3]; math.Abs(got-1) > .01 {
			t.Errorf("%s: the mean in reverse is %.3f of that in order, want the same", c.name, got)
		}
	}
}
