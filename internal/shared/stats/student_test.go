package stats

import (
	"math"
	"testing"
)

// The quantiles up to 120 degrees are those of the table of Abramowitz and Stegun, Handbook of Mathematical
// Functions, 26.10, with more digits; a million degrees are as good as the normal distribution.
func TestStudentT(t *testing.T) {
	t.Parallel()
	for degrees, want := range map[int]float64{
		1: 12.7062047, 2: 4.3026527, 3: 3.1824463, 4: 2.7764451, 5: 2.5705818, 6: 2.4469119, 7: 2.3646243, 9: 2.2621572,
		14: 2.1447867, 19: 2.0930241, 29: 2.0452296, 39: 2.0226909, 60: 2.0002978, 120: 1.9799304, 1_000_000: 1.9599664,
	} {
		if got := StudentT(degrees); math.Abs(got-want) > 2e-7 {
			t.Errorf("StudentT(%d): got %.7f, want %.7f", degrees, got, want)
		}
	}
}
