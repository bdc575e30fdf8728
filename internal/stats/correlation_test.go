package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// A first-order autoregression x' = a·x + noise has tau = (1+a)/(1-a).
func TestCorrelationTime(t *testing.T) {
	t.Parallel()
	for _, a := range []float64{0, .5, .9} {
		rng := rand.New(rand.NewPCG(5, 1))
		x, v := make([]float64, longestSeries), 0.0
		for i := range x {
			v = a*v + rng.NormFloat64()
			x[i] = v
		}
		want := (1 + a) / (1 - a)
		if got := CorrelationTime(x); math.Abs(got-want) > .2*want {
			t.Errorf("a = %v: got tau %.2f, want about %.2f", a, got, want)
		}
	}
	for name, x := range map[string][]float64{"none": nil, "few": {1, 2, 3}, "equal": make([]float64, 100)} {
		if got := CorrelationTime(x); got != 1 {
			t.Errorf("%s: got %v, want 1", name, got)
		}
	}
}

// The sum is the one of the comment, computed from the autocorrelations one by one.
func TestCorrelationTimeIsGeyersSum(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 2))
	for n := 15; n < 320; n += 5 {
		x, v := make([]float64, n), 3.0
		for i := range x {
			v = .8*v + rng.NormFloat64()
			x[i] = v + 10
		}
		mean := 0.0
		for _, v := range x {
			mean += v
		}
		mean /= float64(n)
		rho := func(lag int) float64 {
			product, squares := 0.0, 0.0
			for i, v := range x {
				squares += (v - mean) * (v - mean)
				if i >= lag {
					product += (v - mean) * (x[i-lag] - mean)
				}
			}
			return product / squares
		}
		want := 1.0
		if n >= 20 {
			want = 1 + 2*rho(1) // rho(0) is 1, and opens the first pair
			for j := 1; 2*j+1 <= n/10 && rho(2*j)+rho(2*j+1) > 0; j++ {
				want += 2 * (rho(2*j) + rho(2*j+1))
			}
		}
		if got := CorrelationTime(x); math.Abs(got-max(1, want)) > 1e-9 {
			t.Errorf("%d values: tau is %v, want %v", n, got, max(1, want))
		}
	}
	long := make([]float64, longestSeries+1000)
	for i := range long {
		long[i] = rng.NormFloat64()
		if i >= longestSeries {
			long[i] = 1000
		}
	}
	if got, want := CorrelationTime(long), CorrelationTime(long[:longestSeries]); got != want {
		t.Errorf("a long series has tau %v, its beginning %v", got, want)
	}
}
