package queueing

import "math"

// MMcWaitQuantile returns the wait before service that the ratio q of the requests
// of [MMc] do not exceed, 0 <= q < 1: 0 when so many find a server free.
func MMcWaitQuantile(lambda, service float64, servers int, q float64) float64 {
	mean := MMc(lambda, service, servers)
	switch {
	case !(q >= 0 && q < 1) || math.IsNaN(mean):
		return math.NaN()
	case math.IsInf(mean, 1):
		return mean
	}
	load := lambda * service
	return max(0, math.Log(ErlangC(servers, load)/(1-q))*service/(float64(servers)-load))
}

// MMcKWait returns the mean wait before service of the requests that [MMcK] serves,
// and the wait that the ratio q of them do not exceed, 0 <= q < 1. One that finds n
// present waits for n-c+1 departures, each exponential of mean S/c.
func MMcKWait(lambda, service float64, servers, places int, q float64) (mean, quantiled float64) {
	response := MMcK(lambda, service, servers, places).Response
	if math.IsNaN(response) || !(q >= 0 && q < 1) {
		return math.NaN(), math.NaN()
	}
	found := foundMMcK(lambda*service, servers, places)
	departure := service / float64(servers)
	if waitTail(found, servers, 0) <= 1-q {
		return response - service, 0
	}
	return response - service, quantile(q, response, func(t float64) float64 {
		return waitTail(found, servers, t/departure)
	})
}

// waitTail is how many of those that found n present still wait when departures are
// to be expected: they wait for n-c+1 of them, which come as a Poisson process.
func waitTail(found []float64, servers int, departures float64) float64 {
	waiting, tail := 0.0, 0.0
	for n := servers; n < len(found); n++ {
		waiting += found[n]
	}
	for k := 0; servers+k < len(found); k++ {
		tail += poisson(k, departures) * waiting
		waiting -= found[servers+k]
	}
	return tail
}
