package capacity

import (
	"math"
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// The outcomes of a search.
const (
	Between   = "between"   // the capacity lies between Low and High
	Beyond    = "beyond"    // kept at Low, and broken at no rate that was offered
	Below     = "below"     // broken at High, and kept at no rate that was offered
	Never     = "never"     // kept at no rate at all: broken at High, and a term asks for at least this much goodput
	Undecided = "undecided" // the windows cannot tell
)

// The reasons why a search stopped, and went no further up or down.
const (
	AtFloor   = "floor"   // windows of a lower rate cannot judge the objective
	AtCeiling = "ceiling" // no higher rate may be offered
	AtBench   = "refused" // windows of a higher rate were refused
	AtBudget  = "budget"  // all windows of the search were used up
)

// A Finding is the answer from the windows of one arm. Of the ArmCapacity it holds the outcome with its rates
// and counts; the caller knows the arm, its windows and its theories.
//
// The verdict is a count: Low is the highest rate at which three windows or more were verified and all kept the
// objective, High the lowest at which two or more, and more than half, broke it. The estimate decides only where
// these windows are measured, and whether any limit is in sight.
type Finding struct {
	record.ArmCapacity
	Least         float64 // lowest rate of a window that counts, requests per second
	Binding       int     // index of the binding term
	Used, Refused int     // windows that count, and windows that do not
}

// recovers returns whether the server recovered from its overload, "yes" or "no"; "" if this was
// not tried or is not settled. A first window that keeps the objective settles it; after one that
// breaks it, two that keep it do.
//
// The rate is the low end of the interval, at which a server that was never overloaded breaks the
// objective now and then, too. So "no" takes [MostAgain] broken windows: if the overload changed
// nothing, three that break after three that kept are one order of twenty (Fisher's exact test).
func recovers(kept, of int) string {
	switch {
	case of == 1 && kept == 1, kept >= majority:
		return "yes"
	case of-kept >= MostAgain:
		return "no"
	}
	return ""
}

// finite returns v, or 0, which is an unknown rate in the record, if it is infinite or no number.
func finite(v float64) float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	return v
}

// Judge computes the finding from the windows of one arm and the options of its search, at any time during it. The
// outcome is [Undecided] unless the windows settle another one.
func Judge(o Options, windows []record.RateWindow) (f Finding) {
	f.Outcome = Undecided
	slo := o.SLO
	b, term := o.binding(windows)
	f.Estimate, f.HalfWidth, f.Binding = finite(b.rate), finite(b.half), term
	if f.Estimate > 0 {
		f.Term = stats.SLO{slo[term]}.String()
	}
	if f.Line = b.line; f.Line != nil {
		// The line is 1/time, so the time is infinite where the line meets 0.
		f.Saturation = -f.Line.Intercept / f.Line.Slope
	}
	var verified, refuted tally
	kept := false
	for _, w := range windows {
		switch {
		case !w.Refused.None():
			f.Refused++
			continue
		// It is meant to break the objective, so it tells nothing about the capacity.
		case w.Purpose == Overload:
		case w.Purpose == Again:
			f.AgainOf++
			f.AgainKept += stats.Count(Keeps(w, slo))
		case w.Purpose == Verify && w.Rate < slo.Goodput().Limit: // below the promised goodput it cannot tell
		case w.Purpose == Verify:
			verified.add(w.Rate, Keeps(w, slo))
		case w.Purpose == Refute:
			refuted.add(w.Rate, !Keeps(w, slo))
		}
		f.Used++
		kept = kept || evidence(w) && Keeps(w, slo)
	}
	f.Recovers = recovers(f.AgainKept, f.AgainOf)
	f.Least, _ = span(windows)
	// One broken window is enough against a verified rate, but noise alone may break one of a refuted rate.
	f.Low, f.LowKept, f.LowOf = verified.best(func(v, than float64) bool { return v > than }, func(c counted) bool { return c.yes >= trials && c.yes == c.of })
	f.High, f.HighBroken, f.HighOf = refuted.best(func(v, than float64) bool { return v < than }, func(c counted) bool { return c.yes >= refuting && 2*c.yes > c.of })
	switch {
	// At lower rates fewer requests are offered than the goodput term promises, so no rate can keep it.
	case f.High > 0 && f.High <= slo.Goodput().Limit:
		f.Outcome = Never
	case f.Low > 0 && f.High > f.Low:
		f.Outcome = Between
	// The windows that broke a term, if any, are exceptions: there is nothing to refute.
	case f.Low > 0 && f.High == 0 && math.IsInf(b.rate, 1):
		f.Outcome = Beyond
	case f.High > 0 && !kept:
		f.Outcome = Below
	}
	f.Stopped = o.stop(f, windows)
	return f
}

// stop returns the reason why the search found no interval.
func (o Options) stop(f Finding, windows []record.RateWindow) string {
	// The bench could not offer the higher rate, even after the retries.
	refused := func(w record.RateWindow) bool { return w.Purpose == Reach && !w.Refused.None() && w.Rate > f.Low }
	// Windows that look for the limit. They may not use up the windows reserved for the verdict.
	looking := 0
	for _, w := range windows {
		looking += stats.Count(w.Purpose == Curve || w.Purpose == Reach || w.Purpose == Near)
	}
	switch {
	case f.Outcome != Below && f.Outcome != Beyond:
	case f.Outcome == Below && f.Least <= o.Floor:
		return AtFloor
	case f.Outcome == Beyond && o.Ceiling > 0 && f.Low >= o.Ceiling:
		return AtCeiling
	case f.Outcome == Beyond && slices.ContainsFunc(windows, refused):
		return AtBench
	case looking >= o.Windows-Reserved || len(windows) >= o.Windows:
		return AtBudget
	}
	return ""
}

// A tally counts, for each rate in the order in which they were first tried, how many of its windows are a yes.
type tally []counted

type counted struct {
	rate    float64
	yes, of int
}

// add counts one window.
func (t *tally) add(rate float64, yes bool) {
	i := slices.IndexFunc(*t, func(c counted) bool { return c.rate == rate })
	if i < 0 {
		i = len(*t)
		*t = append(*t, counted{rate: rate})
	}
	(*t)[i].of++
	(*t)[i].yes += stats.Count(yes)
}

// best returns the best settled rate with its counts; 0 and the counts at the last rate tried if none is settled.
// better reports whether v is the better of two settled rates: the higher verified one, or the lower refuted one.
func (t tally) best(better func(v, than float64) bool, settled func(counted) bool) (rate float64, yes, of int) {
	for _, c := range t {
		switch {
		case settled(c):
			if rate == 0 || better(c.rate, rate) {
				rate, yes, of = c.rate, c.yes, c.of
			}
		case rate == 0:
			yes, of = c.yes, c.of
		}
	}
	return rate, yes, of
}
