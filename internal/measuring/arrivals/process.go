package arrivals

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Kind is a way in which requests arrive: the name that Parse reads before the brackets.
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

// MaxBurst is the largest number of requests that arrive at one moment. The engine vegeta has at most
// this number of goroutines.
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

// check checks the fields that do not depend on a rate. A NaN fails every comparison, and so it is
// refused.
func (a Process) check() error {
	from, to, file := a.From, a.To, a.Kind == KindTrace || a.Kind == KindLog
	known := []Kind{"", KindPoisson, KindConstant, KindRamp, KindSine, KindBurst, KindInPhase, KindTrace, KindLog}
	switch {
	case !slices.Contains(known, a.Kind):
		return fmt.Errorf("unknown kind %q (want one of %s)", a.Kind, Help)
	case a.Kind == KindRamp && !(from >= 0 && to >= 0 && from+to > 0 && max(from, to) <= maxArrivalRate):
		return fmt.Errorf("rates from %v to %v; give two from 0 to %.0f, one of them above 0", from, to, maxArrivalRate)
	case a.Kind == KindSine && !(a.Amplitude > 0 && a.Amplitude <= 1 && a.Period >= time.Millisecond):
		return fmt.Errorf("amplitude %v and period %v; give a share of the rate above 0 up to 1, and 1ms at least", a.Amplitude, a.Period)
	case a.Kind == KindBurst && (a.Size < 1 || max(a.Size, a.Cycle) > MaxBurst || a.Period < 0 || a.Cycle < 0):
		return fmt.Errorf("%d at once in a cycle of %d; give 1 to %d, and a period and cycle that are not negative", a.Size, a.Cycle, MaxBurst)
	case a.Kind == KindInPhase && (a.Size < 0 || a.Size > MaxBurst):
		return fmt.Errorf("%d at once; give 1 to %d", a.Size, MaxBurst)
	case file && a.File == "":
		return fmt.Errorf("no file; say %s(FILE)", a.Kind)
	case file && (a.Speed < 0 || a.Speed > maxArrivalRate):
		return fmt.Errorf("a speed of %vx; give one above 0 up to %.0fx", a.Speed, maxArrivalRate)
	}
	return nil
}

// Draw returns the arrivals of a window [0, span), at a mean rate in requests per second. They
// include the demands that a trace file states, or the requests of a log. Equal generators give
// equal lists. The list is empty if Check returns an error.
func (a Process) Draw(rate float64, span time.Duration, rng *rand.Rand) Trace {
	switch {
	case a.Check(rate) != nil:
		return Trace{}
	case a.Kind == KindTrace:
		return a.trace.until(span)
	case a.Kind == KindLog:
		return a.log.part(a.offset, span, rate)
	}
	// expected + 4 standard deviations of a Poisson count is hardly ever exceeded.
	expected := max(0, a.MeanRate(rate, span)*span.Seconds())
	const most = 1 << 20 // limits only the initial room: longer lists grow
	at := make([]time.Duration, 0, int(min(expected+4*math.Sqrt(expected)+1, most)))
	return Trace{At: slices.AppendSeq(at, a.Times(rate, span, rng))}
}

// Times returns the times of Draw's arrivals, drawn one by one, for windows that are too long for a
// list. They can be drawn once only. It is nil for a trace or a log, which are lists.
func (a Process) Times(rate float64, span time.Duration, rng *rand.Rand) iter.Seq[time.Duration] {
	switch a.Kind {
	case KindConstant:
		return constant(rate, span)
	case KindRamp:
		return a.ramp(rate, span, rng)
	case KindSine:
		return a.sine(rate, span, rng)
	case KindBurst, KindInPhase:
		return a.bursts(rate, span)
	case KindTrace, KindLog:
		return nil
	}
	return poisson(rate, span, rng)
}

// Fixed reports whether the arrivals ignore the rate given to Draw, because they fix the rate
// themselves: a trace, and a ramp in absolute rates.
func (a Process) Fixed() bool { return a.Kind == KindTrace || a.Kind == KindRamp && !a.Relative }

// MeanRate returns the mean rate over a window, in requests per second. That is rate, except for
// a ramp, where it is the mean of both ends, and for an opened trace, where the file's arrivals in the
// window are counted.
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

// Open reads the file of a KindTrace (see readTrace) or KindLog (see readAccessLog) and returns
// a Process from which arrivals can be drawn. It returns other kinds unchanged. itersPerMicro is
// as in readTrace.
//
// An opened Process keeps the file's contents in memory. Copies share them, and only read them.
func (a Process) Open(itersPerMicro float64) (Process, error) {
	if a.Kind != KindTrace && a.Kind != KindLog {
		return a, nil
	}
	f, err := os.Open(a.File)
	if err != nil {
		return a, fmt.Errorf("opening the %s: %w", a.Kind, err)
	}
	defer f.Close()
	if a.Kind == KindLog {
		a.log, err = readAccessLog(a.File, f)
		return a, err
	}
	trace, err := readTrace(a.File, f, itersPerMicro)
	a.trace = &trace
	return a, err
}

// Span returns the shortest window that holds all arrivals of an opened trace, or of an opened log at a mean
// rate in requests per second. A window does not hold its end, so Span is at least 1 ns more than the time of
// the last arrival. It returns 0 for other kinds, which have no end.
func (a Process) Span(rate float64) time.Duration {
	switch {
	case a.trace != nil:
		return a.trace.At[len(a.trace.At)-1] + 1
	case a.log != nil:
		return a.log.span(rate)
	}
	return 0
}

// Log returns the access log of an opened KindLog; nil for other kinds.
func (a Process) Log() *AccessLog { return a.log }

// OwnRate returns the mean rate of an opened log at its Speed, in requests per second; 0 for
// other kinds.
func (a Process) OwnRate() float64 {
	if a.log == nil {
		return 0
	}
	return a.log.Rate() * cmp.Or(a.Speed, 1)
}

// Part moves the window of an opened log to stretch number k, from 0. The log, replayed at a
// mean rate, is divided into stretches of length span; after the last one comes the first again.
// Part returns other kinds unchanged.
func (a Process) Part(k int, span time.Duration, rate float64) Process {
	if a.log != nil {
		// Only whole stretches are used: a shorter rest would have a window with a lower rate.
		stretches := max(1, int(a.Span(rate)/span))
		a.offset = time.Duration(k%stretches) * span
	}
	return a
}

// arguments returns pointers to the fields that the arguments of a's kind set, in the order in which
// they are written, and how many of them must be given. form is the syntax that an error shows; it is "" if
// the argument is a file.
func (a *Process) arguments() (fields []any, least int, form string) {
	switch a.Kind {
	case KindPoisson, KindConstant:
		return nil, 0, string(a.Kind) + " alone"
	case KindRamp:
		return []any{&a.From, &a.To}, 2, "ramp(FROM,TO), like ramp(500/s,3000/s) or ramp(0.5x,1.5x)"
	case KindSine:
		return []any{&a.Amplitude, &a.Period}, 2, "sine(AMPLITUDE,PERIOD), like sine(0.5,2s)"
	case KindBurst:
		return []any{&a.Size, &a.Period, &a.Cycle}, 1, "burst(SIZE), burst(SIZE,PERIOD) or burst(SIZE,PERIOD,CYCLE), like burst(12,5ms,396)"
	case KindInPhase:
		return []any{&a.Size}, 0, "in-phase, or in-phase(N)"
	}
	return nil, 0, ""
}

// String returns a in the form that Parse reads.
func (a Process) String() string {
	fields, least, _ := a.arguments()
	var args []string
	for i, field := range fields {
		value := reflect.ValueOf(field).Elem()
		if i >= least && value.IsZero() {
			break // not given, and so none after it
		}
		args = append(args, fmt.Sprint(value))
	}
	switch a.Kind {
	case "":
		return string(KindPoisson)
	case KindRamp:
		unit := "/s"
		if a.Relative {
			unit = "x"
		}
		args[0], args[1] = args[0]+unit, args[1]+unit
	case KindTrace, KindLog:
		args = []string{a.File}
		if a.Speed > 0 {
			args = append(args, fmt.Sprint(a.Speed)+"x")
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

// Parse reads arrivals in the spelling of scenarios and flags:
//
//	poisson  constant
//	ramp(500/s,3000/s)  ramp(0.5x,1.5x)  ramp(0/s,3000/s,even)
//	sine(0.5,2s)  sine(0.5,2s,even)
//	burst(12)  burst(12,5ms)  burst(12,5ms,396)
//	in-phase  in-phase(64)
//	trace(FILE)  log(FILE)  log(FILE,10x)
//
// It does not open the file of a trace or log. Errors quote s and name the mistake.
func Parse(s string) (Process, error) {
	name, rest, has := strings.Cut(strings.TrimSpace(s), "(")
	inner, closed := strings.CutSuffix(rest, ")")
	a := Process{Kind: Kind(name)}
	err := errors.New("the brackets do not match")
	// Writing even outside of the brackets is a likely mistake, so it gets a special error.
	before, outside := strings.CutSuffix(strings.ReplaceAll(s, " ", ""), "),even")
	switch {
	case outside:
		err = fmt.Errorf("even goes inside the brackets: %s,even)", before)
	case has == closed:
		err = a.parse(inner, has)
	}
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return Process{}, fmt.Errorf("arrivals %.80q: %w", s, err)
	}
	return a, nil
}

// parse reads the arguments of a's kind.
func (a *Process) parse(inner string, has bool) (err error) {
	switch a.Kind {
	case "":
		return fmt.Errorf("no kind; want one of %s", Help)
	case KindTrace:
		a.File = strings.TrimSpace(inner) // a comma is part of the name
		return nil
	case KindLog:
		a.File, a.Speed, err = parseLog(inner)
		return err
	}
	var args []string
	if has {
		args = strings.Split(inner, ",")
	}
	for i := range args {
		args[i] = strings.TrimSpace(args[i])
	}
	// The word even may end the arguments of the kinds that have the choice.
	if last := len(args) - 1; last > 0 && args[last] == "even" && (a.Kind == KindRamp || a.Kind == KindSine) {
		a.Even, args = true, args[:last]
	}
	fields, least, form := a.arguments()
	if form != "" && (len(args) < least || len(args) > len(fields)) {
		return fmt.Errorf("want %s", form)
	}
	for i, field := range fields[:min(len(args), len(fields))] {
		if err := a.read(field, args[i]); err != nil {
			return err
		}
	}
	return nil
}

// read parses the text of an argument into its field, which is one of a's.
func (a *Process) read(field any, text string) (err error) {
	switch field := field.(type) {
	case *int:
		if *field, err = strconv.Atoi(text); err != nil || *field < 1 {
			return fmt.Errorf("%q is not a whole number above 0", text)
		}
	case *time.Duration:
		if *field, err = time.ParseDuration(text); err != nil || *field <= 0 {
			return fmt.Errorf("%q is not a duration above 0 like 5ms", text)
		}
	case *float64:
		if a.Kind == KindRamp {
			return a.readRate(field, text)
		}
		if *field, err = strconv.ParseFloat(text, 64); err != nil {
			return fmt.Errorf("amplitude %q is not a number like 0.5", text)
		}
	}
	return nil
}

// readRate parses "500/s", or "0.5x", which is relative, into From or To of a ramp.
func (a *Process) readRate(field *float64, text string) (err error) {
	number, perSecond := strings.CutSuffix(text, "/s")
	number, relative := strings.CutSuffix(number, "x")
	*field, err = strconv.ParseFloat(number, 64)
	switch {
	case err != nil || perSecond == relative:
		return fmt.Errorf("%q is not a rate like 500/s or 0.5x", text)
	case field == &a.To && relative != a.Relative:
		return errors.New("one rate is absolute and one relative; give both as N/s or both as Nx")
	}
	a.Relative = relative
	return nil
}

// parseLog reads "FILE" or "FILE,10x"; any other comma is part of the name.
func parseLog(s string) (file string, speed float64, err error) {
	s = strings.TrimSpace(s)
	i := strings.LastIndexByte(s, ',')
	if i < 0 {
		return s, 0, nil
	}
	factor, isSpeed := strings.CutSuffix(strings.TrimSpace(s[i+1:]), "x")
	speed, err = strconv.ParseFloat(factor, 64)
	switch {
	// The text after the comma is no speed, so the comma belongs to the file's name.
	case !isSpeed || err != nil:
		return s, 0, nil
	case !(speed > 0 && speed <= maxArrivalRate):
		return "", 0, fmt.Errorf("a speed of %sx; give one above 0 up to %.0fx", factor, maxArrivalRate)
	}
	return strings.TrimSpace(s[:i]), speed, nil
}

// UnmarshalText parses text as Parse does, for decoders.
func (a *Process) UnmarshalText(text []byte) (err error) {
	*a, err = Parse(string(text))
	return err
}

// MarshalText returns String. It never fails.
func (a Process) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Set parses s as Parse does, for flags.
func (a *Process) Set(s string) error { return a.UnmarshalText([]byte(s)) }

// Type returns the name of the flag's value in help.
func (a *Process) Type() string { return "arrivals" }

// poisson draws the sums of exponential gaps with mean 1/rate, which are a Poisson process.
func poisson(rate float64, span time.Duration, rng *rand.Rand) iter.Seq[time.Duration] {
	gap := float64(time.Second) / rate
	return func(yield func(time.Duration) bool) {
		// The sum stays a float, so that gaps of less than a nanosecond are not lost in rounding.
		for t := rng.ExpFloat64() * gap; t < float64(span) && yield(time.Duration(t)); t += rng.ExpFloat64() * gap {
		}
	}
}

// constant draws k/rate for k = 0, 1, ….
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
		gap, n := rng.ExpFloat64, 0.0
		if even {
			gap = func() float64 { return 1 }
		} else {
			n = gap()
		}
		for ; n < total; n += gap() {
			// Rounding may place the last event at the window's end, which is outside of it.
			if t := time.Duration(when(n)); t >= span || !yield(t) {
				return
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
