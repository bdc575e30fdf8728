package queueing

import "math"

// MG1 returns the mean response time of one server that serves requests whole
// and in order of arrival, whatever the distribution of their demand, by the
// formula of Pollaczek (1930) and Khinchine (1932) as in Kleinrock, Queueing
// Systems, volume 1, 1975, chapter 5:
//
//	T = S + rho·S·(1+C²) / (2·(1-rho))
//
// With C² = 0 it is M/D/1, half the wait of exponential demands. This is a pool of one
// worker, or an event loop that runs its handlers inline.
func MG1(lambda, service, scv float64) float64 {
	rho := lambda * service
	switch {
	case !meaningful(lambda, service) || !(scv >= 0):
		return math.NaN()
	case rho >= 1:
		return math.Inf(1)
	}
	return service + rho*service*(1+scv)/(2*(1-rho))
}

// MG1PS returns the mean response time of one server that shares itself evenly
// among all requests present (Kleinrock, Queueing Systems, volume 2, 1976,
// chapter 4):
//
//	T = S / (1-rho)
//
// It depends on the demand's mean alone. Goroutines on one P come near it when
// demands are far longer than the scheduler's 10 ms quantum. MG1 has the lower
// mean exactly when C² < 1.
func MG1PS(lambda, service float64) float64 {
	rho := lambda * service
	switch {
	case !meaningful(lambda, service):
		return math.NaN()
	case rho >= 1:
		return math.Inf(1)
	}
	return service / (1 - rho)
}

// AllenCunneen returns an approximate mean response time of servers with one unbounded queue in
// order of arrival, whatever the distributions of gaps and demands. It scales the wait of M/M/c by
// the variability of both:
//
//	T ≈ S + (Ca²+Cs²)/2 · C·S / (c·(1-rho)),  C = ErlangC(servers, lambda·S)
//
// It is exact for M/M/c and for M/G/1, and commonly within 10 % for C² up to about 2 (A. O. Allen,
// Probability, Statistics, and Queueing Theory, 2nd edition, 1990, chapter 5). With one server it
// is Kingman's formula, which is good near saturation (J. F. C. Kingman, "The single server queue
// in heavy traffic", Mathematical Proceedings of the Cambridge Philosophical Society 57(4), 1961).
func AllenCunneen(lambda, service float64, servers int, ca2, scv float64) float64 {
	if !(ca2 >= 0 && scv >= 0) {
		return math.NaN()
	}
	markov := MMc(lambda, service, servers)
	if math.IsInf(markov, 1) {
		return markov
	}
	return service + (markov-service)*(ca2+scv)/2
}

// RoundRobin returns the mean response time of servers with exponential demands. Each server has a
// separate queue, and the requests are dealt to the queues in turn. Each queue then sees every
// c-th arrival of a Poisson stream, E_c/M/1:
//
//	T = S / (1-σ),  σ = (lambda / (lambda + (1-σ)/S))^c, the root below 1
//
// and its response times are exponential. (Kleinrock, Queueing Systems, volume 1, 1975, chapter 6,
// on G/M/1.) T lies between [MMc], one queue for all, and c separate Poisson streams, MG1 at
// lambda/c. The part above MMc is head-of-line blocking.
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
