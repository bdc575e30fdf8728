// Package queueing predicts the behaviour of an ideal server from measured inputs: arrival rate,
// service demand and number of servers. It holds closed formulas to compare a measurement with,
// and [Replay], which runs a trace through an ideal scheduler if no formula applies. Nothing is
// fitted. It knows no cost of switching, parsing or writing: the part of a measurement beyond its
// prediction is overhead and interference. All functions are pure, deterministic and safe for
// concurrent use.
//
// In the formulas times are in seconds and rates per second, though every formula is homogeneous
// and any one unit of time will do. In Kendall's notation:
//
//	lambda   arrival rate, Poisson unless said otherwise
//	service  mean service demand S of a request; one server's rate is 1/S
//	servers  c, servers working in parallel on one queue
//	load     a = lambda·S, in erlangs: the servers kept busy on average
//	rho      a/c, utilisation of a server
//	scv      C² = variance/mean² of the demand: 0 constant, 1 exponential
//	ca2      the same of the gaps between arrivals: 0 even, 1 Poisson
//
// A queue with rho >= 1 has no steady state and its response time is +Inf. For arguments without
// meaning (a rate below 0, no service time, no server) [MMc] and [Little] give NaN. The other formulas
// expect arguments with a meaning.
package queueing

import "math"

// Little returns the mean number present if rate arrivals come per second and each stays for held
// seconds on average (Little, "A Proof for the Queuing Formula L = λW", Operations Research 9,
// 1961). It needs no assumption about arrivals or demands. Applied to workers it is the number of
// busy workers.
func Little(rate, held float64) float64 {
	if !(rate >= 0 && held >= 0) {
		return math.NaN()
	}
	return rate * held
}

// Workers returns the fewest workers that keep up with rate requests per second, if each holds its
// worker for held seconds. It is the first whole number above Little(rate, held): the number busy
// on average alone would have no time left to work off a random backlog. It is 0 if the arguments
// have no meaning or the number does not fit an int.
func Workers(rate, held float64) int {
	busy := Little(rate, held) * (1 + 1e-12) // 0.1·30 must count as 3
	if !(busy < math.MaxInt) {
		return 0
	}
	return int(busy) + 1
}

// meaningful reports whether lambda and service can describe a queue.
func meaningful(lambda, service float64) bool {
	return lambda >= 0 && service > 0 && !math.IsInf(lambda, 1) && !math.IsInf(service, 1)
}

// ErlangB returns the ratio of arrivals lost when servers take load erlangs and
// nothing may wait, by the recursion
//
//	B(0) = 1,  B(k) = a·B(k-1) / (k + a·B(k-1))
//
// of Erlang's first formula (1917; Kleinrock, Queueing Systems, volume 1, 1975,
// chapter 3). It depends on the demand's mean alone and costs one step per
// server. No server loses everything: B(0) = 1.
func ErlangB(servers int, load float64) float64 {
	b := 1.0
	for k := range servers {
		b = load * b / (float64(k+1) + load*b)
	}
	return b
}

// erlangC returns the ratio of arrivals that have to wait when servers take
// load erlangs of exponential demands from one unbounded queue:
//
//	C = B / (1 - rho·(1-B)),  B = ErlangB(servers, load)
//
// (Erlang's second formula, 1917). It is 1 at and beyond saturation.
func erlangC(servers int, load float64) float64 {
	b, rho := ErlangB(servers, load), load/float64(servers)
	if rho >= 1 {
		return 1
	}
	return b / (1 - rho*(1-b))
}

// MMc returns the mean response time of servers with exponential demands and one unbounded queue
// in order of arrival:
//
//	T = S + C·S / (c·(1-rho)),  C = ErlangC(servers, lambda·S)
//
// It describes a worker pool with a processor for each worker, or with workers that only sleep. With
// one server it is S/(1-rho), also the mean of M/G/1 with processor sharing: a server that shares itself
// evenly among all requests present, whatever the distribution of their demand (Kleinrock, volume 2,
// 1976, chapter 4). Goroutines on one P come near that when demands are far longer than the scheduler's
// 10 ms quantum.
func MMc(lambda, service float64, servers int) float64 {
	load := lambda * service
	switch {
	case !meaningful(lambda, service) || servers < 1:
		return math.NaN()
	case load >= float64(servers):
		return math.Inf(1)
	}
	return service + erlangC(servers, load)*service/(float64(servers)-load)
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
// With wait 0 it is erlangC; at and beyond saturation it is 1.
func MMcWait(lambda, service float64, servers int, wait float64) float64 {
	load := lambda * service
	return erlangC(servers, load) * math.Exp(-max(0, float64(servers)-load)*wait/service)
}

// mmcTail returns the ratio of requests of [MMc] with a response time longer than response
// seconds. The response time is the wait and an exponential demand:
//
//	P(T > t) = e^(-t/S) · (1 + C·(1-e^(-b·t/S))/b),  b = c - 1 - a
//
// (Kleinrock, Queueing Systems, volume 1, 1975, chapter 5.)
func mmcTail(lambda, service float64, servers int, response float64) float64 {
	load := lambda * service
	if load >= float64(servers) {
		return 1
	}
	b, t := float64(servers)-1-load, response/service
	during := t // (1-e^(-b·t))/b at b = 0
	if math.Abs(b*t) > 1e-9 {
		during = -math.Expm1(-b*t) / b
	}
	return math.Exp(-t) * (1 + erlangC(servers, load)*during)
}

// MMcQuantile returns the response time that the ratio q of the requests of [MMc]
// do not exceed, 0 <= q < 1. For one server it is S·ln(1/(1-q))/(1-rho): p99 is
// 4.6 times the mean.
func MMcQuantile(lambda, service float64, servers int, q float64) float64 {
	return quantile(q, MMc(lambda, service, servers), func(t float64) float64 { return mmcTail(lambda, service, servers, t) })
}

// mmcWaitQuantile returns the wait before service that the ratio q of the requests of [MMc] do not
// exceed, 0 <= q < 1. It is 0 if at least this ratio finds a free server.
func mmcWaitQuantile(lambda, service float64, servers int, q float64) float64 {
	return quantile(q, MMc(lambda, service, servers), func(t float64) float64 { return MMcWait(lambda, service, servers, t) })
}

// mmckQuantile returns the response time that the ratio q of the requests served
// by [MMcK] do not exceed, 0 <= q < 1. A request that found n present waits for
// n-c+1 departures, each exponential with mean S/c, before its own demand. It costs
// a step per place and per departure that fits the time.
func mmckQuantile(lambda, service float64, servers, places int, q float64) float64 {
	return quantile(q, MMcK(lambda, service, servers, places).Response, tailMMcK(lambda, service, servers, places, true))
}

// mmckWaitQuantile returns the wait before service that the ratio q of the requests served by
// [MMcK] do not exceed, 0 <= q < 1.
func mmckWaitQuantile(lambda, service float64, servers, places int, q float64) float64 {
	return quantile(q, MMcK(lambda, service, servers, places).Response, tailMMcK(lambda, service, servers, places, false))
}

// tailMMcK returns a function that gives the ratio of the requests served by [MMcK] that still wait t
// seconds after their arrival or, with response, are still present. It works by uniformization:
// departures come as a Poisson process, and at each one of the requests ahead leaves. A request in
// service is the one that leaves with probability 1/c.
func tailMMcK(lambda, service float64, servers, places int, response bool) func(t float64) float64 {
	found := foundMMcK(lambda*service, servers, places)
	stay := 1 - 1/float64(servers)
	return func(t float64) (tail float64) {
		var waiting, inService float64
		for n, p := range found {
			if n < servers {
				inService += p
			} else {
				waiting += p
			}
		}
		departures := t * float64(servers) / service // expected until t
		spread := 12*math.Sqrt(departures) + 40      // beyond it the Poisson weights vanish
		for k := 0; float64(k) <= departures+spread; k++ {
			if float64(k) >= departures-spread {
				present := waiting
				if response {
					present += inService
				}
				tail += poisson(k, departures) * present
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
}

// foundMMcK returns the probabilities that a request that is let in finds n present, n =
// 0..places-1.
func foundMMcK(load float64, servers, places int) []float64 {
	found := make([]float64, places) // first as logarithms: a long queue overflows
	most, sum := 0.0, 0.0
	for n := 1; n < places; n++ {
		found[n] = found[n-1] + math.Log(load/float64(min(n, servers)))
		most = max(most, found[n])
	}
	for n, log := range found {
		found[n] = math.Exp(log - most)
		sum += found[n]
	}
	for n := range found {
		found[n] /= sum
	}
	return found
}

// poisson returns the probability of k events if mean events are expected.
func poisson(k int, mean float64) float64 {
	mean = max(mean, math.SmallestNonzeroFloat64) // 0 has no logarithm
	gamma, _ := math.Lgamma(float64(k) + 1)
	return math.Exp(float64(k)*math.Log(mean) - mean - gamma)
}

// quantile finds where a falling tail is 1-q; 0 if it nowhere is above. guess is about as large as
// the result. It calls tail about 50 times, and the result is within a relative 1e-10.
func quantile(q, guess float64, tail func(float64) float64) float64 {
	above := func(x float64) bool { return tail(x) > 1-q }
	switch {
	case !(q >= 0 && q < 1) || math.IsNaN(guess):
		return math.NaN()
	case math.IsInf(guess, 1):
		return guess
	case !above(0):
		return 0
	}
	for above(guess) {
		guess *= 2
	}
	return last(0, guess, 1e-10, above)
}

// last returns the last x between low and high for which is(x) is true. It must be true at low, or
// nowhere, and false from some x on. The result is within the relative error precision.
func last(low, high, precision float64, is func(x float64) bool) float64 {
	for high-low > precision*high {
		if mid := (low + high) / 2; is(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// AllenCunneen returns an approximate mean response time of servers with one unbounded queue in
// order of arrival, whatever the distributions of gaps and demands. It scales the wait of M/M/c by
// the variability of both:
//
//	T ≈ S + (Ca²+Cs²)/2 · C·S / (c·(1-rho)),  C = ErlangC(servers, lambda·S)
//
// It is exact for M/M/c, and commonly within 10 % for C² up to about 2 (A. O. Allen, Probability,
// Statistics, and Queueing Theory, 2nd edition, 1990, chapter 5). With one server it is Kingman's
// formula, which is good near saturation (J. F. C. Kingman, "The single server queue in heavy traffic",
// Mathematical Proceedings of the Cambridge Philosophical Society 57(4), 1961). With Poisson arrivals
// too it is the exact formula of Pollaczek (1930) and Khinchine (1932) for M/G/1, a pool of one worker
// or an event loop that runs its handlers inline: lower than processor sharing where Cs² < 1.
func AllenCunneen(lambda, service float64, servers int, ca2, scv float64) float64 {
	markov := MMc(lambda, service, servers)
	if math.IsInf(markov, 1) {
		return markov
	}
	return service + (markov-service)*(ca2+scv)/2
}
