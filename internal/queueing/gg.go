package queueing

import "math"

// Kingman returns about the mean response time of one server, first come first
// served, whatever the distributions of gaps and demands:
//
//	T ≈ S + rho/(1-rho) · (Ca²+Cs²)/2 · S
//
// It is good near saturation and exact for Poisson arrivals, where it is [MG1].
// (J. F. C. Kingman, "The single server queue in heavy traffic", Mathematical
// Proceedings of the Cambridge Philosophical Society 57(4), 1961.)
func Kingman(lambda, service, ca2, scv float64) float64 {
	return AllenCunneen(lambda, service, 1, ca2, scv)
}

// AllenCunneen returns about the mean response time of servers with one unbounded
// queue in order of arrival, whatever the distributions of gaps and demands: the
// wait of M/M/c scaled by the variability of both,
//
//	T ≈ S + (Ca²+Cs²)/2 · C·S / (c·(1-rho)),  C = ErlangC(servers, lambda·S)
//
// It is exact for M/M/c and for M/G/1, and commonly within 10 % for C² up to
// about 2. (A. O. Allen, Probability, Statistics, and Queueing Theory, 2nd
// edition, 1990, chapter 5.)
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
