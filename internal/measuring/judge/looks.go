package judge

import (
	"maps"
	"slices"

	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// This file decides when a run may end. Looking too often would raise the probability of a false
// verdict, so looks are few and fixed, and the error is spent over them (stats.LookRank). What a
// look may end the run for depends on what the user wants to know, and so on the [Aim].

// Watched tells the judge which other programs used the CPUs so far. [Judge.Look] then reports whether they keep the run from an
// answer.
func (j *Judge) Watched(o *record.Others) { j.run.Others = o }

// Look judges the trials taken so far if the plan looks at this number of valid blocks. It also judges them if an arm has not kept
// up in any block so far, and once more if that arm recovers. Otherwise soFar is nil. ends reports that the aim is answered:
// more blocks would change nothing. room is the largest number of blocks for which the run has time, 0 if unknown; the run does
// not wait for verdicts that need more.
func (j *Judge) Look(room int) (soFar *record.Comparison, ends bool) {
	b := validate(j.run, j.aim, j.windows)
	if !slices.Contains(j.run.Plan.Looks, len(b.valid)) {
		// An arm that does not keep up is an answer that needs no look. It is taken back when the arm recovers.
		told := j.toldBehind
		j.toldBehind = slices.Contains(slices.Collect(maps.Values(b.behind)), true)
		if told || j.toldBehind {
			soFar = j.judge().result
		}
		return soFar, false
	}
	now := j.judge()
	return now.result, j.aim.answered(now, room)
}

// Behind returns the names of the arms that have not kept up in any block so far, two blocks or more, in the order of the plan.
func (j *Judge) Behind() (arms []string) {
	behind := validate(j.run, j.aim, j.windows).behind
	for _, a := range j.run.Plan.Arms {
		if behind[a.Name] {
			arms = append(arms, a.Name)
		}
	}
	return arms
}

// Open returns the open verdicts that the run waits for: of a gate what must be fine. An aim that asks for no verdicts has none.
func (j *Judge) Open() []record.Verdict { return j.aim.awaited(j.judge()) }

// awaited reports whether a run waits for a verdict: a primary one, or goodput where an arm is
// overloaded or fails requests. Other verdicts come along without being waited for.
func (g judgement) awaited(v record.Verdict) bool {
	return v.Primary || v.Metric == stats.Goodput && slices.ContainsFunc([]string{v.Arm, v.Baseline}, func(arm string) bool {
		return g.over[arm] || g.fails(arm) || g.impatient(arm)
	})
}

// settled reports whether the blocks still to come can change nothing. A verdict is settled when
// it is decided, or when it would need more than room blocks. All of these must be: primary
// verdicts (goodput, where an arm is overloaded or fails requests), duels between arms that may be
// the best, and expectations. An arm without any decided verdict among these keeps the run going.
// If the aim is the standings, a verdict is settled, too, when its arm's standing does not depend
// on it.
func (g judgement) settled(room int, standings bool) bool {
	// known: the arm has a decided verdict, so giving up one of its other verdicts leaves an
	// answer.
	known := map[string]bool{}
	for _, v := range g.result.Verdicts {
		known[v.Arm] = known[v.Arm] || g.awaited(v) && v.Least == 0 && v.Verdict.Outcome != outcome.Refused
	}
	// Least is 0 for a verdict that is final.
	open := func(v record.Verdict) bool {
		return v.Least > 0 && (room == 0 || v.Least <= room || !known[v.Arm]) && !(standings && g.moot(v))
	}
	for _, v := range g.result.Verdicts {
		if open(v) && g.awaited(v) {
			return false
		}
	}
	// An arm that is surely worse than its reference cannot be the best, so its duels do not
	// matter.
	var beaten []string
	for _, s := range g.result.Answer.Standings {
		if s.Place.Worse() || s.Place.Why == record.OtherLoad {
			beaten = append(beaten, s.Arm)
		}
	}
	for _, v := range g.result.Duels {
		if open(v) && v.Primary && !slices.Contains(beaten, v.Arm) && !slices.Contains(beaten, v.Baseline) {
			return false
		}
	}
	return g.expectationsDecided() && len(g.result.Verdicts) > 0
}

// moot reports whether an open verdict on a quantile cannot change the standing of its arm: the
// arm is worse at every higher quantile that is judged, and the interval of this one excludes that
// it is better. Then its standing is slower whatever this quantile says.
func (g judgement) moot(open record.Verdict) bool {
	m := open.Metric.Row()
	if m.Quantile == 0 || open.Low <= 1/(1+m.Effect) {
		return false
	}
	higher, worse := 0, 0
	for _, v := range g.result.Verdicts {
		if v.Primary && v.Arm == open.Arm && v.Baseline == open.Baseline && v.Metric.Row().Quantile > m.Quantile {
			higher, worse = higher+1, worse+stats.Count(v.Worse())
		}
	}
	return higher > 0 && worse == higher
}

// expectationsDecided reports whether no expectation is open.
func (g judgement) expectationsDecided() bool {
	return !slices.ContainsFunc(g.result.Expectations, func(e record.Expectation) bool { return !e.Outcome.Decided() })
}
