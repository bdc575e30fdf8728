package stats

import "math"

// longestAdvised is the longest window, in seconds, that is worth advising.
const longestAdvised = 60

// Widened is the window in which as many blocks as a run may have tell what so many of a
// shorter one would, for an interval shrinks with the square root of both: two digits, rounded
// up. It is 0 when that is longer than a minute.
func Widened(window float64, blocks int) float64 {
	window *= max(1, float64(blocks)/lastLook)
	step := math.Pow(10, math.Floor(math.Log10(window))-1)
	if window = math.Round(math.Ceil(window/step-1e-9)) * step; window > longestAdvised {
		return 0
	}
	return window
}
