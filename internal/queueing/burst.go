package queueing

import "math"

// Burst returns the mean wait of size requests that arrive together and find all
// servers idle:
//
//	W = (B-1)·S / (2c)
//
// It is exact for one server, whatever the demands; with c servers it counts the
// first c as if they had waited, and is too high by at most S/2.
func Burst(size int, service float64, servers int) float64 {
	if size < 1 || servers < 1 || !meaningful(0, service) {
		return math.NaN()
	}
	return float64(size-1) * service / (2 * float64(servers))
}

// Bursts returns the mean response time of one server, first come first served,
// to which lambda requests a second come in bursts of size at the moments of a
// Poisson process:
//
//	T = MG1 + (B-1)·S / (2·(1-rho))
//
// The rate counts requests, not bursts. (M^[X]/G/1 with a constant X: Kleinrock,
// Queueing Systems, volume 1, 1975, chapter 5.)
func Bursts(lambda float64, size int, service, scv float64) float64 {
	t := MG1(lambda, service, scv)
	if size < 1 {
		return math.NaN()
	}
	if math.IsInf(t, 1) || math.IsNaN(t) {
		return t
	}
	return t + Burst(size, service, 1)/(1-lambda*service)
}
