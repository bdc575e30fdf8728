package queueing

import (
	"fmt"
	"math"
	"testing"
)

func TestMMcWaitAndTail(t *testing.T) {
	t.Parallel()
	// M/M/1 at rho 0.8: everything is exponential of rate mu-lambda.
	near(t, "P(W > 0)", MMcWait(0.8, 1, 1, 0), 0.8, exact)
	near(t, "P(W > 5)", MMcWait(0.8, 1, 1, 5), 0.8*math.Exp(-1), exact)
	near(t, "P(T > 5)", mmcTail(0.8, 1, 1, 5), math.Exp(-1), exact)
	near(t, "M/M/10 at 5 erlangs, P(W > 0)", MMcWait(5, 1, 10, 0), 0.036105, printed)
	// b = c-1-a = 0, where the closed form divides by 0.
	near(t, "M/M/2 at 1 erlang", mmcTail(1, 1, 2, 3), math.Exp(-3)*(1+3.0/3), exact)
	near(t, "close to it", mmcTail(1+1e-7, 1, 2, 3), mmcTail(1, 1, 2, 3), 1e-5)
	near(t, "saturated", mmcTail(3, 1, 3, 9), 1, 0)
	near(t, "saturated wait", MMcWait(3, 1, 3, 9), 1, 0)
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	// measurement.md: M/M/1 has p99 = ln 100/(mu-lambda).
	near(t, "p99 of M/M/1", MMcQuantile(800, 0.001, 1, 0.99), math.Log(100)/200, 1e-9)
	near(t, "p99 of an idle station", MMcQuantile(0, 1, 8, 0.99), math.Log(100), 1e-9)
	near(t, "saturated", MMcQuantile(1, 1, 1, 0.5), inf, 0)
	near(t, "q 0", MMcQuantile(0.5, 1, 1, 0), 0, 0)
	for _, q := range []float64{-0.1, 1, nan} {
		near(t, fmt.Sprintf("q %v", q), MMcQuantile(0.5, 1, 1, q), nan, 0)
	}
	// A mean is the integral of its tail.
	for _, c := range []int{1, 2, 7} {
		load := 0.8 * float64(c)
		near(t, fmt.Sprintf("mean of M/M/%d", c), integral(0.01, func(x float64) float64 { return mmcTail(load, 1, c, x) }), MMc(load, 1, c), 1e-5)
	}
}

func TestBoundedQuantiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		load            float64
		servers, places int
	}{
		{0.9, 1, 17}, {1.5, 1, 17}, {1, 2, 2}, {3, 2, 9}, {14, 16, 80}, {40, 4, 60}, {1e9, 1, 5}, {0, 2, 4},
	} {
		what := fmt.Sprintf("M/M/%d/%d at %v erlangs", tt.servers, tt.places, tt.load)
		mean := integral(0.03, tailMMcK(tt.load, 1, tt.servers, tt.places, true))
		near(t, what+": integral of the tail", mean, MMcK(tt.load, 1, tt.servers, tt.places).Response, 1e-4)
		wait := integral(0.03, tailMMcK(tt.load, 1, tt.servers, tt.places, false))
		near(t, what+": the same of the wait", 1+wait, mean, 1e-4)
	}
	near(t, "all the room there is", mmckQuantile(0.7, 1, 1, 4000, 0.99), MMcQuantile(0.7, 1, 1, 0.99), 1e-6)
	near(t, "all the room there is, 8 servers", mmckQuantile(6, 0.5, 16, 4000, 0.9), MMcQuantile(6, 0.5, 16, 0.9), 1e-6)
	near(t, "no room to wait", mmckQuantile(5, 1, 4, 4, 0.99), math.Log(100), 1e-6)
	// A queue that is always full is 17 exponential demands in a row: Erlang's.
	near(t, "always full", mmckQuantile(1e9, 1, 1, 17, 0.5), 16.668, 1e-4)
	near(t, "too long a queue for powers of its load", mmckQuantile(1.5, 1, 1, 4000, 0.5), 3998, 0.02)
}

// integral integrates a tail from 0 until nothing is left of it.
func integral(step float64, tail func(float64) float64) float64 {
	sum := tail(0) / 2 // trapezia
	for x := step; ; x += step {
		y := tail(x)
		sum += y
		if y < 1e-9 {
			return sum * step
		}
	}
}
