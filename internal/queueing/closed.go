package queueing

import "math"

// Bounds hold the throughput and the response time of a closed loop between two
// limits that no scheduler passes.
type Bounds struct {
	LeastX, MostX float64 // requests per second
	LeastT, MostT float64 // seconds
}

var noBounds = Bounds{math.NaN(), math.NaN(), math.NaN(), math.NaN()}

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
//	N/(N·D+Z) <= X <= min(N/(D+Z), 1/Dmax),  T = N/X - Z
//
// (Lazowska, Zahorjan, Graham and Sevcik, Quantitative System Performance, 1984,
// chapter 5.) Beyond N = (D+Z)/Dmax clients more of them only wait longer.
func Asymptotic(clients int, total, longest, think float64) Bounds {
	if !(longest > 0 && total >= longest && think >= 0) {
		return noBounds
	}
	n := float64(clients)
	return bounds(clients, n/(n*total+think), min(n/(total+think), 1/longest), think)
}

// bounds adds the response times to the throughputs; NaN without a client.
func bounds(clients int, least, most, think float64) Bounds {
	if clients < 1 {
		return noBounds
	}
	return Bounds{least, most, Response(clients, most, think), Response(clients, least, think)}
}
