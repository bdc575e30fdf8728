package stats

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
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

// The ranks for one, two, three and four and a half times two comparisons, and the
// error that they spend over all looks.
func TestLookRanks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		comparisons float64
		ranks       []int
		spent       float64
	}{
		{2, []int{1, 2, 2, 3, 4, 6, 7, 9, 10, 12}, .0206},
		{4, []int{1, 1, 2, 2, 4, 5, 7, 8, 10, 11}, .0103},
		{6, []int{1, 1, 1, 2, 3, 5, 6, 8, 10, 11}, .0076},
		{9, []int{0, 1, 1, 2, 3, 5, 6, 8, 9, 11}, .0050},
	} {
		alpha := Alpha / c.comparisons
		for i, n := range Looks() {
			if got := LookRank(n, alpha); got != c.ranks[i] {
				t.Errorf("%v comparisons, %d blocks: rank %d, want %d", c.comparisons, n, got, c.ranks[i])
			}
		}
		if _, got := spend(alpha); math.Abs(got-c.spent) > 1e-4 {
			t.Errorf("%v comparisons: %.4f spent, want %.4f", c.comparisons, got, c.spent)
		}
	}
	for _, n := range []int{-1, 0, 9, 11, 39, 41, 1000} {
		if got := LookRank(n, Alpha); got != 0 {
			t.Errorf("%d blocks are no look: rank %d, want 0", n, got)
		}
	}
	for _, alpha := range []float64{0, -1, math.NaN(), 1e-9} {
		if got := LookRank(10, alpha); got != 0 {
			t.Errorf("error %v: rank %d, want 0", alpha, got)
		}
	}
	if got := LookRank(10, 5); got != 5 {
		t.Errorf("any error allowed: rank %d, want the middle, 5", got)
	}
	if one, six, many, none := FirstLook(1), FirstLook(6), FirstLook(30), FirstLook(1e12); one != 10 || six != 10 || many != 12 || none != 0 {
		t.Errorf("first looks %d, %d, %d, %d; want 10, 10, 12, 0", one, six, many, none)
	}
}

// If the blocks to come fall as those so far, the next look settles what none is against;
// this one has not.
func TestSettles(t *testing.T) {
	t.Parallel()
	ranks, _ := spend(Alpha / 2) // 1, 2, 2, 3, 4, 6, 7, 9, 10, 12
	for _, c := range []struct{ n, minority, want int }{
		{5, 0, 10}, {9, 0, 10}, {10, 0, 12}, {11, 0, 12}, {12, 0, 14}, {36, 0, 40}, {40, 0, 0},
		{10, 1, 16}, // two of sixteen, fewer than three; of twelve and fourteen two as well, which are too many
		{10, 2, 24}, // five of 24, fewer than six; four of twenty are too many
		{10, 5, 0},
	} {
		if got := settles(c.n, c.minority, ranks); got != c.want {
			t.Errorf("%d of %d blocks the other way: settled at %d, want %d", c.minority, c.n, got, c.want)
		}
	}
}

// A noise draws what one arm's window adds to the logarithm of a metric; arm tells the
// baseline, 0, from the others.
type noise struct {
	name string
	draw func(rng *rand.Rand, arm int) float64
}

var noises = []noise{
	{"normal", func(rng *rand.Rand, _ int) float64 { return .1 * rng.NormFloat64() }},
	{"Student t, 2 degrees", func(rng *rand.Rand, _ int) float64 { return .1 * rng.NormFloat64() / math.Sqrt(rng.ExpFloat64()) }},
	{"a fifth ten times as noisy", func(rng *rand.Rand, _ int) float64 {
		if rng.IntN(5) == 0 {
			return rng.NormFloat64()
		}
		return .1 * rng.NormFloat64()
	}},
	{"one-sided hits", func(rng *rand.Rand, _ int) float64 {
		if rng.IntN(10) == 0 {
			return .05*rng.NormFloat64() + 2*rng.ExpFloat64()
		}
		return .05 * rng.NormFloat64()
	}},
}

// simulated are the values by arm and metric of a run of identical arms, so many blocks.
// A block's level and a window's noise move all quantiles of it together.
func simulated(rng *rand.Rand, n noise, arms, blocks int, drift float64, effect float64) [][3][]float64 {
	all := make([][3][]float64, arms)
	for b := range blocks {
		level := drift*float64(b) + .3*rng.NormFloat64()
		for a := range all {
			window := level + n.draw(rng, a)
			if a > 0 {
				window += math.Log(effect)
			}
			for q := range all[a] {
				all[a][q] = append(all[a][q], 1e-3*math.Exp(window+n.draw(rng, a)/2))
			}
		}
	}
	return all
}

// stopped is how many blocks a run takes that ends when all is decided, and its verdicts:
// those of all blocks, for a decision stands.
func stopped(values [][3][]float64) (blocks int, verdicts []Comparison) {
	for _, arm := range values[1:] {
		for q, m := range Metrics()[:3] {
			c := Compare(m, values[0][q], arm[q], 3*(len(values)-1))
			blocks = max(blocks, c.Look)
			if c.Decision == Inconclusive {
				blocks = c.Blocks
			}
			verdicts = append(verdicts, c)
		}
	}
	return blocks, verdicts
}

// Identical arms are told apart in at most one run of twenty, whatever the noise and the
// drift, by runs that end as soon as everything is decided.
func TestEarlyStopsKeepTheError(t *testing.T) {
	long(t)
	const runs = 2000
	for i, n := range noises {
		for _, drift := range []float64{0, .05} {
			t.Run(fmt.Sprintf("%s, drift %v", n.name, drift), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(11, uint64(i)))
				wrong := 0
				for range runs {
					_, verdicts := stopped(simulated(rng, n, 3, lastLook, drift, 1))
					for _, v := range verdicts {
						if v.Decision == Faster || v.Decision == Slower {
							wrong++
							break
						}
					}
				}
				if got := float64(wrong) / runs; got > .05 {
					t.Errorf("%.2f %% of A/A runs decided, want at most 5 %%", 100*got)
				} else {
					t.Logf("%.2f %% of A/A runs decided", 100*got)
				}
			})
		}
	}
}

// A difference of half is found soon, and one of a tenth by the end.
func TestEarlyStopsFind(t *testing.T) {
	long(t)
	rng := rand.New(rand.NewPCG(12, 0))
	calm := noise{"", func(rng *rand.Rand, _ int) float64 { return .06 * rng.NormFloat64() }}
	for _, c := range []struct {
		effect      float64
		power       float64
		most, least int
	}{{1.5, .99, 14, 10}, {1.1, .8, 40, 12}} {
		found, blocks := 0, 0
		const runs = 300
		for range runs {
			n, verdicts := stopped(simulated(rng, calm, 2, lastLook, 0, c.effect))
			blocks += n
			found += countOf(verdicts[2].Decision == Slower)
		}
		if got := float64(found) / runs; got < c.power || blocks > c.most*runs || blocks < c.least*runs {
			t.Errorf("×%v: %.1f %% found after %.1f blocks in the mean, want %.0f %% after %d at most", c.effect, 100*got, float64(blocks)/runs, 100*c.power, c.most)
		}
	}
}

func countOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// With the mean of two windows of the baseline against one of the arm the sign of a block
// is no fair coin under one-sided noise: the larger mean is the baseline's in more than
// half of the blocks (decision 17). So the copy's windows do not sharpen the baseline.
func TestTwoWindowsAgainstOneAreNoCoin(t *testing.T) {
	long(t)
	hits := noises[3]
	rng := rand.New(rand.NewPCG(13, 0))
	const draws = 100_000
	paired, averaged := 0, 0
	for range draws {
		a, twin, b := hits.draw(rng, 0), hits.draw(rng, 0), hits.draw(rng, 1)
		paired += countOf(b < a)
		averaged += countOf(b < (a+twin)/2)
	}
	if got := float64(paired) / draws; math.Abs(got-.5) > .005 {
		t.Errorf("pairs: the arm is lower in %.3f of blocks, want 0.5", got)
	}
	if got := float64(averaged) / draws; got < .52 {
		t.Errorf("against the mean of two the arm is lower in %.3f of blocks; the decision says it is more than 0.52", got)
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	for ratio, want := range map[float64]string{
		1: "±0 %", 1.0001: "±0 %", .9999: "±0 %", 1.42: "+42 %", .985: "-1.5 %", 1.015: "+1.5 %", .5: "-50 %", 0: "-100 %",
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
	for _, m := range Metrics() {
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
