package queueing

import "math"

// MG1 returns the mean response time of one server that serves requests whole
// and in order of arrival, whatever the distribution of their demand, by the
// formula of Pollaczek (1930) and Khinchine (1932) as in Kleinrock, Queueing
// Systems, volume 1, 1975, chapter 5:
//
//	T = S + rho·S·(1+C²) / (2·(1-rho))
//
// This is a pool of one worker, or an event loop that runs its handlers inline.
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

// MD1 returns the mean response time of one server whose demands are all equal:
// [MG1] with C² = 0, half the wait of exponential demands.
func MD1(lambda, service float64) float64 { return MG1(lambda, service, 0) }

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
