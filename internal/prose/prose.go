// Package prose writes small parts of sentences.
package prose

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Plural writes n and the word, with an s unless n is 1.
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// FirstLine is what of another program's text goes into a sentence.
func FirstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(first)
}

// PerSecond writes a rate with a comma between every three digits.
func PerSecond(rate float64) string {
	if rate < 100 {
		return fmt.Sprintf("%.3g/s", rate)
	}
	digits := fmt.Sprintf("%.0f", rate)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + "/s"
}

// Digits writes three of them, and all before the point.
func Digits(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// Seconds writes a time in the unit that suits it, to three digits and at most three decimals.
func Seconds(v float64) string {
	unit := "s"
	switch {
	case v == 0 || v >= 1:
	case v >= 1e-3:
		v, unit = 1e3*v, "ms"
	case v >= 1e-6:
		v, unit = 1e6*v, "µs"
	default:
		v, unit = 1e9*v, "ns"
	}
	decimals := 0
	if v > 0 {
		decimals = min(max(2-int(math.Floor(math.Log10(v))), 0), 3)
	}
	return strconv.FormatFloat(v, 'f', decimals, 64) + " " + unit
}
