package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// Sort gives what slices.Sort gives, for few times and many, short and long, alike and below 0.
func TestSort(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() time.Duration{
		"short":     func() time.Duration { return time.Duration(rng.ExpFloat64() * 50e3) },
		"long":      func() time.Duration { return time.Duration(rng.Int64N(int64(time.Minute))) },
		"alike":     func() time.Duration { return time.Second },
		"of either": func() time.Duration { return time.Duration(rng.Int64N(2000) - 1000) },
		"any":       func() time.Duration { return time.Duration(rng.Uint64()) },
		"extremes":  func() time.Duration { return []time.Duration{math.MinInt64, -1, 0, 1, math.MaxInt64}[rng.IntN(5)] },
	} {
		for _, n := range []int{0, 1, 2, 2047, 2048, 10_000} {
			got := make([]time.Duration, n)
			for i := range got {
				got[i] = draw()
			}
			want := slices.Sorted(slices.Values(got))
			Sort(got, make([]time.Duration, n+3))
			if !slices.Equal(got, want) {
				t.Errorf("%d %s times are not sorted as slices.Sort does", n, name)
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([]time.Duration, 400_000)
	for i := range all {
		all[i] = time.Duration(rng.ExpFloat64() * 50e3)
	}
	times, space := make([]time.Duration, len(all)), make([]time.Duration, len(all))
	for b.Loop() {
		copy(times, all)
		Sort(times, space)
	}
}
