// Package say writes what the pages of a report have in common: figures with their units in figures.go, and a whole
// document or drawing to where it goes in write.go. It judges nothing, and knows no kind of result.
//
// A number and its unit are joined by [NBSP], which the writers of texts replace by a space.
package say

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// TimeLabel formats a round time, in seconds, with its unit and without trailing zeros. A round time
// between two close ticks may have up to six digits.
func TimeLabel(v float64) string {
	if v == 0 {
		return "0"
	}
	s := TimeScale(v)
	return strconv.FormatFloat(v/s.Factor, 'g', 6, 64) + NBSP + s.Unit
}

// CountLabel formats a round number.
func CountLabel(v float64) string { return prose.Grouped(strconv.FormatFloat(v, 'f', -1, 64)) }

// UpperFirst returns s with its first letter in upper case. s must begin with an ASCII letter.
func UpperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// OrNone formats a figure that may be unknown: nil is a dash.
func OrNone[T any](v *T, format func(T) string) string {
	if v == nil {
		return None
	}
	return format(*v)
}

// NBSP joins a number to its unit, so that no line breaks between them.
const NBSP = "\u00a0"

// None stands for a figure that was not measured.
const None = "-"

// Negligible is a mean time, in seconds, too small for a column: 5 ns, less than reading a clock takes.
const Negligible = 5e-9

// A Scale formats the values of one column in one unit with one number of decimals, so that
// digits of equal weight stand above each other. TimeScale makes one from the column's values.
type Scale struct {
	Unit     string
	Factor   float64 // one unit, in the column's base unit
	Decimals int
}

// TimeScale returns the scale for times in seconds: the largest unit that keeps the largest
// value at or above 1, with three significant digits for the smallest value and at most three
// decimals. Values that are not positive do not count.
func TimeScale(seconds ...float64) Scale {
	low, high := Span(seconds)
	s := Scale{Unit: "ns", Factor: 1e-9}
	for _, larger := range []Scale{{Unit: "µs", Factor: 1e-6}, {Unit: "ms", Factor: 1e-3}, {Unit: "s", Factor: 1}} {
		if high >= larger.Factor {
			s = larger
		}
	}
	s.Decimals = stats.Decimals(low/s.Factor, 3)
	return s
}

// Span returns the smallest and the largest positive finite value; 0 and 0 if there is none.
func Span(values []float64) (low, high float64) {
	for _, v := range values {
		switch {
		case v <= 0 || math.IsInf(v, 1) || math.IsNaN(v):
		case low == 0:
			low, high = v, v
		default:
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}

// Number formats v, in the column's base unit, without the unit.
func (s Scale) Number(v float64) string {
	return prose.Grouped(strconv.FormatFloat(v/s.Factor, 'f', s.Decimals, 64))
}

// Format formats v, in the column's base unit, with the unit.
func (s Scale) Format(v float64) string { return s.Number(v) + NBSP + s.Unit }

// Own is Format with three digits of v itself, as [stats.Metric.Printed] has them.
func (s Scale) Own(v float64) string {
	const rounded = 1.0005 // from here on three digits round up to the next power of ten
	s.Decimals = stats.Decimals(v/s.Factor*rounded, 3)
	return s.Format(v)
}

// Plus is Number with a sign. A value that rounds to zero gets ± as its sign.
func (s Scale) Plus(v float64) string {
	text := s.Number(v)
	switch {
	case strings.Trim(text, "-0.") == "":
		return "±" + strings.TrimPrefix(text, "-")
	case v > 0:
		return "+" + text
	}
	return text
}

// Signed is Format with a sign.
func (s Scale) Signed(v float64) string { return s.Plus(v) + NBSP + s.Unit }

// Seconds formats one time in the unit that suits it, with three significant digits.
func Seconds(v float64) string { return strings.ReplaceAll(prose.Seconds(v), " ", NBSP) }

// Rate formats a number per second, with two significant digits at least.
func Rate(v float64) string {
	return prose.Grouped(strconv.FormatFloat(v, 'f', stats.Decimals(v, 2), 64)) + "/s"
}

// Count formats a whole number.
func Count(n int) string { return prose.Grouped(strconv.Itoa(n)) }

// Change formats a ratio as [stats.Change] does, such as "+12 %", with nbsp before the per cent sign.
func Change(ratio float64) string { return strings.ReplaceAll(stats.Change(ratio), " ", NBSP) }

// Percent formats a ratio in per cent by a verb such as %.1f.
func Percent(verb string, ratio float64) string { return fmt.Sprintf(verb, 100*ratio) + NBSP + "%" }

// Plain formats a figure of unknown unit: a whole number as a count, any other with three digits.
func Plain(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e9 {
		return Count(int(v))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Exact formats v with all its digits, for programs.
func Exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Plural returns n and the word, with an s unless n is 1.
func Plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return Count(n) + NBSP + word
}

// Jain formats Jain's index.
func Jain(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }

// Endings lists the ends of requests without a good reply, the most frequent first, as "reset: 3, status 500: 1".
func Endings(ends map[string]int) string {
	var all []string
	for _, end := range request.Ends(ends) {
		all = append(all, end+": "+Count(ends[end]))
	}
	return strings.Join(all, ", ")
}
