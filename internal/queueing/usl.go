package queueing

import (
	"fmt"
	"math"
)

// A USL is the Universal Scalability Law fitted to measured throughputs,
//
//	X(N) = g·N / (1 + s·(N-1) + k·N·(N-1))
//
// (N. J. Gunther, Guerrilla Capacity Planning, 2007, chapter 4.)
type USL struct {
	Gain       Estimate // g: throughput of one, requests per second
	Contention Estimate // s: ratio of work that is serial
	Coherence  Estimate // k: cost of each pair that has to agree
	Peak       float64  // N of the highest throughput, √((1-s)/k); +Inf when k is 0
	// Unidentified says why the figures must not be used; empty when they may.
	Unidentified string
}

// An Estimate is a fitted value with its 95 % interval, from the scatter about the
// curve. Low and High are infinite when there is no scatter to learn from.
type Estimate struct{ Value, Low, High float64 }

// At returns the fitted throughput with n clients, threads or cores.
func (u USL) At(n float64) float64 {
	return u.Gain.Value * n / (1 + u.Contention.Value*(n-1) + u.Coherence.Value*n*(n-1))
}

// LeastUSL is how many points a fit needs before its figures are shown.
const LeastUSL = 6

// leastBesides of them are on each side of the peak: one alone may be an accident.
const leastBesides = 2

// FitUSL fits the law to throughputs x[i] measured at n[i], at least three
// different n, all positive. It takes errors to be proportional to the throughput
// and minimizes the squares of ln X. Unidentified is set unless there are six
// points, two of them below the peak and two above, and the intervals of k and of
// the peak's place exclude "no peak".
func FitUSL(n, x []float64) (USL, error) {
	if err := checkUSL(n, x); err != nil {
		return USL{}, err
	}
	// In 1/X the law is linear; that fit is the start of Gauss and Newton's.
	var normal linear
	for i := range n {
		normal.add([3]float64{x[i] / n[i], x[i] * (n[i] - 1) / n[i], x[i] * (n[i] - 1)}, 1)
	}
	b, _ := normal.solve()
	u := fitted(1/b[0], b[1]/b[0], b[2]/b[0])
	if !(b[0] > 0) || !u.positive(n) {
		u = fitted(x[0]/n[0], 0, 0)
	}
	cov := u.refine(n, x)
	u.intervals(n, x, cov)
	u.judge(n)
	return u, nil
}

func fitted(g, s, k float64) USL {
	return USL{Gain: Estimate{Value: g}, Contention: Estimate{Value: s}, Coherence: Estimate{Value: k}}
}

func checkUSL(n, x []float64) error {
	different := map[float64]bool{}
	for i := range min(len(n), len(x)) {
		if !(n[i] > 0 && x[i] > 0) || math.IsInf(n[i], 1) || math.IsInf(x[i], 1) {
			return fmt.Errorf("fitting the scalability law: point %d is X(%v) = %v; both must be positive and finite", i, n[i], x[i])
		}
		different[n[i]] = true
	}
	if len(n) != len(x) || len(different) < 3 {
		return fmt.Errorf("fitting the scalability law: %d throughputs at %d sizes, %d of them different; measure one at each of three or more", len(x), len(n), len(different))
	}
	return nil
}

// positive reports whether the law gives a throughput at every n.
func (u USL) positive(n []float64) bool {
	for _, n := range n {
		if v := u.At(n); !(v > 0) || math.IsInf(v, 1) {
			return false
		}
	}
	return true
}

// refine walks to the least squares of ln X and returns the inverse of the normal
// matrix there.
func (u *USL) refine(n, x []float64) (cov [3][3]float64) {
	for range 100 {
		var normal linear
		for i := range n {
			d := 1 + u.Contention.Value*(n[i]-1) + u.Coherence.Value*n[i]*(n[i]-1)
			// The derivatives of ln X by ln g, s and k.
			normal.add([3]float64{1, -(n[i] - 1) / d, -n[i] * (n[i] - 1) / d}, math.Log(x[i]/u.At(n[i])))
		}
		var step [3]float64
		step, cov = normal.solve()
		var next USL
		was := u.squares(n, x)
		for scale := 1.0; ; scale /= 2 {
			next = fitted(u.Gain.Value*math.Exp(scale*step[0]), u.Contention.Value+scale*step[1], u.Coherence.Value+scale*step[2])
			if next.positive(n) && next.squares(n, x) < was {
				break
			}
			if scale < 1e-6 {
				return cov // no better place near by
			}
		}
		*u = next
	}
	return cov
}

func (u USL) squares(n, x []float64) (sum float64) {
	for i := range n {
		d := math.Log(x[i] / u.At(n[i]))
		sum += d * d
	}
	return sum
}

func (u *USL) intervals(n, x []float64, cov [3][3]float64) {
	free := len(n) - 3
	half := func(i int) float64 {
		if free == 0 {
			return math.Inf(1)
		}
		return student975(free) * math.Sqrt(u.squares(n, x)/float64(free)*cov[i][i])
	}
	g, s, k := u.Gain.Value, u.Contention.Value, u.Coherence.Value
	u.Gain = Estimate{g, g * math.Exp(-half(0)), g * math.Exp(half(0))}
	u.Contention = Estimate{s, s - half(1), s + half(1)}
	u.Coherence = Estimate{k, k - half(2), k + half(2)}
	u.Peak = math.Inf(1)
	if k > 0 {
		u.Peak = math.Sqrt(max(0, 1-s) / k)
	}
}

// judge says what keeps the figures from being used.
func (u *USL) judge(n []float64) {
	var below, above int
	for _, n := range n {
		if n < u.Peak {
			below++
		} else if n > u.Peak {
			above++
		}
	}
	switch {
	case len(n) < LeastUSL:
		u.Unidentified = fmt.Sprintf("%d points, and %d are needed", len(n), LeastUSL)
	case !(u.Coherence.Low > 0):
		u.Unidentified = "the interval of kappa holds 0, so there may be no peak"
	case below < leastBesides || above < leastBesides:
		u.Unidentified = fmt.Sprintf("%d points below the peak at %.3g and %d above, and %d of each are needed", below, u.Peak, above, leastBesides)
	}
}

// student975 is the 97.5 % point of Student's t (Abramowitz and Stegun, Handbook of
// Mathematical Functions, 1964, table 26.10 and 26.7.5, within 0.5 %).
func student975(free int) float64 {
	if first := []float64{12.706, 4.303, 3.182}; free <= len(first) {
		return first[free-1]
	}
	const z = 1.959964
	f := float64(free)
	return z + (z*z*z+z)/(4*f) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*f*f) +
		(3*math.Pow(z, 7)+19*math.Pow(z, 5)+17*z*z*z-15*z)/(384*f*f*f)
}
