package judge

import (
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A Pair asks how an arm compares with another at a metric. Metric is a name that [stats.MetricOf]
// knows. The ratio is Arm divided by Baseline.
type Pair struct{ Metric, Baseline, Arm string }

// Pairs judges a record, and compares any pairs of its arms. It uses the verdict of the run if
// there is one, and otherwise the blocks of the two arms. Goodput, memory and the mean of good
// replies are compared whatever became of the requests, since refusing some requests is the point
// under overload. It returns an error if the record cannot be read. The verdicts are in the order
// of pairs. A pair with an unknown arm is refused.
func Pairs(dir *record.Dir, run record.Run, pairs []Pair) (*record.Result, []record.Verdict, error) {
	g, err := read(dir, run, Aim{}, func(record.TrialRecord) {})
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
	base, arm := armOf(arms, p.Baseline), armOf(arms, p.Arm)
	m := stats.MetricOf(p.Metric)
	for i, a := range []*record.Arm{base, arm} {
		if a == nil {
			name := []string{p.Baseline, p.Arm}[i]
			return verdict(stats.Comparison{Metric: m}, record.Arm{Name: p.Baseline}, record.Arm{Name: p.Arm}, record.Fact{Code: noSuchArm, Arm: name})
		}
	}
	own := slices.IndexFunc(g.result.Verdicts, func(v record.Verdict) bool {
		return v.Metric == p.Metric && v.Baseline == p.Baseline && v.Arm == p.Arm && v.Verdict != stats.Refused
	})
	if own >= 0 {
		return g.result.Verdicts[own]
	}
	why := g.verdicts.refusal
	switch p.Metric {
	case "goodput", "memory", "good_mean": // whatever became of the requests
	default:
		why = g.refusePair(m, *base, *arm, why)
	}
	for _, a := range []*record.Arm{base, arm} { // a mean over some clients is not the mean over all
		if p.Metric == "good_mean" && g.starvesTooMany(a.Name) {
			why = firstOf(why, record.Fact{Code: record.CauseStarvation, Arm: a.Name, Values: record.Values{"starved": float64(a.StarvedConnections)}})
		}
	}
	// As many shares as there are pairs of arms and primary metrics, since any pair may be asked
	// for.
	c := g.compared(m, base.Name, arm.Name, stats.Primaries()*(len(arms)-1)*(len(arms)-2)/2)
	return verdict(c, *base, *arm, g.against(c, *base, *arm, why, ruler{}))
}

// Leaders names the best arms by the verdicts on some metrics, by the same rule that names a
// winner. best holds the winner, or the arms that share the first place, or all arms faster than
// the baseline, or else the arms that are not surely worse than another and starved no client. Two
// challengers are compared by their duel in r.Duels. The names are in the order of the plan.
func Leaders(r *record.Result, metrics []string) (kind record.AnswerKind, best []string) {
	f := newField(r, func(v record.Verdict) bool { return slices.Contains(metrics, v.Metric) }, false)
	kind, best = f.decide()
	switch kind {
	case record.OneWins, record.ATie, record.TieForBest:
		return kind, best
	case record.SeveralWin:
		return kind, f.faster()
	}
	for i, a := range f.arms {
		if !f.excused[i] && !slices.ContainsFunc(f.ranks[i], worse) {
			best = append(best, a.Name)
		}
	}
	return kind, best
}
