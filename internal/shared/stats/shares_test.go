package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// The probabilities are of Python, from sums of math.comb.
func TestFisher(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, n, b, m int
		want       float64
	}{
		{0, 43, 17, 67, 0.0001746765},
		{17, 67, 0, 43, 0.0001746765},
		{3, 20, 9, 25, 0.2117108413},
		{5, 50, 5, 50, 1.0000000000},
		{0, 10, 0, 10, 1.0000000000},
		{200, 400, 260, 410, 0.0001522243},
		{10, 10, 0, 10, 0.0000108251},
	} {
		if got := fisher(tc.a, tc.n, tc.b, tc.m); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%d of %d and %d of %d: got %.10f, want %.10f", tc.a, tc.n, tc.b, tc.m, got, tc.want)
		}
	}
}

// No two counts with a smaller difference than least are named, and some with this difference are.
func TestLeastDifferenceOfShares(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{43, 67}, {67, 43}, {20, 20}, {12, 90}, {100, 100}} {
		n, m := size[0], size[1]
		_, least := DifferentShares([]int{n}, []int{m}, n, m, Alpha)
		found := math.Inf(1)
		for a := range n + 1 {
			for b := range m + 1 {
				if fisher(a, n, b, m) <= Alpha {
					found = min(found, math.Abs(float64(a)/float64(n)-float64(b)/float64(m)))
				}
			}
		}
		if math.Abs(found-least) > 1e-12 {
			t.Errorf("%d and %d: least %.4f, but %.4f is named", n, m, least, found)
		}
	}
	if differ, least := DifferentShares([]int{2, 0}, []int{0, 2}, 2, 2, Alpha); differ[0] || differ[1] || least <= 1 {
		t.Errorf("two samples each: got %v and %v, want none and more than 1", differ, least)
	}
}

// A category that is new is named although forty others are rare; those others are not.
func TestDifferentShares(t *testing.T) {
	t.Parallel()
	from, to := []int{0, 10}, []int{17, 10}
	for i := range 40 {
		from, to = append(from, (i+4)/5%2), append(to, 1)
	}
	n, m := 0, 0
	for i := range from {
		n, m = n+from[i], m+to[i]
	}
	differ, least := DifferentShares(from, to, n, m, Alpha)
	for i, is := range differ {
		if is != (i == 0) {
			t.Errorf("category %d, %d against %d: differs is %v", i, from[i], to[i], is)
		}
	}
	if least < .05 || least > .25 {
		t.Errorf("least is %.3f, want that of some samples of 67", least)
	}
}

// Where no share differs, at most 5 % of runs name a category. A new one with a quarter of the second sample is named
// the more often, the larger the samples are. docs/guide/profiles.md tells the numbers of this simulation.
func TestDifferentSharesBySimulation(t *testing.T) {
	long(t)
	page, err := os.ReadFile("../../../docs/guide/profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	const runs, others = 2000, 60
	rng := rand.New(rand.NewPCG(1, 2))
	// drawn counts n samples: category 0 has a share of its own. As in profiles of programs, a few of the others have
	// most samples: the i-th has a share in proportion to 1/i.
	var upTo [others]float64
	sum := 0.0
	for i := range upTo {
		sum += 1 / float64(i+1)
		upTo[i] = sum
	}
	drawn := func(n int, share float64) []int {
		counts := make([]int, 1+others)
		for range n {
			if rng.Float64() < share {
				counts[0]++
				continue
			}
			i, _ := slices.BinarySearch(upTo[:], sum*rng.Float64())
			counts[1+i]++
		}
		return counts
	}
	for _, n := range []int{40, 60, 100, 400} {
		wrong, found, leasts := 0, 0, 0.0
		for range runs {
			if same, _ := DifferentShares(drawn(n, 0), drawn(n, 0), n, n, Alpha); slices.Contains(same, true) {
				wrong++
			}
			differ, least := DifferentShares(drawn(n, 0), drawn(n, .25), n, n, Alpha)
			if differ[0] {
				found++
			}
			leasts += least
		}
		if wrong > runs/20 {
			t.Errorf("%d samples: %d of %d runs name a category, though no share differs; at most 5 %% may", n, wrong, runs)
		}
		row := fmt.Sprintf("| %d | %.1f %% | %.0f %% | %.0f %% |", n, 100*float64(wrong)/runs, 100*float64(found)/runs, 100*leasts/runs)
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/guide/profiles.md has no row %q", row)
		}
	}
}
