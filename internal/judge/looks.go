package judge

import (
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// Look judges what was taken so far, without an end to it, if as many blocks count as a look
// has. It reports whether more of them can change nothing that was asked for: of an SLO or
// an outcome, if there is one, or of the verdicts.
func (j *Judge) Look(until stats.SLO, outcome *string, kept map[FigureKey]float64) bool {
	if !slices.Contains(j.run.Plan.Looks, len(j.again().validated())) {
		return false
	}
	now := j.again()
	now.finish(0)
	switch {
	case until != nil:
		return !slices.ContainsFunc(now.keepings(until, kept), func(k Keeping) bool { return k.Answer == record.Undecided })
	case outcome != nil:
		v := Outcome(now.result, *outcome)
		return v.Decision != record.InDoubt && (v.Decision != record.Rejected || now.settled())
	}
	return now.settled()
}

// Open counts the primary verdicts that the windows so far leave open, and the blocks that
// would decide them all.
func (j *Judge) Open() (open, needed int) {
	now := j.again()
	now.validated()
	now.finish(0)
	for _, v := range now.result.Verdicts {
		if v.Primary && v.Verdict == string(stats.Inconclusive) {
			open, needed = open+1, max(needed, v.Needed)
		}
	}
	return open, needed
}

// Taken is the window of an arm in a block, numbered from 1; the zero one when none was taken.
func (j *Judge) Taken(block int, arm string) window.Window { return j.windows[block][arm].Window }

// again is a judge of the same windows that has not judged yet.
func (j *Judge) again() *Judge {
	now := *j
	now.newResult(j.result.Run, j.result.Dir)
	now.valid, now.final, now.judged = nil, map[finality]bool{}, JudgedQuantiles(j.run.Plan)
	return &now
}

// validated are the blocks that count.
func (j *Judge) validated() []int {
	j.judgeClosed()
	j.validate()
	return j.valid
}
