package queueing

import "math"

// Bounds are what no scheduler can better in a closed loop.
type Bounds struct {
	MostX  float64 // requests per second
	LeastT float64 // response time, seconds
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
