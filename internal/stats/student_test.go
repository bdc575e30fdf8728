package stats_test

import (
	"math"
	"testing"

	"schedlab/internal/stats"
)

// The table is that of Abramowitz and Stegun, Handbook of Mathematical Functions, 26.10.
func TestStudentT(t *testing.T) {
	for degrees, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 7: 2.365, 9: 2.262, 14: 2.145, 19: 2.093, 29: 2.045, 39: 2.023, 60: 2.000, 120: 1.980} {
		if got := stats.StudentT(degrees); math.Abs(got-want) > 0.001 {
			t.Errorf("StudentT(%d): got %.4f, want %.3f", degrees, got, want)
		}
	}
}
