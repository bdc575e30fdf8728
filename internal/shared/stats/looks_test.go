package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The ranks for one, two, three and four and a half times two comparisons, and the
// error that they spend over all looks.
func TestLookRanks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		comparisons float64
		ranks       []int
		spent       float64
	}{
		{2, []int{1, 2, 2, 2, 3, 4, 6, 7, 9, 10, 12}, .0206},
		{4, []int{1, 1, 1, 2, 2, 4, 5, 7, 8, 10, 11}, .0103},
		{6, []int{1, 1, 1, 1, 2, 3, 5, 6, 8, 10, 11}, .0076},
		{9, []int{0, 1, 1, 1, 2, 3, 5, 6, 8, 9, 11}, .0050},
	} {
		alpha := Alpha / c.comparisons
		for i, n := range Looks() {
			if got := LookRank(n, alpha); got != c.ranks[i] {
				t.Errorf("%v comparisons, %d blocks: rank %d, want %d", c.comparisons, n, got, c.ranks[i])
			}
		}
		if _, got := spend(alpha, 1); math.Abs(got-c.spent) > 1e-4 {
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
	if one, six, many, none := FirstLook(1, 1), FirstLook(6, 1), FirstLook(30, 1), FirstLook(1e12, 1); one != 10 || six != 10 || many != 12 || none != 0 {
		t.Errorf("first looks %d, %d, %d, %d; want 10, 10, 12, 0", one, six, many, none)
	}
}

// If the blocks to come fall as those so far, the next look settles what none is against;
// this one has not.
func TestSettles(t *testing.T) {
	t.Parallel()
	ranks, _ := spend(Alpha/2, 1) // 1, 2, 2, 2, 3, 4, 6, 7, 9, 10, 12
	for _, c := range []struct{ n, minority, want int }{
		{5, 0, 10}, {9, 0, 10}, {10, 0, 12}, {11, 0, 12}, {12, 0, 13}, {36, 0, 40}, {40, 0, 0},
		{10, 1, 16}, // two of sixteen, fewer than three; of twelve to fourteen two as well, which are too many
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
			if c.Decision == open {
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
						if v.Decision.Rank == Faster || v.Decision.Rank == Slower {
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
			found += countOf(verdicts[2].Decision.Rank == Slower)
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

// SAME errs at one end of its interval, so the probability that this end ever excludes the true ratio
// stays below a comparison's share. Its interval is never wider than that of a difference: both
// wrong words of an arm that is surely different need the same end.
func TestSameErrsAtOneEnd(t *testing.T) {
	t.Parallel()
	for comparisons := 1; comparisons <= 60; comparisons++ {
		share := Alpha / float64(comparisons)
		differs, _ := spend(share, 1)
		same, spent := sameRanks(share)
		walk, wrong := [lastLook + 1]float64{1}, 0.0 // of the number of blocks below the true ratio
		look := 0
		for n := 1; n <= lastLook; n++ {
			for s := n; s > 0; s-- {
				walk[s] = (walk[s] + walk[s-1]) / 2
			}
			walk[0] /= 2
			if n != looks[look] {
				continue
			}
			if same[look] < differs[look] {
				t.Errorf("%d comparisons, %d blocks: rank %d for SAME, %d for a difference", comparisons, n, same[look], differs[look])
			}
			for s := range same[look] {
				wrong, walk[s] = wrong+walk[s], 0
			}
			look++
		}
		if wrong > share || math.Abs(wrong-spent) > share/100 {
			t.Errorf("%d comparisons: SAME errs with %.6f, said to be %.6f, share %.6f", comparisons, wrong, spent, share)
		}
	}
}

// Ranks are whole numbers, so a part of the error is never spent: an eighth of it at most of one comparison.
func TestUnspent(t *testing.T) {
	t.Parallel()
	for comparisons, want := range map[int]float64{0: .0063868, 1: .0063868, 6: .0032076} {
		if got := Unspent(comparisons); math.Abs(got-want) > 1e-7 {
			t.Errorf("%d comparisons: %v left, want %v", comparisons, got, want)
		}
	}
}

// Of a build that is worse by what is allowed, one end of the interval of a comparison that takes the whole Alpha says otherwise
// in 2.5 %, and in 6.3 % where both ratios of each block fall to the same side. A gate's fine rests on it.
func TestOneEndOfTheWholeAlpha(t *testing.T) {
	t.Parallel()
	ranks, both := spend(Alpha, 2)
	if both > Alpha {
		t.Errorf("both ends err with %.4f, want %v at most", both, Alpha)
	}
	// alike[s] is the probability that both ratios of s blocks are on the wrong side, and no look said so.
	alike, wrong := make([]float64, lastLook+1), 0.
	alike[0] = 1
	for n := 1; n <= lastLook; n++ {
		for s := n; s > 0; s-- {
			alike[s] = (alike[s] + alike[s-1]) / 2
		}
		alike[0] /= 2
		if look := slices.Index(looks[:], n); look >= 0 {
			for s := 0; 2*s < ranks[look]; s++ {
				wrong, alike[s] = wrong+alike[s], 0
			}
		}
	}
	if math.Abs(wrong-.063) > .0005 {
		t.Errorf("one end errs with %.4f where both ratios of a block fall alike, want 0.063", wrong)
	}
}
