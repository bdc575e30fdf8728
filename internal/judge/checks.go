package judge

import (
	"math"
	"slices"

	"schedlab/internal/stats"
)

// Disturbances are measured, and no block is left out for them: what they add to both
// arms alike is noise, which the intervals hold. Two checks can still refuse a verdict:
// the disturbance differs between the arms by enough to make the difference (imbalance),
// or the verdict is another one without it (sensitivity). They are functions of one
// value per block.

const (
	// disturbedAlpha is the error of the interval that says that two arms are disturbed
	// differently.
	disturbedAlpha = .05
	// madeShare is the share of a difference that a disturbance must account for to be
	// taken for its cause.
	madeShare = .5
	// followsLimit is the p below which ratios follow a disturbance, or the time.
	followsLimit = .01
)

// A disturbance is what disturbed two arms' windows, one value per block each.
type disturbance struct {
	name      string
	base, arm []float64
}

// known reports whether every value is.
func (d disturbance) known() bool {
	for i := range d.base {
		if math.IsNaN(d.base[i]) || math.IsNaN(d.arm[i]) {
			return false
		}
	}
	return len(d.base) > 0
}

// difference is by how much more the arm was disturbed, per block.
func (d disturbance) difference() []float64 {
	diff := make([]float64, len(d.base))
	for i := range diff {
		diff[i] = d.arm[i] - d.base[i]
	}
	return diff
}

// differs is the median of differences, and whether their exact interval excludes 0.
func differs(diff []float64) (median float64, sure bool) {
	sorted := slices.Sorted(slices.Values(diff))
	k := stats.IntervalRank(len(sorted), disturbedAlpha)
	return stats.Median(sorted), k > 0 && (sorted[k-1] > 0 || sorted[len(sorted)-k] < 0)
}

// A call is a verdict that is checked: what it says of the logarithms of the ratios.
type call struct {
	decision stats.Decision // Faster, Slower or Same
	x        []float64      // ln(arm/baseline) per block
	same     float64        // ln(1+Same) of the metric
}

func newCall(c stats.Comparison, base, arm []float64) call {
	x := make([]float64, len(base))
	for i := range x {
		x[i] = math.Log(arm[i] / base[i])
	}
	return call{c.Decision, x, math.Log1p(c.Metric.Same)}
}

// contradicts reports whether a median says the opposite of the verdict: the other side
// of no difference, or, of SAME, a difference.
func (c call) contradicts(median float64) bool {
	if c.decision == stats.Same {
		return math.Abs(median) > c.same
	}
	return median*stats.Median(c.x) < 0
}

// madeBy reports whether what a disturbance adds to x, in the median, makes the verdict:
// half of a difference or more, or a SAME that would be none without it.
func (c call) madeBy(added float64) bool {
	median := stats.Median(c.x)
	if c.decision == stats.Same {
		return math.Abs(median-added) > c.same
	}
	return added*median > 0 && math.Abs(added) >= madeShare*math.Abs(median)
}

// lateImbalance reports whether the arms were sent late by different times, late, that
// make the verdict on times, base and arm: all seconds. more is the median of how much
// later the arm's were.
func (c call) lateImbalance(late disturbance, base, arm []float64) (more float64, made bool) {
	more, sure := differs(late.difference())
	if !sure {
		return more, false
	}
	if c.decision != stats.Same {
		gap, _ := differs(disturbance{base: base, arm: arm}.difference())
		return more, gap*more > 0 && math.Abs(more) >= madeShare*math.Abs(gap)
	}
	clean := make([]float64, len(base)) // as if none had been late
	for i := range clean {
		clean[i] = math.Log((arm[i] - late.arm[i]) / (base[i] - late.base[i]))
	}
	return more, !slices.ContainsFunc(clean, math.IsNaN) && c.contradicts(stats.Median(clean))
}

// shareImbalance is the same of a share of CPU time, whose effect is the slope of the
// ratios on it. Ratios that do not follow it from block to block owe it nothing.
func (c call) shareImbalance(share disturbance) (more float64, made bool) {
	diff := share.difference()
	more, sure := differs(diff)
	if !sure {
		return more, false
	}
	if _, p := stats.RankCorrelation(diff, c.x); p >= followsLimit {
		return more, false
	}
	return more, c.madeBy(stats.TheilSen(diff, c.x, 0) * more)
}

// calm is the median of x over the half of the blocks that was disturbed least; not ok
// when no block was disturbed more than another.
func (c call) calm(d disturbance) (median float64, ok bool) {
	sum := make([]float64, len(d.base))
	for i := range sum {
		sum[i] = d.base[i] + d.arm[i]
	}
	if len(sum) == 0 || slices.Max(sum) == slices.Min(sum) {
		return 0, false
	}
	var half []float64
	for _, i := range stats.Lowest(sum, (len(sum)+1)/2) {
		half = append(half, c.x[i])
	}
	return stats.Median(half), true
}

// drifts reports whether the ratios move over the run so far that its halves, whose
// medians it returns, say opposite things.
func (c call) drifts() (first, last, p float64, drifts bool) {
	n := len(c.x)
	_, p = stats.Spearman(c.x)
	first, last = stats.Median(c.x[:(n+1)/2]), stats.Median(c.x[n/2:])
	opposite := first*last < 0
	if c.decision == stats.Same {
		opposite = c.contradicts(first) || c.contradicts(last)
	}
	return first, last, p, p < followsLimit && opposite
}
