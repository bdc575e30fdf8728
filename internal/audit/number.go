package audit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Units of what is printed.
var (
	timeUnits = map[string]float64{
		"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "sec": 1, "secs": 1, "seconds": 1, "m": 60, "h": 3600,
	}
	// Of counts: as wrk writes them.
	countUnits = map[string]float64{"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
	rateUnits  = map[string]float64{
		"": 1, "/s": 1, "req/s": 1, "requests/s": 1, "rps": 1, "k": 1e3, "k/s": 1e3, "M": 1e6, "M/s": 1e6, "k req/s": 1e3, "M req/s": 1e6,
	}
	// Of bytes: load tools mean powers of 1024, whatever they write.
	byteUnits = map[string]float64{
		"": 1, "B": 1, "bytes": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
		"kB": 1 << 10, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30,
	}
	shareUnits = map[string]float64{"": 1, "%": .01}
)

// figure reads a number with one of the units behind it, in which it is left open by
// half of its last digit. Commas between digits are taken out.
func figure(text string, units map[string]float64) (Figure, error) {
	text = strings.TrimSpace(text)
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("+-0123456789.,", r) })
	if end < 0 {
		end = len(text)
	}
	digits, unit := strings.ReplaceAll(text[:end], ",", ""), strings.TrimSpace(text[end:])
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || math.IsInf(v, 0) {
		return Figure{}, fmt.Errorf("%q is no number", text)
	}
	factor, ok := units[unit]
	switch {
	case !ok && unit == "":
		return Figure{}, fmt.Errorf("%q has no unit; write one, like %sms", text, text)
	case !ok:
		return Figure{}, fmt.Errorf("%q has an unknown unit", text)
	}
	_, fraction, _ := strings.Cut(digits, ".")
	half := .5 * math.Pow10(-len(fraction))
	return Figure{v * factor, half * factor}, nil
}

// count reads a number of things, which is exact unless it is written in thousands.
func count(text string) (Figure, error) {
	f, err := figure(text, countUnits)
	if err == nil && f.Half == .5 {
		f.Half = 0
	}
	return f, err
}

// duration reads a time: one number with its unit, or several as Go writes them, like
// 1m30.5s.
func duration(text string) (Figure, error) {
	text = strings.TrimSpace(text)
	sum := Figure{}
	for rest := text; ; {
		end := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("+-0123456789.,", r) })
		if end <= 0 {
			return figure(text, timeUnits) // which says what is wrong
		}
		next := strings.IndexAny(rest[end:], "0123456789")
		part := rest
		if next >= 0 {
			part = rest[:end+next]
		}
		f, err := figure(part, timeUnits)
		if err != nil {
			return Figure{}, err
		}
		sum = Figure{sum.Value + f.Value, f.Half}
		if next < 0 {
			return sum, nil
		}
		rest = rest[end+next:]
	}
}
