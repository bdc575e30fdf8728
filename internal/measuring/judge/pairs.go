package judge

import (
	"slices"

	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A Pair asks how an arm compares with another at a metric. The ratio is Arm divided by Baseline.
//
// This file answers questions that verdicts leave open, for the pages of docs/experiments: how any two arms compare, and which
// arms are best.
type Pair struct {
	Metric        stats.Figure
	Baseline, Arm string
}

// Pairs judges a record, and compares any pairs of its arms. It uses the verdict of the run if
// there is one, and otherwise the blocks of the two arms. Goodput, memory and the mean of good
// replies are compared whatever became of the requests, since refusing some requests is the point
// under overload. It returns an error if the record cannot be read. The verdicts are in the order
// of pairs. A pair with an unknown arm is refused.
func Pairs(dir *record.Dir, run record.Run, pairs []Pair) (*record.Comparison, []record.Verdict, error) {
	g, err := read(dir, run, func(record.TrialRecord) {})
	if err != nil {
		return nil, nil, err
	}
	var all []record.Verdict
	for _, p := range pairs {
		all = append(all, g.pair(p))
	}
	return g.result, all, nil
}

// pair returns the verdict on one pair.
func (g judgement) pair(p Pair) record.Verdict {
	arms := g.result.Arms
	m := p.Metric.Row()
	for _, name := range []string{p.Baseline, p.Arm} {
		if armOf(arms, name) == nil {
			return verdict(stats.Comparison{Metric: m}, record.Arm{Contestant: record.Contestant{Name: p.Baseline}}, record.Arm{Contestant: record.Contestant{Name: p.Arm}}, noSuchArm.On(name))
		}
	}
	base, arm := *armOf(arms, p.Baseline), *armOf(arms, p.Arm)
	own := slices.IndexFunc(g.result.Verdicts, func(v record.Verdict) bool {
		return v.Metric == p.Metric && v.Baseline == p.Baseline && v.Arm == p.Arm && v.Verdict.Outcome != outcome.Refused
	})
	if own >= 0 {
		return g.result.Verdicts[own]
	}
	why := g.refuseRun()
	switch p.Metric {
	case stats.Goodput, stats.Memory, stats.GoodMean: // whatever became of the requests
	default:
		why = g.refusePair(m, base, arm)
	}
	for _, a := range []record.Arm{base, arm} { // a mean over some clients is not the mean over all
		if p.Metric == stats.GoodMean && g.starvesTooMany(a.Name) {
			why = firstOf(why, doubt.Starvation.Of(doubt.Unanswered{Starved: a.StarvedConnections}).On(a.Name))
		}
	}
	// A caller may ask for any pair, so each pair of arms gets a share for each primary metric.
	c := g.compared(m, base.Name, arm.Name, stats.Primaries()*(len(arms)-1)*(len(arms)-2)/2)
	return verdict(c, base, arm, g.against(c, base, arm, why, ruler{}))
}

// Leaders names the best arms by the verdicts on primary metrics, by the same rule that names a
// winner. best holds the winner, or the arms that share the first place, or all arms faster than
// the baseline, or else the arms that are not surely worse than another and starved no client. Two
// challengers are compared by their duel in r.Duels. The names are in the order of the plan.
func Leaders(r *record.Comparison) (kind record.AnswerKind, best []string) {
	f := newRanking(r)
	kind, best = f.decide()
	switch kind {
	case record.OneWins, record.ATie, record.TieForBest:
		return kind, best
	case record.SeveralWin:
		return kind, f.faster()
	}
	for i, a := range f.arms {
		if !f.excused[i] && !slices.ContainsFunc(f.ranks[i], record.Place.Worse) {
			best = append(best, a.Name)
		}
	}
	return kind, best
}
