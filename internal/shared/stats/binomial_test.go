package stats

import (
	"math"
	"testing"
)

// The limits where no trial or every trial had the event have a closed form; the others are of Python, by bisection on sums of math.comb.
func TestBinomialInterval(t *testing.T) {
	t.Parallel()
	none := 1 - math.Pow(.025, 1./200)
	for _, tc := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 200, 0, none},
		{200, 200, 1 - none, 1},
		{1, 1, .025, 1},
		{5, 10, .1870860, .8129140},
		{7, 200, .0141855, .0707810},
	} {
		low, high := BinomialInterval(tc.k, tc.n, .05)
		if math.Abs(low-tc.low) > 1e-6 || math.Abs(high-tc.high) > 1e-6 {
			t.Errorf("%d of %d: got %.7f to %.7f, want %.7f to %.7f", tc.k, tc.n, low, high, tc.low, tc.high)
		}
	}
}
