package capacity

import (
	"maps"
	"math"
	"slices"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/stats"
)

// The reasons why a search stopped, and went no further up or down.
const (
	stoppedAtFloor   = "floor"   // windows of a lower rate cannot judge the objective
	stoppedAtCeiling = "ceiling" // no higher rate may be offered
	stoppedAtBench   = "refused" // windows of a higher rate were refused
	stoppedAtBudget  = "budget"  // all windows of the search were used up
)

// A finding is the answer from the windows of one arm: an ArmCapacity with its outcome, rates and counts, but without the arm's
// name.
//
// The outcome rests on counts. Low is the highest rate at which three windows or more were measured and all kept the objective.
// High is the lowest rate at which two or more, and more than half, broke it. The estimate decides only where these windows are
// measured, and whether there is a limit at all.
type finding struct {
	ArmCapacity
	Least         float64    // lowest rate of a window that counts, requests per second
	Used, Refused int        // windows that count, and windows that were refused; a refused overload is neither
	Refusal       fact.Fact  // why the last of these was refused
	Unoffered     RateWindow // if Stopped is stoppedAtBench: the first window above Low that was refused
}

// recovers tells whether the server recovered from its overload; "" if this was not tried. kept of the windows after the overload
// kept the objective. If the first one does, the server recovered; if it does not, two later ones must.
//
// The rate is the low end of the interval, at which a server that was never overloaded breaks the
// objective now and then, too. So "no" takes mostAgain broken windows: if the overload changed
// nothing, three that break after three that kept are one order of twenty (Fisher's exact test).
func recovers(kept, of int) outcome.Outcome {
	switch {
	case of == 1 && kept == 1, kept >= majority:
		return outcome.Yes
	case of-kept >= mostAgain:
		return outcome.No
	case of > 0:
		return outcome.Open
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

// findingOf computes the finding from the windows of one arm and the options of its search, at any time during it. The
// outcome is Open unless the windows settle another one.
func findingOf(o options, windows []RateWindow) (f finding) {
	f.Outcome, f.Windows = outcome.Open, windows
	slo := o.SLO
	b, term := o.binding(windows)
	f.Estimate, f.HalfWidth = finite(b.rate), finite(b.half)
	if f.Estimate > 0 {
		f.Term = slo[term].String()
	}
	if f.Line = b.line; f.Line != nil {
		// The line is 1/time, so the time is infinite where the line meets 0.
		f.Saturation = -f.Line.Intercept / f.Line.Slope
	}
	kept := false
	for _, w := range windows {
		switch {
		// An overload is meant to break the objective, so it tells nothing about the capacity.
		case !w.Refused.None() && w.Purpose == purposeOverload:
			continue
		case !w.Refused.None():
			f.Refused, f.Refusal = f.Refused+1, w.Refused
			continue
		case w.Purpose == purposeAgain:
			f.AgainOf++
			f.AgainKept += stats.Count(keeps(w, slo))
		}
		f.Used++
		kept = kept || evidence(w) && keeps(w, slo)
	}
	f.Recovers = recovers(f.AgainKept, f.AgainOf)
	f.Least, _ = span(windows)
	f.Low, f.LowKept, f.LowOf = settled(windows, slo, purposeVerify)
	f.High, f.HighBroken, f.HighOf = settled(windows, slo, purposeRefute)
	switch {
	// At lower rates fewer requests are offered than the goodput term promises, so no rate can keep it.
	case f.High > 0 && f.High <= slo.Goodput().Limit && f.Low == 0:
		f.Outcome, f.Never = outcome.No, true
	// Without a High, the windows that broke a term, if any, are exceptions: there is nothing to refute.
	case f.Low > 0 && (f.High > f.Low || f.High == 0 && math.IsInf(b.rate, 1)):
		f.Outcome = outcome.Yes
	case f.High > 0 && !kept:
		f.Outcome = outcome.No
	}
	f.Stopped = o.stop(&f)
	return f
}

// stop returns the reason why the search found no interval, and sets Unoffered.
func (o options) stop(f *finding) string {
	// Windows that look for the limit may not use up the windows reserved for the verdict.
	looking := 0
	for _, w := range f.Windows {
		looking += stats.Count(w.Purpose == purposeCurve || w.Purpose == purposeReach || w.Purpose == purposeNear)
	}
	// The bench could not offer the higher rate, even after the retries.
	refused := slices.IndexFunc(f.Windows, func(w RateWindow) bool {
		return w.Purpose == purposeReach && !w.Refused.None() && w.Rate > f.Low
	})
	below, beyond := f.Outcome == outcome.No && !f.Never, f.Outcome == outcome.Yes && f.High == 0
	switch {
	case !below && !beyond:
	case below && f.Least <= o.Floor:
		return stoppedAtFloor
	case beyond && o.Ceiling > 0 && f.Low >= o.Ceiling:
		return stoppedAtCeiling
	case beyond && refused >= 0:
		f.Unoffered = f.Windows[refused]
		return stoppedAtBench
	case looking >= o.Windows-reserved || len(f.Windows) >= o.Windows:
		return stoppedAtBudget
	}
	return ""
}

// settled returns the highest rate that was verified or, for purpose refute, the lowest that was refuted, and how many of its
// windows verify or refute it. If no rate is settled, rate is 0 and the counts are of the last rate tried.
//
// To verify a rate, every window must keep the objective. To refute one, more than half must break it, because noise alone may
// break a single window.
func settled(windows []RateWindow, slo stats.SLO, purpose string) (rate float64, yes, of int) {
	verify, last := purpose == purposeVerify, 0.
	all, good := map[float64]int{}, map[float64]int{} // number of windows by rate, and of those that verify or refute it
	for _, w := range windows {
		// Below the promised goodput a window cannot verify.
		if w.Purpose == purpose && w.Refused.None() && !(verify && w.Rate < slo.Goodput().Limit) {
			all[w.Rate]++
			good[w.Rate] += stats.Count(keeps(w, slo) == verify)
			last = w.Rate
		}
	}
	rates := slices.Sorted(maps.Keys(all))
	if verify {
		slices.Reverse(rates)
	}
	for _, r := range rates {
		yes, of = good[r], all[r]
		if verify && yes >= trials && yes == of || !verify && yes >= refuting && 2*yes > of {
			return r, yes, of
		}
	}
	return 0, good[last], all[last]
}
