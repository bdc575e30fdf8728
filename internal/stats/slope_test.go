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
		name string
		x, y []float64
		want float64
	}{
		{"nothing", nil, nil, 0},
		{"no two differ", []float64{1, 1}, []float64{1, 2}, 0},
		{"a line", []float64{0, 1, 2, 3}, []float64{1, 3, 5, 7}, 2},
		{"a line with a wild point", []float64{0, 1, 2, 3, 4}, []float64{1, 3, 900, 7, 9}, 2},
	} {
		if got := TheilSen(c.x, c.y); got != c.want {
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
