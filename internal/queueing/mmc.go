package queueing

import "math"

// ErlangB returns the ratio of arrivals lost when servers take load erlangs and
// nothing may wait, by the recursion
//
//	B(0) = 1,  B(k) = a·B(k-1) / (k + a·B(k-1))
//
// of Erlang's first formula (1917; Kleinrock, Queueing Systems, volume 1, 1975,
// chapter 3). It depends on the demand's mean alone and costs one step per
// server. No server loses everything: B(0) = 1.
func ErlangB(servers int, load float64) float64 {
	if servers < 0 || !(load >= 0) || math.IsInf(load, 1) {
		return math.NaN()
	}
	b := 1.0
	for k := range servers {
		b = load * b / (float64(k+1) + load*b)
	}
	return b
}

// ErlangC returns the ratio of arrivals that have to wait when servers take
// load erlangs of exponential demands from one unbounded queue:
//
//	C = B / (1 - rho·(1-B)),  B = ErlangB(servers, load)
//
// (Erlang's second formula, 1917). It is 1 at and beyond saturation.
func ErlangC(servers int, load float64) float64 {
	b := ErlangB(servers, load)
	switch {
	case servers < 1 || math.IsNaN(b):
		return math.NaN()
	case load >= float64(servers):
		return 1
	}
	rho := load / float64(servers)
	return b / (1 - rho*(1-b))
}

// MMc returns the mean response time of servers with exponential demands and
// one unbounded queue in order of arrival:
//
//	T = S + C·S / (c·(1-rho)),  C = ErlangC(servers, lambda·S)
//
// This is a worker pool whose workers each have a processor, or only sleep.
func MMc(lambda, service float64, servers int) float64 {
	load := lambda * service
	switch {
	case !meaningful(lambda, service) || servers < 1:
		return math.NaN()
	case load >= float64(servers):
		return math.Inf(1)
	}
	return service + ErlangC(servers, load)*service/(float64(servers)-load)
}
