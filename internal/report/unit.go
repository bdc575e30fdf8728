package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"schedlab/internal/stats"
)

// nbsp joins a number to its unit, so that no line breaks between them.
const nbsp = "\u00a0"

// none stands for a figure that was not measured.
const none = "-"

// A scale formats the values of one column in one unit with one number of decimals, so that
// digits of equal weight stand above each other.
type scale struct {
	unit     string
	factor   float64 // one unit, in the column's base unit
	decimals int
}

// timeScale returns the scale for times in seconds: the largest unit that keeps the largest value
// at or above 1, with three significant digits for the smallest value and at most three decimals.
func timeScale(seconds ...float64) scale {
	low, high := span(seconds)
	s := scale{unit: "ns", factor: 1e-9}
	for _, larger := range []scale{{unit: "µs", factor: 1e-6}, {unit: "ms", factor: 1e-3}, {unit: "s", factor: 1}} {
		if high >= larger.factor {
			s = larger
		}
	}
	s.decimals = decimals(low/s.factor, 3)
	return s
}

// decimals returns how many decimals, 0..3, show digits significant digits of v.
func decimals(v float64, digits int) int {
	if !(v > 0) {
		return 0
	}
	return min(max(digits-1-int(math.Floor(math.Log10(v))), 0), 3)
}

// span returns the smallest and the largest positive finite value; 0 and 0 if there is none.
func span(values []float64) (low, high float64) {
	for _, v := range values {
		if !(v > 0) || math.IsInf(v, 1) {
			continue
		}
		if low == 0 || v < low {
			low = v
		}
		high = max(high, v)
	}
	return low, high
}

// number formats v, in the column's base unit, without the unit.
func (s scale) number(v float64) string {
	return group(strconv.FormatFloat(v/s.factor, 'f', s.decimals, 64))
}

// format formats v, in the column's base unit, with the unit.
func (s scale) format(v float64) string { return s.number(v) + nbsp + s.unit }

// signed is format with a sign. A value that rounds to zero gets ±.
func (s scale) signed(v float64) string {
	text := s.format(v)
	switch bare := strings.TrimPrefix(text, "-"); {
	case strings.Trim(s.number(math.Abs(v)), "0.") == "":
		return "±" + bare
	case v > 0:
		return "+" + text
	}
	return text
}

// seconds formats a time in the unit that suits it.
func seconds(v float64) string {
	if v == 0 {
		return "0" + nbsp + "s"
	}
	return timeScale(v).format(v)
}

// rate formats a number per second.
func rate(v float64) string { return group(strconv.FormatFloat(v, 'f', decimals(v, 2), 64)) + "/s" }

// count formats a whole number.
func count(n int) string { return group(strconv.Itoa(n)) }

// group puts a comma between every three digits before the point.
func group(number string) string {
	sign, digits := "", number
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return sign + whole
}

// change formats a ratio as [stats.Change] does.
func change(ratio float64) string { return strings.ReplaceAll(stats.Change(ratio), " ", nbsp) }

// bound formats an end of an interval as a change. If decided, the interval excludes no
// difference, so bound adds digits until the end does not round to ±0.
func bound(ratio float64, decided bool) string {
	text := change(ratio)
	for digits := 2; decided && strings.HasPrefix(text, "±") && digits <= 6; digits++ {
		text = strings.ReplaceAll(stats.Percent(ratio, digits), " ", nbsp)
	}
	return text
}

// plain formats a figure of unknown unit: a whole number as a count, any other with three digits.
func plain(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e9 {
		return count(int(v))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// plural returns n and the word, with an s unless n is 1.
func plural(n int, word string) string {
	if n == 1 {
		return "1" + nbsp + word
	}
	return fmt.Sprintf("%s%s%ss", count(n), nbsp, word)
}
