package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

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

func TestLowest(t *testing.T) {
	t.Parallel()
	x := []float64{3, 1, 2, 1}
	for n, want := range map[int][]int{-1: {}, 0: {}, 2: {1, 3}, 3: {1, 3, 2}, 9: {1, 3, 2, 0}} {
		if got := Lowest(x, n); !slices.Equal(got, want) {
			t.Errorf("the lowest %d: %v, want %v", n, got, want)
		}
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
