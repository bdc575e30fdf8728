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
