package stats

import (
	"math"
	"time"
)

// longestAdvised is the longest window, in seconds, that is worth advising.
const longestAdvised = 60

// LongestBudget is the longest budget that is worth advising.
const LongestBudget = 30 * time.Minute

// Widened returns the window, in seconds, in which the most blocks a run may have would decide
// what blocks of the given window would. An interval shrinks with the square root of the
// measured time, so one is traded for the other. The result is rounded up to two digits; it is
// 0 if it would exceed a minute.
func Widened(window float64, blocks int) float64 {
	window *= max(1, float64(blocks)/lastLook)
	step := math.Pow(10, math.Floor(math.Log10(window))-1)
	if window = math.Round(math.Ceil(window/step-1e-9)) * step; window > longestAdvised {
		return 0
	}
	return window
}
