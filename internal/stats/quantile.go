// Package stats turns per-block figures into verdicts: quantiles, the exact
// interval of a median, the comparison of two arms, and the checks that guard
// it (drift, fairness). It is pure arithmetic on slices: it reads no clock,
// draws no random number, knows no file and no server, and all of it is safe
// for concurrent use.
//
// It does not test requests against requests. Requests of one window share
// their queue, so they are far from independent; the block is the unit.
package stats

import (
	"math"
	"slices"
)

// rounding is the relative slack given to limits that are exact in decimal but
// not in binary: 0.07·100 is rank 7 although the product is 7.000000000000001.
const rounding = 1e-12

// Quantile returns the q-quantile of sorted, an ascending slice, by nearest
// rank: the value at rank ⌈q·n⌉, always one that was measured (Hyndman and Fan,
// "Sample Quantiles in Statistical Packages", 1996, definition 1). A q outside
// 0..1 is taken as the nearer end. It is NaN when sorted is empty or q is NaN.
func Quantile(sorted []float64, q float64) float64 {
	n := len(sorted)
	if n == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	q = min(max(q, 0), 1)
	rank := int(math.Ceil(q * float64(n) * (1 - rounding)))
	return sorted[max(rank, 1)-1]
}

// Median returns the middle value of x, or the mean of the two middle values.
// It does not modify x. It is NaN when x is empty or holds a NaN.
func Median(x []float64) float64 {
	if len(x) == 0 || slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(x))
	lower, upper := middle(s)
	if lower == upper {
		return lower
	}
	return lower/2 + upper/2 // halved first: the sum of two large values overflows
}

// middle returns the two middle values of a sorted, non-empty slice; they are
// one and the same when its length is odd.
func middle(sorted []float64) (lower, upper float64) {
	n := len(sorted)
	return sorted[(n-1)/2], sorted[n/2]
}

// MinRequests returns how many requests a window needs before its quantile q
// is shown: 10/(1-q), so that ten are expected beyond it; 1000 for p99. A
// negative q counts as 0; for q >= 1 and NaN no window is large enough and it
// is math.MaxInt.
func MinRequests(q float64) int {
	const slack = 1e-9 // 1-q loses digits as q nears 1
	need := math.Ceil(10 / (1 - max(q, 0)) * (1 - slack))
	if !(need > 0 && need < math.MaxInt) {
		return math.MaxInt
	}
	return int(need)
}

// Count returns 1 for true and 0 for false, to count how often something is so.
func Count(is bool) int {
	if is {
		return 1
	}
	return 0
}
