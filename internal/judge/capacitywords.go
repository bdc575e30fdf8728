package judge

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"schedlab/internal/capacity"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// losing warns of requests that went wrong at a rate that keeps the objective.
func (a *searched) losing(rate float64) string {
	for _, w := range a.windows {
		if w.Refused == "" && w.Rate == rate && w.Errors > errorLimit {
			return fmt.Sprintf("; %.2g %% of the requests get no good reply there, which no term forbids: add errors<=0.1%%", 100*w.Errors)
		}
	}
	return ""
}

// sentence is an arm's answer.
func (a *searched) sentence(f capacity.Finding, xmax float64) string {
	name, promise, wants := a.plan.Name, a.options.SLO.String(), a.goodput()
	switch f.Outcome {
	case capacity.Between:
		text := fmt.Sprintf("%s keeps %s up to between %s and %s", name, promise, prose.PerSecond(f.Low), prose.PerSecond(f.High))
		if yes, known := f.Recovers(); known && !yes {
			text += fmt.Sprintf("; it does not recover: overloaded once, it breaks it at %s, too", prose.PerSecond(f.Low))
		}
		if a.diedOverloaded(f) {
			text += fmt.Sprintf("; it does not recover: at %s it died (%s)", prose.PerSecond(a.end.Rate), a.end.Why)
		}
		return text + a.recovery(f) + a.losing(f.Low)
	case capacity.Beyond:
		return fmt.Sprintf("%s keeps %s at %s, and ", name, promise, prose.PerSecond(f.Low)) + a.above(f) + a.recovery(f) + a.losing(f.Low)
	case capacity.Below:
		return fmt.Sprintf("%s does not keep %s at %s: %d of %d windows break it", name, promise, prose.PerSecond(f.High), f.HighBroken, f.HighOf) + a.under(f)
	case capacity.Never:
		return fmt.Sprintf("%s keeps %s at no rate: %d of %d windows at %s break it, and no lower one has %s", name, promise, f.HighBroken, f.HighOf, prose.PerSecond(f.High), wants)
	case slow:
		return fmt.Sprintf("%s is too slow to judge: it %s", name, TooSlow(a.options, a.window, xmax))
	case died:
		text := name + " died: " + a.end.Why
		if a.end.Rate > 0 {
			text = fmt.Sprintf("%s died at %s: %s", name, prose.PerSecond(a.end.Rate), a.end.Why)
		}
		if f.Low > 0 {
			text += fmt.Sprintf("; until then %s was verified for %s", prose.PerSecond(f.Low), promise)
		}
		return text
	}
	text := fmt.Sprintf("%s is undecided for %s: ", name, promise)
	switch {
	case a.end != nil:
		return text + a.end.Why
	case f.Low == 0 && f.High > 0 && wants.AtLeast:
		return text + fmt.Sprintf("%s is refuted, and %s itself, which %s asks for, is neither verified nor refuted", prose.PerSecond(f.High), prose.PerSecond(wants.Limit), wants) + a.why(f)
	case f.Used == 0 && f.Refused > 0:
		return text + fmt.Sprintf("all %s are refused, the last for %s%s", prose.Plural(f.Refused, "window"), a.lastRefusal(), a.calmer()) + after(a.stopped())
	case f.Low > 0:
		return text + fmt.Sprintf("%s is verified, and no higher rate is refuted", prose.PerSecond(f.Low)) + a.why(f)
	case f.High > 0:
		return text + fmt.Sprintf("%s is refuted, and no lower rate is verified", prose.PerSecond(f.High)) + a.why(f)
	}
	if cut := a.stopped(); cut != "" {
		return text + cut + ", before a rate was verified or refuted" + a.refusals(f)
	}
	return text + fmt.Sprintf("no rate is verified or refuted in %s", prose.Plural(len(a.windows), "window")) + a.why(f)
}

// above says why no higher rate was offered than one that was kept.
func (a *searched) above(f capacity.Finding) string {
	upTo := "nothing up to " + prose.PerSecond(f.Low) + " broke it"
	switch f.Stop {
	case capacity.AtBudget:
		return upTo + "; the budget ended there: raise --budget"
	case capacity.AtCeiling:
		return fmt.Sprintf("no rate that could be offered breaks it; more than %s is more than a window has room for", prose.PerSecond(a.options.Ceiling))
	case capacity.AtBench:
		for _, w := range a.windows {
			if w.Refused == "" || w.Purpose != capacity.Reach || w.Rate <= f.Low {
				continue
			}
			refused := fmt.Sprintf("; %s was refused for %s", prose.PerSecond(w.Rate), w.Refused)
			if ofGenerator(w.Refused) {
				return "no rate that could be offered breaks it" + refused
			}
			return upTo + refused + calmer
		}
	}
	return upTo + after(cmp.Or(a.stopped(), "the search ended there"))
}

// under says why no lower rate was offered than those that broke the objective.
func (a *searched) under(f capacity.Finding) (text string) {
	if f.Least < f.High {
		text = fmt.Sprintf(", and none down to %s keeps it", prose.PerSecond(f.Least))
	}
	switch f.Stop {
	case capacity.AtFloor:
		return text + fmt.Sprintf("; that is the lowest rate that a window of %g s can judge: lengthen --window to look lower", a.window)
	case capacity.AtBudget:
		return text + "; the budget ended there: raise --budget"
	}
	return text + after(cmp.Or(a.stopped(), "the search ended there"))
}

// goodput is the promise of one; the zero term for none.
func (a *searched) goodput() stats.Term {
	for _, t := range a.options.SLO {
		if t.AtLeast {
			return t
		}
	}
	return stats.Term{}
}

// limits of a decided arm's capacity.
func limits(a record.ArmCapacity) (low, high float64) {
	switch capacity.Outcome(a.Outcome) {
	case capacity.Beyond:
		return a.Low, math.Inf(1)
	case capacity.Below, capacity.Never:
		return 0, a.High
	}
	return a.Low, a.High
}

// comparedCapacities says which arms have more capacity than the first, and which
// cannot be told from it.
func comparedCapacities(arms []record.ArmCapacity) []string {
	lines, alike := []string{}, []string{}
	for i, a := range arms {
		base := arms[0]
		if i == 0 || !a.Decided() || !base.Decided() {
			continue
		}
		low, high := limits(a)
		baseLow, baseHigh := limits(base)
		switch {
		case low > baseHigh:
			lines = append(lines, fmt.Sprintf("%s has more capacity than %s: at least %s against at most %s", a.Name, base.Name, prose.PerSecond(low), prose.PerSecond(baseHigh)))
		case high < baseLow:
			lines = append(lines, fmt.Sprintf("%s has less capacity than %s: at most %s against at least %s", a.Name, base.Name, prose.PerSecond(high), prose.PerSecond(baseLow)))
		default:
			alike = append(alike, a.Name)
		}
	}
	if len(alike) > 0 {
		lines = append(lines, fmt.Sprintf("not told apart from %s, for their intervals overlap: %s", arms[0].Name, strings.Join(alike, ", ")))
	}
	return lines
}

// capacityHeadline is the answer in one sentence: the only arm's, or who has the
// most.
func capacityHeadline(c *record.Capacity) string {
	open := 0
	for _, a := range c.Arms {
		open += stats.Count(!a.Decided())
	}
	switch {
	case len(c.Arms) == 1:
		return c.Arms[0].Text + "."
	case open == len(c.Arms) && c.Arms[0].Outcome == string(capacity.Undecided):
		return "Undecided: " + c.Arms[0].Text + "."
	case open == len(c.Arms):
		return c.Arms[0].Text + "."
	}
	for i, a := range c.Arms {
		low, _ := limits(a)
		most := a.Decided() && open == 0
		next := 0.0
		for k, b := range c.Arms {
			_, high := limits(b)
			if k != i {
				most, next = most && low > high, max(next, high)
			}
		}
		if most {
			return fmt.Sprintf("%s has the most capacity for %s: at least %s, the others at most %s.", a.Name, c.SLO, prose.PerSecond(low), prose.PerSecond(next))
		}
	}
	var spans []string
	for _, a := range c.Arms[:min(len(c.Arms), mostSpans)] {
		spans = append(spans, a.Name+" "+span(a))
	}
	if more := len(c.Arms) - len(spans); more > 0 {
		spans = append(spans, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("No arm is sure to have the most capacity for %s: %s.", c.SLO, strings.Join(spans, ", "))
}

// mostSpans are as many arms as a headline can name.
const mostSpans = 4

// span is an arm's capacity in a few words.
func span(a record.ArmCapacity) string {
	switch capacity.Outcome(a.Outcome) {
	case capacity.Between:
		return prose.PerSecond(a.Low) + " to " + prose.PerSecond(a.High)
	case capacity.Beyond:
		return "above " + prose.PerSecond(a.Low)
	case capacity.Below:
		return "below " + prose.PerSecond(a.High)
	case capacity.Never:
		return "none"
	case slow:
		return "too slow to judge"
	case died:
		return "died"
	}
	return "undecided"
}
