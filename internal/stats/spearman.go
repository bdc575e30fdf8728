package stats

import (
	"math"
	"slices"
)

// exactSpearman is the largest sample for which p is computed by counting all permutations: 9!
// takes a few milliseconds.
const exactSpearman = 9

// Spearman tests x for drift: rho is the rank correlation of the values with
// their index, in -1..1 and positive when they rise; p is the probability,
// two-sided, of one at least as large if the order were random. Equal values
// share their mean rank.
//
// Up to 9 values p is exact, ties included. Beyond, it is the Edgeworth series
// of Best and Roberts (Algorithm AS 89, Applied Statistics 24, 1975), which
// near an exact p of 0.01 is at most 0.0012 too large at n = 10 and closer
// beyond, where Student's t, the usual choice, is a quarter too small. It knows
// no ties: with many of them p is rougher.
//
// Fewer than three values, or all values equal, show no drift: rho 0, p 1. A
// NaN among them gives NaN for both.
func Spearman(x []float64) (rho, p float64) {
	if slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN(), math.NaN()
	}
	if len(x) < 3 {
		return 0, 1
	}
	places := make([]float64, len(x))
	for i := range places {
		places[i] = float64(i)
	}
	rho, p = RankCorrelation(places, x)
	if len(x) <= exactSpearman {
		p = permutationP(centredRanks(x))
	}
	return rho, p
}

// centredRanks returns 2·rank - (n+1) for each value of x, ranks counted from
// 1 and averaged over equal values. Doubled, they are all whole numbers.
func centredRanks(x []float64) []int {
	sorted := slices.Sorted(slices.Values(x))
	ranks := make([]int, len(x))
	for i, v := range x {
		first, _ := slices.BinarySearch(sorted, v)
		last := first
		for last+1 < len(sorted) && sorted[last+1] == v {
			last++
		}
		ranks[i] = first + last + 2 - (len(x) + 1)
	}
	return ranks
}

// permutationP returns the share of all orders of ranks that have a product with the index at
// least as far from 0 as this order has.
func permutationP(ranks []int) float64 {
	n := len(ranks)
	observed := 0
	for i, r := range ranks {
		observed += 2 * i * r // ranks add up to 0, so the index need not be centred
	}
	r := slices.Clone(ranks)
	extreme, orders := 0, 0
	var place func(i, sum int)
	place = func(i, sum int) {
		if i == n {
			orders++
			extreme += Count(max(sum, -sum) >= max(observed, -observed))
			return
		}
		for j := i; j < n; j++ {
			r[i], r[j] = r[j], r[i]
			place(i+1, sum+2*i*r[i])
			r[i], r[j] = r[j], r[i]
		}
	}
	place(0, 0)
	return float64(extreme) / float64(orders)
}

// edgeworthP approximates the two-sided p of rho over n values without ties:
// the normal tail at z = rho·√(n-1), corrected for continuity, plus the series
// of AS 89 with its published coefficients. The tail of the sum of squared rank
// differences is the same on both sides, so one is doubled.
func edgeworthP(rho float64, n int) float64 {
	count := float64(n)
	b := 1 / count
	// The sum of squared differences moves in steps of 2; half a step of rho is 6/(n³-n).
	z := (math.Abs(rho) - 6/(count*(count*count-1))) * math.Sqrt(count-1)
	y := z * z
	series := 0.2274 + b*(0.2531+0.1745*b) +
		y*(-0.0758+b*(0.1033+0.3932*b)-
			y*b*(0.0879+0.0151*b-
				y*(0.0072-0.0831*b+
					y*b*(0.0131-0.00046*y))))
	tail := z*b*series*math.Exp(-y/2) + math.Erfc(z/math.Sqrt2)/2
	// Far out the series may pass below 0; no order is rarer than the two perfect ones.
	least := 2 * math.Exp(-logFactorial(n))
	return min(max(2*tail, least), 1)
}

// longestSeries limits the number of values that CorrelationTime reads, and so its work: it
// computes lags of up to a tenth of them.
const longestSeries = 20_000

// CorrelationTime returns tau, the integrated autocorrelation time of x in steps,
// at least 1: a mean over n correlated values is as sure as one over n/tau
// independent ones. It is
//
//	tau = 1 + 2·Σ rho(k),  k = 1, 2, … while rho(2j) + rho(2j+1) > 0
//
// with the autocorrelations cut off by the rule of Geyer ("Practical Markov Chain
// Monte Carlo", Statistical Science 7, 1992), for at most a tenth of the values.
// Fewer than 20 values, and equal ones, count as independent. Beyond 20,000
// values the first decide.
func CorrelationTime(x []float64) float64 {
	x = x[:min(len(x), longestSeries)]
	n := len(x)
	if n < 20 {
		return 1
	}
	mean := 0.0
	for _, v := range x {
		mean += v / float64(n)
	}
	covariance := func(lag int) float64 {
		sum := 0.0
		for i := range n - lag {
			sum += (x[i] - mean) * (x[i+lag] - mean)
		}
		return sum / float64(n)
	}
	variance := covariance(0)
	if !(variance > 0) {
		return 1
	}
	tau := -1.0
	for lag := 0; lag+1 <= n/10; lag += 2 {
		pair := (covariance(lag) + covariance(lag+1)) / variance
		if !(pair > 0) {
			break
		}
		tau += 2 * pair
	}
	return max(1, tau)
}
