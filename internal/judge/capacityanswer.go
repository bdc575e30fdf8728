package judge

import (
	"slices"
	"strings"

	"schedlab/internal/capacity"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// losing returns a warning if, at a rate that keeps the objective, more than errorLimit of a
// window's requests failed; else nil.
func (a *searched) losing(rate float64) []record.Fact {
	for _, w := range a.windows {
		if w.Refused.None() && w.Rate == rate && w.Errors > errorLimit {
			return []record.Fact{{Code: losingRequests, Values: record.Values{"share": w.Errors}}}
		}
	}
	return nil
}

// conclusion returns an arm's answer with the clauses that explain it. xmax is in requests per
// second. The answer's values are rates per second and counts.
//
// This file puts the outcome of a search into facts: one answer per arm, and in its Because the
// clauses that explain why the search found no more. A reader should learn what to change: the
// budget, the window, the objective, or the load.
func (a *searched) conclusion(f capacity.Finding, xmax float64) record.Fact {
	wants := a.goodput()
	answer := func(code record.Code, because ...[]record.Fact) record.Fact {
		return record.Fact{
			Code: code, Arm: a.plan.Name, Names: record.Names{"slo": a.options.SLO.String()},
			Values: record.Values{
				"low": f.Low, "high": f.High, "broken": float64(f.HighBroken), "of": float64(f.HighOf),
			}, Because: slices.Concat(because...),
		}
	}
	// The outcomes that are settled come first.
	switch f.Outcome {
	case capacity.Between:
		var recovers []record.Fact
		if f.Recovers == "no" {
			recovers = append(recovers, record.Fact{Code: noRecovery, Values: record.Values{"rate": f.Low}})
		}
		if a.diedOverloaded(f) {
			recovers = append(recovers, record.Fact{Code: diedOverloaded, Values: record.Values{"rate": a.end.Rate}, Names: record.Names{"error": a.end.Why}})
		}
		return answer(capacityBetween, recovers, a.recovery(f), a.losing(f.Low))
	case capacity.Beyond:
		return answer(capacityBeyond, a.above(f), a.recovery(f), a.losing(f.Low))
	case capacity.Below:
		return answer(capacityBelow, a.under(f))
	case capacity.Never:
		never := answer(capacityNever)
		never.Names["wants"] = wants.String()
		return never
	case slow:
		slow := answer(capacitySlow)
		slow.Names["said"] = TooSlow(a.options, record.Duration(a.warmup), record.Duration(a.window), record.Duration(a.budget), xmax)
		return slow
	case died:
		died := answer(capacityDied)
		died.Names["error"], died.Values["rate"] = a.end.Why, a.end.Rate
		return died
	}
	switch {
	// From here on the outcome is undecided. The first reason that applies is told.
	case a.end != nil:
		ended := answer(capacityEnded)
		ended.Names["error"] = a.end.Why
		return ended
	case f.Low == 0 && f.High > 0 && wants.AtLeast:
		open := answer(capacityWants, a.why(f))
		open.Names["wants"], open.Values["wants"] = wants.String(), wants.Limit
		return open
	case f.Used == 0 && f.Refused > 0:
		all := answer(capacityRefused, []record.Fact{a.lastRefusal()}, a.helps(), a.stopped())
		all.Values["refused"] = float64(f.Refused)
		return all
	case f.Low > 0:
		verified := answer(capacityVerified, a.why(f))
		verified.Values["tried"] = a.lastRate(capacity.Refute)
		return verified
	case f.High > 0:
		refuted := answer(capacityRefuted, a.why(f))
		refuted.Values["tried"], refuted.Values["kept"], refuted.Values["kept_of"] = a.lastRate(capacity.Verify), float64(f.LowKept), float64(f.LowOf)
		return refuted
	}
	if cut := a.stopped(); cut != nil {
		return answer(capacityCut, cut, a.refusals(f))
	}
	open := answer(capacityOpen, a.why(f))
	open.Values["windows"] = float64(len(a.windows))
	return open
}

// above explains why the search offered no rate above the highest one that kept the objective. It
// is for an outcome [capacity.Beyond].
func (a *searched) above(f capacity.Finding) []record.Fact {
	one := func(code record.Code, values record.Values, because ...record.Fact) []record.Fact {
		return []record.Fact{{Code: code, Values: values, Because: because}}
	}
	upTo := record.Values{"rate": f.Low}
	switch f.Stopped {
	case capacity.AtBudget:
		return one(nothingBroke, upTo, record.Fact{Code: searchBudget})
	case capacity.AtCeiling:
		return one(atCeiling, record.Values{"rate": a.options.Ceiling})
	case capacity.AtBench:
		// Find the refused window beyond the verified rate. Its reason tells whether the generator
		// or other programs are the limit.
		for _, w := range a.windows {
			if w.Refused.None() || w.Purpose != capacity.Reach || w.Rate <= f.Low {
				continue
			}
			refused := record.Fact{Code: rateRefused, Values: record.Values{"rate": w.Rate}, Because: []record.Fact{w.Refused}}
			if ofGenerator(w.Refused) {
				return one(nothingOffered, nil, refused)
			}
			return one(nothingBroke, upTo, refused, record.Fact{Code: searchOthers})
		}
	}
	return one(nothingBroke, upTo, a.ended()...)
}

// ended explains why a search ended without finding a limit.
func (a *searched) ended() []record.Fact {
	if cut := a.stopped(); cut != nil {
		return cut
	}
	return []record.Fact{{Code: searchEnded}}
}

// under explains why the search offered no rate below the lowest one that broke the objective. It
// is for an outcome [capacity.Below].
func (a *searched) under(f capacity.Finding) (all []record.Fact) {
	// Lower rates than High were offered, and none kept the objective either.
	if f.Least < f.High {
		all = append(all, record.Fact{Code: noneKeeps, Values: record.Values{"rate": f.Least}})
	}
	switch f.Stopped {
	case capacity.AtFloor:
		return append(all, record.Fact{Code: atFloor, Values: record.Values{"window": a.window, "twice": 2 * a.window}})
	case capacity.AtBudget:
		return append(all, record.Fact{Code: searchBudget})
	}
	return append(all, a.ended()...)
}

// goodput returns the goodput term of the objective, or the zero Term if it has none.
func (a *searched) goodput() stats.Term {
	for _, t := range a.options.SLO {
		if t.AtLeast {
			return t
		}
	}
	return stats.Term{}
}

// comparedCapacities states which arms have more or less capacity than the first arm, and which
// cannot be told apart from it because their intervals overlap. It compares intervals, which needs
// no further windows: two arms differ if the intervals in which their capacities lie are apart.
// Undecided arms are left out, and so are arms that starve clients: their capacity is of some clients
// only.
func comparedCapacities(arms []record.ArmCapacity) []record.Fact {
	facts, alike := []record.Fact{}, []string{}
	arms = slices.DeleteFunc(slices.Clone(arms), func(a record.ArmCapacity) bool { return !a.Starves.None() })
	for i, a := range arms {
		base := arms[0]
		if i == 0 || !a.Decided() || !base.Decided() {
			continue
		}
		low, high := a.Bounds()
		baseLow, baseHigh := base.Bounds()
		switch {
		case low > baseHigh:
			facts = append(facts, record.Fact{Code: moreCapacity, Arm: a.Name, Baseline: base.Name, Values: record.Values{"own": low, "baseline": baseHigh}})
		case high < baseLow:
			facts = append(facts, record.Fact{Code: lessCapacity, Arm: a.Name, Baseline: base.Name, Values: record.Values{"own": high, "baseline": baseLow}})
		default:
			alike = append(alike, a.Name)
		}
	}
	if len(alike) > 0 {
		facts = append(facts, record.Fact{Code: notToldApart, Baseline: arms[0].Name, Names: record.Names{"arms": strings.Join(alike, ", ")}})
	}
	return facts
}
