package stats

import (
	"math"
	"math/big"
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

// Of windows that are planned with PlannedRequests two in a thousand at most have too few, whatever number they must have; and
// they are not planned for much more than that takes.
func TestPlannedRequests(t *testing.T) {
	t.Parallel()
	// below is the probability that a Poisson variable with this mean is below n.
	below := func(n int, mean float64) (p float64) {
		for k := range n {
			logs, _ := math.Lgamma(float64(k + 1))
			p += math.Exp(float64(k)*math.Log(mean) - mean - logs)
		}
		return p
	}
	for _, least := range []int{10, 20, 100, 500, 1000, 10_000} {
		planned := PlannedRequests(least)
		if p := below(least, planned); p > .002 {
			t.Errorf("%d: of windows that expect %.1f requests a share of %.4f has too few", least, planned, p)
		}
		if p := below(least, planned-2*math.Sqrt(planned)); least <= 1000 && p < .05 {
			t.Errorf("%d: windows that expect two standard deviations less than %.1f would do, with a share of %.4f", least, planned, p)
		}
	}
	for least, want := range map[int]float64{-1: 0, 0: 0, 20: 38.65, 1000: 1100, 10_000: 11_000} {
		if got := PlannedRequests(least); math.Abs(got-want) > .01 {
			t.Errorf("PlannedRequests(%d) = %v, want %v", least, got, want)
		}
	}
	if got := PlannedRequests(math.MaxInt); got < math.MaxInt || math.IsInf(got, 0) {
		t.Errorf("for a quantile that no number of requests shows: %v", got)
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
		{10, 0, 0},
		{10, -1, 0},
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

func TestChange(t *testing.T) {
	t.Parallel()
	for ratio, want := range map[float64]string{
		1: "±0 %", 1.0001: "±0 %", .9999: "±0 %", 1.42: "+42 %", .985: "-1.5 %", 1.015: "+1.5 %", .5: "-50 %", 0: "-100 %",
		.00296: "-99.7 %", .0051: "-99 %", .00001: "-99.999 %", // less than all is no -100 %
		1.0994: "+9.9 %", 1.0996: "+10 %", .9006: "-9.9 %", .9004: "-10 %", // two digits, from 9.95 % on
		3.99: "+299 %", 4: "×4.0", 9.9: "×9.9", 10: "×10", 12.4: "×12",
	} {
		if got := Change(ratio); got != want {
			t.Errorf("%v: got %q, want %q", ratio, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	if Count(true) != 1 || Count(false) != 0 {
		t.Errorf("true counts %d and false %d, want 1 and 0", Count(true), Count(false))
	}
}

func TestMetricOf(t *testing.T) {
	t.Parallel()
	for _, m := range All() {
		if got := MetricOf(m.Name); got != m {
			t.Errorf("%s: got %+v, want %+v", m.Name, got, m)
		}
	}
	if got := MetricOf("p51"); got != (Metric{Name: "p51", Label: "p51", In: "in p51"}) {
		t.Errorf("no metric: got %+v, want the name alone", got)
	}
}

func TestWidened(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		window float64
		blocks int
		want   float64
	}{{.5, 160, 2}, {.5, 161, 2.1}, {3.6, 41, 3.7}, {3.6, 20, 3.6}, {1, 2400, 60}, {1, 2401, 0}, {.5, math.MaxInt32, 0}} {
		if got := Widened(c.window, c.blocks); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("windows of %g s, %d blocks: got %v s, want %v s", c.window, c.blocks, got, c.want)
		}
	}
}
