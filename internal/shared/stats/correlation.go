package stats

import (
	"math"
	"slices"
)

// fewestRanks is the smallest sample for which the series of Spearman computes p.
const fewestRanks = 10

// Spearman tests x for drift: it is the [RankCorrelation] of the values with their index, positive when they
// rise. Fewer than ten values, or all values equal, show no drift: p is 1. A NaN among them gives NaN for both.
func Spearman(x []float64) (rho, p float64) {
	if slices.ContainsFunc(x, math.IsNaN) {
		return math.NaN(), math.NaN()
	}
	places := make([]float64, len(x))
	for i := range places {
		places[i] = float64(i)
	}
	return RankCorrelation(places, x)
}

// centredRanks returns 2·rank - (n+1) for each value of x, ranks counted from 1 and averaged over equal
// values. Doubled, they are all whole numbers.
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

// edgeworthP approximates the two-sided p of rho over n values without ties: the normal tail at z = rho·√(n-1),
// corrected for continuity, plus the series of Best and Roberts with its published coefficients (Algorithm AS 89,
// Applied Statistics 24, 1975). The tail is the same on both sides, so one is doubled. Near an exact p of 0.01 it
// is at most 0.0012 too large at n = 10 and closer beyond, where Student's t is a quarter too small.
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

// LongestSeries limits the number of values that CorrelationTime reads, and so its work.
const LongestSeries = 20_000

// CorrelationTime returns tau, the integrated autocorrelation time of x in steps, at least 1: a mean over n
// correlated values is as sure as one over n/tau independent ones. It is
//
//	tau = 1 + 2·Σ rho(k),  k = 1, 2, … while rho(2j) + rho(2j+1) > 0
//
// with the autocorrelations cut off by the rule of Geyer ("Practical Markov Chain Monte Carlo", Statistical
// Science 7, 1992), for at most a tenth of the values. Fewer than 20 values, and equal ones, count as
// independent. Beyond 20,000 values the first decide.
func CorrelationTime(x []float64) float64 {
	x = x[:min(len(x), LongestSeries)]
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

// TheilSen returns the slope of y on x, slices of the same length: the median slope of all pairs of points, which nearly a
// third of them cannot move far (Theil 1950; Sen, "Estimates of the Regression Coefficient Based on Kendall's Tau", Journal of
// the American Statistical Association 63, 1968). It leaves out pairs with equal x, and pairs with x closer together than the
// ratio apart of the larger x. It returns 0 if no pair is left.
func TheilSen(x, y []float64, apart float64) float64 {
	var slopes []float64
	for i := range x {
		for k := range i {
			if dx := x[i] - x[k]; dx != 0 && math.Abs(dx) > apart*max(x[i], x[k]) {
				slopes = append(slopes, (y[i]-y[k])/dx)
			}
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	lower, upper := middle(slopes)
	return lower/2 + upper/2
}

// RankCorrelation returns Spearman's rank correlation of x and y, slices of the same length, in -1..1. p is the
// two-sided probability of a correlation at least as large between unrelated values; it is 1 for fewer than ten
// pairs and if x or y does not vary. Equal values share their mean rank, and with many of them p is rougher.
func RankCorrelation(x, y []float64) (rho, p float64) {
	a, b := centredRanks(x), centredRanks(y)
	product, squaresA, squaresB := 0, 0, 0
	for i := range a {
		product += a[i] * b[i]
		squaresA += a[i] * a[i]
		squaresB += b[i] * b[i]
	}
	if squaresA == 0 || squaresB == 0 {
		return 0, 1
	}
	rho = min(max(float64(product)/math.Sqrt(float64(squaresA)*float64(squaresB)), -1), 1)
	if len(a) < fewestRanks {
		return rho, 1
	}
	return rho, edgeworthP(rho, len(a))
}

// StudentT returns the 97.5 % quantile of Student's distribution with this number of degrees of
// freedom, 1 or more. The 95 % interval of a mean of n values is StudentT(n-1) standard errors to
// either side.
func StudentT(degrees int) float64 {
	low, high := 1.9, 13. // more than 1.95 with any number of degrees, and 12.7 with one
	for range 60 {
		if t := (low + high) / 2; studentWithin(t, degrees) < .95 {
			low = t
		} else {
			high = t
		}
	}
	return low
}

// studentWithin returns the probability that a value of Student's distribution with n degrees of freedom
// lies within ±t: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
func studentWithin(t float64, n int) float64 {
	angle := math.Atan(t / math.Sqrt(float64(n)))
	sin, cos := math.Sincos(angle)
	sum, term := 0., 1.
	if n%2 == 1 {
		term = cos
	}
	for i := 2 + n%2; i <= n; i += 2 {
		sum += term
		term *= cos * cos * float64(i-1) / float64(i)
	}
	if n%2 == 1 {
		return 2 / math.Pi * (angle + sin*sum)
	}
	return sin * sum
}

// Jain returns Jain's fairness index of x, which holds non-negative shares such as answers per connection:
// (Σx)² / (n·Σx²). It is 1/n if one has everything, and 1 if all have the same (Jain, Chiu and Hawe, DEC-TR-301,
// 1984). It is 0, "not applicable", if x is empty or all shares are 0: equal starvation is not fairness.
func Jain(x []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
		squares += v * v
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(x)) * squares)
}
