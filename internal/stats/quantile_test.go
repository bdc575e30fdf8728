package stats

import (
	"math"
	"slices"
	"testing"
)

func TestQuantile(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	five := []float64{15, 20, 35, 40, 50}
	for _, tt := range []struct {
		sorted []float64
		q      float64
		want   float64
	}{
		{five, 0.05, 15},
		{five, 0.30, 20},
		{five, 0.40, 20},
		{five, 0.41, 35},
		{five, 0.50, 35},
		{five, 1.00, 50},
		{five, 0, 15},
		{five, -1, 15},
		{five, 2, 50},
		{hundred, 0.5, 50},
		{hundred, 0.07, 7}, // 0.07·100 is above 7 in binary
		{hundred, 0.29, 29},
		{hundred, 0.99, 99},
		{hundred, 0.991, 100},
		{[]float64{3}, 0.5, 3},
		{five, math.NaN(), math.NaN()},
		{nil, 0.5, math.NaN()},
	} {
		if got := Quantile(tt.sorted, tt.q); !same(got, tt.want) {
			t.Errorf("Quantile(%d values, %v) = %v, want %v", len(tt.sorted), tt.q, got, tt.want)
		}
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		x    []float64
		want float64
	}{
		{nil, math.NaN()},
		{[]float64{4}, 4},
		{[]float64{9, 1}, 5},
		{[]float64{9, 1, 2}, 2},
		{[]float64{9, 1, 2, 3}, 2.5},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64},
		{[]float64{math.Inf(1), math.Inf(1)}, math.Inf(1)},
		{[]float64{1, math.NaN(), 2}, math.NaN()},
	} {
		before := slices.Clone(tt.x)
		if got := Median(tt.x); !same(got, tt.want) {
			t.Errorf("Median(%v) = %v, want %v", tt.x, got, tt.want)
		}
		if !slices.EqualFunc(before, tt.x, same) {
			t.Errorf("Median changed its argument from %v to %v", before, tt.x)
		}
	}
}

func TestMinRequests(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		q    float64
		want int
	}{
		{0.5, 20}, {0.9, 100}, {0.95, 200}, {0.99, 1000}, {0.999, 10_000}, {0.9999, 100_000},
		{0, 10}, {-3, 10}, {1.0 / 3, 15},
		{1, math.MaxInt}, {1.5, math.MaxInt}, {math.NaN(), math.MaxInt},
	} {
		if got := MinRequests(tt.q); got != tt.want {
			t.Errorf("MinRequests(%v) = %d, want %d", tt.q, got, tt.want)
		}
	}
}

func TestJain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{5, 5, 5, 5}, 1},
		{[]float64{8, 0, 0, 0}, 0.25},
		{[]float64{1, 1, 0, 0}, 0.5},
		{[]float64{1, 2, 3}, 36.0 / 42},
		{[]float64{7}, 1},
		{[]float64{0, 0}, 0},
		{nil, 0},
	} {
		if got := Jain(tt.x); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("Jain(%v) = %v, want %v", tt.x, got, tt.want)
		}
	}
}

// same reports equality with NaN equal to itself.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
