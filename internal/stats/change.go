package stats

import (
	"math"
	"strconv"
	"strings"
)

// multiple is the ratio from which a change is written as a factor.
const multiple = 4

// Change writes a ratio as people read it: 1.42 is "+42 %", 0.985 is "-1.5 %", 1 is
// "±0 %", and from fourfold on 12 is "×12".
func Change(ratio float64) string {
	if ratio >= multiple {
		digits := 1
		if ratio >= 10 {
			digits = 0
		}
		return "×" + strconv.FormatFloat(ratio, 'f', digits, 64)
	}
	digits := 1
	if math.Abs((ratio-1)*100) >= 9.95 {
		digits = 0
	}
	return Percent(ratio, digits)
}

// Percent writes a ratio as its difference from 1 in per cent, with this number of decimals: 1.42
// is "+42 %".
func Percent(ratio float64, digits int) string {
	v := (ratio - 1) * 100
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		text = "±0"
	} else if v > 0 {
		text = "+" + text
	}
	return text + " %"
}
