package judge

import (
	"fmt"
	"slices"

	"schedlab/internal/capacity"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
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
	// The arms of the result have no figures of blocks: what was found is in Capacity.
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
	w, figures := reduced(t, j.run.Env, a.plan.Clients, slo)
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
		// An overload window may be refused: nothing is judged by it.
		refused := 0
		for _, w := range a.windows {
			refused += stats.Count(!w.Refused.None() && w.Purpose != capacity.Overload)
		}
		if refused > 0 {
			all = append(all, record.Fact{
				Code: windowsRefused, Arm: a.plan.Name, Values: record.Values{"refused": float64(refused), "windows": float64(len(a.windows))},
				Because: append([]record.Fact{a.lastRefusal()}, a.generatorLimit()...),
			})
		}
	}
	return slices.Concat(all, run.Plan.Doubts, HostDoubts(r.Env))
}
