package capacity

import (
	"math"
	"math/rand/v2"

	"schedlab/internal/stats"
)

// Options are what a search is told. Rates are requests per second.
type Options struct {
	SLO     stats.SLO // at least one term
	Seed    uint64    // of every order
	Windows int       // most windows of an arm, refused ones included; at least [Least]
	Floor   float64   // lowest rate that a window can judge
	Ceiling float64   // highest that may be offered; 0: no bound
}

// The numbers of measurement.md §6.
const (
	looks               = 5         // windows over the range
	lowest, highest     = .5, 1.02  // of X_max: the range
	settledAt           = .03       // half-width at which an estimate is good enough
	below, above        = .97, 1.08 // of the estimate: where it is verified and refuted
	wider               = .05       // further away each time that it comes out otherwise
	trials              = 3         // windows there
	refuting            = 2         // of those that must break the objective above
	reserved            = 2*trials + 2
	leastNear           = 2
	reach               = 1.25
	retries             = 2
	overload            = 1.2 // of X_max
	closeEnough         = .06 // relative width of a bracket that is not halved any more
	mostAgain, majority = 3, 2
)

// Least is the fewest windows a search is possible with.
const Least = looks + leastNear + reserved

// around is where the windows about an estimate lie.
var around = []float64{-.12, -.08, -.04, 0, .04, .06}

// A search is that of one arm.
type search struct {
	Options
	xmax    float64
	rng     *rand.Rand
	windows []Window
	offsets []float64 // what is left of around
	ask     func(Step) bool
	over    bool // ended before its time
}

func newSearch(o Options, arm int, xmax float64) *search {
	return &search{Options: o, xmax: xmax, rng: rand.New(rand.NewPCG(o.Seed, uint64(arm)+1))}
}

// steps is the whole search; the caller of each step appends its window before it
// asks for the next.
func (s *search) steps(yield func(Step) bool) {
	s.ask = yield
	s.look()
	s.narrow()
	s.confirm()
	s.recover()
}

func (s *search) left() int { return s.Windows - len(s.windows) }

// offer measures a window, once more while it is refused. ok is false when there
// was no window left for it, or none that could be used.
func (s *search) offer(rate float64, why Purpose, more int) (w Window, ok bool) {
	for range 1 + more {
		if s.over || s.left() <= 0 {
			return w, false
		}
		if !s.ask(Step{s.clamp(rate), why}) {
			s.over = true
			return w, false
		}
		w = s.windows[len(s.windows)-1]
		if !w.Refused {
			return w, true
		}
	}
	return w, false
}

func (s *search) clamp(rate float64) float64 {
	rate = max(rate, s.Floor)
	if s.Ceiling > 0 {
		rate = min(rate, s.Ceiling)
	}
	return rate
}

// look measures the whole range in random order.
func (s *search) look() {
	for _, i := range s.rng.Perm(looks) {
		share := lowest + (highest-lowest)*float64(i)/(looks-1)
		s.offer(share*s.xmax, Curve, 1)
	}
}

// span is the range of rates that windows have shown; 0, 0 for none.
func span(windows []Window) (low, high float64) {
	for _, w := range windows {
		if w.evidence() {
			if low == 0 || w.Rate < low {
				low = w.Rate
			}
			high = max(high, w.Rate)
		}
	}
	return low, high
}

// narrow measures about the estimate until it changes no more. While nothing breaks the
// objective, or nothing keeps it, there is none, and it goes on beyond the range.
func (s *search) narrow() {
	for near := 0; s.left() > reserved && !s.over; {
		b, _ := s.binding()
		switch {
		case b.rate == 0 || math.IsInf(b.rate, 1):
			if !s.extend(b) {
				return
			}
		case near >= leastNear && b.half <= settledAt:
			return
		default:
			s.offer(s.next(b), Near, 0)
			near++
		}
	}
}

// extend measures one rate above the range, or below it, and reports whether another
// may tell more.
func (s *search) extend(b bound) bool {
	low, high := span(s.windows)
	switch {
	case high == 0:
		return false // not one window could be used
	case b.rate == 0 && max(s.clamp(low/2), promise(s.SLO)) >= low:
		return false
	case b.rate == 0:
		s.offer(max(low/2, promise(s.SLO)), Reach, 1)
		return true
	case s.clamp(high*reach) <= high:
		return false
	}
	_, ok := s.offer(high*reach, Reach, 1)
	return ok // or else it is the bench's limit
}

// next is the rate that would tell most about the bound.
func (s *search) next(b bound) float64 {
	if b.line == nil && b.broken-b.kept > closeEnough*b.rate {
		return b.rate
	}
	if len(s.offsets) == 0 {
		for _, i := range s.rng.Perm(len(around)) {
			s.offsets = append(s.offsets, around[i])
		}
	}
	off := s.offsets[0]
	s.offsets = s.offsets[1:]
	return b.rate * (1 + off)
}

// binding is the term that gives way first.
func (s *search) binding() (b bound, term int) { return binding(s.SLO, s.windows) }

func binding(slo stats.SLO, windows []Window) (b bound, term int) {
	for i, t := range slo {
		if next := boundOf(t, i, windows); i == 0 || next.rate < b.rate {
			b, term = next, i
		}
	}
	return b, term
}

// confirm measures below and above the estimate, further away each time that it
// comes out otherwise.
func (s *search) confirm() {
	b, _ := s.binding()
	least, most := span(s.windows)
	promised := promise(s.SLO) // below it nothing can be verified
	switch {
	case most == 0:
		return // not one window could be used
	case math.IsInf(b.rate, 1):
		s.all(most, Verify)
		return
	case b.rate <= s.Floor || b.rate == 0:
		s.all(max(least, promised), Refute)
		return
	}
	low, high := max(below*b.rate, promised), above*b.rate
	if b.rate < promised {
		high = promised
	}
	for lowDone, highDone := false, false; !(lowDone && highDone) && s.left() > 0 && !s.over; {
		if !lowDone {
			lowDone = s.all(low, Verify) || low <= max(s.Floor, promised)
			low = max(min(below*s.estimate(b.rate), low*(1-wider)), promised)
		}
		if !highDone {
			highDone = s.all(high, Refute) || s.Ceiling > 0 && high >= s.Ceiling
			high = max(above*s.estimate(b.rate), high*(1+wider))
		}
	}
}

// estimate is where the binding term gives way now, or else what was said before.
func (s *search) estimate(before float64) float64 {
	if b, _ := s.binding(); b.rate > 0 && !math.IsInf(b.rate, 1) {
		return b.rate
	}
	return before
}

// all measures a rate until it is verified, or refuted, or cannot be any more.
func (s *search) all(rate float64, why Purpose) bool {
	kept, broken := 0, 0
	for range trials {
		w, ok := s.offer(rate, why, retries)
		if !ok {
			return false
		}
		if w.Keeps(s.SLO) {
			kept++
		} else {
			broken++
		}
		switch {
		case why == Verify && broken > 0, why == Refute && kept > trials-refuting:
			return false
		case why == Refute && broken == refuting:
			return true
		}
	}
	return true
}

// recover overloads a server and then offers it what was verified. One window that
// fails may have other reasons, so most of three decide.
func (s *search) recover() {
	f := Judge(s.Options, s.windows)
	if f.Low == 0 || s.left() < 2 {
		return
	}
	if _, ok := s.offer(max(f.High, overload*max(s.xmax, f.Low)), Overload, 0); !ok && s.over {
		return
	}
	kept, broken := 0, 0
	for range mostAgain {
		w, ok := s.offer(f.Low, Again, 1)
		switch {
		case !ok:
			return
		case w.Keeps(s.SLO):
			kept++
		default:
			broken++
		}
		if broken == 0 || kept == majority || broken == majority {
			return
		}
	}
}
