package queueing

import "math"

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
// Without arrivals the response time is that of an empty queue, service.
func MMcK(lambda, service float64, servers, places int) Bounded {
	if !meaningful(lambda, service) || servers < 1 || places < 1 {
		return Bounded{Loss: math.NaN(), Throughput: math.NaN(), Response: math.NaN()}
	}
	if lambda == 0 {
		return Bounded{Response: service}
	}
	load := lambda * service
	// p(n), Σp below n and Σn·p of a queue of n places, for ever more places.
	p, below, present := 1.0, 0.0, 0.0
	for n := 1; n <= places; n++ {
		p *= load / float64(min(n, servers))
		sum := 1 + p
		p, below, present = p/sum, 1/sum, (present+float64(n)*p)/sum
	}
	throughput := lambda * below // 1 - loss would cancel far beyond saturation
	return Bounded{Loss: p, Throughput: throughput, Response: present / throughput}
}
