package stats

import (
	"cmp"
	"math"
	"slices"
)

// TheilSen returns the slope of y on x: the median slope of all pairs of points. Nearly a third of
// the points cannot move it far, wherever they lie (Theil 1950; Sen, "Estimates of the Regression
// Coefficient Based on Kendall's Tau", Journal of the American Statistical Association 63, 1968).
// x and y have the same length. It leaves out pairs with equal x, and pairs with x closer together
// than the ratio apart of the larger x. It returns 0 if no pair is left.
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
	return Median(slopes)
}

// RankCorrelation returns Spearman's rank correlation of x and y, slices of the same length, in
// -1..1. p is the two-sided probability of a correlation at least as large between unrelated
// values. Equal values share their mean rank. p is 1 for fewer than ten pairs, because its series
// is too rough for them, and if x or y does not vary.
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
	if len(a) <= exactSpearman {
		return rho, 1
	}
	return rho, edgeworthP(rho, len(a))
}

// Lowest returns the indices of the n smallest values of x, ascending by value. Equal values keep
// their order.
func Lowest(x []float64, n int) []int {
	places := make([]int, len(x))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	return places[:min(max(n, 0), len(x))]
}

// StudentT returns the 97.5 % quantile of Student's distribution with this number of degrees of
// freedom, 1 or more. The 95 % interval of a mean of n values is StudentT(n-1) standard errors to
// either side. It uses Hill's expansion (Algorithm 396, Communications of the ACM 13, 1970), which
// is exact for 1 and 2 and within 0.0002 beyond.
func StudentT(degrees int) float64 {
	const p = 0.05 // both tails
	n := float64(degrees)
	switch degrees {
	case 1:
		return 1 / math.Tan(p*math.Pi/2)
	case 2:
		return math.Sqrt(2/(p*(2-p)) - 2)
	}
	a := 1 / (n - 0.5)
	b := 48 / (a * a)
	c := ((20700*a/b-98)*a-16)*a + 96.36
	d := ((94.5/(b+c)-3)/b + 1) * math.Sqrt(a*math.Pi/2) * n
	x := d * p
	y := math.Pow(x, 2/n)
	if y > 0.05+a {
		x = math.Sqrt2 * math.Erfinv(p-1) // the normal quantile
		y = x * x
		if degrees < 5 {
			c += 0.3 * (n - 4.5) * (x + 0.6)
		}
		c = (((0.05*d*x-5)*x-7)*x-2)*x + b + c
		y = (((((0.4*y+6.3)*y+36)*y+94.5)/c-y-3)/b + 1) * x
		y = a * y * y
		if y > 0.002 {
			y = math.Exp(y) - 1
		} else {
			y += y * y / 2
		}
	} else {
		y = ((1/(((n+6)/(n*y)-0.089*d-0.822)*(n+2)*3)+0.5/(n+4))*y-1)*(n+1)/(n+2) + 1/y
	}
	return math.Sqrt(n * y)
}
