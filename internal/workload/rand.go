package workload

// A Rand is a SplitMix64 stream: eight bytes of state, the same numbers for the
// same seed on every machine and Go version. It is a math/rand/v2 Source. It is
// not safe for concurrent use. (Steele, Lea, Flood, "Fast Splittable
// Pseudorandom Number Generators", OOPSLA 2014; constants of Vigna's splitmix64.c.)
type Rand struct{ state uint64 }

// NewRand returns the stream of seed.
func NewRand(seed uint64) *Rand { return &Rand{seed} }

// Uint64 returns the next number, uniform over all of uint64.
func (r *Rand) Uint64() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix64(r.state)
}

// Float64 returns the next number, uniform in [0, 1).
func (r *Rand) Float64() float64 { return float64(r.Uint64()>>11) / (1 << 53) }

// mix64 is SplitMix64's finaliser, a bijection in which every input bit moves
// about half of the output bits.
func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// hash64 is FNV-1a over s, finalised: short decimal strings that differ in one
// digit must start unrelated streams. (Fowler, Noll, Vo; RFC 9923.)
func hash64(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return mix64(h)
}
