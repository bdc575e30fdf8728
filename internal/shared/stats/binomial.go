package stats

import "math"

// BinomialInterval returns the exact interval of a probability, when k of n independent trials had the event, 0 <= k <=
// n and n > 0: it holds the true probability in at least 1-alpha of all cases, alpha/2 on either side (Clopper and
// Pearson, "The Use of Confidence or Fiducial Limits", Biometrika 26, 1934).
func BinomialInterval(k, n int, alpha float64) (low, high float64) {
	low, high = 0, 1
	if k > 0 {
		low = solve(func(p float64) bool { return binomialTail(k, n, p) < alpha/2 })
	}
	if k < n {
		high = solve(func(p float64) bool { return 1-binomialTail(k+1, n, p) > alpha/2 })
	}
	return low, high
}

// binomialTail returns P(Bin(n, p) >= k) for 0 < p < 1.
func binomialTail(k, n int, p float64) (sum float64) {
	for i := k; i <= n; i++ {
		sum += math.Exp(logChoose(n, i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return sum
}

// solve returns the p in 0..1 up to which below is true.
func solve(below func(p float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 50 { // halves the range to less than a float64 can tell near 1
		if middle := (low + high) / 2; below(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}
