package workload

import "time"

// chunkIters is one chunk of Spin: about 20 us on the machines tried (700
// iterations per microsecond, some five cycles each).
const chunkIters = 15_000

// Spin does exactly iters iterations of fixed CPU work (none when iters is not
// positive): a dependent chain of register operations without memory traffic,
// so that its cost is the core's speed and nothing else. Because it counts
// iterations and not time, time spent descheduled is never taken for work. It
// runs in chunks of about 20 us, and the scheduler may preempt it at any point.
func Spin(iters int) {
	x := uint64(88172645463325252)
	for ; iters > chunkIters; iters -= chunkIters {
		x = chunk(x, chunkIters)
	}
	if chunk(x, iters) == 0 { // never true: xorshift has no zero in its orbit
		panic("workload: xorshift reached zero")
	}
}

// chunk runs xorshift64 n times (Marsaglia, "Xorshift RNGs", 2003, triple 13,
// 7, 17, and the seed in Spin).
//
//go:noinline
func chunk(x uint64, n int) uint64 {
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// Calibrate returns how many iterations of Spin this core does in a microsecond,
// as the best of 20 rounds of about half a millisecond: the best round is the
// one that was neither descheduled nor on a core still waking up. It takes some
// 10 ms. Calibrate once per run and give every arm the result, or the arms
// differ by the calibration's error.
func Calibrate() float64 {
	const rounds, iters = 20, 25 * chunkIters
	best := time.Duration(1<<63 - 1)
	for range rounds {
		start := time.Now()
		Spin(iters)
		best = min(best, max(time.Since(start), 1))
	}
	return iters / (float64(best) / float64(time.Microsecond))
}
