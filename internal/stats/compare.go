package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Alpha is the probability of error that the intervals of all comparisons of a
// run share: each takes Alpha divided by their number (Bonferroni).
const Alpha = 0.05

// A Comparison is the verdict on one metric of one arm against the baseline.
// Ratios are arm / baseline: 1.10 is ten per cent more, whichever way is better.
type Comparison struct {
	Metric   Metric
	Decision Decision
	Ratio    float64 // median over blocks; 0 when refused, else positive
	Low      float64 // confidence interval of Ratio, Low <= Ratio <= High; 0 when refused
	High     float64
	Blocks   int    // pairs given
	Won      int    // blocks in which the arm had the better value; 0 when refused
	Lost     int    // blocks in which it had the worse one; an equal pair is neither
	Needed   int    // blocks that would decide it, an estimate; 0 unless inconclusive
	Reason   string // why it was refused; "" otherwise
}

// Compare judges an arm against the baseline from one pair of values per block:
// base[i] and arm[i] are the metric m of both in block i. comparisons is how
// many verdicts share Alpha, challengers × primary metrics; below 1 it counts
// as 1. It does not modify its arguments.
//
// With d = ln(arm/base) per block, n blocks and k = IntervalRank(n,
// Alpha/comparisons), the estimate is the median of d, its interval
// [d_(k), d_(n+1-k)], and the first rule that holds decides:
//
//	FASTER, SLOWER   the interval excludes 0 and |median| >= ln(1+Effect)
//	SAME             the interval lies within ±ln(1+Same)
//	INCONCLUSIVE     otherwise; Needed = ⌈n·(width / 2·ln(1+Same))²⌉, at least n+1
//
// Values that are not positive and finite, slices of different length and too
// few blocks for an interval are REFUSED with a Reason.
func Compare(m Metric, base, arm []float64, comparisons int) Comparison {
	c := Comparison{Metric: m, Blocks: min(len(base), len(arm))}
	if reason := unfit(m, base, arm); reason != "" {
		return c.Refuse(reason)
	}
	alpha := Alpha / float64(max(comparisons, 1))
	k := IntervalRank(c.Blocks, alpha)
	if k == 0 {
		return c.Refuse(fmt.Sprintf("%d blocks give no interval at error %.3g: run at least %d", c.Blocks, alpha, minBlocks(alpha)))
	}
	better := -1
	if m.HigherIsBetter {
		better = 1
	}
	ratios := make([]float64, c.Blocks) // ln is monotone: the ranks of the ratios are the ranks of d
	for i := range ratios {
		ratios[i] = arm[i] / base[i]
		switch cmp.Compare(arm[i], base[i]) {
		case better:
			c.Won++
		case -better:
			c.Lost++
		}
	}
	slices.Sort(ratios)
	lower, upper := middle(ratios)
	c.Low, c.High = ratios[k-1], ratios[c.Blocks-k]
	c.Ratio = min(max(math.Exp((math.Log(lower)+math.Log(upper))/2), lower), upper)
	c.decide()
	return c
}

// decide sets Decision and Needed from the ratios.
func (c *Comparison) decide() {
	low, median, high := math.Log(c.Low), math.Log(c.Ratio), math.Log(c.High)
	effect := math.Log1p(c.Metric.Effect) - rounding
	same := math.Log1p(c.Metric.Same) + rounding
	switch {
	case c.excludesOne() && math.Abs(median) >= effect:
		c.Decision = Slower
		if median > 0 == c.Metric.HigherIsBetter {
			c.Decision = Faster
		}
	case -same <= low && high <= same:
		c.Decision = Same
	default:
		c.Decision = Inconclusive
		excess := (high - low) / (2 * same) // an interval's width shrinks with √n
		need := math.Ceil(float64(c.Blocks) * excess * excess)
		c.Needed = max(c.Blocks+1, int(min(need, math.MaxInt32)))
	}
}

func (c Comparison) excludesOne() bool { return c.Low > 1 || c.High < 1 }

// Refuse returns c with its verdict withdrawn for the given reason: a rule that
// this package cannot see, such as lag, errors or an A/A' difference, failed.
// The metric and the number of blocks remain; every estimate becomes 0.
func (c Comparison) Refuse(reason string) Comparison {
	return Comparison{Metric: c.Metric, Decision: Refused, Blocks: c.Blocks, Reason: reason}
}

// AAClean compares the baseline with its own copy, alone at Alpha. It is false
// when the interval excludes equality, which means that the set-up tells two
// identical programs apart, and also when the comparison was refused, so that
// nothing is known: no other verdict on m may stand then.
func AAClean(m Metric, base, twin []float64) (Comparison, bool) {
	c := Compare(m, base, twin, 1)
	return c, c.Decision != Refused && !c.excludesOne()
}

// unfit says why the values cannot be compared at all, or "".
func unfit(m Metric, base, arm []float64) string {
	if !(m.Effect >= 0 && m.Same > 0) || math.IsInf(m.Effect+m.Same, 1) {
		return fmt.Sprintf("metric %q has effect %v and same %v: want finite sizes, same above 0", m.Name, m.Effect, m.Same)
	}
	if len(base) != len(arm) {
		return fmt.Sprintf("%d blocks of the baseline against %d of the arm: want pairs", len(base), len(arm))
	}
	for i := range base {
		if !positive(base[i]) || !positive(arm[i]) || !positive(arm[i]/base[i]) {
			return fmt.Sprintf("block %d has %s %v for the baseline and %v for the arm: want positive finite values", i+1, m.Name, base[i], arm[i])
		}
	}
	return ""
}

// positive reports whether v is a number above 0 and finite.
func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }
