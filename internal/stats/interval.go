package stats

import "math"

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
