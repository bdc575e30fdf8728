package stats

import (
	"math"
	"math/big"
	"testing"
)

// The table of the protocol: k by n for 1, 2, 3, 6 and 10 comparisons.
func TestIntervalRankTable(t *testing.T) {
	t.Parallel()
	comparisons := []float64{1, 2, 3, 6, 10}
	for n, want := range map[int][]int{
		6:  {1, 0, 0, 0, 0},
		10: {2, 2, 1, 1, 1},
		12: {3, 2, 2, 2, 1},
		20: {6, 5, 5, 4, 4},
		27: {8, 8, 7, 7, 6},
	} {
		for i, m := range comparisons {
			if got := IntervalRank(n, 0.05/m); got != want[i] {
				t.Errorf("IntervalRank(%d, 0.05/%v) = %d, want %d", n, m, got, want[i])
			}
		}
	}
}

func TestIntervalRankLimits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n     int
		alpha float64
		want  int
	}{
		{0, 0.05, 0},
		{-4, 0.05, 0},
		{10, 0, 0},
		{10, -1, 0},
		{10, math.NaN(), 0},
		{6, 0.03125, 1}, // 2·2^-6 exactly
		{6, 0.03124, 0},
		{5, 1, 3},
		{6, 1, 3},
		{6, 1.5, 3}, // never beyond the middle
		{6, 99, 3},
		{1, 1, 1},
	} {
		if got := IntervalRank(tt.n, tt.alpha); got != tt.want {
			t.Errorf("IntervalRank(%d, %v) = %d, want %d", tt.n, tt.alpha, got, tt.want)
		}
	}
}

// Exact integer arithmetic must agree, also where 2^-n is no longer a float64.
func TestIntervalRankAgainstIntegers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 7, 33, 100, 999, 1500} {
		for _, alpha := range []float64{0.05, 0.05 / 6, 0.001, 0.3} {
			limit, _ := new(big.Float).SetMantExp(big.NewFloat(alpha/2), n).Int(nil) // ⌊2^n·alpha/2⌋
			want := 0
			for cdf := new(big.Int); want <= n; want++ {
				cdf.Add(cdf, new(big.Int).Binomial(int64(n), int64(want)))
				if cdf.Cmp(limit) > 0 {
					break
				}
			}
			if got := IntervalRank(n, alpha); got != want {
				t.Errorf("IntervalRank(%d, %v) = %d, want %d", n, alpha, got, want)
			}
		}
	}
}
