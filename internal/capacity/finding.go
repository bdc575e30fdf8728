package capacity

import (
	"math"
	"slices"

	"schedlab/internal/stats"
)

// An Outcome is the kind of answer that a search found.
type Outcome string

// The outcomes.
const (
	Between   Outcome = "between"   // the capacity lies between Low and High
	Beyond    Outcome = "beyond"    // kept at Low, and broken at no rate that was offered
	Below     Outcome = "below"     // broken at High, and kept at no rate that was offered
	Never     Outcome = "never"     // kept at no rate at all: broken at High, and a term asks for at least this much goodput
	Undecided Outcome = "undecided" // the windows cannot tell
)

// A Stop is the reason why a search went no further up or down.
type Stop string

// The stops.
const (
	AtFloor   Stop = "floor"   // windows of a lower rate cannot judge the objective
	AtCeiling Stop = "ceiling" // no higher rate may be offered
	AtBench   Stop = "refused" // windows of a higher rate were refused
	AtBudget  Stop = "budget"  // all windows of the search were used up
)

// A Finding is the answer from the windows of one arm. Rates are requests per second.
type Finding struct {
	Outcome Outcome
	// Low is the highest rate that was verified, High the lowest that was refuted; 0 if there is
	// none.
	Low, High float64
	// Least is the lowest rate of a window that counts. Stop is the reason why nothing lower was
	// offered (Below) or nothing higher (Beyond). It is "" for the other outcomes, and if the
	// search was cut short.
	Least float64
	Stop  Stop
	// LowKept of LowOf windows at Low kept the objective, and HighBroken of HighOf at High broke
	// it. Without a Low or High they count the windows at the last rate tried.
	LowKept, LowOf, HighBroken, HighOf int
	// Estimate is the rate at which the binding term gives way, by the robust line or in the
	// middle of its bracket; 0 and +Inf as in the outcomes Below and Beyond. Half is half the
	// relative range of the estimates that leave out one window each, +Inf if unknown. It tells
	// when to stop, and not how sure the estimate is.
	Estimate, Half float64
	Term           int   // index of the binding term
	Line           *Line // of the binding term; nil for errors and goodput, and with too few points
	// AgainKept of AgainOf windows kept the objective after the overload; 0 of 0 if there was no
	// overload.
	AgainKept, AgainOf int
	Used, Refused      int // windows that count, and windows that do not
}

// Recovers reports whether the server recovered from its overload. known is false if this was not
// tried or is not settled.
func (f Finding) Recovers() (yes, known bool) {
	broken := f.AgainOf - f.AgainKept
	switch {
	case f.AgainOf == 1:
		return true, broken == 0
	case f.AgainKept >= majority:
		return true, true
	}
	return false, broken >= majority
}

// Judge computes the finding from the windows of one arm and the options of its search. It may be
// called at any time during a search.
func Judge(o Options, windows []Window) (f Finding) {
	f.Outcome = Undecided
	slo := o.SLO
	b, term := binding(slo, windows)
	f.Estimate, f.Half, f.Term, f.Line = b.rate, b.half, term, b.line
	var verified, refuted tally
	kept := false
	for _, w := range windows {
		switch {
		case w.Refused:
			f.Refused++
			continue
		case w.Purpose == Overload:
		case w.Purpose == Again:
			f.AgainOf++
			f.AgainKept += stats.Count(w.Keeps(slo))
		case w.Purpose == Verify && w.Rate < promise(slo): // below the promised goodput it cannot tell
		case w.Purpose == Verify:
			verified.add(w.Rate, w.Keeps(slo))
		case w.Purpose == Refute:
			refuted.add(w.Rate, !w.Keeps(slo))
		}
		f.Used++
		kept = kept || w.evidence() && w.Keeps(slo)
	}
	f.Least, _ = span(windows)
	f.Low, f.LowKept, f.LowOf = verified.best(func(v, than float64) bool { return v > than }, func(c counted) bool { return c.yes >= trials && c.yes == c.of })
	f.High, f.HighBroken, f.HighOf = refuted.best(func(v, than float64) bool { return v < than }, func(c counted) bool { return c.yes >= refuting && 2*c.yes > c.of })
	short := false // High is not above a goodput that a term promises
	for _, t := range slo {
		short = short || t.AtLeast && f.High > 0 && f.High <= t.Limit
	}
	switch {
	case short:
		f.Outcome = Never
	case f.Low > 0 && f.High > f.Low:
		f.Outcome = Between
	case f.Low > 0 && f.High == 0 && math.IsInf(b.rate, 1):
		f.Outcome = Beyond
	case f.High > 0 && !kept:
		f.Outcome = Below
	}
	f.Stop = o.stop(f, windows)
	return f
}

// stop returns the reason why the search found no interval.
func (o Options) stop(f Finding, windows []Window) Stop {
	refused := func(w Window) bool { return w.Purpose == Reach && w.Refused && w.Rate > f.Low }
	looking := 0
	for _, w := range windows {
		switch w.Purpose {
		case Curve, Reach, Near:
			looking++
		}
	}
	switch {
	case f.Outcome != Below && f.Outcome != Beyond:
	case f.Outcome == Below && f.Least <= o.Floor:
		return AtFloor
	case f.Outcome == Beyond && o.Ceiling > 0 && f.Low >= o.Ceiling:
		return AtCeiling
	case f.Outcome == Beyond && slices.ContainsFunc(windows, refused):
		return AtBench
	case looking >= o.Windows-reserved || len(windows) >= o.Windows:
		return AtBudget
	}
	return ""
}

// A tally counts windows by rate.
type tally []counted

// counted holds how many of the windows at a rate are a yes.
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

// best returns the best settled rate with its counts. If no rate is settled, rate is 0 and the
// counts are those at the last rate tried.
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
