package queueing

import "math"

// RoundRobin returns the mean response time of servers with exponential demands
// that each have a queue of their own, the requests dealt to them in turn. Each
// queue then sees every c-th arrival of a Poisson stream, E_c/M/1:
//
//	T = S / (1-σ),  σ = (lambda / (lambda + (1-σ)/S))^c, the root below 1
//
// and its response times are exponential. (Kleinrock, Queueing Systems, volume 1,
// 1975, chapter 6, on G/M/1.) It lies between [MMc], one queue for all, and c
// separate Poisson streams, MG1 at lambda/c: what it is above MMc is head-of-line
// blocking.
func RoundRobin(lambda, service float64, servers int) float64 {
	c := float64(servers)
	switch {
	case !meaningful(lambda, service) || servers < 1:
		return math.NaN()
	case lambda*service >= c:
		return math.Inf(1)
	}
	deals := func(sigma float64) float64 { return math.Pow(lambda/(lambda+(1-sigma)/service), c) }
	// deals is convex, above σ up to the root and below it from there to 1.
	low, high := 0.0, 1.0
	for range 60 {
		if mid := (low + high) / 2; deals(mid) > mid {
			low = mid
		} else {
			high = mid
		}
	}
	return service / (1 - low)
}
