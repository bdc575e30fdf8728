// Package stats turns per-block figures into verdicts: quantiles, the exact interval of a median, the comparison
// of two arms, and the checks that guard it (drift, fairness). It is pure arithmetic on slices: it reads no clock,
// draws no random number, knows no file and no server, and all of it is safe for concurrent use.
//
// It does not test requests against requests. Requests of one window share their queue, so they are far from
// independent; the block is the unit.
package stats

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rounding is the relative slack given to limits that are exact in decimal but not in binary: 0.07·100 is rank 7
// although the product is 7.000000000000001.
const rounding = 1e-12

// Quantile returns the q-quantile of sorted, an ascending slice, by nearest rank: the value at rank ⌈q·n⌉, always
// one that was measured (Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996, definition 1). A q
// outside 0..1 is taken as the nearer end. It is NaN when sorted is empty or q is NaN.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	return sorted[QuantileIndex(len(sorted), q)]
}

// QuantileIndex returns the index of quantile q among n sorted values, one or more: see [Quantile]. q is a number.
func QuantileIndex(n int, q float64) int {
	q = min(max(q, 0), 1)
	rank := int(math.Ceil(q * float64(n) * (1 - rounding)))
	return max(rank, 1) - 1
}

// Median returns the middle value of x, or the mean of the two middle values. It does not modify x. It is NaN
// when x is empty or holds a NaN.
func Median(x []float64) float64 {
	if len(x) == 0 || slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN()
	}
	s := slices.Clone(x)
	slices.Sort(s)
	lower, upper := middle(s)
	return lower/2 + upper/2 // halved first: the sum of two large values overflows
}

// middle returns the two middle values of a sorted, non-empty slice, the same twice when its length is odd.
func middle(sorted []float64) (lower, upper float64) {
	n := len(sorted)
	return sorted[(n-1)/2], sorted[n/2]
}

// MinRequests returns how many requests a window needs before its quantile q is shown: 10/(1-q), so that ten are
// expected beyond it; 1000 for p99. A negative q counts as 0; for q >= 1 and NaN it is math.MaxInt.
func MinRequests(q float64) int {
	const slack = 1e-9 // 1-q loses digits as q nears 1
	need := math.Ceil(10 / (1 - max(q, 0)) * (1 - slack))
	if !(need > 0 && need < math.MaxInt) {
		return math.MaxInt
	}
	return int(need)
}

// PlannedRequests returns how many requests a window should expect so that it hardly ever has fewer than least. That is a tenth
// more than least, or three standard deviations of Poisson arrivals more, whichever is larger: about 39 for 20, 135 for 100,
// 1100 for 1000. It is 0 where nothing is needed.
func PlannedRequests(least int) float64 {
	const tenth = 1.1
	if least <= 0 {
		return 0
	}
	n := float64(least)
	root := (3 + math.Sqrt(9+4*n)) / 2 // of the m for which m - 3 sqrt(m) = n
	return max(tenth*n, root*root)
}

// Count returns 1 for true and 0 for false, to count how often something is so.
func Count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// IntervalRank returns the rank k of the exact confidence interval of a median: with probability of at least
// 1-alpha the median of the distribution that n independent values x were drawn from lies in [x_(k), x_(n+1-k)].
// It is the largest k with 2·P(Bin(n, 1/2) <= k-1) <= alpha, whatever the distribution (David and Nagaraja, Order
// Statistics, 2003, section 7.1). It is 0 when n values are too few for any interval at alpha, and never beyond
// the middle rank (n+1)/2.
func IntervalRank(n int, alpha float64) int {
	limit := alpha * (1 + rounding)
	cdf := 0.0 // P(Bin(n, 1/2) <= k)
	for k := range (n + 1) / 2 {
		// On logarithms, because 2^-n alone underflows beyond n = 1074.
		cdf += math.Exp(logFactorial(n) - logFactorial(k) - logFactorial(n-k) - float64(n)*math.Ln2)
		if 2*cdf > limit {
			return k
		}
	}
	return (n + 1) / 2
}

// logFactorial returns ln n!.
func logFactorial(n int) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}

const (
	// LongestBudget is the longest budget that is worth advising, longestAdvised the longest window, in seconds.
	LongestBudget  = 30 * time.Minute
	longestAdvised = 60
)

// Widened returns the window, in seconds, in which the most blocks a run may have would decide what blocks of the
// given window would: an interval shrinks with the square root of the measured time. The result is rounded up to
// two digits; it is 0 if it would exceed a minute.
func Widened(window float64, blocks int) float64 {
	window *= max(1, float64(blocks)/lastLook)
	step := math.Pow(10, math.Floor(math.Log10(window))-1)
	if window = math.Round(math.Ceil(window/step-1e-9)) * step; window > longestAdvised {
		return 0
	}
	return window
}

// Decimals returns how many decimals, 0 to 3, show this number of significant digits of v. It is 0 for v that is
// not positive.
func Decimals(v float64, digits int) int {
	if !(v > 0) {
		return 0
	}
	return min(max(digits-1-int(math.Floor(math.Log10(v))), 0), 3)
}

// multiple is the ratio from which a change is written as a factor.
const multiple = 4

// Change writes a ratio as people read it: 1.42 is "+42 %", 0.985 is "-1.5 %", 1 is "±0 %", and 12 is "×12".
func Change(ratio float64) string {
	if ratio >= multiple {
		return "×" + strconv.FormatFloat(ratio, 'f', Count(ratio < 10), 64)
	}
	digits := Count(math.Abs((ratio-1)*100) < 9.95)
	text := Percent(ratio, digits)
	// Less than all is no -100 %.
	for ratio > 0 && strings.HasPrefix(text, "-100") && digits < 6 {
		digits++
		text = Percent(ratio, digits)
	}
	return text
}

// Percent writes a ratio as its difference from 1 in per cent, with this number of decimals: 1.42
// is "+42 %".
func Percent(ratio float64, digits int) string {
	v := (ratio - 1) * 100
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		text = "±0"
	} else if v > 0 {
		text = "+" + text
	}
	return text + " %"
}

// A Spread is a figure over the valid blocks: the median and its 95 % interval. With fewer than
// six blocks, Low and High are the smallest and the largest value.
type Spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// SpreadOf returns the median of v with its confidence interval; nil for no values. v holds one value
// per block and no NaN. The confidence is 95 %. With too few values for that, Low and High are the
// smallest and the largest.
func SpreadOf(v []float64) *Spread {
	if len(v) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(v))
	k := max(IntervalRank(len(sorted), Alpha), 1)
	return &Spread{Median: Median(sorted), Low: sorted[k-1], High: sorted[len(sorted)-k]}
}

// A Step is a figure in two arms and its difference, By = To - From. Low and High are the 95 %
// interval of By over the blocks.
type Step struct {
	From float64 `json:"from"`
	To   float64 `json:"to"`
	By   float64 `json:"by"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Middle is the median of the blocks' differences, where By is their mean; 0 if it is not known.
	Middle float64 `json:"middle,omitempty"`
}

// Sure reports whether the interval excludes 0.
func (s Step) Sure() bool { return s.Low > 0 || s.High < 0 }
