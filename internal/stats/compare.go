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

// leanAlpha is the error of the plain interval that tells to which side an undecided comparison
// leans.
const leanAlpha = 0.1

// A Comparison is the verdict on one metric of one arm against the baseline.
// Ratios are arm / baseline: 1.10 is ten per cent more, whichever way is better.
type Comparison struct {
	Metric   Metric
	Decision Decision
	Ratio    float64 // median over all blocks, within Low and High; 0 when refused, else positive
	Low      float64 // confidence interval of Ratio; 0 when refused, and while no look has an interval
	High     float64
	Blocks   int      // pairs given
	Look     int      // blocks at the look since which the decision stands; 0 unless it is a difference or SAME
	Won      int      // blocks in which the arm had the better value; 0 when refused
	Lost     int      // blocks in which it had the worse one; an equal pair is neither
	Lean     Decision // INCONCLUSIVE: the difference to which the blocks so far point, else ""
	Needed   int      // INCONCLUSIVE: blocks that would decide it, an estimate; else 0
	Least    int      // INCONCLUSIVE: blocks that would decide it if one dissenting block so far was bad luck; else 0
	Reason   string   // why it was refused; "" otherwise
}

// Compare judges an arm against the baseline from one pair of values per block, in the
// order in which the blocks ran: base[i] and arm[i] are the metric m of both in block i.
// comparisons is how many verdicts share Alpha, challengers × primary metrics; below 1
// it counts as 1. It does not modify its arguments.
//
// It looks after 10, 12, 14, … blocks ([Looks]). With d = ln(arm/base) of the first n
// blocks, sorted, the interval of a look is [d_(k), d_(n+1-k)], k = LookRank(n,
// Alpha/comparisons). The intervals of all looks hold together, so Low and High are what
// they have in common, and a decision may be taken from them after any look:
//
//	a difference   [Low, High] excludes 1 and the median is at least Effect off
//	SAME           [Low, High] lies within ±Same
//
// Otherwise, too few blocks for a look included, it is INCONCLUSIVE: it leans when the
// plain 90 % interval of all blocks excludes 0 and their median is at least Effect off.
// The decision is taken again from all blocks given, so that the word agrees with the figures.
//
// Values that are not positive and finite and slices of different length are REFUSED
// with a Reason.
func Compare(m Metric, base, arm []float64, comparisons int) Comparison {
	return CompareOff(m, base, arm, comparisons, 0)
}

// CompareOff is [Compare] for ratios that may all be wrong by the same unknown factor, between
// e^-off and e^off. It widens every interval by this factor. off is 0 or more.
func CompareOff(m Metric, base, arm []float64, comparisons int, off float64) Comparison {
	c := Comparison{Metric: m, Decision: Inconclusive, Blocks: min(len(base), len(arm))}
	if c.Reason = unfit(m, base, arm); c.Reason != "" {
		c.Decision = Refused
		return c
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
	ranks, _ := spend(Alpha / float64(max(comparisons, 1)))
	for i, n := range looks {
		if n > c.Blocks {
			break
		}
		if k := ranks[i]; k > 0 && !c.narrow(ratios[:n], k, off) {
			break // no median fits all looks: keep the interval of the earlier ones
		}
		c.decide(middleRatio(ratios[:n]), n)
	}
	c.decide(middleRatio(ratios), c.Blocks)
	if c.Decision == Inconclusive {
		c.lean(ranks)
	}
	return c
}

// middleRatio returns the median of ratios, computed from their logarithms.
func middleRatio(ratios []float64) float64 {
	lower, upper := middle(slices.Sorted(slices.Values(ratios)))
	return min(max(math.Exp((math.Log(lower)+math.Log(upper))/2), lower), upper)
}

// narrow intersects the interval with the interval of one look, which has rank k and is widened by
// off. If the intersection is empty, it changes nothing and returns false.
func (c *Comparison) narrow(ratios []float64, k int, off float64) bool {
	sorted := slices.Sorted(slices.Values(ratios))
	low, high := sorted[k-1]*math.Exp(-off), sorted[len(sorted)-k]*math.Exp(off)
	if c.Low > 0 {
		low, high = max(low, c.Low), min(high, c.High)
	}
	if low > high {
		return false
	}
	c.Low, c.High = low, high
	return true
}

// decide sets Decision and Ratio from the interval and the median of the first n blocks. Look
// becomes n when the decision changes.
func (c *Comparison) decide(median float64, n int) {
	if c.Low > 0 {
		median = min(max(median, c.Low), c.High)
	}
	c.Ratio = median
	same := math.Log1p(c.Metric.Same) + rounding
	d := Inconclusive
	switch {
	case c.Low == 0:
	case c.excludesOne() && c.matters(math.Log(median)):
		d = c.Metric.direction(median > 1)
	case -same <= math.Log(c.Low) && math.Log(c.High) <= same:
		d = Same
	}
	if d != c.Decision {
		c.Decision, c.Look = d, n
	}
	if d == Inconclusive {
		c.Look = 0
	}
}

// matters reports whether a median log ratio is at least the effect that matters.
func (c *Comparison) matters(median float64) bool {
	return math.Abs(median) >= math.Log1p(c.Metric.Effect)-rounding
}

// lean sets to which side an undecided comparison leans, and how many blocks would decide it.
func (c *Comparison) lean(ranks [len(looks)]int) {
	median, minority := math.Log(c.Ratio), c.Blocks-max(c.Won, c.Lost)
	if minority < IntervalRank(c.Blocks, leanAlpha) && c.matters(median) {
		c.Lean = c.Metric.direction(median > 0)
		c.Needed = settles(c.Blocks, minority, ranks)
	}
	if c.Needed == 0 && c.Low > 0 {
		excess := (math.Log(c.High) - math.Log(c.Low)) / (2 * math.Log1p(c.Metric.Same)) // an interval's width shrinks with √n
		need := math.Ceil(float64(c.Blocks) * excess * excess)
		c.Needed = max(1, int(min(need, math.MaxInt32)))
	}
	if c.Needed == 0 {
		c.Needed = settles(c.Blocks, 0, ranks)
	}
	c.Needed = max(c.Needed, c.Blocks+1)
	if i, _ := slices.BinarySearch(looks[:], c.Needed); i < len(looks) {
		c.Needed = looks[i]
	}
	c.Least = c.Needed
	if luck := settles(c.Blocks, max(minority-1, 0), ranks); luck > 0 && c.matters(median) {
		c.Least = min(c.Least, luck)
	}
}

func (c *Comparison) excludesOne() bool { return c.Low > 1 || c.High < 1 }

// unfit returns the reason why the values cannot be compared at all; "" if they can.
func unfit(m Metric, base, arm []float64) string {
	if !(m.Effect >= 0 && m.Same > 0) || math.IsInf(m.Effect+m.Same, 1) {
		return fmt.Sprintf("metric %q has effect %v and same %v: want finite sizes, same above 0", m.Name, m.Effect, m.Same)
	}
	if len(base) != len(arm) {
		return fmt.Sprintf("%d blocks of the baseline against %d of the arm: want pairs", len(base), len(arm))
	}
	if len(base) == 0 {
		return "no blocks"
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
