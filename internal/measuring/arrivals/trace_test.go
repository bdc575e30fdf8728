package arrivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// drawn returns the times of a process that needs no file.
func drawn(kind Kind, rate float64, span time.Duration, rng *rand.Rand) []time.Duration {
	return Process{Kind: kind}.Draw(rate, span, rng).At
}

func TestPoissonIsAPoissonProcess(t *testing.T) {
	t.Parallel()
	const rate, span = 1000.0, 100 * time.Second
	at := drawn(KindPoisson, rate, span, seeded(42))
	if !slices.IsSorted(at) || at[0] < 0 || at[len(at)-1] >= span {
		t.Fatalf("arrivals from %v to %v, want ascending within [0, %v)", at[0], at[len(at)-1], span)
	}
	// Counts in 10 ms bins have equal mean and variance.
	bins := make([]float64, 10_000)
	for _, a := range at {
		bins[a/(10*time.Millisecond)]++
	}
	mean := float64(len(at)) / float64(len(bins))
	var variance float64
	for _, n := range bins {
		variance += (n - mean) * (n - mean) / float64(len(bins))
	}
	if math.Abs(mean/10-1) > 0.02 || math.Abs(variance/mean-1) > 0.05 {
		t.Errorf("counts per 10 ms: mean %v, variance %v; want both about 10", mean, variance)
	}
	if !slices.Equal(at, drawn(KindPoisson, rate, span, seeded(42))) {
		t.Error("the same seed gave another trace")
	}
	if slices.Equal(at, drawn(KindPoisson, rate, span, seeded(43))) {
		t.Error("another seed gave the same trace")
	}
}

func TestConstant(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, test := range []struct {
		rate float64
		span time.Duration
		want []time.Duration
	}{
		{250, 20 * ms, []time.Duration{0, 4 * ms, 8 * ms, 12 * ms, 16 * ms}},
		{0.5, 3 * time.Second, []time.Duration{0, 2 * time.Second}},
		{1000, 0, nil},
		{1000, -ms, nil},
	} {
		if got := drawn(KindConstant, test.rate, test.span, nil); !slices.Equal(got, test.want) {
			t.Errorf("constant at %v/s for %v: got %v, want %v", test.rate, test.span, got, test.want)
		}
	}
	if got := len(drawn(KindConstant, 12345.6, 100*time.Second, nil)); got != 1_234_560 {
		t.Errorf("got %d arrivals in 100 s at 12,345.6/s, want 1,234,560", got)
	}
}

func TestArrivalsNeedARate(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := drawn(KindConstant, rate, time.Second, nil); len(got) != 0 {
			t.Errorf("constant at %v/s gave %d arrivals, want none", rate, len(got))
		}
		if got := drawn(KindPoisson, rate, time.Second, seeded(1)); len(got) != 0 {
			t.Errorf("poisson at %v/s gave %d arrivals, want none", rate, len(got))
		}
	}
}

func TestTraceCheck(t *testing.T) {
	t.Parallel()
	at := []time.Duration{0, 1, 1}
	for _, c := range []struct {
		trace Trace
		want  string // of the error, "" for none
	}{
		{Trace{}, ""},
		{Trace{At: at, Demand: make([]Demand, 3), Which: make([]uint32, 3)}, ""},
		{Trace{At: at, Demand: make([]Demand, 2)}, "2 demands for 3 arrivals"},
		{Trace{At: at, Which: make([]uint32, 4)}, "targets of 4 arrivals, there are 3"},
		{Trace{At: []time.Duration{-1}}, "arrival 0 is at -1ns, after one at -1ns"},
		{Trace{At: []time.Duration{0, 5, 4}}, "arrival 2 is at 4ns, after one at 5ns"},
		{Trace{At: at, Demand: []Demand{{}, {Sleep: -1}, {}}}, "arrival 1 sleeps for -1ns"},
	} {
		if err := c.trace.Check(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.trace, err, c.want)
		}
	}
}
