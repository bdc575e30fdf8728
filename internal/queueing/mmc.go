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

// MMc returns the mean response time of servers with exponential demands and one unbounded queue
// in order of arrival:
//
//	T = S + C·S / (c·(1-rho)),  C = ErlangC(servers, lambda·S)
//
// It describes a worker pool with a processor for each worker, or with workers that only sleep.
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

// A Bounded is what a queue with a bound does in the long run. It has a steady
// state at any load, also beyond saturation.
type Bounded struct {
	Loss       float64 // ratio of arrivals turned away, 0..1
	Throughput float64 // requests served per second
	Response   float64 // mean response time of those served, seconds
}

// MMcK describes servers with exponential demands and places for requests in
// all, those in service included: a queue of depth Q has places = servers + Q.
// An arrival that finds every place taken is lost. From the steady state
//
//	p(n) = p(n-1)·a / min(n, c),  n = 1..K,  Σp = 1
//	loss = p(K),  X = lambda·(1-p(K)),  T = Σn·p(n) / X
//
// (Kleinrock, Queueing Systems, volume 1, 1975, chapter 3; T by Little's law).
// Without arrivals the response time is service, as in an empty queue.
func MMcK(lambda, service float64, servers, places int) Bounded {
	if !meaningful(lambda, service) || servers < 1 || places < 1 {
		return Bounded{Loss: math.NaN(), Throughput: math.NaN(), Response: math.NaN()}
	}
	if lambda == 0 {
		return Bounded{Response: service}
	}
	load := lambda * service
	// p is p(n), below is Σp below n, present is Σn·p. The loop adds one place at a time.
	p, below, present := 1.0, 0.0, 0.0
	for n := 1; n <= places; n++ {
		p *= load / float64(min(n, servers))
		sum := 1 + p
		p, below, present = p/sum, 1/sum, (present+float64(n)*p)/sum
	}
	throughput := lambda * below // 1 - loss would cancel far beyond saturation
	return Bounded{Loss: p, Throughput: throughput, Response: present / throughput}
}

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

// MMcTail returns the ratio of requests of [MMc] with a response time longer than response
// seconds. The response time is the wait and an exponential demand:
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

// foundMMcK returns the probabilities that a request that is let in finds n present, n =
// 0..places-1.
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

// departuresTail returns Σ found[n]·P(T > t) by uniformization. Departures come as a Poisson
// process, and departures of them are expected until t. The requests ahead leave one at each
// departure. A request in service is the one that leaves with probability 1/c.
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

// poisson returns the probability of k events if mean events are expected.
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

// quantile finds where a falling tail is 1-q. guess is about as large as the result. It calls tail
// about 50 times, and the result is within a relative 1e-10.
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

// MMcWaitQuantile returns the wait before service that the ratio q of the requests of [MMc] do not
// exceed, 0 <= q < 1. It is 0 if at least this ratio finds a free server.
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

// MMcKWait returns the mean wait before service of the requests that [MMcK] serves, and the wait
// that the ratio q of them do not exceed, 0 <= q < 1. A request that finds n present waits for
// n-c+1 departures, each exponential with mean S/c.
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

// waitTail returns the ratio of requests that still wait when this number of departures is
// expected. A request that found n present waits for n-c+1 departures, which come as a Poisson
// process.
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
