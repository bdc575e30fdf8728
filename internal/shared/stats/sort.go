package stats

import (
	"slices"
	"time"
)

// Sort sorts times in ascending order, in time proportional to their number. It overwrites space, which must be as long as
// times.
//
// It sorts by digits of 11 bits, the lowest first (Knuth, The Art of Computer Programming 3, section 5.2.5), and skips the
// digits in which no two times differ. For the 400,000 response times of a long trial it takes a twentieth of the time of
// [slices.Sort].
func Sort(times, space []time.Duration) {
	const digit = 11
	const few = 1 << digit // below it, counting digits costs more than comparing times
	if len(times) < few {
		slices.Sort(times)
		return
	}
	const negative = 1 << 63 // without the sign's bit turned over, negative times would come last
	differ := uint64(0)
	for _, t := range times {
		differ |= uint64(t) ^ uint64(times[0])
	}
	from, to := times, space[:len(times)]
	for shift := 0; differ>>shift != 0; shift += digit {
		if differ>>shift%few == 0 {
			continue
		}
		var next [few]int // where the next time with this digit goes
		for _, t := range from {
			next[(uint64(t)^negative)>>shift%few]++
		}
		sum := 0
		for i, n := range next {
			next[i], sum = sum, sum+n
		}
		for _, t := range from {
			at := &next[(uint64(t)^negative)>>shift%few]
			to[*at] = t
			*at++
		}
		from, to = to, from
	}
	copy(times, from)
}
