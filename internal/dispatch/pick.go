package dispatch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Pick says which of the workers' queues a job is put into.
type Pick uint8

// The ways to pick.
const (
	RoundRobin Pick = iota // one after the other, whatever they have to do
	Least                  // the one with least to do, found by looking at all
	TwoChoices             // the one with less to do of two taken by chance
)

var pickNames = []string{"rr", "least", "p2c"}

func (p Pick) String() string { return pickNames[p] }

// Set parses a name, so that *Pick is a flag value.
func (p *Pick) Set(s string) error {
	i := slices.Index(pickNames, s)
	if i < 0 {
		return fmt.Errorf("unknown queue choice %q (want one of %s)", s, strings.Join(pickNames, ", "))
	}
	*p = Pick(i)
	return nil
}

// Type names the value in a command's help.
func (p *Pick) Type() string { return strings.Join(pickNames, "|") }

// pick returns the number of the queue for the next job.
func (p *perWorker[T]) pick() int {
	n := len(p.lanes)
	switch p.Pick {
	case Least:
		best, load := 0, p.lanes[0].load.Load()
		for i := 1; i < n && load > 0; i++ {
			if l := p.lanes[i].load.Load(); l < load {
				best, load = i, l
			}
		}
		return best
	case TwoChoices: // M. Mitzenmacher, "The power of two choices", IEEE TPDS 12(10), 2001
		if n == 1 {
			return 0
		}
		a, b := rand.IntN(n), rand.IntN(n-1)
		if b >= a {
			b++
		}
		if p.lanes[b].load.Load() < p.lanes[a].load.Load() {
			return b
		}
		return a
	}
	return int((p.turn.Add(1) - 1) % uint64(n))
}
