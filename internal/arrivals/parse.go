package arrivals

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

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
	// Writing even outside of the brackets is a likely mistake, so it gets an error of its own.
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
	args := strings.Split(inner, ",")
	for i := range args {
		args[i] = strings.TrimSpace(args[i])
	}
	if !has {
		args = nil
	}
	// The word even may end the arguments of the kinds that have the choice.
	if last := len(args) - 1; last > 0 && args[last] == "even" && (a.Kind == KindRamp || a.Kind == KindSine) {
		a.Even, args = true, args[:last]
	}
	want := func(least, most int, form string) error {
		if len(args) < least || len(args) > most {
			return fmt.Errorf("want %s", form)
		}
		return nil
	}
	switch a.Kind {
	case "":
		return fmt.Errorf("no kind; want one of %s", Help)
	case KindPoisson, KindConstant:
		return want(0, 0, string(a.Kind)+" alone")
	case KindRamp:
		if err := want(2, 2, "ramp(FROM,TO), like ramp(500/s,3000/s) or ramp(0.5x,1.5x)"); err != nil {
			return err
		}
		var to bool
		if a.From, a.Relative, err = parseRate(args[0]); err != nil {
			return err
		}
		if a.To, to, err = parseRate(args[1]); err == nil && to != a.Relative {
			err = errors.New("one rate is absolute and one relative; give both as N/s or both as Nx")
		}
	case KindSine:
		if err := want(2, 2, "sine(AMPLITUDE,PERIOD), like sine(0.5,2s)"); err != nil {
			return err
		}
		if a.Amplitude, err = strconv.ParseFloat(args[0], 64); err != nil {
			return fmt.Errorf("amplitude %q is not a number like 0.5", args[0])
		}
		a.Period, err = parsePeriod(args[1])
	case KindBurst:
		if err := want(1, 3, "burst(SIZE), burst(SIZE,PERIOD) or burst(SIZE,PERIOD,CYCLE), like burst(12,5ms,396)"); err != nil {
			return err
		}
		if a.Size, err = parseCount(args[0]); err == nil && len(args) > 1 {
			a.Period, err = parsePeriod(args[1])
		}
		if err == nil && len(args) > 2 {
			a.Cycle, err = parseCount(args[2])
		}
	case KindInPhase:
		if err := want(0, 1, "in-phase, or in-phase(N)"); err != nil || len(args) == 0 {
			return err
		}
		a.Size, err = parseCount(args[0])
	case KindTrace:
		a.File = strings.TrimSpace(inner) // a comma is part of the name
	case KindLog:
		a.File, a.Speed, err = parseLog(inner)
	}
	return err
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

// parseRate reads "500/s", or "0.5x", which is relative.
func parseRate(s string) (v float64, relative bool, err error) {
	n, perSecond := strings.CutSuffix(s, "/s")
	if !perSecond {
		n, relative = strings.CutSuffix(s, "x")
	}
	v, err = strconv.ParseFloat(n, 64)
	if err != nil || perSecond == relative {
		return 0, false, fmt.Errorf("%q is not a rate like 500/s or 0.5x", s)
	}
	return v, relative, nil
}

// parsePeriod reads a duration above 0.
func parsePeriod(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a duration above 0 like 5ms", s)
	}
	return d, nil
}

// parseCount reads a whole number above 0.
func parseCount(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q is not a whole number above 0", s)
	}
	return n, nil
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
