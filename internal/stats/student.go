package stats

import "math"

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
