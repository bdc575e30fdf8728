package stats

import "slices"

const lastLook = 40 // more blocks than this are not looked at

// looks are the numbers of blocks at which a comparison may be decided.
var looks = [...]int{10, 12, 13, 14, 16, 20, 24, 28, 32, 36, lastLook}

// Looks returns the numbers of blocks at which a comparison looks at its data, ascending. They are fixed in advance, because
// the probability of error is spent over them. The slice is a copy.
func Looks() []int { return slices.Clone(looks[:]) }

// LookRank returns the rank k of the interval [x_(k), x_(n+1-k)] that n blocks give at a look when the intervals of all looks
// are to hold together with probability 1-alpha: it is 0 when n is no look or gives no interval yet.
//
// It is the group-sequential sign test. When the median of x is 0, the number of blocks below 0 is a random walk of fair
// coins, whatever the distribution of x, as long as the blocks are independent and the order of arms in each is drawn at
// random. With q(n, s) the probability that s of n are below 0 and no look before n excluded 0,
//
//	q(n, s) = q(n-1, s)/2 + q(n-1, s-1)/2
//
// and a look takes the largest k for which what has been excluded up to it is at most alpha·n/40, both sides together.
func LookRank(n int, alpha float64) int {
	i, found := slices.BinarySearch(looks[:], n)
	if !found {
		return 0
	}
	ranks, _ := spend(alpha, 1)
	return ranks[i]
}

// spend returns the rank of each look among bases·n ratios, and the error that all looks spend together, at most alpha. A
// block has the arm once and the baseline bases times. If all are alike, each order of them is as likely, so how many of a
// block's ratios are below 1 is any of 0 to bases with the same probability: with one base a fair coin.
func spend(alpha float64, bases int) (ranks [len(looks)]int, spent float64) {
	q := make([]float64, bases*lastLook+1)
	q[0] = 1
	look := 0
	for n := 1; n <= lastLook; n++ {
		all := bases * n
		for s := all; s >= 0; s-- { // downwards: q[s] needs those below it as they were
			for less := 1; less <= min(bases, s); less++ {
				q[s] += q[s-less]
			}
			q[s] /= float64(bases + 1)
		}
		if n != looks[look] {
			continue
		}
		limit := alpha * float64(n) / lastLook * (1 + rounding)
		k := 0
		for ; k < all/2 && spent+q[k]+q[all-k] <= limit; k++ {
			spent += q[k] + q[all-k]
			q[k], q[all-k] = 0, 0
		}
		ranks[look] = k
		look++
	}
	return ranks, spent
}

// sameRanks returns the rank of each look for a verdict of SAME, and the error that all looks spend on it, at most alpha. The
// true ratio cannot lie beyond both ends of the interval, so each may take the whole alpha, as in the two one-sided tests of
// Schuirmann (1987), where a difference from 1 shares it between both.
func sameRanks(alpha float64) (ranks [len(looks)]int, spent float64) {
	ranks, both := spend(2*alpha, 1)
	return ranks, both / 2
}

// FirstLook returns the fewest blocks that can decide a difference when this number of comparisons share Alpha; 0 if no number
// of looks can. SAME may need fewer. Below 1, comparisons counts as 1. bases is 1 for [Compare], and 2 for [CompareCopies].
func FirstLook(comparisons, bases int) int {
	ranks, _ := spend(Alpha/float64(max(comparisons, 1)), bases)
	for i, n := range looks {
		if ranks[i] > 0 {
			return n
		}
	}
	return 0
}

// Unspent returns the part of Alpha, 0 or more, that is left when comparisons share it equally, since ranks are whole numbers.
func Unspent(comparisons int) float64 {
	share := Alpha / float64(max(comparisons, 1))
	_, differs := spend(share, 1)
	_, same := sameRanks(share)
	return Alpha - float64(max(comparisons, 1))*max(differs, same)
}

// settles returns the first look after n at which the sign test would decide if the blocks still to come fell like the first
// n, with minority of them on the side with fewer blocks; 0 if no look would decide.
func settles(n, minority int, ranks [len(looks)]int) int {
	for i, look := range looks {
		others := (minority*look + n - 1) / n
		if look > n && others < ranks[i] {
			return look
		}
	}
	return 0
}
