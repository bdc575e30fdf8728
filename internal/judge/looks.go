package judge

import (
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// Look judges what was taken so far, without an end to it, if as many blocks count as a look
// has. It reports whether more of them can change nothing that was asked for: of an SLO or
// an outcome, if there is one, or of the verdicts.
func (j *Judge) Look(until stats.SLO, outcome *string, kept map[FigureKey]float64) bool {
	if !slices.Contains(j.run.Plan.Looks, len(validate(j.run, j.windows).valid)) {
		return false
	}
	now := j.judge()
	switch {
	case until != nil:
		return !slices.ContainsFunc(now.keepings(until, kept), func(k Keeping) bool { return !k.Answer.Decided() })
	case outcome != nil:
		v := Outcome(now.result, *outcome)
		return v.Decision != record.InDoubt && (v.Decision != record.Rejected || now.settled())
	}
	return now.settled()
}

// Open counts the primary verdicts that the windows so far leave open, and the blocks that
// would decide them all.
func (j *Judge) Open() (open, needed int) {
	for _, v := range j.judge().result.Verdicts {
		if v.Primary && v.Verdict == string(stats.Inconclusive) {
			open, needed = open+1, max(needed, v.Needed)
		}
	}
	return open, needed
}

// settled reports whether more blocks can change nothing that was asked for: every
// primary verdict is decided or refused for good, by its goodput where an arm is
// overloaded, and so is every expectation.
func (g judgement) settled() bool {
	for _, v := range g.verdicts.all {
		open := v.Verdict == string(stats.Inconclusive) || v.Verdict == string(stats.Refused) && !g.verdicts.final[finality{v.Metric, v.Arm}]
		asked := v.Primary || v.Metric == goodput && (g.over[v.Arm] || g.over[v.Baseline])
		if open && asked {
			return false
		}
	}
	for _, e := range g.result.Expectations {
		if !e.Outcome.Decided() {
			return false
		}
	}
	return len(g.verdicts.all) > 0
}
