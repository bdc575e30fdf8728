package workload

import "time"

// A Rand is a SplitMix64 stream: eight bytes of state, the same numbers for the
// same seed on every machine and Go version. It implements math/rand/v2's Source. It
// is not safe for concurrent use. (Steele, Lea, Flood, "Fast Splittable
// Pseudorandom Number Generators", OOPSLA 2014; constants of Vigna's splitmix64.c.)
type Rand struct{ state uint64 }

// NewRand returns the stream of seed.
func NewRand(seed uint64) *Rand { return &Rand{seed} }

// next returns the next number, uniform over all of uint64.
func (r *Rand) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix64(r.state)
}

// Float64 returns the next number, uniform in [0, 1).
func (r *Rand) Float64() float64 { return float64(r.next()>>11) / (1 << 53) }

// mix64 is SplitMix64's finaliser, a bijection in which every input bit moves
// about half of the output bits.
func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// hash64 returns the FNV-1a hash of s, passed through mix64, because short decimal
// strings that differ in one digit must start unrelated streams. (Fowler, Noll, Vo;
// RFC 9923.)
func hash64(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return mix64(h)
}

// chunkIters is the number of iterations in one chunk of spin: about 20 us on the
// machines tried (700 iterations per microsecond, some five cycles each).
const chunkIters = 15_000

// spin does exactly iters iterations of fixed CPU work (none when iters is not
// positive): a dependent chain of register operations without memory traffic,
// so that its cost depends only on the core's speed. Because it counts
// iterations and not time, time spent descheduled never counts as work. It
// runs in chunks of about 20 us, and the scheduler may preempt it at any point.
func spin(iters int) {
	x := uint64(88172645463325252)
	for ; iters > chunkIters; iters -= chunkIters {
		x = chunk(x, chunkIters)
	}
	if chunk(x, iters) == 0 { // never true: xorshift has no zero in its orbit
		panic("workload: xorshift reached zero")
	}
}

// chunk runs xorshift64 n times (Marsaglia, "Xorshift RNGs", 2003, triple 13,
// 7, 17, and the seed in spin).
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

// Calibrate returns the number of iterations of spin that this core does in a
// microsecond. It is the best of 20 rounds of about half a millisecond, because the
// best round was neither descheduled nor on a core that was still waking up. It
// takes some 10 ms. Calibrate once per run and give every arm the result, or the
// arms differ by the calibration's error.
func Calibrate() float64 {
	// 25 chunks take about half a millisecond.
	const rounds, iters = 20, 25 * chunkIters
	best := time.Duration(1<<63 - 1)
	for range rounds {
		start := time.Now()
		spin(iters)
		best = min(best, max(time.Since(start), 1))
	}
	return iters / (float64(best) / float64(time.Microsecond))
}
