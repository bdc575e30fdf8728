package queueing

import "math"

// MMcWait returns the ratio of requests of [MMc] that wait longer than wait
// seconds:
//
//	P(W > t) = C·e^(-(c-a)·t/S)
//
// With wait 0 it is [ErlangC]; at and beyond saturation it is 1.
func MMcWait(lambda, service float64, servers int, wait float64) float64 {
	if !meaningful(lambda, service) || !(wait >= 0) {
		return math.NaN()
	}
	load := lambda * service
	return ErlangC(servers, load) * math.Exp(-max(0, float64(servers)-load)*wait/service)
}

// MMcTail returns the ratio of requests of [MMc] whose response time is longer
// than response seconds, the wait and an exponential demand together:
//
//	P(T > t) = e^(-t/S) · (1 + C·(1-e^(-b·t/S))/b),  b = c - 1 - a
//
// (Kleinrock, Queueing Systems, volume 1, 1975, chapter 5.)
func MMcTail(lambda, service float64, servers int, response float64) float64 {
	load := lambda * service
	switch {
	case !meaningful(lambda, service) || servers < 1 || !(response >= 0):
		return math.NaN()
	case load >= float64(servers):
		return 1
	}
	b, t := float64(servers)-1-load, response/service
	during := t // (1-e^(-b·t))/b at b = 0
	if math.Abs(b*t) > 1e-9 {
		during = -math.Expm1(-b*t) / b
	}
	return math.Exp(-t) * (1 + ErlangC(servers, load)*during)
}

// MMcQuantile returns the response time that the ratio q of the requests of [MMc]
// do not exceed, 0 <= q < 1. For one server it is S·ln(1/(1-q))/(1-rho): p99 is
// 4.6 times the mean.
func MMcQuantile(lambda, service float64, servers int, q float64) float64 {
	return quantile(q, MMc(lambda, service, servers), func(t float64) float64 {
		return MMcTail(lambda, service, servers, t)
	})
}

// MMcKQuantile returns the response time that the ratio q of the requests served
// by [MMcK] do not exceed, 0 <= q < 1. A request that found n present waits for
// n-c+1 departures, each exponential of mean S/c, before its own demand. It costs
// a step per place and per departure that fits the time.
func MMcKQuantile(lambda, service float64, servers, places int, q float64) float64 {
	mean := MMcK(lambda, service, servers, places).Response
	if math.IsNaN(mean) {
		return mean
	}
	found := foundMMcK(lambda*service, servers, places)
	return quantile(q, mean, func(t float64) float64 {
		return departuresTail(found, servers, t*float64(servers)/service)
	})
}

// foundMMcK is how likely one that is let in finds n present, n = 0..places-1.
func foundMMcK(load float64, servers, places int) []float64 {
	found := make([]float64, places) // first as logarithms: a long queue overflows
	most := 0.0
	for n := 1; n < places; n++ {
		found[n] = found[n-1] + math.Log(load/float64(min(n, servers)))
		most = max(most, found[n])
	}
	var sum float64
	for n, log := range found {
		found[n] = math.Exp(log - most)
		sum += found[n]
	}
	for n := range found {
		found[n] /= sum
	}
	return found
}

// departuresTail is Σ found[n]·P(T > t) by uniformization: departures come as a
// Poisson process, departures of them on average until t. Those ahead leave one
// each; a request in service is the one that leaves with probability 1/c.
func departuresTail(found []float64, servers int, departures float64) float64 {
	var waiting, inService float64
	for n, p := range found {
		if n < servers {
			inService += p
		} else {
			waiting += p
		}
	}
	stay := 1 - 1/float64(servers)
	spread := 12*math.Sqrt(departures) + 40 // beyond it the Poisson weights vanish
	var tail float64
	for k := 0; float64(k) <= departures+spread; k++ {
		if float64(k) >= departures-spread {
			tail += poisson(k, departures) * (waiting + inService)
		}
		inService *= stay
		if n := servers + k; n < len(found) {
			waiting -= found[n]
			inService += found[n]
			if n == len(found)-1 {
				waiting = 0 // whatever rounding has left
			}
		}
	}
	return tail
}

// poisson is the probability of k events where mean are expected.
func poisson(k int, mean float64) float64 {
	if mean == 0 {
		if k == 0 {
			return 1
		}
		return 0
	}
	gamma, _ := math.Lgamma(float64(k) + 1)
	return math.Exp(float64(k)*math.Log(mean) - mean - gamma)
}

// quantile finds where a falling tail is 1-q, from a guess of its size: about 50
// looks, to a relative 1e-10.
func quantile(q, guess float64, tail func(float64) float64) float64 {
	switch {
	case !(q >= 0 && q < 1) || math.IsNaN(guess):
		return math.NaN()
	case math.IsInf(guess, 1):
		return guess
	}
	high := guess
	for tail(high) > 1-q {
		high *= 2
	}
	low := 0.0
	for high-low > 1e-10*high {
		if mid := (low + high) / 2; tail(mid) > 1-q {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}
