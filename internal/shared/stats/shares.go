package stats

import "math"

// DifferentShares tells which categories have different shares of two independent samples. Of their n and m members from[i]
// and to[i] are in category i; both slices have the same length and hold no negative count, and a member may be in several
// categories. The probability that any category is named although no share differs is at most alpha.
//
// Without a difference, which of all members came from which sample is chance, so a category's count in one sample,
// given its count in both, is hypergeometric (Fisher's exact test; the smaller tail counts twice, for both directions).
// All categories share alpha: each takes alpha/k, where k counts only categories that could be named at all (Tarone, "A
// Modified Bonferroni Method for Discrete Data", Biometrics 46, 1990). Most have too few members for that.
//
// least is the smallest difference of two shares, 0..1, that these samples could name. It is above 1 if they are too
// small to name any.
func DifferentShares(from, to []int, n, m int, alpha float64) (differ []bool, least float64) {
	attainable := make([]float64, len(from))
	for i := range from {
		both := from[i] + to[i]
		attainable[i] = min(fisher(both-min(both, m), n, min(both, m), m), fisher(min(both, n), n, both-min(both, n), m))
	}
	level := alpha
	for k := 1; k <= len(from); k++ {
		level = alpha / float64(k)
		testable := 0
		for _, p := range attainable {
			if p <= level {
				testable++
			}
		}
		if testable <= k {
			break
		}
	}
	differ = make([]bool, len(from))
	for i := range from {
		differ[i] = fisher(from[i], n, to[i], m) <= level
	}
	return differ, min(leastNew(n, m, level), leastNew(m, n, level))
}

// leastNew returns the smallest share, of a sample of m, of a category without members in another sample of n, that
// differs at the level; above 1 if none does. A category with members in both needs a larger difference.
func leastNew(n, m int, level float64) float64 {
	for k := 1; k <= m; k++ {
		if fisher(0, n, k, m) <= level {
			return float64(k) / float64(m)
		}
	}
	return math.Inf(1)
}

// fisher returns the two-sided probability that counts as uneven as a of n and b of m, or more so, are chance.
func fisher(a, n, b, m int) float64 {
	both := a + b
	// The probability of x of the n, given both: C(n, x) C(m, both-x) / C(n+m, both).
	tail := func(low, high int) (sum float64) {
		for x := low; x <= high; x++ {
			sum += math.Exp(logChoose(n, x) + logChoose(m, both-x) - logChoose(n+m, both))
		}
		return sum
	}
	least, most := max(0, both-m), min(both, n)
	return min(1, 2*min(tail(least, a), tail(a, most)))
}

// logChoose returns the logarithm of the number of ways to choose k of n, 0 <= k <= n.
func logChoose(n, k int) float64 { return logFactorial(n) - logFactorial(k) - logFactorial(n-k) }
