// Package arrivals decides when the requests of an open loop are sent and what each asks for.
// It has arrival processes, traces from files, and access logs. It draws lists of times from a
// seed. It sends nothing, waits for nothing and reads no clock.
package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// A Trace is the list of arrivals of one window. It is drawn before the attack, so that
// every arm of a block gets the same one.
//
// The lists are parallel: entry i of each is about arrival i. The zero Trace has no arrivals.
type Trace struct {
	// At holds the times of arrival, ascending, from the attack's start.
	At []time.Duration
	// Demand holds each arrival's demand. It is as long as At, or nil for no demand.
	Demand []Demand
	// Which holds the index of each arrival's target. It is as long as At, or nil to use
	// all targets in rotation.
	Which []uint32
}

// A Demand is the work that one request asks of a target with path /work. The zero value asks
// for none.
type Demand struct {
	Iters uint32        // calibrated CPU iterations
	Sleep time.Duration // time spent blocked
}

// Poisson draws the arrivals of a Poisson process of rate requests per second
// over [0, span): the sums of exponential gaps with mean 1/rate. Equal generators
// give equal lists. A rate that is not positive and finite gives nil.
func Poisson(rate float64, span time.Duration, rng *rand.Rand) []time.Duration {
	at, gap := makeRoom(rate, span)
	if at == nil {
		return nil
	}
	// The sum stays a float, so that gaps of less than a nanosecond are not lost in rounding.
	for t := rng.ExpFloat64() * gap; t < float64(span); t += rng.ExpFloat64() * gap {
		at = append(at, time.Duration(t))
	}
	return at
}

// Constant returns the arrivals k/rate, k = 0, 1, …, within [0, span), for a rate
// in requests per second. A rate that is not positive and finite gives nil.
func Constant(rate float64, span time.Duration) []time.Duration {
	at, gap := makeRoom(rate, span)
	if at == nil {
		return nil
	}
	for k := 0.0; k*gap < float64(span); k++ {
		at = append(at, time.Duration(k*gap))
	}
	return at
}

// makeRoom returns an empty list with room for about rate x span arrivals, and the mean gap in
// nanoseconds. The list is nil if rate is not positive and finite.
func makeRoom(rate float64, span time.Duration) (at []time.Duration, gap float64) {
	if !(rate > 0) || math.IsInf(rate, 1) {
		return nil, 0
	}
	gap = float64(time.Second) / rate
	expected := max(0, float64(span)/gap)
	// expected + 4 standard deviations of a Poisson count is hardly ever exceeded.
	const most = 1 << 20 // limits only the initial room: longer lists grow
	return make([]time.Duration, 0, int(min(expected+4*math.Sqrt(expected)+1, most))), gap
}

// Check returns an error if the lists of t differ in length, its times do not ascend from 0,
// or a demand is negative.
func (t Trace) Check() error {
	if t.Demand != nil && len(t.Demand) != len(t.At) {
		return fmt.Errorf("checking the trace: %d demands for %d arrivals; give one each, or none", len(t.Demand), len(t.At))
	}
	if t.Which != nil && len(t.Which) != len(t.At) {
		return fmt.Errorf("checking the trace: targets of %d arrivals, there are %d; give one each, or none", len(t.Which), len(t.At))
	}
	for i, at := range t.At {
		if at < 0 || i > 0 && at < t.At[i-1] {
			return fmt.Errorf("checking the trace: arrival %d is at %v, after one at %v; sort the arrivals and begin at 0", i, at, t.At[max(i-1, 0)])
		}
		if t.Demand != nil && t.Demand[i].Sleep < 0 {
			return fmt.Errorf("checking the trace: arrival %d sleeps for %v; a demand is never negative", i, t.Demand[i].Sleep)
		}
	}
	return nil
}
