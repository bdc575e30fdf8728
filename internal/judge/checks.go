package judge

import (
	"math"
	"slices"

	"schedlab/internal/stats"
)

// Disturbances are measured, but no block is left out because of them. What they add to both arms
// alike is noise, and the intervals allow for noise. Two checks can still refuse a verdict:
// imbalance (the arms were disturbed differently, by enough to make the difference) and
// sensitivity (the verdict is another one without the disturbance). Both use one value per block.

const (
	// disturbedAlpha is the error of the interval that decides whether two arms were disturbed
	// differently. No verdict rests on this interval, which can only refuse one, so it shares its
	// error with no other.
	disturbedAlpha = .05
	// madeShare is the share of a difference that a disturbance must account for to count as its
	// cause.
	madeShare = .5
	// followsLimit is the p below which ratios are taken to follow a disturbance, or time.
	followsLimit = .01
)

// A disturbance holds how much each of two arms was disturbed, one value per block. Lateness is in
// seconds, shares of CPU time are ratios. base and arm have the same length.
type disturbance struct {
	name      string
	base, arm []float64
}

// known reports whether every value is known. NaN is unknown.
func (d disturbance) known() bool {
	return len(d.base) > 0 && !slices.ContainsFunc(slices.Concat(d.base, d.arm), math.IsNaN)
}

// difference returns how much more the arm was disturbed than the baseline, per block.
func (d disturbance) difference() []float64 {
	diff := make([]float64, len(d.base))
	for i := range diff {
		diff[i] = d.arm[i] - d.base[i]
	}
	return diff
}

// differs returns the median of diff. sure reports whether the exact confidence interval of the
// median excludes 0. The interval is exact for any distribution; see [stats.IntervalRank]. It is
// not sure with too few blocks.
func differs(diff []float64) (median float64, sure bool) {
	sorted := slices.Sorted(slices.Values(diff))
	k := stats.IntervalRank(len(sorted), disturbedAlpha)
	return stats.Median(sorted), k > 0 && (sorted[k-1] > 0 || sorted[len(sorted)-k] < 0)
}

// A checkedVerdict is a verdict to be checked: its decision and the logarithms of its ratios.
//
// Its methods ask, each in another way, whether the disturbances and not the servers made the
// verdict. They have no effect on a verdict that they do not refuse.
type checkedVerdict struct {
	decision stats.Decision // Faster, Slower or Same
	x        []float64      // ln(arm/baseline) per block
	same     float64        // ln(1+Same) of the metric
}

// toCheck returns the verdict of a comparison for the checks. base and arm are the compared
// values, one per block. The values are above 0, or Compare would have refused them.
func toCheck(c stats.Comparison, base, arm []float64) checkedVerdict {
	x := make([]float64, len(base))
	for i := range x {
		x[i] = math.Log(arm[i] / base[i])
	}
	return checkedVerdict{c.Decision, x, math.Log1p(c.Metric.Same)}
}

// contradicts reports whether a median says the opposite of the verdict: for FASTER and SLOWER the
// other direction, for SAME a difference.
func (c checkedVerdict) contradicts(median float64) bool {
	if c.decision == stats.Same {
		return math.Abs(median) > c.same
	}
	return median*stats.Median(c.x) < 0
}

// madeBy reports whether a disturbance makes the verdict. added is what it adds to x in the
// median. It makes a difference if it adds half of it or more, and SAME if there would be a
// difference without it. added is a logarithm of a ratio.
func (c checkedVerdict) madeBy(added float64) bool {
	median := stats.Median(c.x)
	if c.decision == stats.Same {
		return math.Abs(median-added) > c.same
	}
	return added*median > 0 && math.Abs(added) >= madeShare*math.Abs(median)
}

// lateImbalance reports whether the requests of the two arms were sent late by different times, by
// enough to make a verdict on response times. late holds the lateness, base and arm the response
// times, all in seconds. more is the median of how much later the arm's requests were sent.
func (c checkedVerdict) lateImbalance(late disturbance, base, arm []float64) (more float64, made bool) {
	more, sure := differs(late.difference())
	if !sure {
		return more, false
	}
	// Lateness adds to a response time, so compare it with the difference of the times in seconds.
	if c.decision != stats.Same {
		gap, _ := differs(disturbance{base: base, arm: arm}.difference())
		return more, gap*more > 0 && math.Abs(more) >= madeShare*math.Abs(gap)
	}
	clean := make([]float64, len(base)) // as if no request had been late
	for i := range clean {
		clean[i] = math.Log((arm[i] - late.arm[i]) / (base[i] - late.base[i]))
	}
	// A time shorter than its lateness has no logarithm, so such blocks cannot tell.
	return more, !slices.ContainsFunc(clean, math.IsNaN) && c.contradicts(stats.Median(clean))
}

// shareImbalance does the same for a disturbance that takes a share of CPU time. Its effect is the
// slope of the ratios on the share. If the ratios do not follow the share from block to block, it
// has no effect.
func (c checkedVerdict) shareImbalance(share disturbance) (more float64, made bool) {
	diff := share.difference()
	more, sure := differs(diff)
	if !sure {
		return more, false
	}
	// Nobody knows by how much a share of CPU time slows a server, so the blocks have to tell: how
	// the ratio changes from block to block as the share does.
	if _, p := stats.RankCorrelation(diff, c.x); p >= followsLimit {
		return more, false
	}
	return more, c.madeBy(stats.TheilSen(diff, c.x, 0) * more)
}

// calm returns the median of x over the half of the blocks that was disturbed least. ok is false
// if all blocks were disturbed alike. If the calm half says the opposite, the verdict depends on
// the disturbance.
func (c checkedVerdict) calm(d disturbance) (median float64, ok bool) {
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

// drifts reports whether the ratios drift during the run so far that its two halves contradict
// each other. first and last are the median log ratios of the halves, p the significance of the
// drift. The significance is of Spearman's rank correlation with the order of the blocks.
func (c checkedVerdict) drifts() (first, last, p float64, drifts bool) {
	n := len(c.x)
	_, p = stats.Spearman(c.x)
	// With an odd number of blocks, the middle one is in both halves.
	first, last = stats.Median(c.x[:(n+1)/2]), stats.Median(c.x[n/2:])
	opposite := first*last < 0
	if c.decision == stats.Same {
		opposite = c.contradicts(first) || c.contradicts(last)
	}
	return first, last, p, p < followsLimit && opposite
}
