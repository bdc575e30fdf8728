// Package prose formats counts, rates and times for use in sentences. Its functions are pure.
package prose

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Plural returns n and the word, with an s unless n is 1: "1 arm", "3 arms".
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// FirstLine returns the first line of text without white space around it. It makes the message of another
// program fit into a sentence. It is "" for empty text.
func FirstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(first)
}

// PerSecond formats a rate, in events per second: three digits below 100, else whole numbers with
// a comma between every three digits, as in "12,500/s".
func PerSecond(rate float64) string {
	if rate < 100 {
		return fmt.Sprintf("%.3g/s", rate)
	}
	return Grouped(fmt.Sprintf("%.0f/s", rate))
}

// Grouped puts a comma between every three digits at the beginning of a text such as "-12500.25/s", up
// to the first character that is no digit.
func Grouped(number string) string {
	unsigned := strings.TrimPrefix(number, "-")
	digits := strings.IndexFunc(unsigned+".", func(c rune) bool { return c < '0' || c > '9' })
	sign := len(number) - len(unsigned)
	// Commas are put in from the right, so that those already there do not move the next place.
	for i := sign + digits - 3; i > sign; i -= 3 {
		number = number[:i] + "," + number[i:]
	}
	return number
}

// Digits formats v with three significant digits, or as a whole number from 100 on.
// Below 0.0001 it has an exponent, as in 1.23e-05.
func Digits(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// RoundTime formats a time that somebody set, in seconds: "20 µs", "1.5 s", without the zeros that a measured time may end in.
func RoundTime(v float64) string {
	factor, unit := 1.0, "s"
	switch {
	case v >= 1 || v == 0:
	case v >= 1e-3:
		factor, unit = 1e-3, "ms"
	case v >= 1e-6:
		factor, unit = 1e-6, "µs"
	default:
		factor, unit = 1e-9, "ns"
	}
	return Grouped(strconv.FormatFloat(v/factor, 'g', 6, 64)) + " " + unit
}

// Seconds formats v, a time in seconds, in s, ms, µs or ns, whichever suits it: three significant
// digits and at most three decimals, as in "1.25 ms".
func Seconds(v float64) string {
	const rounded = 1.0005 // what three digits round up to the next power of ten, as 999.6 µs, is written as that
	unit := "s"
	switch {
	case v < 0:
		return "-" + Seconds(-v)
	case v == 0 || v*rounded >= 1:
	case v*rounded >= 1e-3:
		v, unit = 1e3*v, "ms"
	case v*rounded >= 1e-6:
		v, unit = 1e6*v, "µs"
	default:
		v, unit = 1e9*v, "ns"
	}
	// A value from 100 on needs no decimals for three digits, one from 10 on needs one, and so on.
	decimals := 0
	if v > 0 {
		decimals = min(max(2-int(math.Floor(math.Log10(v*rounded))), 0), 3)
	}
	return Grouped(strconv.FormatFloat(v, 'f', decimals, 64)) + " " + unit
}
