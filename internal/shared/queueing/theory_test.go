package queueing

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A demand draws the CPU demand of a job.
type demand func(*rand.Rand) time.Duration

func constant(d time.Duration) demand { return func(*rand.Rand) time.Duration { return d } }

func exponential(mean time.Duration) demand {
	return func(rng *rand.Rand) time.Duration { return time.Duration(rng.ExpFloat64() * float64(mean)) }
}

// mixed is long with probability p, else short.
func mixed(short time.Duration, p float64, long time.Duration) demand {
	return func(rng *rand.Rand) time.Duration {
		if rng.Float64() < p {
			return long
		}
		return short
	}
}

// draw draws n jobs that arrive as a Poisson process of rate a second, each on a
// connection of its own.
func draw(seed uint64, n int, rate float64, d demand) []Job {
	rng := rand.New(rand.NewPCG(seed, 0))
	trace := make([]Job, n)
	var at float64
	for i := range trace {
		at += rng.ExpFloat64() / rate * 1e9
		trace[i] = Job{At: time.Duration(at), CPU: d(rng), Conn: rng.IntN(1 << 20)}
	}
	return trace
}

const within = 0.03

// long marks a test of a million jobs, which -short leaves out.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long")
	}
	t.Parallel()
}

// The simulator against the closed formulas, 3 %: neither was made from the other.
func TestReplayMeetsTheFormulas(t *testing.T) {
	long(t)
	const n = 400_000
	s := ms.Seconds()
	pool := func(c int) Station { return Station{Workers: c, Cores: c, Turn: whole} }
	share := func(cores int, turn time.Duration) Station {
		return Station{Kind: Goroutines, Cores: cores, Turn: turn}
	}
	heavy := mixed(ms/2, 0.05, 10500*time.Microsecond) // mean 1 ms, C² 4.75
	for _, tt := range []struct {
		what    string
		station Station
		rate    float64
		demand  demand
		want    float64
	}{
		{"M/M/1", pool(1), 700, exponential(ms), MMc(700, s, 1)},
		{"M/M/4", pool(4), 3200, exponential(ms), MMc(3200, s, 4)},
		{"M/M/16", pool(16), 14400, exponential(ms), MMc(14400, s, 16)},
		{"M/M/2 by eight workers on two cores", Station{Workers: 8, Cores: 2, Turn: ms / 2}, 1600, exponential(ms), MMc(1600, s, 2)},
		{"M/D/1", pool(1), 800, constant(ms), mg1(800, s, 0)},
		{"M/G/1 FCFS", pool(1), 700, heavy, mg1(700, s, 4.75)},
		{"M/G/1 PS by turns of 20 us", share(1, 20*time.Microsecond), 700, heavy, MMc(700, s, 1)},
		{"M/D/1 PS by turns of 20 us", share(1, 20*time.Microsecond), 700, constant(ms), MMc(700, s, 1)},
		{"M/G/4 PS by turns of 20 us", share(4, 20*time.Microsecond), 3200, heavy, MMc(3200, s, 4)},
		{"goroutines within a turn", share(1, GoTurn), 700, constant(ms), mg1(700, s, 0)},
		{"loops", Station{Kind: Loops, Workers: 4, Cores: 4, Turn: whole}, 2800, exponential(ms), mg1(700, s, 1)},
		{"dealt in turn", Station{Kind: PerWorker, Workers: 4, Cores: 4, Turn: whole}, 3200, exponential(ms), roundRobin(3200, s, 4)},
	} {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			p := twinOf(tt.station, draw(1, n, tt.rate, tt.demand))
			near(t, "mean response", *p.Mean, tt.want, within)
			near(t, "throughput", p.throughput, tt.rate, within)
		})
	}
}

func TestReplayMeetsMMcK(t *testing.T) {
	long(t)
	s := ms.Seconds()
	for _, tt := range []struct {
		rate            float64
		servers, places int
	}{
		{900, 1, 17}, {1500, 1, 17}, {1000, 1, 9}, {3600, 4, 8}, {2000, 2, 2},
	} {
		t.Run(fmt.Sprintf("M-M-%d-%d at %v/s", tt.servers, tt.places, tt.rate), func(t *testing.T) {
			t.Parallel()
			p := twinOf(Station{Workers: tt.servers, Cores: tt.servers, Turn: whole, Places: tt.places}, draw(2, 1_000_000, tt.rate, exponential(ms)))
			want := MMcK(tt.rate, s, tt.servers, tt.places)
			near(t, "loss", *p.Loss, want.Loss, within)
			near(t, "throughput", p.throughput, want.Throughput, within)
			near(t, "mean response", *p.Mean, want.Response, within)
			for _, q := range []float64{0.5, 0.9, 0.99} {
				near(t, fmt.Sprintf("quantile %v", q), p.quantile(q), mmckQuantile(tt.rate, s, tt.servers, tt.places, q), within)
			}
		})
	}
}

// Approximations, held to what their documentation says of them.
func TestApproximationsMeetTheReplay(t *testing.T) {
	long(t)
	for _, tt := range []struct {
		what    string
		servers int
		rate    float64
		demand  demand
	}{
		{"M/D/4", 4, 3200, constant(ms)},
		{"M/D/16", 16, 14400, constant(ms)},
		{"two values, C² 1", 4, 3200, mixed(ms/2, 0.2, 3*ms)},
		{"two values, C² 2", 2, 1600, mixed(ms/2, 0.1, 5500*time.Microsecond)},
	} {
		trace := draw(6, 400_000, tt.rate, tt.demand)
		l, ca2 := measured(trace)
		p := twinOf(Station{Workers: tt.servers, Cores: tt.servers, Turn: whole}, trace)
		near(t, tt.what, *p.Mean, AllenCunneen(l.Rate, l.Service, tt.servers, ca2, l.SCV), 0.1)
	}
}
