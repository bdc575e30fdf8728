package judge

import (
	"math"
	"slices"
	"testing"

	"schedlab/internal/stats"
)

// said is a verdict whose ratios are e to the x.
func said(decision stats.Decision, x ...float64) checkedVerdict {
	return checkedVerdict{decision: decision, same: .125, x: x}
}

// Where exactly a disturbance begins to make a verdict, or a median to contradict it.
func TestCallsAtTheirLimits(t *testing.T) {
	t.Parallel()
	same, slower, level := said(stats.Same, .0625), said(stats.Slower, .25), said(stats.Slower, 0)
	for name, c := range map[string]struct{ got, want bool }{
		"a median just within SAME":               {same.contradicts(-.125), false},
		"a median beyond SAME":                    {same.contradicts(.126), true},
		"a median of the other sign":              {slower.contradicts(-.001), true},
		"a median of no difference":               {slower.contradicts(0), false},
		"a verdict of no difference":              {level.contradicts(-1), false},
		"half of the difference":                  {slower.madeBy(.125), true},
		"less than half of it":                    {slower.madeBy(.124), false},
		"all of it, the other way":                {slower.madeBy(-.25), false},
		"something, of no difference":             {level.madeBy(.1), false},
		"a SAME that would be at its edge":        {same.madeBy(-.0625), false},
		"a SAME that would be beyond it":          {same.madeBy(-.0626), true},
		"a SAME that would be more of one":        {same.madeBy(.0626), false},
		"a disturbance of no block":               {disturbance{}.known(), false},
		"a disturbance not known of the baseline": {disturbance{base: []float64{1, math.NaN()}, arm: []float64{1, 1}}.known(), false},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
}

// Of ten differences one may be of the other sign (2 P(Bin(10, 1/2) <= 1) = 2.1 %); of three
// all may be alike by chance.
func TestDiffersNeedsBlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		diff []float64
		sure bool
	}{
		{[]float64{-1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, true},
		{[]float64{-1, -1, 1, 1, 1, 1, 1, 1, 1, 1}, false},
		{[]float64{1, -1, -1, -1, -1, -1, -1, -1, -1, -1}, true},
		{[]float64{1, 1, -1, -1, -1, -1, -1, -1, -1, -1}, false},
		{[]float64{1, 1, 1}, false},
	} {
		if _, sure := differs(c.diff); sure != c.sure {
			t.Errorf("%v: sure %v, want %v", c.diff, sure, c.sure)
		}
	}
}

// Lateness makes a difference when it is half of it, and hides one when the times without
// it are apart.
func TestLatenessAtItsLimits(t *testing.T) {
	t.Parallel()
	always := func(v float64) []float64 { return slices.Repeat([]float64{v}, 12) }
	for _, c := range []struct {
		name              string
		decision          stats.Decision
		base, arm         float64
		lateBase, lateArm float64
		want              bool
	}{
		{"half of the difference", stats.Slower, 1, 2, 0, .5, true},
		{"a little less", stats.Slower, 1, 2, 0, .49, false},
		{"no difference", stats.Slower, 1, 1, 0, .5, false},
		{"the arm would be faster", stats.Same, 2, 2, 0, .25, true},
		{"the baseline would be faster", stats.Same, 2, 2, .25, 0, true},
		{"both would still be the same", stats.Same, 2, 2, 0, .2, false},
	} {
		// ln(1.75/2) = -.134 is beyond the .125 of SAME, ln(2.25/2) = .118 within it
		late := disturbance{base: always(c.lateBase), arm: always(c.lateArm)}
		if more, got := said(c.decision, 0).lateImbalance(late, always(c.base), always(c.arm)); got != c.want || more != c.lateArm-c.lateBase {
			t.Errorf("%s: %v, %v s more; want %v", c.name, got, more, c.want)
		}
	}
}

// The calm half is the blocks with the least of both arms' disturbance, the middle one with it.
func TestTheCalmHalf(t *testing.T) {
	t.Parallel()
	d := disturbance{base: []float64{0, 2, 1}, arm: []float64{0, 2, 1}}
	if m, ok := said(stats.Slower, 1, 100, 5).calm(d); !ok || m != 3 {
		t.Errorf("got %v, %v; want the median of 1 and 5", m, ok)
	}
	alike := disturbance{base: []float64{0, .1, 0}, arm: []float64{.1, 0, .1}}
	if _, ok := said(stats.Slower, 1, 2, 3).calm(alike); ok {
		t.Error("blocks that are disturbed alike, one arm or the other, have no calm half")
	}
}

// A run's halves share the block in the middle, and say opposite things only with opposite
// signs.
func TestHalvesOfADrift(t *testing.T) {
	t.Parallel()
	if first, last, _, _ := said(stats.Slower, 1, 2, 9).drifts(); first != 1.5 || last != 5.5 {
		t.Errorf("halves of three: %v and %v, want 1.5 and 5.5", first, last)
	}
	for _, x := range [][]float64{{-5, -4, -3, -2, -1, -.2, -.1, 0, .1, .2}, {-.2, -.1, 0, .1, .2, 1, 2, 3, 4, 5}} {
		if first, last, p, drifts := said(stats.Slower, x...).drifts(); drifts || p >= followsLimit {
			t.Errorf("from %v to %v, p %v: drifts %v; a half that says nothing opposes nothing", first, last, p, drifts)
		}
	}
}
