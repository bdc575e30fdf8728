package capacity

import (
	"cmp"
	"math"
	"slices"

	"schedlab/internal/stats"
)

// A Line is 1/p = Intercept + Slope·rate, for a response time p in seconds and a rate in requests
// per second. For the 99th percentile of M/M/1 it is (mu - lambda)/ln 100. Slope is negative.
type Line struct{ Intercept, Slope float64 }

// Saturation returns the rate at which the response time becomes infinite.
func (l Line) Saturation() float64 { return -l.Intercept / l.Slope }

// at returns the rate at which the response time is p seconds.
func (l Line) at(p float64) float64 { return (1/p - l.Intercept) / l.Slope }

// closest is the relative distance of two rates up to which the slope between them says nothing.
const closest = .02

// robustLine returns the line with the slope of [stats.TheilSen] that leaves half of the points
// above it and half below. ok is false if the line does not fall, or if no two rates are far
// enough apart.
func robustLine(x, y []float64) (l Line, ok bool) {
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
type bound struct {
	rate float64 // the estimate: 0 if the term holds nowhere, +Inf if it holds everywhere
	half float64 // half the relative range of the estimates that leave out one window each; +Inf if unknown
	line *Line   // the line that the estimate comes from; nil if it comes from the bracket
	// The bracket: the rates between which most windows begin to break the term. kept is 0 and
	// broken +Inf if there is no rate on that side.
	kept, broken float64
}

// nearLimit is the factor by which a response time may be above or below its limit to count for
// the line.
const nearLimit = 4

// fewest is the smallest number of windows that make a line.
const fewest = 3

// boundOf estimates the rate from which on term i of the objective no longer holds.
func boundOf(term stats.Term, i int, windows []Window) bound {
	var x, y []float64
	var at []place
	for _, w := range windows {
		if !w.evidence() || math.IsNaN(w.Values[i]) || !promised(term, w.Rate) {
			continue
		}
		v := w.Values[i]
		at = append(at, place{w.Rate, term.Holds(v)})
		if timed(term) && v >= term.Limit/nearLimit && v <= term.Limit*nearLimit {
			x, y = append(x, w.sent()), append(y, 1/v)
		}
	}
	b := bracket(at)
	line, ok := robustLine(x, y)
	if len(x) < fewest || !ok {
		return b
	}
	b.line, b.rate = &line, b.temper(line.at(term.Limit))
	low, high := b.rate, b.rate
	for out := range x {
		less, ok := robustLine(slices.Delete(slices.Clone(x), out, out+1), slices.Delete(slices.Clone(y), out, out+1))
		if !ok || len(x) == fewest {
			b.half = math.Inf(1)
			return b
		}
		v := b.temper(less.at(term.Limit))
		low, high = min(low, v), max(high, v)
	}
	b.half = (high - low) / 2 / b.rate
	return b
}

// timed reports whether a term has a line: a quantile or the mean.
func timed(t stats.Term) bool { return t.Quantile > 0 || t.Metric == "mean" }

// temper limits the estimate of a line to rates near those of the windows: from 0.8 of the
// bracket's lower end to 1.25 of its upper end.
func (b bound) temper(rate float64) float64 {
	if b.kept > 0 {
		rate = max(rate, b.kept*.8)
	}
	if !math.IsInf(b.broken, 1) {
		rate = min(rate, b.broken*1.25)
	}
	return max(rate, 0)
}

// A place is a window's rate and whether it kept the term.
type place struct {
	rate float64
	kept bool
}

// bracket finds the rate below which windows keep the term and above which they break it, with the
// fewest exceptions. If several rates are equally good, the bracket is their range.
func bracket(at []place) bound {
	at = slices.SortedFunc(slices.Values(at), func(a, b place) int { return cmp.Compare(a.rate, b.rate) })
	wrong := 0 // exceptions if the rate is below all windows
	for _, p := range at {
		wrong += stats.Count(p.kept)
	}
	least, first, last := wrong, 0, 0
	for i, p := range at {
		wrong += stats.Count(!p.kept) - stats.Count(p.kept)
		if i+1 < len(at) && at[i+1].rate == p.rate {
			continue // no border between windows of one rate
		}
		switch {
		case wrong < least:
			least, first, last = wrong, i+1, i+1
		case wrong == least:
			last = i + 1
		}
	}
	b := bound{broken: math.Inf(1), half: math.Inf(1)}
	if first > 0 {
		b.kept = at[first-1].rate
	}
	if last < len(at) {
		b.broken = at[last].rate
	}
	switch {
	case math.IsInf(b.broken, 1):
		b.rate = math.Inf(1)
	case b.kept > 0:
		b.rate = (b.kept + b.broken) / 2
		b.half = (b.broken - b.kept) / 2 / b.rate
	}
	return b
}
