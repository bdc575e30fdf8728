package stats

import (
	"math"
	"slices"
	"testing"
)

// What luck explains goes, a block that does not follow it keeps its own deviation, and the
// slope of the others is not bent by it.
func TestWithoutLuck(t *testing.T) {
	luck := []float64{.2, -.1, .05, -.15, .3, -.2, .1, -.05}
	base, arm := make([]float64, len(luck)), make([]float64, len(luck))
	for i, l := range luck {
		base[i] = 10 + float64(i)
		arm[i] = base[i] * 1.2 * math.Exp(1.1*l)
	}
	arm[3] *= 3
	clean, effect := WithoutLuck(base, arm, luck)
	for i := range clean {
		want := 1.2
		if i == 3 {
			want *= math.Pow(3, stretched)
		}
		if got := clean[i] / base[i]; math.Abs(got-want) > .01*want {
			t.Errorf("block %d: ratio %.4f without luck, want %.4f", i+1, got, want)
		}
	}
	if want := 1.1 * math.Sqrt(.02875); math.Abs(effect-want) > .01 { // the mean square of luck
		t.Errorf("took out a standard deviation of %.4f, want %.4f", effect, want)
	}
}

func TestWithoutLuckLeavesValues(t *testing.T) {
	ones, arm := []float64{1, 1, 1, 1, 1}, []float64{1, 2, 3, 4, 5}
	for name, luck := range map[string][]float64{
		"no luck":       {0, 0, 0, 0, 0},
		"unknown luck":  {.1, math.NaN(), .2, .3, .1},
		"rounding":      {1e-9, 2e-9, 3e-9, 4e-9, 5e-9},
		"another sign":  {.5, .4, .3, .2, .1},
		"infinite luck": {.1, math.Inf(1), .2, .3, .1},
	} {
		if clean, effect := WithoutLuck(ones, arm, luck); !slices.Equal(clean, arm) || effect != 0 {
			t.Errorf("%s: got %v and %v taken out, want the values as they are", name, clean, effect)
		}
	}
	if clean, _ := WithoutLuck(ones[:3], arm[:3], []float64{.1, .2, .3}); !slices.Equal(clean, arm[:3]) {
		t.Errorf("three blocks: got %v, want the values as they are", clean)
	}
}
