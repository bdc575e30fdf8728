package capacity

import (
	"cmp"
	"math"
	"slices"

	"schedlab/internal/stats"
)

// A Line is 1/p = Intercept + Slope·rate of a response time p in seconds; of M/M/1
// it is (mu - lambda)/ln 100 for the 99th percentile. Its slope is negative.
type Line struct{ Intercept, Slope float64 }

// Saturation is the rate at which the response time has no end.
func (l Line) Saturation() float64 { return -l.Intercept / l.Slope }

// at is the rate at which the response time is p.
func (l Line) at(p float64) float64 { return (1/p - l.Intercept) / l.Slope }

// closest are the rates, relative to each other, whose slope says nothing.
const closest = .02

// robustLine is the line with the slope of [stats.TheilSen] that has as many points above
// it as below. ok is false when it does not fall, or no two rates are apart.
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
	rate float64 // the estimate: 0 when it holds nowhere, +Inf when everywhere
	half float64 // half the width of what leaving out a window makes of it, relative; +Inf unknown
	line *Line   // what it was taken from; nil for the bracket
	// The bracket: the rates between which most windows begin to break the term; 0
	// and +Inf without one on that side.
	kept, broken float64
}

// nearLimit is how many times above or below its limit a response time may be to
// count for the line.
const nearLimit = 4

// fewest is how many windows make a line.
const fewest = 3

// boundOf estimates where term i no longer holds.
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

// timed are the terms with a line: quantiles and the mean.
func timed(t stats.Term) bool { return t.Quantile > 0 || t.Metric == "mean" }

// temper limits a line's estimate to what is near the rates of the windows.
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

// bracket finds the rate below which windows keep the term and above which they do
// not, with the fewest exceptions. Where several do as well it is their range.
func bracket(at []place) bound {
	at = slices.SortedFunc(slices.Values(at), func(a, b place) int { return cmp.Compare(a.rate, b.rate) })
	wrong := 0 // with the border below all
	for _, p := range at {
		if p.kept {
			wrong++
		}
	}
	least, first, last := wrong, 0, 0
	for i, p := range at {
		if p.kept {
			wrong--
		} else {
			wrong++
		}
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
	case len(at) == 0 || math.IsInf(b.broken, 1):
		b.rate = math.Inf(1)
	case b.kept == 0:
	default:
		b.rate = (b.kept + b.broken) / 2
		b.half = (b.broken - b.kept) / 2 / b.rate
	}
	return b
}
