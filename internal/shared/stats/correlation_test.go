package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// A first-order autoregression x' = a·x + noise has tau = (1+a)/(1-a).
func TestCorrelationTime(t *testing.T) {
	t.Parallel()
	for _, a := range []float64{0, .5, .9} {
		rng := rand.New(rand.NewPCG(5, 1))
		x, v := make([]float64, LongestSeries), 0.0
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
	long := make([]float64, LongestSeries+1000)
	for i := range long {
		long[i] = rng.NormFloat64()
		if i >= LongestSeries {
			long[i] = 1000
		}
	}
	if got, want := CorrelationTime(long), CorrelationTime(long[:LongestSeries]); got != want {
		t.Errorf("a long series has tau %v, its beginning %v", got, want)
	}
}

func TestSpearmanRho(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4, 5}, 1},
		{[]float64{5, 4, 3, 2, 1}, -1},
		{[]float64{1, 10, 100, 1000, math.Inf(1)}, 1}, // only ranks count
		{[]float64{2, 1, 4, 3, 5}, 0.8},               // Σd² = 4: 1 - 6·4/120
		{[]float64{1, 2, 2, 3}, 0.9486832980505138},   // 4.5/√(5·4.5), ranks 1 2.5 2.5 4
		{[]float64{1, 1, 2, 2}, 0.8944271909999159},   // 4/√(5·4)
		{[]float64{7, 7, 7, 7}, 0},
		{[]float64{1, 2}, 1},
		{nil, 0},
	} {
		if rho, _ := Spearman(tt.x); math.Abs(rho-tt.want) > 1e-12 {
			t.Errorf("Spearman(%v) rho = %v, want %v", tt.x, rho, tt.want)
		}
	}
	if rho, p := Spearman([]float64{1, math.NaN(), 3, 4}); !math.IsNaN(rho) || !math.IsNaN(p) {
		t.Errorf("Spearman with a NaN = %v, %v, want NaN, NaN", rho, p)
	}
}

// Fewer values than the series is good for, and equal ones, show no drift.
func TestFewValuesShowNoDrift(t *testing.T) {
	t.Parallel()
	for _, x := range [][]float64{nil, {1, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, make([]float64, 20)} {
		if _, p := Spearman(x); p != 1 {
			t.Errorf("Spearman(%v) p = %v, want 1", x, p)
		}
	}
}

// Beyond nine values the series must agree with the exact distribution of Σd²,
// counted here by placing one rank after the other over all subsets of ranks.
func TestSpearmanSeriesAgainstExact(t *testing.T) {
	t.Parallel()
	for _, n := range []int{10, 11, 12} {
		counts, orders := squaredDifferences(n), 0.0
		for _, c := range counts {
			orders += c
		}
		beyond := 0.0
		for s := range slices.Backward(counts) {
			if counts[s] == 0 {
				continue
			}
			beyond += counts[s]
			exact := 2 * beyond / orders
			if exact > 0.5 {
				break
			}
			rho := 1 - 6*float64(s)/float64(n*n*n-n)
			got := edgeworthP(rho, n)
			if math.Abs(got-exact) > 0.0013 {
				t.Errorf("n=%d rho=%.4f: p = %.5f, exact %.5f", n, rho, got, exact)
			}
			// At the protocol's limit it may miss the last step of Σd², but never refuses one too many.
			if exact < 0.009 && got >= 0.01 || exact >= 0.01 && got < 0.01 {
				t.Errorf("n=%d rho=%.4f: p = %.5f, on the wrong side of 0.01 from exact %.5f", n, rho, got, exact)
			}
		}
	}
}

// squaredDifferences returns how many permutations of n ranks have each Σd².
func squaredDifferences(n int) []float64 {
	size := (n*n*n-n)/3 + 1
	byRanks := make([][]float64, 1<<n)
	byRanks[0] = []float64{0: 1}
	for used := range byRanks {
		index := 0
		for b := used; b > 0; b &= b - 1 {
			index++
		}
		for rank := range n {
			if used>>rank&1 == 1 {
				continue
			}
			next := used | 1<<rank
			if byRanks[next] == nil {
				byRanks[next] = make([]float64, size)
			}
			d := (index - rank) * (index - rank)
			for s, c := range byRanks[used] {
				if c > 0 {
					byRanks[next][s+d] += c
				}
			}
		}
		if used+1 < len(byRanks) {
			byRanks[used] = nil // no longer needed: a subset is reached from smaller numbers only
		}
	}
	return byRanks[len(byRanks)-1]
}

// Baselines without drift must be refused at the nominal rate, and a steady
// drift of half the noise per block must be seen.
func TestSpearmanRates(t *testing.T) {
	long(t)
	const runs = 4000
	for _, n := range []int{10, 12, 20, 27} {
		t.Run(fmt.Sprint("n=", n), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			rate := func(slope float64) float64 {
				refused := 0
				for range runs {
					x := make([]float64, n)
					for i := range x {
						x[i] = slope*float64(i) + rng.NormFloat64()
					}
					if _, p := Spearman(x); p < 0.01 {
						refused++
					}
				}
				return float64(refused) / runs
			}
			if got := rate(0); got > 0.015 {
				t.Errorf("without drift %.2f %% refused, want about 1 %%", 100*got)
			}
			if got := rate(0.5); got < 0.6 {
				t.Errorf("with drift %.2f %% refused, want most", 100*got)
			}
		})
	}
}

func TestSpearmanIsSymmetric(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	for n := 3; n < 30; n++ {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(rng.IntN(n)) // with ties
		}
		rho, p := Spearman(x)
		slices.Reverse(x)
		back, q := Spearman(x)
		if math.Abs(rho+back) > 1e-12 || math.Abs(p-q) > 1e-12 || !(p > 0 && p <= 1) {
			t.Errorf("n=%d: rho %v, p %v forwards, rho %v, p %v backwards", n, rho, p, back, q)
		}
	}
}

// The series is that of AS 89, here as a sum of its terms c·y^i/n^j.
func TestSpearmanSeriesIsThePublishedOne(t *testing.T) {
	t.Parallel()
	terms := []struct{ y, n, c float64 }{
		{0, 0, .2274}, {0, 1, .2531}, {0, 2, .1745}, {1, 0, -.0758}, {1, 1, .1033}, {1, 2, .3932},
		{2, 1, -.0879}, {2, 2, -.0151}, {3, 1, .0072}, {3, 2, -.0831}, {4, 2, .0131}, {5, 2, -.00046},
	}
	for _, count := range []int{10, 11, 20, 60} {
		n, orders := float64(count), 1.0
		for i := 2; i <= count; i++ {
			orders *= float64(i)
		}
		for rho := 0.0; rho <= 1; rho += .05 {
			z := (rho - 6/(n*n*n-n)) * math.Sqrt(n-1)
			tail := math.Erfc(z/math.Sqrt2) / 2
			for _, t := range terms {
				tail += z / n * math.Exp(-z*z/2) * t.c * math.Pow(z*z, t.y) / math.Pow(n, t.n)
			}
			want := min(max(2*tail, 2/orders), 1)
			for _, r := range []float64{rho, -rho} {
				if got := edgeworthP(r, count); math.Abs(got-want) > 1e-9*max(want, 1e-6) {
					t.Errorf("%d values, rho %.2f: p is %v, want %v", count, r, got, want)
				}
			}
		}
	}
}

func TestTheilSen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		x, y  []float64
		apart float64
		want  float64
	}{
		{"nothing", nil, nil, 0, 0},
		{"no two differ", []float64{1, 1}, []float64{1, 2}, 0, 0},
		{"a line", []float64{0, 1, 2, 3}, []float64{1, 3, 5, 7}, 0, 2},
		{"a line with a wild point", []float64{0, 1, 2, 3, 4}, []float64{1, 3, 900, 7, 9}, 0, 2},
		{"none above 0 differ", []float64{-1, -1}, []float64{1, 2}, 0, 0},
		{"pairs too close", []float64{100, 101, 200}, []float64{0, 7, 100}, .02, (1. + 93./99) / 2},
	} {
		if got := TheilSen(c.x, c.y, c.apart); got != c.want {
			t.Errorf("%s: slope %v, want %v", c.name, got, c.want)
		}
	}
}

// Against the index it is Spearman's test for drift, and unrelated values seldom
// correlate.
func TestRankCorrelation(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	index := make([]float64, 20)
	for i := range index {
		index[i] = float64(i)
	}
	const runs = 2000
	sure := 0
	for range runs {
		y := make([]float64, len(index))
		for i := range y {
			y[i] = rng.NormFloat64()
		}
		rho, p := RankCorrelation(index, y)
		if wantRho, wantP := Spearman(y); math.Abs(rho-wantRho) > 1e-12 || math.Abs(p-wantP) > 1e-12 {
			t.Fatalf("got %v, %v, want %v, %v", rho, p, wantRho, wantP)
		}
		sure += countOf(p < .01)
	}
	if sure > runs/50 {
		t.Errorf("%d of %d unrelated pairs correlate at 0.01", sure, runs)
	}
	if rho, p := RankCorrelation(index[:9], index[:9]); rho != 1 || p != 1 {
		t.Errorf("nine pairs: %v, %v, want 1, 1", rho, p)
	}
	if rho, p := RankCorrelation(make([]float64, 20), index); rho != 0 || p != 1 {
		t.Errorf("no variation: %v, %v, want 0, 1", rho, p)
	}
}

// It is Pearson's correlation of the ranks, equal values sharing their mean rank.
func TestRankCorrelationIsThatOfTheRanks(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 5))
	ranks := func(x []float64) []float64 {
		all := make([]float64, len(x))
		for i, v := range x {
			for _, w := range x {
				all[i] += float64(countOf(w < v)) + float64(countOf(w == v))/2
			}
		}
		return all
	}
	for n := 2; n < 30; n++ {
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = float64(rng.IntN(5)), float64(rng.IntN(5))
		}
		x[0], x[1], y[0], y[1] = 7, 8, 9, 7
		a, b := ranks(x), ranks(y)
		product, squaresA, squaresB, mean := 0.0, 0.0, 0.0, float64(n)/2
		for i := range a {
			product += (a[i] - mean) * (b[i] - mean)
			squaresA += (a[i] - mean) * (a[i] - mean)
			squaresB += (b[i] - mean) * (b[i] - mean)
		}
		rho, p := RankCorrelation(x, y)
		if want := product / math.Sqrt(squaresA*squaresB); math.Abs(rho-want) > 1e-12 {
			t.Errorf("%v, %v: rho %v, want %v", x, y, rho, want)
		}
		if want := edgeworthP(rho, n); n < 10 && p != 1 || n >= 10 && p != want {
			t.Errorf("%d pairs: p is %v", n, p)
		}
	}
	index := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	if rho, p := RankCorrelation(index, make([]float64, 12)); rho != 0 || p != 1 {
		t.Errorf("no variation: %v, %v, want 0, 1", rho, p)
	}
}
