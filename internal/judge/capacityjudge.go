package judge

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"schedlab/internal/capacity"
	"schedlab/internal/prose"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// searched is one arm of a search, as the record holds it. jobs are requests of its windows, from
// which theory predicts; see take.
type searched struct {
	run     record.Run
	plan    record.PlanArm
	windows []record.RateWindow
	figures []windowFigures // one per window, in the same order
	jobs    []queueing.Job
	end     *record.SearchEnd // nil if the search of this arm was not cut short
	options capacity.Options
}

// Outcomes that package capacity does not know.
const (
	// They are values of record.ArmCapacity.Outcome, as the outcomes of package capacity are.
	slow = "slow" // X_max is below the lowest rate that a window can judge
	died = "died" // the server died before there was an answer
)

// windowFigures are figures of a window that the search itself does not use.
type windowFigures struct {
	cpu       float64 // CPU seconds per request, NaN if unknown
	generator float64 // ratio of time that the load's CPUs were busy with its process
}

// judgeCapacity computes the result of a search from its record.
//
// A search has no blocks and no verdicts. Its windows are reduced one by one, package capacity
// counts them, and theory is asked at which rate it would have expected the limit. It is the same
// code that led the search while it ran, so the record gives the same answer again.
func judgeCapacity(dir *record.Dir, run record.Run) (*record.Result, error) {
	slo, err := stats.ParseSLO(run.Plan.SLO)
	if err != nil {
		return nil, fmt.Errorf("judging %q: run.json is damaged: %w", dir.Path(), err)
	}
	j, err := New(dir.Name(), dir.Path(), run, Aim{})
	if err != nil {
		return nil, err
	}
	arms := make([]*searched, len(run.Plan.Arms))
	for i, a := range run.Plan.Arms {
		arms[i] = &searched{run: run, plan: a, options: SearchOptions(run.Plan, slo)}
		if end, ok := run.Ends[a.Name]; ok {
			arms[i].end = &end
		}
	}
	found := 0
	for t, err := range dir.Trials() {
		found++
		j.takeSearched(arms, t, err, slo)
	}
	// The arms of the result have no figures of blocks. Capacity has the figures of the search.
	r := header(dir.Name(), dir.Path(), run)
	c := &record.Capacity{SLO: run.Plan.SLO, Budget: run.Plan.Budget, Arms: []record.ArmCapacity{}}
	for _, t := range slo {
		c.Terms = append(c.Terms, record.SLOTerm{Text: t.String(), Term: t})
	}
	for _, a := range arms {
		c.Arms, r.Arms = append(c.Arms, a.answer()), append(r.Arms, newArm(run, a.plan, j.servers))
	}
	c.Lines = comparedCapacities(c.Arms)
	r.Capacity = c
	r.Doubts = record.ByWeight(slices.Concat(j.doubts, incomplete(run, found, 0), othersDoubts(run.Others), j.servers.doubtsOf(run.Plan), xmaxDoubts(c.Arms), capacityDoubts(r, run, arms)))
	return r, nil
}

// takeSearched adds a trial's window to its arm. A trial that cannot be judged becomes a doubt.
func (j *Judge) takeSearched(arms []*searched, t record.TrialRecord, err error, slo stats.SLO) {
	if !j.admits(t.Trial, err) {
		return
	}
	a := arms[slices.IndexFunc(arms, func(a *searched) bool { return a.plan.Name == t.Arm })]
	w, figures := Reduced(t, j.run.Env, a.plan.Clients, slo)
	a.windows = append(a.windows, w)
	a.figures = append(a.figures, windowFigures{figures.Values["cpu_per_request"], figures.Generator})
	// The requests of an overload would not be typical for theory.
	if w.Refused.None() && w.Purpose != capacity.Overload {
		a.take(t, j.run.Env)
	}
}

// answer returns an arm's answer with all its windows and theories. Lists are empty and not nil,
// so that JSON shows [] and not null.
func (a *searched) answer() record.ArmCapacity {
	xmax := a.run.XMax[a.plan.Name]
	f := a.find(xmax)
	r := f.ArmCapacity
	r.Name, r.Mode, r.End, r.XMax = a.plan.Name, a.plan.Mode, a.end, xmax
	if a.diedOverloaded(f) {
		r.Recovers = "no"
	}
	for _, d := range a.run.Plan.Doubts {
		if d.Code == record.StickyPool && d.Arm == r.Name {
			r.Starves = d
		}
	}
	var cpu, rates []float64
	for i, w := range a.windows {
		// Failed requests cost more or less CPU time, so take windows without errors only.
		if v := a.figures[i].cpu; v > 0 && w.Refused.None() && w.Errors == 0 && w.Purpose != capacity.Overload {
			cpu, rates = append(cpu, v), append(rates, w.Rate)
		}
	}
	if len(cpu) > 0 {
		r.CPUPerRequest, r.CPURates = stats.Median(cpu), []float64{slices.Min(rates), slices.Max(rates)}
	}
	r.Answer = a.conclusion(f, xmax)
	r.Theories, r.NoTheory = a.theories(timedTerms(a.options.SLO, f.Binding), r)
	return r
}

// find returns what an arm's windows show, with the windows. It adds the outcomes slow and died. What the windows
// settle has precedence.
func (a *searched) find(xmax float64) capacity.Finding {
	f := capacity.Judge(a.options, a.windows)
	f.Windows = append([]record.RateWindow{}, a.windows...)
	switch {
	case f.Outcome != capacity.Undecided:
	case a.end != nil && a.end.Died:
		f.Outcome = died
	case len(a.windows) == 0 && xmax > 0 && xmax < a.options.Floor:
		f.Outcome = slow
	}
	return f
}

// diedOverloaded reports whether the server died at a higher rate after its capacity was found.
// The capacity stands, but the server does not survive an overload.
func (a *searched) diedOverloaded(f capacity.Finding) bool {
	return a.end != nil && a.end.Died && a.end.Rate > f.Low && f.Outcome == capacity.Between
}

// aboveXMax is the ratio of a verified rate to X_max from which they contradict each other. More
// clients at a time, or a machine that changed, can explain it.
const aboveXMax = 1.03

// xmaxDoubts returns a doubt for each arm with a verified rate above its X_max. The rates of the
// search were chosen by X_max, so a wrong one matters.
func xmaxDoubts(arms []record.ArmCapacity) (all []record.Fact) {
	for _, a := range arms {
		if a.XMax > 0 && a.Low > aboveXMax*a.XMax {
			all = append(all, record.Fact{Code: lowXMax, Arm: a.Name, Values: record.Values{"low": a.Low, "xmax": a.XMax}})
		}
	}
	return all
}

// capacityDoubts returns the doubts that apply to every answer of the run.
func capacityDoubts(r *record.Result, run record.Run, arms []*searched) (all []record.Fact) {
	all = Planted(run.Plan)
	if r.Status != record.Complete {
		all = append(all, notComplete(run))
	}
	all = append(all, oneCPU(r)...)
	for _, a := range arms {
		if refused := a.refused(); refused > 0 {
			all = append(all, record.Fact{
				Code: windowsRefused, Arm: a.plan.Name, Values: record.Values{"refused": float64(refused), "windows": float64(len(a.windows))},
				Because: append([]record.Fact{a.lastRefusal()}, a.generatorLimit()...),
			})
		}
	}
	return slices.Concat(all, run.Plan.Doubts, HostDoubts(r.Env))
}

// losing returns a warning if, at a rate that keeps the objective, more than errorLimit of a
// window's requests failed; else nil.
func (a *searched) losing(rate float64) []record.Fact {
	i := slices.IndexFunc(a.windows, func(w record.RateWindow) bool { return w.Refused.None() && w.Rate == rate && w.Errors > errorLimit })
	if i < 0 {
		return nil
	}
	return []record.Fact{{Code: losingRequests, Values: record.Values{"share": a.windows[i].Errors}}}
}

// conclusion returns an arm's answer with the clauses that explain it. xmax is in requests per
// second. The answer's values are rates per second and counts.
//
// This file puts the outcome of a search into facts: one answer per arm, and in its Because the
// clauses that explain why the search found no more: refused windows, the end of the budget, an
// interrupt, or noise. A reader should learn what to change: the budget, the window, the objective, or
// the load. The functions of the clauses return nil for none, so that they can be concatenated.
func (a *searched) conclusion(f capacity.Finding, xmax float64) record.Fact {
	wants, plan := a.options.SLO.Goodput(), a.run.Plan
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
	late := 0
	least, full := math.Inf(1), 0.0
	for i, w := range a.windows {
		if busy := a.figures[i].generator; ofGenerator(w.Refused) && w.Purpose != capacity.Overload && busy >= busyShare {
			late++
			least, full = min(least, w.Rate), max(full, busy)
		}
	}
	// Not the generator alone.
	if 2*late <= a.refused() {
		return nil
	}
	return []record.Fact{{Code: searchGenerator, Values: record.Values{"rate": least, "busy": min(full, 1)}}}
}

// refused returns the number of refused windows, without overloads, by which nothing is judged.
func (a *searched) refused() (n int) {
	for _, w := range a.windows {
		n += stats.Count(!w.Refused.None() && w.Purpose != capacity.Overload)
	}
	return n
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
	// All windows that follow an overload were used, and they do not agree (see Recovers of a capacity.Finding).
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

// why returns the most likely reason why the search has no answer. If nothing else explains it,
// the windows of one rate differ too much from each other.
func (a *searched) why(f capacity.Finding) []record.Fact {
	why := slices.Concat(a.stopped(), a.refusals(f))
	// All windows were used before it was settled, but none of them contradicts it.
	if agree := f.LowKept == f.LowOf && f.HighBroken == f.HighOf; agree && len(a.windows) >= a.options.Windows {
		// The budget pays for windows, so it grows in proportion.
		budget := a.run.Plan.Budget * float64(a.options.Windows+capacity.Reserved) / float64(a.options.Windows)
		why = append(why, record.Fact{Code: searchShort, Values: record.Values{"budget": math.Ceil(budget)}})
	}
	if len(why) > 0 {
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

const (
	// MostRequests limits the requests of one trial. Each takes about 165 bytes of memory: 48 for
	// a record.Request, 88 for its stamps, up to 28 for the trace. Vegeta's garbage, about 2 KB
	// per hit, is left to the collector: see pauseGC.
	MostRequests = 5_000_000

	// runMargin is the factor by which a window's expected requests must exceed a quantile's
	// minimum, so that a window of Poisson arrivals rarely falls short of the minimum.
	runMargin = 1.1

	// StepCost is what a window of a search takes beside its load: start, settling and drain of its
	// server.
	StepCost = 100 * time.Millisecond

	// ProbeCost is what the probe of X_max takes.
	ProbeCost = 2150 * time.Millisecond
)

// SearchBudget returns the shortest budget of an arm's search with such windows, rounded up.
func SearchBudget(warmup, window time.Duration) time.Duration {
	const unit = 100 * time.Millisecond
	return (capacity.Least*(warmup+window+StepCost) + ProbeCost + unit - 1).Truncate(unit)
}

// SearchWindow returns a window of whole seconds that is long enough to judge an arm that does most
// requests per second, where one of length window can judge from floor requests per second on; a day
// at most. Twice as many requests as needed leave room for the rates below.
func SearchWindow(window time.Duration, floor, most float64) time.Duration {
	longer := float64(window)*2*floor/most + float64(time.Second)
	return time.Duration(min(longer, float64(24*time.Hour))).Round(time.Second)
}

// SearchOptions returns the search options of a plan. Floor is the lowest rate that its windows
// can judge, Ceiling the highest rate that MostRequests allows. Rates are requests per second.
func SearchOptions(p record.Plan, slo stats.SLO) capacity.Options {
	return capacity.Options{
		SLO: slo, Seed: p.Seed, Windows: p.Windows, Floor: runMargin * float64(Hardest(slo).Requests()) / p.Window, Ceiling: MostRequests / (p.Warmup + p.Window),
	}
}

// Hardest returns the term that needs the most requests in a window.
func Hardest(slo stats.SLO) stats.Term {
	return slices.MaxFunc(slo, func(a, b stats.Term) int { return cmp.Compare(a.Requests(), b.Requests()) })
}

// Reduced reduces a trial of a search to the window that the search uses, and all its figures. It depends on nothing else, so
// that the search and the judge of its record get the same windows. A window with too few requests to judge one of the terms
// is refused, unless it overloads the server.
func Reduced(t record.TrialRecord, e record.Env, c record.Clients, slo stats.SLO) (record.RateWindow, window.Window) {
	// The plan has no rate: the search chose it.
	c.Rate = t.Rate
	w := window.Reduce(t, e, c)
	out := record.RateWindow{
		Trial: t.Number, Purpose: t.Purpose, Rate: t.Rate, Sent: float64(w.Requests) / t.Window,
		Goodput: w.Values["goodput"], Errors: w.Values["errors"], Values: map[string]float64{}, Refused: unfit(&w, e, slo),
	}
	response := t.Responses()
	for _, term := range slo {
		v := w.Values[term.Metric]
		if term.Quantile > 0 { // any, and not only the named ones
			v = stats.Quantile(response, term.Quantile)
		}
		switch {
		case w.Requests >= term.Requests() && !math.IsNaN(v):
			out.Values[term.Metric] = v
		case out.Refused.None() && out.Purpose != capacity.Overload:
			out.Refused = record.Fact{Code: tooFewForTerm, Metric: term.Metric}
		}
	}
	out.Kept = out.Refused.None() && capacity.Keeps(out, slo)
	return out, w
}

// TooSlow explains, for an error or an answer, why an arm with this X_max (requests per second)
// cannot be searched in windows of this length, and which window would do, with the budget that it
// takes if that is above this one. It begins with a verb, to follow the arm's name.
func TooSlow(o capacity.Options, warmup, window, budget time.Duration, xmax float64) string {
	term := Hardest(o.SLO)
	other := "promise less"
	if term.Quantile > 0 {
		other = "ask for a lower quantile"
	}
	longer, with := SearchWindow(window, o.Floor, xmax), ""
	if needs := SearchBudget(warmup, longer); needs > budget {
		with = fmt.Sprintf(" with --budget %v", needs)
	}
	return fmt.Sprintf("does %s at most, and a window of %g s needs %s to judge %s; lengthen --window to %.0fs%s or %s",
		prose.PerSecond(xmax), window.Seconds(), prose.PerSecond(o.Floor), term, longer.Seconds(), with, other)
}

// rateLimit is the largest relative difference allowed between the sent rate and the planned rate,
// a ratio.
const rateLimit = .01

// ofGenerator reports whether [unfit] refused a window because the generator could not offer the
// rate.
func ofGenerator(why record.Fact) bool {
	return why.Code == rateOff || why.Code == sentLate
}

// unfit returns the reason if a window is not evidence about its server: its data are wrong, or
// the load did not offer the rate. A server that falls behind is no reason, because the search
// looks for exactly that. Noise is no reason either, because the search tries every rate several
// times.
func unfit(w *window.Window, e record.Env, slo stats.SLO) (why record.Fact) {
	for _, b := range w.Breaches(serverCPUs(e), nil, false) { // [Reduced] handles too few requests
		// Both break for a server that falls behind, which is an answer and no fault.
		if b.Rule != window.RuleBacklog && !strings.HasPrefix(b.Rule, "Little") {
			return record.Fact{Code: ruleBroken, Names: record.Names{"rule": b.Rule}, Values: record.Values{"value": b.Value, "limit": b.Limit}}
		}
	}
	if w.RateOff > rateLimit {
		return record.Fact{Code: rateOff, Values: record.Values{"value": w.RateOff, "limit": rateLimit}}
	}
	for _, t := range slo {
		// The term fails from the scheduled times and holds from the sending, so the lateness of
		// the load alone breaks it.
		own, sent := w.Values[t.Metric], w.Values[t.Metric+window.FromSent]
		if stats.MetricOf(t.Metric).Quantile > 0 && !math.IsNaN(own) && !t.Holds(own) && t.Holds(sent) {
			return record.Fact{Code: sentLate, Metric: t.Metric, Values: record.Values{"own": own, "sent": sent}}
		}
	}
	return why
}
