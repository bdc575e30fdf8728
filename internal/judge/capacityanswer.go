package judge

import (
	"maps"
	"math"
	"slices"
	"strings"

	"schedlab/internal/capacity"
	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/window"
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
// clauses that explain why the search found no more: refused windows, the end of the budget, an
// interrupt, or noise. A reader should learn what to change: the budget, the window, the objective, or
// the load. The functions of the clauses return nil for none, so that they can be concatenated.
func (a *searched) conclusion(f capacity.Finding, xmax float64) record.Fact {
	wants, plan := a.goodput(), a.run.Plan
	// names and values are what the sentence of the code needs beyond what all of them have.
	answer := func(code record.Code, names record.Names, values record.Values, because ...[]record.Fact) record.Fact {
		fact := record.Fact{
			Code: code, Arm: a.plan.Name, Names: record.Names{"slo": a.options.SLO.String()},
			Values:  record.Values{"low": f.Low, "high": f.High, "broken": float64(f.HighBroken), "of": float64(f.HighOf)},
			Because: slices.Concat(because...),
		}
		maps.Copy(fact.Names, names)
		maps.Copy(fact.Values, values)
		return fact
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
		return answer(capacityBetween, nil, nil, recovers, a.recovery(f), a.losing(f.Low))
	case capacity.Beyond:
		return answer(capacityBeyond, nil, nil, a.above(f), a.recovery(f), a.losing(f.Low))
	case capacity.Below:
		return answer(capacityBelow, nil, nil, a.under(f))
	case capacity.Never:
		return answer(capacityNever, record.Names{"wants": wants.String()}, nil)
	case slow:
		said := TooSlow(a.options, record.Duration(plan.Warmup), record.Duration(plan.Window), record.Duration(plan.Budget), xmax)
		return answer(capacitySlow, record.Names{"said": said}, nil)
	case died:
		return answer(capacityDied, record.Names{"error": a.end.Why}, record.Values{"rate": a.end.Rate})
	}
	cut := a.stopped()
	switch {
	// From here on the outcome is undecided. The first reason that applies is told.
	case a.end != nil:
		return answer(capacityEnded, record.Names{"error": a.end.Why}, nil)
	case f.Low == 0 && f.High > 0 && wants.AtLeast:
		return answer(capacityWants, record.Names{"wants": wants.String()}, record.Values{"wants": wants.Limit}, a.why(f))
	case f.Used == 0 && f.Refused > 0:
		return answer(capacityRefused, nil, record.Values{"refused": float64(f.Refused)}, []record.Fact{a.lastRefusal()}, a.helps(), cut)
	case f.Low > 0:
		return answer(capacityVerified, nil, record.Values{"tried": f.LastRate(capacity.Refute)}, a.why(f))
	case f.High > 0:
		tried := record.Values{"tried": f.LastRate(capacity.Verify), "kept": float64(f.LowKept), "kept_of": float64(f.LowOf)}
		return answer(capacityRefuted, nil, tried, a.why(f))
	case cut != nil:
		return answer(capacityCut, nil, nil, cut, a.refusals(f))
	}
	return answer(capacityOpen, nil, record.Values{"windows": float64(len(a.windows))}, a.why(f))
}

// above explains why the search offered no rate above the highest one that kept the objective. It
// is for an outcome [capacity.Beyond].
func (a *searched) above(f capacity.Finding) []record.Fact {
	because := a.ended()
	switch f.Stopped {
	case capacity.AtBudget:
		because = []record.Fact{{Code: searchBudget}}
	case capacity.AtCeiling:
		return []record.Fact{{Code: atCeiling, Values: record.Values{"rate": a.options.Ceiling}}}
	case capacity.AtBench:
		// Find the refused window beyond the verified rate. Its reason tells whether the generator
		// or other programs are the limit.
		for _, w := range a.windows {
			if w.Refused.None() || w.Purpose != capacity.Reach || w.Rate <= f.Low {
				continue
			}
			refused := record.Fact{Code: rateRefused, Values: record.Values{"rate": w.Rate}, Because: []record.Fact{w.Refused}}
			if ofGenerator(w.Refused) {
				return []record.Fact{{Code: nothingOffered, Because: []record.Fact{refused}}}
			}
			because = []record.Fact{refused, {Code: searchOthers}}
			break
		}
	}
	return []record.Fact{{Code: nothingBroke, Values: record.Values{"rate": f.Low}, Because: because}}
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
		return append(all, record.Fact{Code: atFloor, Values: record.Values{"window": a.run.Plan.Window, "twice": 2 * a.run.Plan.Window}})
	case capacity.AtBudget:
		return append(all, record.Fact{Code: searchBudget})
	}
	return append(all, a.ended()...)
}

// busyShare is the busy ratio of the load's CPUs from which the load's lateness is no longer
// blamed on other programs. It is half of the limit for a window. A generator that was late while
// its CPUs had time to spare was held up by something else.
const busyShare = window.GeneratorLimit / 2

// generatorLimit returns the fact that the arm is too fast for the generator, if most refused
// windows were refused because the generator was late while it was busy; else nil.
func (a *searched) generatorLimit() []record.Fact {
	refused, late := 0, 0
	least, full := math.Inf(1), 0.0
	for i, w := range a.windows {
		if w.Refused.None() || w.Purpose == capacity.Overload {
			continue
		}
		refused++
		if busy := a.figures[i].generator; ofGenerator(w.Refused) && busy >= busyShare {
			late++
			least, full = min(least, w.Rate), max(full, busy)
		}
	}
	// Not the generator alone.
	if 2*late <= refused {
		return nil
	}
	return []record.Fact{{Code: searchGenerator, Values: record.Values{"rate": least, "busy": min(full, 1)}}}
}

// helps returns the advice against an arm's refused windows: use a faster generator, or stop other
// programs.
func (a *searched) helps() []record.Fact {
	if limit := a.generatorLimit(); limit != nil {
		return limit
	}
	return []record.Fact{{Code: searchOthers}}
}

// stopped returns what ended the whole run early; nil if the search came to its end. A search that
// had used all its windows was not cut short. A run that is still Running was killed, or goes on.
func (a *searched) stopped() []record.Fact {
	cut := a.run.Status == record.Interrupted || a.run.Status == record.Running
	if !cut || len(a.windows) >= a.options.Windows {
		return nil
	}
	return []record.Fact{{Code: searchStopped, Names: record.Names{"status": string(a.run.Status)}, Values: record.Values{"windows": float64(len(a.windows))}}}
}

// recovery returns a fact if the server was overloaded and it is not known whether it recovers;
// else nil.
func (a *searched) recovery(f capacity.Finding) []record.Fact {
	if f.Recovers != "" || f.AgainOf == 0 || a.diedOverloaded(f) {
		return nil
	}
	open := record.Fact{Code: recoveryOpen, Names: record.Names{"ended": "out of use"}, Values: record.Values{
		"kept": float64(f.AgainKept), "of": float64(f.AgainOf), "rate": f.Low,
	}}
	switch {
	case f.AgainOf >= capacity.MostAgain:
		open.Names["ended"] = "noise"
	case a.stopped() != nil:
		open.Names["ended"] = string(a.run.Status)
	case len(a.windows) >= a.options.Windows:
		open.Names["ended"] = "budget"
	}
	return []record.Fact{open}
}

// refusals returns how many of the arm's windows were refused, the last reason and what helps; nil
// if none were.
func (a *searched) refusals(f capacity.Finding) []record.Fact {
	if f.Refused == 0 {
		return nil
	}
	return []record.Fact{{
		Code: searchRefusals, Values: record.Values{"refused": float64(f.Refused), "windows": float64(len(a.windows))},
		Because: append([]record.Fact{a.lastRefusal()}, a.helps()...),
	}}
}

// outOfBudget returns the budget that has room for the windows that settle an answer, if the search used
// all its windows before it was settled, but none of them contradicts it; else nil.
func (a *searched) outOfBudget(f capacity.Finding) []record.Fact {
	agree := f.LowKept == f.LowOf && f.HighBroken == f.HighOf
	if len(a.windows) < a.options.Windows || !agree {
		return nil
	}
	// The budget pays for windows, so it grows in proportion.
	budget := a.run.Plan.Budget * float64(a.options.Windows+capacity.Reserved) / float64(a.options.Windows)
	return []record.Fact{{Code: searchShort, Values: record.Values{"budget": math.Ceil(budget)}}}
}

// why returns the most likely reason why the search has no answer. If nothing else explains it,
// the windows of one rate differ too much from each other.
func (a *searched) why(f capacity.Finding) []record.Fact {
	if why := slices.Concat(a.stopped(), a.refusals(f), a.outOfBudget(f)); len(why) > 0 {
		return why
	}
	return []record.Fact{{Code: searchScatter, Values: record.Values{"window": 2 * a.run.Plan.Window, "budget": 2 * a.run.Plan.Budget}}}
}

// lastRefusal returns the reason of the last refused window; no fact if none was refused.
func (a *searched) lastRefusal() (why record.Fact) {
	for _, w := range a.windows {
		if !w.Refused.None() {
			why = w.Refused
		}
	}
	return why
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
