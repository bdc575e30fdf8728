package arrivals

import (
	"math"
	"math/rand/v2"
	"time"
)

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

// warped draws a process with a rate that changes. It draws events at rate one, and places each
// at the time at which the expected number of arrivals reaches the event's value (the
// time-change of a Poisson process: Çinlar, Introduction to Stochastic Processes, ch. 4.7).
// when(n) returns the time, in nanoseconds, by which n arrivals are expected; warped calls it
// with ascending n. total is the expected number of arrivals in the whole window. With even the
// events are 0, 1, 2, …
func warped(total float64, even bool, rng *rand.Rand, span time.Duration, when func(n float64) float64) []time.Duration {
	at, _ := makeRoom(total/span.Seconds(), span)
	// The events are the points of a Poisson process with rate one: sums of exponential gaps with mean 1.
	n := 0.0
	if !even {
		n = rng.ExpFloat64()
	}
	for n < total {
		t := time.Duration(when(n))
		// Rounding may place the last event at the window's end, which is outside of it.
		if t >= span {
			break
		}
		at = append(at, t)
		if even {
			n++
		} else {
			n += rng.ExpFloat64()
		}
	}
	return at
}

// ramp draws arrivals at a rate that changes linearly from f to g over a window of length T. By
// time t it expects n(t) = f t + (g-f) t²/2T arrivals. The inverse of n is written in a form
// without cancellation.
func (a Process) ramp(rate float64, span time.Duration, rng *rand.Rand) []time.Duration {
	f, g, length := a.From, a.To, span.Seconds()
	if a.Relative {
		f, g = f*rate, g*rate
	}
	return warped((f+g)/2*length, a.Even, rng, span, func(n float64) float64 {
		if n == 0 {
			return 0
		}
		return 2 * n / (f + math.Sqrt(max(0, f*f+2*(g-f)*n/length))) * 1e9
	})
}

// sine draws arrivals at the rate r (1 + A sin 2πt/P), for mean rate r, amplitude A and period P.
// By time t it expects n(t) = r t + r A P/2π (1 - cos 2πt/P) arrivals. The inverse of n is found
// by bisection.
func (a Process) sine(rate float64, span time.Duration, rng *rand.Rand) []time.Duration {
	// omega is 2π/P, and swing is r A P/2π.
	omega := 2 * math.Pi / a.Period.Seconds()
	swing := rate * a.Amplitude / omega
	expected := func(t float64) float64 { return rate*t + swing*(1-math.Cos(omega*t)) }
	// t goes on from arrival to arrival: n ascends, and so do the times.
	t := 0.0
	return warped(expected(span.Seconds()), a.Even, rng, span, func(n float64) float64 {
		high := n / rate // upper bound; t, the time of the arrival before, is the lower bound
		// Each step halves the interval. Fifty leave less than a nanosecond of a window of a day.
		for range 50 {
			if mid := (t + high) / 2; expected(mid) > n {
				high = mid
			} else {
				t = mid
			}
		}
		return t * 1e9
	})
}

// bursts returns arrivals in bursts of Size: evenly spaced, or in cycles.
func (a Process) bursts(rate float64, span time.Duration) (at []time.Duration) {
	if a.Kind == KindInPhase || a.Period == 0 {
		// A cycle is then one burst, and bursts are evenly spaced.
		a.Cycle, a.Period = a.Size, 0
	}
	at, _ = makeRoom(rate, span)
	for cycle := 0.0; cycle*a.cycleTime(rate) < float64(span); cycle++ {
		// Each cycle starts at a multiple of its exact length, so that rounding does not add up.
		for sent := range a.Cycle {
			t := time.Duration(cycle*a.cycleTime(rate)) + time.Duration(sent/a.Size)*a.Period
			if t >= span {
				break
			}
			at = append(at, t)
		}
	}
	return at
}

// cycleTime returns the length of a cycle in nanoseconds: its requests are sent at the mean rate.
func (a Process) cycleTime(rate float64) float64 { return float64(max(a.Cycle, a.Size)) / rate * 1e9 }

// lastBurst returns the time of a cycle's last burst, in nanoseconds from the cycle's start.
func (a Process) lastBurst() float64 {
	return float64(max(0, a.Cycle-1)/a.Size) * float64(a.Period)
}
