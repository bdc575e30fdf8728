// Package capacity searches for the highest rate of requests at which a server keeps a service level objective, and tells how
// sure the answer is. It decides which rate to offer next and what the windows so far show (search.go, finding.go, line.go).
// The caller's bench ([runner.Bench]) starts the servers and measures. The search reads no clock: with the same windows and the
// same seed it takes the same steps.
//
// The search (docs/guide/capacity.md) begins with a look over the whole range in random order. Then it fits a robust line of
// 1/quantile on rate, nearly straight for most servers near their limit, and measures more windows where the line meets the
// limit. The verdict does not depend on the line: windows just below the estimate must keep the objective, and windows just
// above must break it. The answer is an interval, never a point.
//
// An [Objective] is the [runner.Search] of a run (plan.go). Its Judge computes the result from the record (judge.go, facts.go):
// a [Search] (result.go), which has its own page (page.go).
package capacity

import (
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"schedlab/internal/measuring/runner"
	"schedlab/internal/shared/stats"
)

// The purposes of windows, in the order in which a search has them.
const (
	purposeCurve    = "curve"    // the first look over the range
	purposeReach    = "reach"    // beyond the range, while every window in it keeps the objective, or none does
	purposeNear     = "near"     // around the estimate
	purposeVerify   = "verify"   // below the estimate, where the objective should be kept
	purposeRefute   = "refute"   // above it, where it should be broken
	purposeOverload = "overload" // beyond what the server can do, to see whether it recovers
	purposeAgain    = "again"    // at the verified rate on the server that was overloaded
)

// options are the settings of a search. Rates are requests per second. One seed gives the same orders again.
type options struct {
	SLO     stats.SLO // at least one term
	Seed    uint64    // of every random order
	Windows int       // most windows of one arm, refused ones included; at least leastWindows
	Floor   float64   // lowest rate that a window can judge; nothing lower is offered
	Ceiling float64   // highest rate that may be offered; 0: no bound
}

// The numbers of the search (docs/guide/capacity.md, "How it searches").
const (
	// leastNear is the smallest number of windows around an estimate, so that one lucky window
	// does not end the search. reach is the factor from the highest rate to the next one beyond
	// the range. retries is how often a refused window at a rate to verify or refute is measured
	// again. MostAgain windows at most follow the overload, and majority of them that keep the
	// objective show that the server recovered.
	looks               = 5         // windows of the first look over the range
	lowest, highest     = .5, 1.02  // ends of the range, as ratios of X_max
	settledAt           = .03       // relative half-width at which an estimate is good enough
	below, above        = .97, 1.08 // ratios of the estimate: where it is verified and where it is refuted
	wider               = .05       // ratio by which these rates move away each time the windows do not confirm them
	trials              = 3         // windows at each of these rates
	refuting            = 2         // how many of them must break the objective to refute a rate
	leastNear           = 2
	reach               = 1.25
	retries             = 2
	overload            = 1.2 // ratio of X_max
	closeEnough         = .06 // relative width of a bracket that is not halved any more
	mostAgain, majority = 3, 2
)

// reserved is the number of windows that verify a rate, refute another, overload the server and offer it
// the verified rate again, if each is settled at once.
const reserved = 2*trials + 2

// leastWindows is the smallest number of windows with which a search may have an answer.
const leastWindows = looks + leastNear + reserved

// around holds the places of the windows around an estimate, as ratios from it. Most are below: far above it,
// response times are soon more than nearLimit times the limit, and no longer count for the line.
var around = []float64{-.12, -.08, -.04, 0, .04, .06}

// A search is the search of one arm. It is straight code that asks for one window after the other, as if it were
// alone. searchAll turns it into an iterator, so that the searches of all arms can take turns.
type search struct {
	options
	arm     int // its index
	xmax    float64
	rng     *rand.Rand
	windows []RateWindow
	offsets []float64                  // entries of around that are not used yet
	ask     func(runner.Step) bool     // yields a step to the caller; false if the caller ended the search
	next    func() (runner.Step, bool) // the iterator
	step    runner.Step                // that it asked for
	more    bool                       // step is valid
}

// steps runs the whole search. The caller appends the window of each step to s.windows before it asks for the next.
func (s *search) steps(yield func(runner.Step) bool) {
	s.ask = yield
	s.look()
	s.narrow()
	s.confirm()
	s.recover()
}

// left returns the number of windows that may still be measured.
func (s *search) left() int { return s.Windows - len(s.windows) }

// offer measures a window, and repeats it up to more times while it is refused. ok is false if no window was left, or none could
// be used.
func (s *search) offer(rate float64, why string, more int) (w RateWindow, ok bool) {
	for range 1 + more {
		if s.left() <= 0 {
			return w, false
		}
		// The caller measures the window now, and has appended it when ask returns true.
		if !s.ask(runner.Step{Rate: s.clamp(rate), Purpose: why}) {
			s.Windows = 0 // the caller ended the search
			return w, false
		}
		w = s.windows[len(s.windows)-1]
		if w.Refused.None() {
			return w, true
		}
	}
	return w, false
}

// clamp returns the rate nearest to rate within Floor and Ceiling.
func (s *search) clamp(rate float64) float64 {
	rate = max(rate, s.Floor)
	if s.Ceiling > 0 {
		rate = min(rate, s.Ceiling)
	}
	return rate
}

// look measures the whole range, in random order: in ascending order a machine that slows down over time would look
// like a server near its limit.
func (s *search) look() {
	for _, i := range s.rng.Perm(looks) {
		share := lowest + (highest-lowest)*float64(i)/(looks-1)
		s.offer(share*s.xmax, purposeCurve, 1)
	}
}

// span returns the lowest and the highest rate of the windows that are evidence; 0, 0 if there are none.
func span(windows []RateWindow) (low, high float64) {
	for _, w := range windows {
		if evidence(w) {
			if low == 0 || w.Rate < low {
				low = w.Rate
			}
			high = max(high, w.Rate)
		}
	}
	return low, high
}

// narrow measures around the estimate until that is good enough. While nothing breaks the objective, or nothing
// keeps it, there is no estimate, and narrow goes on beyond the range. It leaves reserved windows for the verdict.
func (s *search) narrow() {
	for near := 0; s.left() > reserved; {
		b, _ := s.binding(s.windows)
		switch {
		case b.rate == 0 || math.IsInf(b.rate, 1):
			if !s.extend(b) {
				return
			}
		case near >= leastNear && b.half <= settledAt:
			return
		default:
			s.offer(s.telling(b), purposeNear, 0)
			near++
		}
	}
}

// extend measures one rate above or below the range, and reports whether another may tell more. Downwards it halves
// the rate, upwards it adds a quarter: a rate far above the limit fills the server's queues and tells little.
func (s *search) extend(b bound) bool {
	low, high := span(s.windows)
	next, down := s.clamp(high*reach), b.rate == 0
	if down {
		next = max(s.clamp(low/2), s.SLO.Goodput().Limit) // below the promised goodput the objective cannot hold
	}
	// Not one window could be used, or the rate is as low or as high as it may be.
	if high == 0 || down && next >= low || !down && next <= high {
		return false
	}
	_, ok := s.offer(next, purposeReach, 1)
	return ok || down // if a higher rate is refused, the bench is at its limit
}

// telling returns the rate that tells most about the bound: the middle of a wide bracket, or a place
// around the estimate.
func (s *search) telling(b bound) float64 {
	// Without a line only the bracket is known: halve it.
	if b.line == nil && b.broken-b.kept > closeEnough*b.rate {
		return b.rate
	}
	// Use every place once, in random order, before any place a second time.
	if len(s.offsets) == 0 {
		for _, i := range s.rng.Perm(len(around)) {
			s.offsets = append(s.offsets, around[i])
		}
	}
	off := s.offsets[0]
	s.offsets = s.offsets[1:]
	return b.rate * (1 + off)
}

// binding returns the term with the lowest estimate, which gives way first, and its bound.
func (o options) binding(windows []RateWindow) (b bound, term int) {
	for i, t := range o.SLO {
		if next := boundOf(t, windows); i == 0 || next.rate < b.rate {
			b, term = next, i
		}
	}
	return b, term
}

// confirm measures below and above the estimate. Each time the windows do not confirm a rate, it
// moves further away. Only these windows decide the answer. Their rates are chosen before
// they are measured, so the noise that shaped the estimate cannot confirm it.
func (s *search) confirm() {
	b, _ := s.binding(s.windows)
	least, most := span(s.windows)
	promised := s.SLO.Goodput().Limit // below it nothing can be verified
	switch {
	case most == 0:
		return // not one window could be used
	// No limit is in sight, so there is no rate to refute. Verify the highest rate.
	case math.IsInf(b.rate, 1):
		s.all(most, purposeVerify)
		return
	// The objective holds at no rate that a window can judge. Refute the lowest rate.
	case b.rate <= s.Floor || b.rate == 0:
		s.all(max(least, promised), purposeRefute)
		return
	}
	low, high := max(below*b.rate, promised), above*b.rate
	// If the promised rate itself is refuted, no rate keeps the objective, and the search has its
	// answer.
	if b.rate < promised {
		high = promised
	}
	for lowDone, highDone := false, false; !(lowDone && highDone) && s.left() > 0; {
		// Every round takes the newest estimate, but moves by at least wider: a wrong estimate could use up all windows.
		if !lowDone {
			lowDone = s.all(low, purposeVerify) || low <= max(s.Floor, promised)
			low = max(min(below*s.estimate(b.rate), low*(1-wider)), promised)
		}
		if !highDone {
			highDone = s.all(high, purposeRefute) || s.Ceiling > 0 && high >= s.Ceiling
			high = max(above*s.estimate(b.rate), high*(1+wider))
		}
	}
}

// estimate returns the rate at which the binding term gives way by the windows so far; before if there is none.
func (s *search) estimate(before float64) float64 {
	if b, _ := s.binding(s.windows); b.rate > 0 && !math.IsInf(b.rate, 1) {
		return b.rate
	}
	return before
}

// all measures a rate until it is verified or refuted, as why asks, or no longer can be, and reports whether it was.
func (s *search) all(rate float64, why string) bool {
	kept, broken := 0, 0
	for range trials {
		w, ok := s.offer(rate, why, retries)
		if !ok {
			return false
		}
		kept += stats.Count(keeps(w, s.SLO))
		broken += stats.Count(!keeps(w, s.SLO))
		switch {
		// The rest of the windows could not change it: stop, to save them for another rate.
		case why == purposeVerify && broken > 0, why == purposeRefute && kept > trials-refuting:
			return false
		case why == purposeRefute && broken == refuting:
			return true
		}
	}
	return true
}

// recover overloads a server and then offers it the verified rate again, in up to
// mostAgain windows: a single one may fail for other reasons.
func (s *search) recover() {
	f := findingOf(s.options, s.windows)
	if f.Low == 0 || s.left() < 2 {
		return
	}
	// A refused window is good enough: the server has been overloaded all the same. Its data are
	// not used.
	s.offer(max(f.High, overload*max(s.xmax, f.Low)), purposeOverload, 0)
	// These windows run on the server that was just overloaded; see Run.
	for range mostAgain {
		if _, ok := s.offer(f.Low, purposeAgain, 1); !ok || findingOf(s.options, s.windows).Recovers.Decided() {
			return
		}
	}
}

// A bench measures windows for a search, as a [runner.Bench] does trials: took takes the window of the last step and returns
// the next step on the same server, if there is one. A window without a value for a term of the objective is refused, unless its
// purpose is overload. A Sent of 0 counts as the rate.
type bench func(ctx context.Context, arm int, step runner.Step, took func(RateWindow) (runner.Step, bool)) error

// searchAll searches every arm's capacity. xmax is each arm's X_max: closed-loop throughput, requests per second. A round
// measures one window of every arm that is not done, in random order, so that changes on the machine meet all arms.
func searchAll(ctx context.Context, measure bench, xmax []float64, o options) (err error) {
	var open []*search
	for i, x := range xmax {
		// Each arm has its own random orders; stream 0 is left for the order of the arms.
		s := &search{options: o, arm: i, xmax: x, rng: rand.New(rand.NewPCG(o.Seed, uint64(i)+1))}
		// next runs the search until it asks for a window; the search and this loop never run at the same time.
		next, stop := iter.Pull(s.steps)
		defer stop()
		s.next = next
		s.step, s.more = next()
		open = append(open, s)
	}
	order := rand.New(rand.NewPCG(o.Seed, 0))
	for len(open) > 0 && err == nil {
		order.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
		for _, a := range open {
			if a.more && err == nil {
				err = measure(ctx, a.arm, a.step, a.measured)
			}
			if errors.Is(err, runner.ErrLost) {
				a.more, err = false, nil
			}
		}
		open = slices.DeleteFunc(open, func(a *search) bool { return !a.more })
	}
	return err
}

// measured takes a window of the step. It returns the next step, and whether it is for the same server: only the windows
// after an overload share its server.
func (s *search) measured(w RateWindow) (next runner.Step, same bool) {
	// The search reads this window before it asks for the next one.
	s.windows = append(s.windows, w)
	s.step, s.more = s.next()
	return s.step, s.more && s.step.Purpose == purposeAgain
}

// evidence reports whether the window tells something about a fresh server, which one from an overload on does not.
func evidence(w RateWindow) bool {
	return w.Refused.None() && w.Purpose != purposeOverload && w.Purpose != purposeAgain
}

// promised reports whether a window at this rate can be held to a term: below the promised goodput it cannot.
func promised(t stats.Term, rate float64) bool { return !t.AtLeast || rate >= t.Limit }

// keeps reports whether every term of the objective holds in the window. A term without a value does not; a goodput
// term that the rate cannot fulfil is left out.
func keeps(w RateWindow, slo stats.SLO) bool {
	for _, t := range slo {
		if v, known := w.Values[t.Metric]; promised(t, w.Rate) && !(known && t.Holds(v)) {
			return false
		}
	}
	return true
}
