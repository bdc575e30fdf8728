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
// A queue with rho >= 1 has no steady state and its response time is +Inf. Arguments without
// meaning (a rate below 0, no service time, no server) give NaN.
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

// Bounds are the limits of a closed loop that no scheduler can beat.
type Bounds struct {
	MostX  float64 // highest throughput, requests per second
	LeastT float64 // shortest mean response time, seconds
}

// Response returns the mean response time of clients clients that together get
// throughput answers a second and take think seconds between an answer and the
// next request:
//
//	T = N/X - Z
//
// the interactive response time law (Denning and Buzen, "The Operational Analysis
// of Queueing Network Models", ACM Computing Surveys 10(3), 1978). It assumes
// nothing: a report of N, X and T that breaks it is wrong.
func Response(clients int, throughput, think float64) float64 {
	if clients < 1 || !(throughput > 0 && think >= 0) {
		return math.NaN()
	}
	return float64(clients)/throughput - think
}

// Asymptotic bounds a closed loop of clients that take think seconds between an
// answer and the next request, where a request needs total seconds of service and
// longest seconds of the busiest resource (for c equal cores, its CPU time / c):
//
//	X <= min(N/(D+Z), 1/Dmax),  T = N/X - Z
//
// (Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance, 1984,
// chapter 5.) Beyond N = (D+Z)/Dmax clients more of them only wait longer.
func Asymptotic(clients int, total, longest, think float64) Bounds {
	if !(clients > 0 && longest > 0 && total >= longest && think >= 0) {
		return Bounds{math.NaN(), math.NaN()}
	}
	n := float64(clients)
	most := min(n/(total+think), 1/longest)
	return Bounds{MostX: most, LeastT: Response(clients, most, think)}
}
