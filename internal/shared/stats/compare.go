package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"schedlab/internal/shared/outcome"
)

const (
	// Alpha is the probability of error that all comparisons of a run share: each takes Alpha divided by their
	// number (Bonferroni). The plain interval that tells to which side an open one leans has leanAlpha.
	Alpha     = 0.05
	leanAlpha = 0.1
)

// A Comparison is the verdict on one metric of one arm against the baseline.
// Ratios are arm / baseline: 1.10 is ten per cent more, whichever way is better.
type Comparison struct {
	Metric   Metric
	Decision Decision
	Ratio    float64 // median over all blocks, within Low and High; 0 when refused, else positive
	Low      float64 // confidence interval of Ratio; 0 when refused, and while no look has an interval
	High     float64
	Blocks   int    // pairs given
	Look     int    // blocks at the look since which the rank stands; 0 without one
	Won      int    // blocks in which the arm had the better value; 0 when refused
	Lost     int    // blocks in which it had the worse one; an equal pair is neither
	Lean     Rank   // open: the difference to which the blocks so far point, else ""
	Needed   int    // open: blocks that would decide it, an estimate; else 0
	Least    int    // open: blocks that would decide it if one dissenting block so far was bad luck; else 0
	Reason   string // why it was refused; "" otherwise
}

// Compare judges an arm against the baseline from one pair of values per block, in the order in which the
// blocks ran: base[i] and arm[i] are the metric m of both in block i. comparisons is how many verdicts share
// Alpha, challengers × primary metrics; below 1 it counts as 1. It does not modify its arguments.
//
// It looks after 10, 12, 13, … blocks ([Looks]). With d = ln(arm/base) of the first n blocks, sorted, the
// interval of a look is [d_(k), d_(n+1-k)], k = LookRank(n, Alpha/comparisons). The intervals of all looks
// hold together. So the intervals of the looks so far are intersected, and a decision may be taken after any look:
//
//	a difference   the interval excludes 1 and the median is at least Effect off
//	SAME           the interval with twice this error lies within ±Same: a true ratio beyond
//	               ±Same can lie beyond one end only, so SAME is wrong as seldom as a difference
//
// Low and High are the interval that the decision was taken from; without a decision it is the one
// for a difference. All wrong decisions of a comparison together have at most the error
// Alpha/comparisons: if the true ratio is beyond Same they are SAME and the wrong direction, which
// the same end of an interval excludes; if not, a difference is the only one.
//
// Otherwise, too few blocks for a look included, it is open: it leans when the plain 90 % interval of
// all blocks excludes 0 and their median is at least Effect off. The decision is taken again from all blocks,
// so that the word agrees with the figures. Values that are not positive and finite, and slices of different
// length, are refused with a Reason.
func Compare(m Metric, base, arm []float64, comparisons int) Comparison {
	c := Comparison{Metric: m, Decision: Open(), Blocks: min(len(base), len(arm))}
	if c.Reason = unfit(m, base, arm); c.Reason != "" {
		c.Decision = Decision{Outcome: outcome.Refused}
		return c
	}
	ratios := make([]float64, c.Blocks) // ln is monotone: the ranks of the ratios are the ranks of d
	for i := range ratios {
		ratios[i] = arm[i] / base[i]
		c.Won, c.Lost = c.Won+Count(arm[i] < base[i]), c.Lost+Count(arm[i] > base[i])
	}
	if m.HigherIsBetter {
		c.Won, c.Lost = c.Lost, c.Won
	}
	share := Alpha / float64(max(comparisons, 1))
	ranks, _ := spend(share, 1)
	alike, _ := sameRanks(share)
	c.look(ratios, 1, ranks, alike)
	if c.Decision.Outcome == outcome.Open {
		c.lean(ranks)
		c.mayBeSame(ratios, math.Log1p(m.Same), alike)
	}
	return c
}

// CompareCopies judges an arm against a baseline that ran twice in each block, as base and as twin, as
// [Compare] does with one, in two thirds of the blocks. If the arm's values are the baseline's times one
// factor, its interval holds as surely, whatever the noise; so a difference between equal programs is
// wrong as seldom. If the arm scatters far more than the baseline, each end errs about seven times as often at worst.
//
// With the true factor taken out, the arm's rank in its block is any of three with the same probability.
// That gives the ranks of the looks among all arm/base and arm/twin together, as the coin of [LookRank]
// does among one. Won, Lost, Lean and Least stay empty.
func CompareCopies(m Metric, base, twin, arm []float64, comparisons int) Comparison {
	c := Comparison{Metric: m, Decision: Open(), Blocks: min(len(base), len(twin), len(arm))}
	if c.Reason = cmp.Or(unfit(m, base, arm), unfit(m, twin, arm)); c.Reason != "" {
		c.Decision = Decision{Outcome: outcome.Refused}
		return c
	}
	var ratios []float64
	for i := range arm {
		ratios = append(ratios, arm[i]/base[i], arm[i]/twin[i])
	}
	ranks, _ := spend(Alpha/float64(max(comparisons, 1)), 2)
	c.look(ratios, 2, ranks, ranks)
	if c.Decision.Outcome == outcome.Open {
		c.Needed = nextLook(max(c.blocksForSame(), c.Blocks+1))
	}
	return c
}

// look decides at each look, and again from all blocks. There are per ratios for a block, in the order of
// the blocks; differs and same are the ranks among them of the intervals for a difference and for SAME.
func (c *Comparison) look(ratios []float64, per int, differs, same [len(looks)]int) {
	var apart, alike interval
	sorted := make([]float64, 0, len(ratios)) // the ratios up to a look
	for i, n := range looks {
		if n > c.Blocks {
			break
		}
		sorted = append(sorted, ratios[len(sorted):per*n]...)
		slices.Sort(sorted)
		apart.narrow(sorted, differs[i])
		alike.narrow(sorted, same[i])
		c.decide(middleRatio(sorted), n, apart, alike)
	}
	sorted = append(sorted, ratios[len(sorted):]...)
	slices.Sort(sorted)
	c.decide(middleRatio(sorted), c.Blocks, apart, alike)
}

// middleRatio returns the median of sorted ratios, computed from their logarithms.
func middleRatio(sorted []float64) float64 {
	lower, upper := middle(sorted)
	return min(max(math.Exp((math.Log(lower)+math.Log(upper))/2), lower), upper)
}

// An interval of ratios is what the intervals of all looks so far have in common; zero while no look had one.
type interval struct {
	low, high float64
	over      bool // two looks had nothing in common: the interval of the earlier ones stays
}

// narrow intersects the interval with the one of a look, which has this rank among its sorted ratios. A rank
// of 0 changes nothing.
func (in *interval) narrow(sorted []float64, rank int) {
	if rank == 0 || in.over {
		return
	}
	low, high := sorted[rank-1], sorted[len(sorted)-rank]
	if in.low > 0 {
		low, high = max(low, in.low), min(high, in.high)
	}
	if in.over = low > high; !in.over {
		in.low, in.high = low, high
	}
}

// within reports whether the interval lies within ±margin, a log ratio.
func (in interval) within(margin float64) bool {
	return in.low > 0 && -margin <= math.Log(in.low) && math.Log(in.high) <= margin
}

// hold returns the median, moved into the interval if there is one.
func (in interval) hold(median float64) float64 {
	if in.low == 0 {
		return median
	}
	return min(max(median, in.low), in.high)
}

// decide sets Decision, Ratio, Low and High from the median of the first n blocks and the interval
// for a difference and for SAME. Look becomes n when the decision changes.
func (c *Comparison) decide(median float64, n int, differs, same interval) {
	d, from, margin := Open(), differs, math.Log1p(c.Metric.Same)+rounding
	switch ratio := differs.hold(median); {
	case (differs.low > 1 || 0 < differs.high && differs.high < 1) && c.matters(math.Log(ratio)):
		d = Decided(c.Metric.direction(ratio > 1))
	case same.within(margin):
		d, from = Decided(Same), same
	case differs.within(margin): // where the looks of same have nothing in common
		d = Decided(Same)
	}
	c.Ratio, c.Low, c.High = from.hold(median), from.low, from.high
	if d != c.Decision {
		c.Decision, c.Look = d, n
	}
	if d.Outcome == outcome.Open {
		c.Look = 0
	}
}

// matters reports whether a median log ratio is at least the effect that matters.
func (c *Comparison) matters(median float64) bool {
	return math.Abs(median) >= math.Log1p(c.Metric.Effect)-rounding
}

// lean sets to which side an open comparison leans, and how many blocks would decide it.
func (c *Comparison) lean(ranks [len(looks)]int) {
	median, minority := math.Log(c.Ratio), c.Blocks-max(c.Won, c.Lost)
	if minority < IntervalRank(c.Blocks, leanAlpha) && c.matters(median) {
		c.Lean = c.Metric.direction(median > 0)
		c.Needed = settles(c.Blocks, minority, ranks)
	}
	c.Needed = cmp.Or(c.Needed, c.blocksForSame(), settles(c.Blocks, 0, ranks))
	c.Needed = nextLook(max(c.Needed, c.Blocks+1))
	c.Least = c.Needed
	if luck := settles(c.Blocks, max(minority-1, 0), ranks); luck > 0 && c.matters(median) {
		c.Least = min(c.Least, luck)
	}
}

// blocksForSame returns after how many blocks the interval will be as narrow as ±Same, if its width shrinks
// with √n; 0 without an interval.
func (c Comparison) blocksForSame() int {
	if c.Low == 0 {
		return 0
	}
	excess := (math.Log(c.High) - math.Log(c.Low)) / (2 * math.Log1p(c.Metric.Same))
	return max(1, int(min(math.Ceil(float64(c.Blocks)*excess*excess), math.MaxInt32)))
}

// nextLook returns the first look at n blocks or more; n beyond the last look.
func nextLook(n int) int {
	if i, _ := slices.BinarySearch(looks[:], n); i < len(looks) {
		return looks[i]
	}
	return n
}

// mayBeSame lowers Needed and Least if an open comparison becomes SAME sooner than they say, judged
// by how many ratios lie beyond one end of ±margin, a log ratio.
func (c *Comparison) mayBeSame(ratios []float64, margin float64, ranks [len(looks)]int) {
	above, below := 0, 0
	for _, r := range ratios {
		above, below = above+Count(math.Log(r) > margin), below+Count(math.Log(r) < -margin)
	}
	far := max(above, below)
	if n := settles(c.Blocks, far, ranks); n > 0 && c.Lean == "" {
		c.Needed = min(c.Needed, n)
	}
	if n := settles(c.Blocks, max(far-1, 0), ranks); n > 0 {
		c.Least = min(c.Least, n)
	}
}

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
