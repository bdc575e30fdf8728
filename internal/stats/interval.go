package stats

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// IntervalRank returns the rank k of the exact confidence interval of a median:
// with probability of at least 1-alpha the median of the distribution that n
// independent values x were drawn from lies in [x_(k), x_(n+1-k)]. It is the
// largest k with
//
//	2·P(Bin(n, 1/2) <= k-1) <= alpha
//
// whatever the distribution (David and Nagaraja, Order Statistics, 2003,
// section 7.1). It is 0 when n values are too few for any interval at alpha,
// and never beyond the middle rank (n+1)/2.
func IntervalRank(n int, alpha float64) int {
	if n < 1 || !(alpha > 0) {
		return 0
	}
	limit := alpha * (1 + rounding)
	cdf := 0.0 // P(Bin(n, 1/2) <= k)
	for k := range (n + 1) / 2 {
		cdf += halfBinomial(n, k)
		if 2*cdf > limit {
			return k
		}
	}
	return (n + 1) / 2
}

// halfBinomial returns P(Bin(n, 1/2) = k). It works on logarithms because 2^-n
// alone underflows beyond n = 1074.
func halfBinomial(n, k int) float64 {
	return math.Exp(logFactorial(n) - logFactorial(k) - logFactorial(n-k) - float64(n)*math.Ln2)
}

// logFactorial returns ln n!.
func logFactorial(n int) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}

// longestAdvised is the longest window, in seconds, that is worth advising.
const longestAdvised = 60

// LongestBudget is the longest budget that is worth advising.
const LongestBudget = 30 * time.Minute

// Widened returns the window, in seconds, in which the most blocks a run may have would decide
// what blocks of the given window would. An interval shrinks with the square root of the
// measured time, so one is traded for the other. The result is rounded up to two digits; it is
// 0 if it would exceed a minute.
func Widened(window float64, blocks int) float64 {
	window *= max(1, float64(blocks)/lastLook)
	step := math.Pow(10, math.Floor(math.Log10(window))-1)
	if window = math.Round(math.Ceil(window/step-1e-9)) * step; window > longestAdvised {
		return 0
	}
	return window
}

// multiple is the ratio from which a change is written as a factor.
const multiple = 4

// Change writes a ratio as people read it: 1.42 is "+42 %", 0.985 is "-1.5 %", 1 is
// "±0 %", and from fourfold on 12 is "×12".
func Change(ratio float64) string {
	if ratio >= multiple {
		digits := 1
		if ratio >= 10 {
			digits = 0
		}
		return "×" + strconv.FormatFloat(ratio, 'f', digits, 64)
	}
	digits := 1
	if math.Abs((ratio-1)*100) >= 9.95 {
		digits = 0
	}
	return Percent(ratio, digits)
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
