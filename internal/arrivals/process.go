package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// A Kind is a way in which requests arrive.
// Its text is the name that Parse reads before the brackets.
type Kind string

// The kinds of a Process.
const (
	KindPoisson  Kind = "poisson"  // at random, independent of each other
	KindConstant Kind = "constant" // evenly spaced
	KindRamp     Kind = "ramp"     // at a rate that changes linearly over the window
	KindSine     Kind = "sine"     // at a rate that swings around its mean
	KindBurst    Kind = "burst"    // several at the same moment
	KindInPhase  Kind = "in-phase" // every connection at the same moment
	KindTrace    Kind = "trace"    // at the times in a file
	KindLog      Kind = "log"      // at the times in an access log, with its requests
)

// Help lists the forms that Parse reads, for help texts and errors.
const Help = "poisson, constant, ramp(FROM,TO), sine(AMPLITUDE,PERIOD), burst(SIZE), in-phase, trace(FILE), log(FILE)"

// A Process describes how the requests of an open loop are spread over a window. The
// zero value is Poisson. A Process is a value: comparable, and safe for concurrent use.
//
// Parse or a literal makes a Process; WithConnections, Open and Check prepare it; Draw draws the
// arrivals of one window. Draw may be called any number of times, once for each block.
type Process struct {
	Kind Kind // "" is Poisson
	// Even makes KindRamp and KindSine deterministic: request n, from 0, is sent at the time
	// by which n requests are expected.
	Even bool
	// From and To are KindRamp's rates at the start and the end of the window. They are in
	// requests per second or, with Relative, multiples of the rate given to Draw. Neither is
	// negative, and at least one is above 0.
	From, To float64
	Relative bool
	// Amplitude is KindSine's swing as a share of the mean rate, above 0 up to 1.
	Amplitude float64
	// Period is the length of one wave of KindSine. In KindBurst it is the time between
	// the bursts of a Cycle; 0 spaces all bursts evenly.
	Period time.Duration
	// Size is the number of requests that KindBurst and KindInPhase send at once. In
	// KindInPhase 0 stands for the number of connections: see WithConnections.
	Size int
	// Cycle is for KindBurst with a Period. Cycle requests are sent, Size every Period;
	// then comes a pause until Cycle / rate has passed. This is the pattern of clients that
	// are paced one by one but woken together. 0: the number of connections.
	Cycle int
	// File is the name of the file for KindTrace and KindLog. It must be read with Open
	// before Draw.
	File string
	// Speed is the speed of KindLog's replay relative to the recorded times; 0 means 1.
	// It matters only for OwnRate; Draw goes by its rate.
	Speed float64

	trace  *Trace
	log    *AccessLog
	offset time.Duration // start of the window within the log
}

// MaxBurst is the largest number of requests that arrive at one moment.
// The engine vegeta has at most this number of goroutines, so that it can send such a burst.
const MaxBurst = 100_000

// maxArrivalRate bounds the rates of a ramp, per second, and the speed of a log.
const maxArrivalRate = 1e6

// WithConnections replaces the sizes that stand for the number of connections by n.
func (a Process) WithConnections(n int) Process {
	if a.Kind == KindInPhase && a.Size == 0 {
		a.Size = n
	}
	if a.Kind == KindBurst && a.Period > 0 && a.Cycle == 0 {
		a.Cycle = n
	}
	return a
}

// Check returns an error if Draw could not draw arrivals at a rate in requests per second. The
// rate does not matter for a trace or for a ramp in absolute rates.
func (a Process) Check(rate float64) error {
	if err := a.check(); err != nil {
		return fmt.Errorf("arrivals %s: %w", a, err)
	}
	switch {
	case a.Kind == KindTrace && a.trace == nil || a.Kind == KindLog && a.log == nil:
		return fmt.Errorf("arrivals %s: the file has not been read", a)
	// The rate is not used.
	case a.Fixed():
		return nil
	case !(rate > 0) || math.IsInf(rate, 1):
		return fmt.Errorf("arrivals %s: a rate of %v/s; give one above 0", a, rate)
	case a.Kind == KindInPhase && a.Size == 0:
		return fmt.Errorf("arrivals %s: no number of connections; keep some, or say in-phase(N)", a)
	case a.Kind == KindBurst && a.Period > 0 && a.Cycle < a.Size:
		return fmt.Errorf("arrivals %s: a cycle of %d requests is less than one burst; keep more connections, or say burst(SIZE,PERIOD,CYCLE)", a, a.Cycle)
	// The bursts of one cycle must not run into the next cycle, or the mean rate would be missed.
	case a.Kind == KindBurst && a.lastBurst() >= a.cycleTime(rate):
		return fmt.Errorf("arrivals %s: the bursts of a cycle take %v, and at %v/s the next begins after %v; shorten the period or lower the rate", a, time.Duration(a.lastBurst()), rate, time.Duration(a.cycleTime(rate)).Round(time.Microsecond))
	}
	return nil
}

// check checks the fields that do not depend on a rate.
func (a Process) check() error {
	// NaN fails both comparisons, and so it is refused.
	swing := a.Amplitude > 0 && a.Amplitude <= 1
	from, to := a.From, a.To
	switch a.Kind {
	case "", KindPoisson, KindConstant:
	case KindRamp:
		if !(from >= 0 && to >= 0 && from+to > 0 && max(from, to) <= maxArrivalRate) {
			return fmt.Errorf("rates from %v to %v; give two from 0 to %.0f, one of them above 0", from, to, maxArrivalRate)
		}
	case KindSine:
		if !swing || a.Period < time.Millisecond {
			return fmt.Errorf("amplitude %v and period %v; give a share of the rate above 0 up to 1, and 1ms at least", a.Amplitude, a.Period)
		}
	case KindBurst:
		if a.Size < 1 || max(a.Size, a.Cycle) > MaxBurst || a.Period < 0 || a.Cycle < 0 {
			return fmt.Errorf("%d at once in a cycle of %d; give 1 to %d, and a period and cycle that are not negative", a.Size, a.Cycle, MaxBurst)
		}
	case KindInPhase:
		if a.Size < 0 || a.Size > MaxBurst {
			return fmt.Errorf("%d at once; give 1 to %d", a.Size, MaxBurst)
		}
	case KindTrace, KindLog:
		if a.File == "" {
			return fmt.Errorf("no file; say %s(FILE)", a.Kind)
		}
		if a.Speed < 0 || a.Speed > maxArrivalRate {
			return fmt.Errorf("a speed of %vx; give one above 0 up to %.0fx", a.Speed, maxArrivalRate)
		}
	default:
		return fmt.Errorf("unknown kind %q (want one of %s)", a.Kind, Help)
	}
	return nil
}

// Draw returns the arrivals of a window [0, span), at a mean rate in requests per second. They
// include the demands that a trace file states, or the requests of a log. Equal generators give
// equal lists. The list is empty if Check returns an error.
func (a Process) Draw(rate float64, span time.Duration, rng *rand.Rand) Trace {
	if a.Check(rate) != nil {
		return Trace{}
	}
	switch a.Kind {
	case KindConstant:
		return Trace{At: Constant(rate, span)}
	case KindRamp:
		return Trace{At: a.ramp(rate, span, rng)}
	case KindSine:
		return Trace{At: a.sine(rate, span, rng)}
	case KindBurst, KindInPhase:
		return Trace{At: a.bursts(rate, span)}
	case KindTrace:
		return a.trace.until(span)
	case KindLog:
		return a.log.part(a.offset, span, rate)
	}
	return Trace{At: Poisson(rate, span, rng)}
}

// Fixed reports whether the arrivals ignore the rate given to Draw, because they fix the rate
// themselves: a trace, and a ramp in absolute rates.
func (a Process) Fixed() bool { return a.Kind == KindTrace || a.Kind == KindRamp && !a.Relative }

// Ends returns the time of the last arrival of an opened trace; 0 for other kinds.
func (a Process) Ends() time.Duration {
	if a.trace == nil || len(a.trace.At) == 0 {
		return 0
	}
	return a.trace.At[len(a.trace.At)-1]
}

// MeanRate returns the mean rate over a window, in requests per second. That is rate, except for
// a ramp, where it is the mean of both ends, and for a trace, where the file's arrivals in the
// window are counted.
// A trace that has not been opened, and a window without length, have the mean rate rate.
func (a Process) MeanRate(rate float64, span time.Duration) float64 {
	switch {
	case a.Kind == KindRamp && a.Relative:
		return rate * (a.From + a.To) / 2
	case a.Kind == KindRamp:
		return (a.From + a.To) / 2
	case a.Kind == KindTrace && a.trace != nil && span > 0:
		return float64(len(a.trace.until(span).At)) / span.Seconds()
	}
	return rate
}

// String returns a in the form that Parse reads.
func (a Process) String() string {
	// The shortest text that reads back as the same number.
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	var args []string
	switch a.Kind {
	case "":
		return string(KindPoisson)
	case KindRamp:
		unit := "/s"
		if a.Relative {
			unit = "x"
		}
		args = []string{number(a.From) + unit, number(a.To) + unit}
	case KindSine:
		args = []string{number(a.Amplitude), a.Period.String()}
	case KindBurst:
		args = []string{strconv.Itoa(a.Size)}
		if a.Period > 0 {
			args = append(args, a.Period.String())
			if a.Cycle > 0 {
				args = append(args, strconv.Itoa(a.Cycle))
			}
		}
	case KindInPhase:
		if a.Size > 0 {
			args = []string{strconv.Itoa(a.Size)}
		}
	case KindTrace, KindLog:
		args = []string{a.File}
		if a.Speed > 0 {
			args = append(args, number(a.Speed)+"x")
		}
	}
	if a.Even && (a.Kind == KindRamp || a.Kind == KindSine) {
		args = append(args, "even")
	}
	if len(args) == 0 {
		return string(a.Kind)
	}
	return string(a.Kind) + "(" + strings.Join(args, ",") + ")"
}
