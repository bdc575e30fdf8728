package capacity

import (
	"cmp"
	"math"
	"slices"

	"schedlab/internal/shared/stats"
)

// closest is the relative distance of two rates up to which noise outweighs the slope between them.
const closest = .02

// robustLine returns the line with the slope of [stats.TheilSen] that leaves half of the points above it and half
// below. ok is false if the line does not fall, or if no two rates are far enough apart. Least squares would follow
// the single windows that a pause of the machine makes far too slow.
func robustLine(x, y []float64) (l RateLine, ok bool) {
	if l.Slope = stats.TheilSen(x, y, closest); !(l.Slope < 0) {
		return l, false
	}
	rest := make([]float64, len(x))
	for i := range x {
		rest[i] = y[i] - l.Slope*x[i]
	}
	l.Intercept = stats.Median(rest)
	return l, true
}

// A bound is the rate from which on a term no longer holds, by the windows so far.
//
// It is estimated in two ways. The bracket works for every term: it needs to know only which windows kept the term.
// The line works for times: 1/time falls with the rate, and is straight for M/M/1, where the q-quantile of the
// response time is ln(1/(1-q))/(µ-λ) seconds at arrival rate λ and service rate µ. It comes from all windows near
// the limit, so it is more exact than the bracket, which then only keeps it near the rates that were measured.
type bound struct {
	rate float64   // the estimate: 0 if the term holds nowhere, +Inf if it holds everywhere
	half float64   // half the relative range of the estimates that leave out one window each; +Inf if unknown
	line *RateLine // the line that the estimate comes from; nil if it comes from the bracket
	// The bracket: the rates between which most windows begin to break the term. kept is 0 and
	// broken +Inf if there is no rate on that side.
	kept, broken float64
}

const (
	nearLimit = 4 // factor by which a response time may be off its limit to count for the line, which need be straight only there
	fewest    = 3 // windows that make a line: any two points lie on one, so two cannot show how far it may be off
)

// meets returns the rate at which the line's response time is p seconds. It solves 1/p = Intercept
// + Slope·rate.
func meets(l RateLine, p float64) float64 { return (1/p - l.Intercept) / l.Slope }

// boundOf estimates the rate from which on a term of the objective no longer holds. Refused
// windows and windows after an overload do not count.
func boundOf(term stats.Term, windows []RateWindow) bound {
	var x, y []float64
	var at []place
	for _, w := range windows {
		v, known := w.Values[term.Metric]
		if !evidence(w) || !known || !promised(term, w.Rate) {
			continue
		}
		at = append(at, place{w.Rate, term.Holds(v)})
		if term.Timed() && v >= term.Limit/nearLimit && v <= term.Limit*nearLimit {
			// Take the rate that was really sent: random arrivals differ from the planned rate,
			// and the response time follows what came.
			x, y = append(x, cmp.Or(w.Sent, w.Rate)), append(y, 1/v)
		}
	}
	b := bracket(at)
	line, ok := robustLine(x, y)
	if len(x) < fewest || !ok {
		return b
	}
	b.line, b.rate = &line, b.temper(meets(line, term.Limit))
	// Jackknife: leave out each window once. If one window alone moves the estimate, more are
	// needed.
	low, high := b.rate, b.rate
	for out := range x {
		less, ok := robustLine(slices.Delete(slices.Clone(x), out, out+1), slices.Delete(slices.Clone(y), out, out+1))
		// Of three windows two would be left, and the spread of such lines means nothing.
		if !ok || len(x) == fewest {
			b.half = math.Inf(1)
			return b
		}
		v := b.temper(meets(less, term.Limit))
		low, high = min(low, v), max(high, v)
	}
	b.half = (high - low) / 2 / b.rate
	return b
}

// temper limits the estimate of a line to rates near the windows' own: from 0.8 of the bracket's lower end to 1.25
// of its upper end. A line through few windows may meet the limit far away from all of them.
func (b bound) temper(rate float64) float64 { return min(max(rate, .8*b.kept), 1.25*b.broken) }

// A place is a window's rate and whether it kept the term.
type place struct {
	rate float64
	kept bool
}

// bracket finds the rate below which windows keep the term and above which they break it, with the fewest
// exceptions. If several rates are equally good, the bracket is their range. An exception is a window that kept the
// term above the border, or broke it below.
func bracket(at []place) bound {
	// Places at both ends stand for "no window on this side", and are never exceptions.
	at = append(slices.Clone(at), place{0, true}, place{math.Inf(1), false})
	slices.SortStableFunc(at, func(a, b place) int { return cmp.Compare(a.rate, b.rate) })
	b, fewest := bound{half: math.Inf(1)}, len(at)
	for border := 1; border < len(at); border++ {
		if at[border].rate == at[border-1].rate {
			continue // no border between windows of one rate
		}
		wrong := 0
		for i, p := range at {
			wrong += stats.Count(p.kept == (i >= border))
		}
		if wrong < fewest {
			fewest, b.kept = wrong, at[border-1].rate
		}
		if wrong == fewest {
			b.broken = at[border].rate
		}
	}
	switch {
	case math.IsInf(b.broken, 1):
		b.rate = b.broken
	case b.kept > 0:
		b.rate = (b.kept + b.broken) / 2
		b.half = (b.broken - b.kept) / 2 / b.rate
	}
	return b
}
