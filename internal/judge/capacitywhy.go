package judge

import (
	"math"
	"slices"

	"schedlab/internal/capacity"
	"schedlab/internal/record"
	"schedlab/internal/window"
)

// busyShare is the busy ratio of the load's CPUs from which the load's lateness is no longer
// blamed on other programs. It is half of the limit for a window. A generator that was late while
// its CPUs had time to spare was held up by something else.
const busyShare = window.GeneratorLimit / 2

// generatorLimit returns the fact that the arm is too fast for the generator, if most refused
// windows were refused because the generator was late while it was busy; else nil.
//
// This file finds why a search has no answer, or less than it might have: refused windows, the end
// of the budget, an interrupt, or noise. Each function returns facts for a sentence, nil for none,
// so that they can be concatenated.
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
// had used all its windows was not cut short.
func (a *searched) stopped() []record.Fact {
	if a.cut == "" || len(a.windows) >= a.options.Windows {
		return nil
	}
	return []record.Fact{{Code: searchStopped, Names: record.Names{"status": string(a.cut)}, Values: record.Values{"windows": float64(len(a.windows))}}}
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
	case a.stopped() != nil:
		open.Names["ended"] = string(a.cut)
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

// lastRate returns the rate of the last window with this purpose that is evidence; 0 if there is none.
func (a *searched) lastRate(purpose string) float64 {
	return record.ArmCapacity{Windows: a.windows}.LastRate(purpose)
}

// outOfBudget returns the budget that has room for the windows that settle an answer, if the search used
// all its windows before it was settled, but none of them contradicts it; else nil.
func (a *searched) outOfBudget(f capacity.Finding) []record.Fact {
	agree := f.LowKept == f.LowOf && f.HighBroken == f.HighOf
	if len(a.windows) < a.options.Windows || !agree {
		return nil
	}
	// The budget pays for windows, so it grows in proportion.
	budget := a.budget * float64(a.options.Windows+capacity.Reserved) / float64(a.options.Windows)
	return []record.Fact{{Code: searchShort, Values: record.Values{"budget": math.Ceil(budget)}}}
}

// why returns the most likely reason why the search has no answer. If nothing else explains it,
// the windows of one rate differ too much from each other.
func (a *searched) why(f capacity.Finding) []record.Fact {
	if why := slices.Concat(a.stopped(), a.refusals(f), a.outOfBudget(f)); len(why) > 0 {
		return why
	}
	return []record.Fact{{Code: searchScatter, Values: record.Values{"window": 2 * a.window, "budget": 2 * a.budget}}}
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
