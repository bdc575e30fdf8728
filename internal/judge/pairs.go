package judge

import (
	"cmp"
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A Pair asks how an arm stands to another at a metric, [stats.MetricOf] its name.
type Pair struct{ Metric, Baseline, Arm string }

// Pairs judges a record, and any pairs of its arms: by the verdict that the run itself has, or
// else by their blocks. Goodput, memory and the mean of good replies are compared whatever
// the requests came to, since under overload refusing some of them is the point. Errors are
// those of reading the record.
func Pairs(dir *record.Dir, run record.Run, pairs []Pair) (*record.Result, []record.Verdict, error) {
	j, err := New(dir.Name(), dir.Path(), run)
	if err != nil {
		return nil, nil, err
	}
	if err := j.takeAll(dir, func(record.TrialRecord) {}); err != nil {
		return nil, nil, err
	}
	g := j.judge()
	var all []record.Verdict
	for _, p := range pairs {
		all = append(all, g.pair(p))
	}
	return g.result, all, nil
}

func (g judgement) pair(p Pair) record.Verdict {
	arms := g.result.Arms
	base, arm := armOf(arms, p.Baseline), armOf(arms, p.Arm)
	m := stats.MetricOf(p.Metric)
	for i, a := range []*record.Arm{base, arm} {
		if a == nil {
			name := []string{p.Baseline, p.Arm}[i]
			return verdict(stats.Comparison{Metric: m}, record.Arm{Name: p.Baseline}, record.Arm{Name: p.Arm}, refused(record.Fact{Code: noSuchArm, Arm: name}))
		}
	}
	own := slices.IndexFunc(g.result.Verdicts, func(v record.Verdict) bool {
		return v.Metric == p.Metric && v.Baseline == p.Baseline && v.Arm == p.Arm && v.Verdict != string(stats.Refused)
	})
	if own >= 0 {
		return g.result.Verdicts[own]
	}
	why := g.verdicts.refusal
	switch p.Metric {
	case "goodput", "memory", "good_mean": // as they are
	default:
		why = cmp.Or(why, g.refuseArm(*arm, *base), g.refuseMetric(m, *arm), g.refuseMetric(m, *base))
	}
	for _, a := range []*record.Arm{base, arm} { // the good replies of some clients are no mean of all
		if p.Metric == "good_mean" && g.starvesTooMany(a.Name) {
			why = cmp.Or(why, forGood(record.Fact{Code: record.CauseStarvation, Arm: a.Name, Values: record.Values{"starved": float64(a.StarvedConnections)}}))
		}
	}
	c := g.compared(m, base.Name, arm.Name, Primaries()*(len(arms)-1)*(len(arms)-2)/2)
	switch {
	case why != nil:
	case c.Decision == stats.Refused:
		why = refused(unfitFor(c))
	case c.Decision != stats.Inconclusive:
		why = g.check(c, base.Name, arm.Name)
	}
	return verdict(c, *base, *arm, why)
}

// Leaders says what the verdicts on some metrics come to, by the one rule that names a winner:
// the arm that wins, those that share the first place, or else those that none is surely
// better than and that starve nobody. Where challengers meet, their duels are those of
// r.Answer, or are fought by their blocks.
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
