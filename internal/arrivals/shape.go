package arrivals

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Poisson draws the arrivals of a Poisson process of rate requests per second
// over [0, span): the sums of exponential gaps with mean 1/rate. Equal generators
// give equal lists. A rate that is not positive and finite gives nil.
func Poisson(rate float64, span time.Duration, rng *rand.Rand) []time.Duration {
	return list(rate, span, poisson(rate, span, rng))
}

// Constant returns the arrivals k/rate, k = 0, 1, …, within [0, span), for a rate
// in requests per second. A rate that is not positive and finite gives nil.
func Constant(rate float64, span time.Duration) []time.Duration {
	return list(rate, span, constant(rate, span))
}

// list returns the times as a list. It is nil if rate, in requests per second, is not positive and
// finite.
func list(rate float64, span time.Duration, times iter.Seq[time.Duration]) []time.Duration {
	if !(rate > 0) || math.IsInf(rate, 1) {
		return nil
	}
	// expected + 4 standard deviations of a Poisson count is hardly ever exceeded.
	expected := max(0, rate*span.Seconds())
	const most = 1 << 20 // limits only the initial room: longer lists grow
	return slices.AppendSeq(make([]time.Duration, 0, int(min(expected+4*math.Sqrt(expected)+1, most))), times)
}

func poisson(rate float64, span time.Duration, rng *rand.Rand) iter.Seq[time.Duration] {
	gap := float64(time.Second) / rate
	return func(yield func(time.Duration) bool) {
		// The sum stays a float, so that gaps of less than a nanosecond are not lost in rounding.
		for t := rng.ExpFloat64() * gap; t < float64(span) && yield(time.Duration(t)); t += rng.ExpFloat64() * gap {
		}
	}
}

func constant(rate float64, span time.Duration) iter.Seq[time.Duration] {
	gap := float64(time.Second) / rate
	return func(yield func(time.Duration) bool) {
		for k := 0.0; k*gap < float64(span) && yield(time.Duration(k*gap)); k++ {
		}
	}
}

// warped draws a process with a rate that changes. It draws events at rate one, and places each
// at the time at which the expected number of arrivals reaches the event's value (the
// time-change of a Poisson process: Çinlar, Introduction to Stochastic Processes, ch. 4.7).
// when(n) returns the time, in nanoseconds, by which n arrivals are expected; warped calls it
// with ascending n. total is the expected number of arrivals in the whole window. With even the
// events are 0, 1, 2, …
func warped(total float64, even bool, rng *rand.Rand, span time.Duration, when func(n float64) float64) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		// The events are the points of a Poisson process with rate one: sums of exponential gaps with mean 1.
		n := 0.0
		if !even {
			n = rng.ExpFloat64()
		}
		for n < total {
			// Rounding may place the last event at the window's end, which is outside of it.
			if t := time.Duration(when(n)); t >= span || !yield(t) {
				return
			}
			if even {
				n++
			} else {
				n += rng.ExpFloat64()
			}
		}
	}
}

// ramp draws arrivals at a rate that changes linearly from f to g over a window of length T. By
// time t it expects n(t) = f t + (g-f) t²/2T arrivals. The inverse of n is written in a form
// without cancellation.
func (a Process) ramp(rate float64, span time.Duration, rng *rand.Rand) iter.Seq[time.Duration] {
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
func (a Process) sine(rate float64, span time.Duration, rng *rand.Rand) iter.Seq[time.Duration] {
	// omega is 2π/P, and swing is r A P/2π.
	omega := 2 * math.Pi / a.Period.Seconds()
	swing := rate * a.Amplitude / omega
	expected := func(t float64) float64 { return rate*t + swing*(1-math.Cos(omega*t)) }
	// t goes on from arrival to arrival: n ascends, and so do the times.
	t := 0.0 // one use only: the times cannot be drawn twice
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

// bursts draws arrivals in bursts of Size: evenly spaced, or in cycles.
func (a Process) bursts(rate float64, span time.Duration) iter.Seq[time.Duration] {
	if a.Kind == KindInPhase || a.Period == 0 {
		// A cycle is then one burst, and bursts are evenly spaced.
		a.Cycle, a.Period = a.Size, 0
	}
	return func(yield func(time.Duration) bool) {
		for cycle := 0.0; cycle*a.cycleTime(rate) < float64(span); cycle++ {
			// Each cycle starts at a multiple of its exact length, so that rounding does not add up.
			for sent := range a.Cycle {
				t := time.Duration(cycle*a.cycleTime(rate)) + time.Duration(sent/a.Size)*a.Period
				if t >= span {
					break
				}
				if !yield(t) {
					return
				}
			}
		}
	}
}

// cycleTime returns the length of a cycle in nanoseconds: its requests are sent at the mean rate.
func (a Process) cycleTime(rate float64) float64 { return float64(max(a.Cycle, a.Size)) / rate * 1e9 }

// lastBurst returns the time of a cycle's last burst, in nanoseconds from the cycle's start.
func (a Process) lastBurst() float64 {
	return float64(max(0, a.Cycle-1)/a.Size) * float64(a.Period)
}
