package capacity

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// searched is one arm of a search. Its Windows are from the record, and answer sets the rest of the finding.
type searched struct {
	finding
	run     record.Run
	plan    record.PlanArm
	options options
}

// Judge computes the result of a search from its record, which also has the objective.
//
// A search has no blocks and no verdicts. Its windows are reduced one by one, and counted. It is the same code
// that led the search while it ran, so the record gives the same answer again.
func (Objective) Judge(dir *record.Dir, run record.Run) (record.Result, error) {
	slo, err := stats.ParseSLO(run.Plan.SLO)
	if err != nil {
		return nil, fmt.Errorf("judging %q: run.json is damaged: %w", dir.Path(), err)
	}
	trials, err := judge.NewTrials(dir.Name(), dir.Path(), run)
	if err != nil {
		return nil, err
	}
	arms := make([]*searched, len(run.Plan.Arms))
	for i, a := range run.Plan.Arms {
		arms[i] = &searched{run: run, plan: a, options: Objective{slo}.options(run.Plan)}
	}
	for t, err := range dir.Trials() {
		take(&trials, arms, t, err)
	}
	r := &Search{Common: trials.Common(Kind), SLO: run.Plan.SLO, Budget: run.Plan.Budget, Arms: []ArmCapacity{}}
	for _, t := range slo {
		r.Terms = append(r.Terms, SLOTerm{Text: t.String(), Term: t})
	}
	for _, a := range arms {
		a.answer()
		a.Contestant = trials.Contestant(a.plan)
		r.Arms = append(r.Arms, a.ArmCapacity)
	}
	r.Lines = comparedCapacities(r.Arms)
	answered := slices.ContainsFunc(r.Arms, func(a ArmCapacity) bool { return a.Outcome.Decided() })
	r.Doubts = trials.Doubts(r, answered, doubts(arms)...)
	return r, nil
}

// take adds a trial's window to its arm. A trial that cannot be judged becomes a doubt.
func take(trials *judge.Trials, arms []*searched, t record.TrialRecord, err error) {
	// A search chose a rate for each of its windows.
	var own fact.Fact
	if !(t.Rate > 0) {
		own = trialOfNoSearch
	}
	if !trials.Admits(t.Trial, err, own) {
		return
	}
	a := arms[slices.IndexFunc(arms, func(a *searched) bool { return a.plan.Name == t.Arm })]
	a.Windows = append(a.Windows, reduced(t, a.run.Env, a.plan.Clients, a.options.SLO))
}

// answer sets the arm's answer from its windows and the run.
func (a *searched) answer() {
	a.find()
	a.Answer, a.Fact = outcome.Capacity.Phrase(a.Outcome), a.conclusion()
	if a.diedOverloaded() {
		a.Recovers = outcome.No
	}
	for _, d := range a.run.Plan.Doubts {
		if doubt.StickyPool.Code.Is(d) && d.Arm == a.Name {
			a.Starves = d
		}
	}
	var cpu, rates []float64
	for _, w := range a.Windows {
		// Failed requests cost more or less CPU time, so take windows without errors only.
		if w.CPU > 0 && w.Refused.None() && w.Errors == 0 && w.Purpose != purposeOverload {
			cpu, rates = append(cpu, w.CPU), append(rates, w.Rate)
		}
	}
	if len(cpu) > 0 {
		a.CPUPerRequest, a.CPURates = stats.Median(cpu), []float64{slices.Min(rates), slices.Max(rates)}
	}
}

// find sets what the arm's windows and the run show. Without an answer of the windows it refuses one where
// the server died, or where X_max is below the lowest rate that a window can judge.
func (a *searched) find() {
	// An empty list and not nil, so that JSON shows [] and not null.
	a.finding = findingOf(a.options, append([]RateWindow{}, a.Windows...))
	a.Name, a.XMax = a.plan.Name, a.run.XMax[a.plan.Name]
	if end, ok := a.run.Ends[a.Name]; ok {
		a.End = &end
	}
	slow := len(a.Windows) == 0 && a.XMax > 0 && a.XMax < a.options.Floor
	if a.Outcome == outcome.Open && (a.died() || slow) {
		a.Outcome = outcome.Refused
	}
}

// died reports whether the server died during the search.
func (a *searched) died() bool { return a.End != nil && a.End.Died }

// diedOverloaded reports whether the server died at a higher rate after its capacity was found, or at a verified one after it had
// been overloaded.
// The capacity stands, but the server does not survive an overload.
func (a *searched) diedOverloaded() bool {
	overloaded := slices.ContainsFunc(a.Windows, func(w RateWindow) bool { return w.Purpose == purposeOverload })
	return a.died() && (a.End.Rate > a.Low || overloaded && a.End.Rate == a.Low) && a.Outcome == outcome.Yes && a.High > 0
}

// aboveXMax is the ratio of a verified rate to X_max from which they contradict each other. More
// clients at a time, or a machine that changed, can explain it. The rates of the search were chosen
// by X_max, so a wrong one matters.
const aboveXMax = 1.03

// doubts returns the doubts about the arms' answers.
func doubts(arms []*searched) (all []fact.Fact) {
	for _, a := range arms {
		if a.XMax > 0 && a.Low > aboveXMax*a.XMax {
			all = append(all, lowXMax.Of(aboveMost{a.Low, a.XMax}).On(a.Name))
		}
		all = append(all, a.refusals(windowsRefused, a.Name)...)
	}
	return all
}

// conclusion returns an arm's answer with the clauses that explain it. The answer's values are rates per second and counts.
//
// It puts the outcome of a search into facts: one answer per arm, and in its Because the clauses that explain why the
// search found no more: refused windows, the end of the budget, an interrupt, or noise. A reader should learn what to
// change: the budget, the window, the objective, or the load. The functions of the clauses return nil for none, so that
// they can be concatenated.
func (a *searched) conclusion() fact.Fact {
	wants := a.options.SLO.Goodput()
	of := found{a.options.SLO.String(), a.Low, a.High, a.HighBroken, a.HighOf}
	var answer fact.Fact
	switch {
	// The outcomes that are settled come first.
	case a.Outcome == outcome.Yes && a.High > 0:
		answer = capacityBetween.Of(of).Since(slices.Concat(a.recovery(), a.losing())...)
	case a.Outcome == outcome.Yes:
		answer = capacityBeyond.Of(of).Since(slices.Concat(a.above(), a.recovery(), a.losing())...)
	case a.Never:
		answer = capacityNever.Of(foundNone{of, wants.String()})
	case a.Outcome == outcome.No:
		answer = capacityBelow.Of(of).Since(a.under()...)
	case a.Outcome == outcome.Refused && a.died():
		answer = capacityDied.Of(foundDead{of, a.End.Why, a.End.Rate})
	case a.Outcome == outcome.Refused:
		answer = capacitySlow.Of(foundSlow{of, Objective{a.options.SLO}.TooSlow(a.run.Plan, a.XMax)})
	// From here on the outcome is open. The first reason that applies is the answer.
	case a.End != nil:
		answer = capacityEnded.Of(foundEnd{of, a.End.Why})
	case a.Low == 0 && a.High > 0 && wants.AtLeast:
		answer = capacityWants.Of(foundWanting{of, wants.String(), wants.Limit}).Since(a.why()...)
	case a.Low > 0:
		answer = capacityVerified.Of(foundVerified{of, a.LastRate(purposeRefute)}).Since(a.why()...)
	case a.High > 0:
		answer = capacityRefuted.Of(foundRefuted{of, a.LastRate(purposeVerify), a.LowKept, a.LowOf}).Since(a.why()...)
	default:
		answer = capacityOpen.Of(foundOpen{of, len(a.Windows)}).Since(a.why()...)
	}
	return answer.On(a.Name)
}

// losing returns a warning if, at the verified rate, more than judge.ErrorLimit of a window's requests failed; else nil.
func (a *searched) losing() []fact.Fact {
	for _, w := range a.Windows {
		if w.Refused.None() && w.Rate == a.Low && w.Errors > judge.ErrorLimit {
			return []fact.Fact{losingRequests.Of(share{w.Errors})}
		}
	}
	return nil
}

// above explains why the search offered no rate above the highest one that kept the objective. It
// is for a Yes without a High.
func (a *searched) above() []fact.Fact {
	because := a.ended()
	switch a.Stopped {
	case stoppedAtCeiling:
		return []fact.Fact{atCeiling.Of(aRate{a.options.Ceiling})}
	case stoppedAtBench:
		// The reason of the refused window tells whether the generator or other programs are the limit.
		w := a.Unoffered
		refused := rateRefused.Of(aRate{w.Rate}).Since(w.Refused)
		if ofGenerator(w.Refused) {
			return []fact.Fact{nothingOffered.Since(refused)}
		}
		because = []fact.Fact{refused, searchOthers}
	}
	return []fact.Fact{nothingBroke.Of(aRate{a.Low}).Since(because...)}
}

// under explains why the search offered no rate below the lowest one that broke the objective. It
// is for a No.
func (a *searched) under() (all []fact.Fact) {
	// Lower rates than High were offered, and none kept the objective either.
	if a.Least < a.High {
		all = append(all, noneKeeps.Of(aRate{a.Least}))
	}
	if a.Stopped == stoppedAtFloor {
		return append(all, atFloor.Of(tooShort{a.run.Plan.Window.Seconds(), 2 * a.run.Plan.Window.Seconds()}))
	}
	return append(all, a.ended()...)
}

// recovery tells that the server does not recover from its overload, or that this is not known; nil if it recovers or
// was not overloaded.
func (a *searched) recovery() []fact.Fact {
	switch {
	case a.diedOverloaded():
		return []fact.Fact{diedOverloaded.Of(deadly{a.End.Rate, a.End.Why})}
	case a.Recovers == outcome.No:
		return []fact.Fact{noRecovery.Of(aRate{a.Low})}
	case a.Recovers != outcome.Open:
		return nil
	}
	because := a.ended()
	// All windows that follow an overload were used, and they do not agree (see Recovers of a finding).
	if a.AgainOf >= mostAgain {
		because = []fact.Fact{recoveryNoise}
	}
	return []fact.Fact{recoveryOpen.Of(keptAgain{a.AgainKept, a.AgainOf, a.Low}).Since(because...)}
}

// ended explains why a search ended before it found more.
func (a *searched) ended() []fact.Fact {
	if a.Stopped == stoppedAtBudget || len(a.Windows) >= a.options.Windows {
		return []fact.Fact{searchBudget}
	}
	if cut := a.cut(); cut != nil {
		return cut
	}
	return []fact.Fact{searchEnded}
}

// cut returns what ended the whole run early; nil if the search came to its end. A search that
// had used all its windows was not cut short. A run that is still Running was killed, or goes on.
func (a *searched) cut() []fact.Fact {
	early := a.run.Status == record.Interrupted || a.run.Status == record.Running
	if !early || len(a.Windows) >= a.options.Windows {
		return nil
	}
	return []fact.Fact{searchStopped.Of(stopped{string(a.run.Status), len(a.Windows)})}
}

// why returns the most likely reason why the search has no answer. If nothing else explains it,
// the windows of one rate differ too much from each other.
func (a *searched) why() []fact.Fact {
	plan, most := a.run.Plan, float64(a.options.Windows)
	why := append(a.cut(), a.refusals(searchRefusals, "")...)
	// Neither a larger budget nor longer windows help against others.
	if busy := judge.Busy(a.run.Others, a.run.Env); !busy.None() {
		return append(why, searchBusy.Since(busy))
	}
	// All windows were used before it was settled, but none of them contradicts it.
	if agree := a.LowKept == a.LowOf && a.HighBroken == a.HighOf; agree && a.Used > 0 && len(a.Windows) >= a.options.Windows {
		// The budget pays for windows, so it grows in proportion.
		longer := math.Ceil(plan.Budget.Seconds() * (most + reserved) / most)
		why = append(why, searchShort.Of(longerBudget{longer}))
	}
	if len(why) > 0 {
		return why
	}
	return []fact.Fact{searchScatter.Of(advice{2 * plan.Window.Seconds(), 2 * plan.Budget.Seconds()})}
}

// busyShare is the busy ratio of the load's CPUs from which the load's lateness is no longer
// blamed on other programs. It is half of the limit for a window. A generator that was late while
// its CPUs had time to spare was held up by something else.
const busyShare = window.GeneratorLimit / 2

// refusals tells how many of the arm's windows were refused, the last reason, and what helps: more CPUs for the load if most of
// them were refused because the generator was late while it was busy, else to stop other programs. It is nil if none
// were refused. The fact is of the given kind and arm.
func (a *searched) refusals(kind *fact.Kind[refusedWindows], arm string) []fact.Fact {
	if a.Refused == 0 {
		return nil
	}
	late, least, full, helps := 0, math.Inf(1), 0.0, searchOthers
	for _, w := range a.Windows {
		if ofGenerator(w.Refused) && w.Purpose != purposeOverload && w.Busy >= busyShare {
			late++
			least, full = min(least, w.Rate), max(full, w.Busy)
		}
	}
	if 2*late > a.Refused {
		helps = searchGenerator.Of(ofGenerators{least, min(full, 1)})
	}
	return []fact.Fact{kind.Of(refusedWindows{a.Refused, len(a.Windows)}).On(arm).Since(a.Refusal, helps)}
}

// comparedCapacities states which arms have more or less capacity than the first arm, and which
// cannot be told apart from it because their intervals overlap. It compares intervals, which needs
// no further windows: two arms differ if the intervals in which their capacities lie are apart.
// Open arms are left out, and so are arms that starve clients: their capacity is of some clients
// only.
func comparedCapacities(arms []ArmCapacity) []fact.Fact {
	facts, alike := []fact.Fact{}, []string{}
	arms = slices.DeleteFunc(slices.Clone(arms), func(a ArmCapacity) bool { return !a.Starves.None() })
	for i, a := range arms {
		base := arms[0]
		if i == 0 || !a.Outcome.Decided() || !base.Outcome.Decided() {
			continue
		}
		low, high := a.Bounds()
		baseLow, baseHigh := base.Bounds()
		switch {
		case low > baseHigh:
			facts = append(facts, moreCapacity.Of(capacities{low, baseHigh}).On(a.Name).Against(base.Name))
		case high < baseLow:
			facts = append(facts, lessCapacity.Of(capacities{high, baseLow}).On(a.Name).Against(base.Name))
		default:
			alike = append(alike, a.Name)
		}
	}
	if len(alike) > 0 {
		facts = append(facts, notToldApart.Of(together{strings.Join(alike, ", ")}).Against(arms[0].Name))
	}
	return facts
}

// reduced reduces a trial of a search to its window. It depends on nothing else, so that the search and the judge of its
// record get the same windows. A window with too few requests to judge one of the terms is refused, unless it overloads the
// server.
func reduced(t record.TrialRecord, e record.Env, c record.Clients, slo stats.SLO) RateWindow {
	// The plan has no rate: the search chose it.
	c.Rate = t.Rate
	if t.Client.Patience != (record.Patience{}) {
		c.Patience = t.Client.Patience // a plan that was read does not have it
	}
	w := window.Reduce(t, e, c)
	out := RateWindow{
		Trial: t.Number, Purpose: t.Purpose, Rate: t.Rate, Sent: float64(w.Requests) / t.Window.Seconds(),
		Goodput: w.Values[stats.Goodput].Float(), Errors: w.Values[stats.Errors].Float(), Values: map[stats.Measure]float64{},
		CPU: w.Values[stats.CPUPerRequest].Float(), Busy: w.Generator,
	}
	response, sent := t.Responses(), t.FromSending()
	out.Refused = unfit(&w, e, slo, response, sent)
	for _, term := range slo {
		f, _ := stats.FigureOf(term.Metric.String())
		v := w.Values[f].Float()
		if term.Metric.Quantile > 0 { // any, and not only the named ones
			v = stats.Quantile(response, term.Metric.Quantile)
		}
		switch {
		case w.Requests >= term.Requests() && !math.IsNaN(v):
			out.Values[term.Metric] = v
		case out.Refused.None() && out.Purpose != purposeOverload:
			out.Refused = tooFewForTerm.At(term.Metric.String())
		}
	}
	out.Kept = out.Refused.None() && keeps(out, slo)
	return out
}

// rateLimit is the largest relative difference allowed between the sent rate and the planned rate,
// a ratio.
const rateLimit = .01

// ofGenerator reports whether [unfit] refused a window because the generator could not offer the
// rate.
func ofGenerator(why fact.Fact) bool {
	return rateOff.Code.Is(why) || sentLate.Code.Is(why)
}

// unfit returns the reason if a window is not evidence about its server: its data are wrong, or
// the load did not offer the rate. A server that falls behind is no reason, because the search
// looks for exactly that. Noise is no reason either, because the search tries every rate several
// times. response and sent are the times of its requests from their scheduled times and from their sending, ascending.
func unfit(w *window.Window, e record.Env, slo stats.SLO, response, sent []float64) (why fact.Fact) {
	for _, b := range w.Breaches(judge.ServerCPUs(e), nil, false) { // [reduced] handles too few requests
		// Both break for a server that falls behind, which is an answer and no fault.
		if b.Rule != window.RuleBacklog && b.Rule != window.RuleLittle {
			return ruleBroken.Of(broken{b.Rule, b.Value, b.Limit})
		}
	}
	if w.RateOff > rateLimit {
		return rateOff.Of(offRate{w.RateOff, rateLimit})
	}
	for _, t := range slo {
		if !t.Timed() || w.Requests < t.Requests() {
			continue
		}
		// The term fails from the scheduled times and holds from the sending, so the lateness of
		// the load alone breaks it.
		if own, alone := timeOf(t, response), timeOf(t, sent); !t.Holds(own) && t.Holds(alone) {
			return sentLate.Of(lateness{own, alone}).At(t.Metric.String())
		}
	}
	return why
}

// timeOf returns the quantile or the mean of times, in ascending order, that a term is about.
func timeOf(t stats.Term, times []float64) float64 {
	if t.Metric.Quantile > 0 {
		return stats.Quantile(times, t.Metric.Quantile)
	}
	sum := 0.
	for _, s := range times {
		sum += s
	}
	return sum / float64(len(times))
}
