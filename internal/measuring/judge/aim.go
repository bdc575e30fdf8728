package judge

import (
	"cmp"
	"maps"
	"slices"

	"schedlab/internal/measuring/expect"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// An Aim is the question that a comparison has to answer: [Winner], [Expectations] or [Gate]. It tells what the plan has to make
// decidable, what is judged, and when the run may end: at the first look that answers the question.
type Aim interface {
	// Record notes in a plan what a reader of the record needs; see aimOf.
	Record(p *record.Plan)
	// Needs returns what the plan has to make decidable, with this number of arms, the copy included. asked are the
	// plan's expectations.
	Needs(asked []expect.Expectation, arms int) Needs
	// judge adds the answers to the question to a result that has its verdicts.
	judge(b blocks, r *record.Comparison)
	// answered reports whether blocks still to come change nothing. room is the largest number of blocks for which the
	// run has time, 0 if unknown.
	answered(g judgement, room int) bool
	// awaits reports whether the run goes on for a verdict while that is open.
	awaits(g judgement, v record.Verdict) bool
	// open reports whether a run that was not cut short has no answer, and other programs may be the reason if they took CPU
	// time. looked tells that the run had a look.
	open(r *record.Comparison, looked bool) bool
	// ofBuilds reports whether the arms are builds of one program: then more CPU time is a part of the answer.
	ofBuilds() bool
}

// Needs are what a plan has to make decidable.
type Needs struct {
	Quantiles []stats.Figure // that must be decidable
	// Must are the metrics that the plan has to be able to judge, ascending, and Flag is the flag that asks for them, ""
	// if none does. If a window holds too few requests for a quantile among them, the window grows, and so does the
	// budget; if the user gave these, the plan is refused.
	Must []stats.Figure
	Flag string
	// Comparisons share the probability of error. Bases is how often the baseline is in each.
	Comparisons, Bases int
	Stretch            float64 // by how much longer windows and budget have to be than usual, 1 or more
	// Every reports that verdicts on all metrics are a part of the answer.
	Every bool
}

// aimOf returns the aim of a recorded plan of blocks, for judging only: the record does not tell at which look the run could end.
func aimOf(p record.Plan) Aim {
	if len(p.Gate) > 0 {
		return Gate(p.Gate)
	}
	return Winner{}
}

// A Winner asks for the verdicts, the best arm and the scenario's expectations.
type Winner struct {
	Standings   bool           // do not wait for verdicts that cannot change an arm's standing
	WholeBudget bool           // wait for verdicts that seem to need more blocks than there is room for
	Quantiles   []stats.Figure // must be decidable; nil stands for the quantiles in expectations or, without expectations, all
	Keep        stats.SLO      // an objective that the plan has to be able to judge, from --slo; nil for none
}

// Record notes nothing: aimOf takes a plan without a note for a Winner.
func (w Winner) Record(*record.Plan) {}

// Needs returns what the plan has to make decidable.
func (w Winner) Needs(asked []expect.Expectation, arms int) Needs {
	n := Needs{Quantiles: w.Quantiles, Comparisons: stats.Primaries() * (arms - 2), Bases: 1, Stretch: 1, Every: true}
	if w.Keep != nil {
		n.Must, n.Flag = w.Keep.Figures(), "--slo"
	}
	switch {
	case n.Quantiles != nil:
	case len(asked) > 0:
		n.Quantiles = quantiles(asked)
	default:
		for _, m := range stats.Quantiles() {
			n.Quantiles = append(n.Quantiles, m.Figure)
		}
	}
	return n
}

func (w Winner) judge(blocks, *record.Comparison) {}

func (w Winner) answered(g judgement, room int) bool {
	if w.WholeBudget {
		room = 0
	}
	return g.settled(room, w.Standings)
}

func (w Winner) awaits(g judgement, v record.Verdict) bool { return g.awaited(v) }

func (w Winner) open(r *record.Comparison, looked bool) bool {
	if slices.ContainsFunc(r.Expectations, func(e record.Expectation) bool { return e.Outcome.Decided() }) {
		return false
	}
	// An arm that surely differs is an answer, even if another is open; one that is the same is not.
	open := (r.Answer.Outcome == outcome.Open || r.Answer.Outcome == outcome.Refused) && r.Answer.Kind == ""
	differs := slices.ContainsFunc(r.Answer.Standings, func(s record.Standing) bool {
		return s.Place.Outcome != outcome.Open && s.Place != record.Placed(stats.Same)
	})
	return looked && open && !differs && slices.ContainsFunc(r.Verdicts, func(v record.Verdict) bool {
		return v.Primary && (v.Verdict.Outcome == outcome.Open || mayBeOthers(r, v.Reason))
	})
}

func (w Winner) ofBuilds() bool { return false }

// Expectations ask for the scenario's expectations alone, whatever verdicts are open.
type Expectations struct {
	Winner
	Asked []expect.Expectation // the expectations of --expect, which the plan has to be able to judge
}

// Needs returns what the plan has to make decidable.
func (e Expectations) Needs(asked []expect.Expectation, arms int) Needs {
	n := e.Winner.Needs(asked, arms)
	n.Flag = cmp.Or(n.Flag, "--expect")
	n.Must = slices.Compact(slices.Sorted(slices.Values(append(quantiles(e.Asked), n.Must...))))
	return n
}

// quantiles returns the quantiles that expectations are about, ascending, without duplicates.
func quantiles(asked []expect.Expectation) (all []stats.Figure) {
	for _, e := range asked {
		all = append(all, e.Quantiles()...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (e Expectations) answered(g judgement, _ int) bool { return g.expectationsDecided() }

func (e Expectations) awaits(judgement, record.Verdict) bool { return false }

// A Gate asks whether the last arm is worse than the first. It maps each metric to the allowed worsening. It asks for no verdict.
type Gate map[stats.Figure]record.Allowance

// Record notes the gate.
func (a Gate) Record(p *record.Plan) { p.Gate = a }

// Needs returns what the plan has to make decidable. A gate compares with the baseline and with its copy. A smaller allowed
// worsening takes longer: half of the usual one takes twice as long, and none takes more than four times as long.
func (a Gate) Needs([]expect.Expectation, int) Needs {
	n := Needs{Quantiles: slices.Sorted(maps.Keys(a)), Comparisons: gateShares(len(a)), Bases: 2, Stretch: 1}
	for _, f := range n.Quantiles {
		if n.Stretch = max(n.Stretch, f.Row().Allow/a[f].Share); !a[f].Watched {
			n.Must, n.Flag = append(n.Must, f), "--metric"
		}
	}
	n.Stretch = min(n.Stretch, 4)
	return n
}

func (a Gate) judge(b blocks, r *record.Comparison) { r.Gate = b.gated(a, r.Arms) }

func (a Gate) answered(g judgement, _ int) bool { return gateDecided(g.result.Gate) }

func (a Gate) awaits(judgement, record.Verdict) bool { return false }

func (a Gate) open(r *record.Comparison, looked bool) bool {
	return looked && r.GateOutcome() == outcome.Open && slices.ContainsFunc(r.Gate, func(g record.Gated) bool {
		return !g.Watched && (g.Outcome == outcome.Open || mayBeOthers(r, g.Reason))
	})
}

func (a Gate) ofBuilds() bool { return true }
