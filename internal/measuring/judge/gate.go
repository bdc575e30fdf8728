package judge

import (
	"math"
	"slices"

	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A Pair asks how an arm compares with another at a metric. The ratio is Arm divided by Baseline.
//
// This file answers questions that verdicts leave open: how any two arms compare and which arms are best, for the pages of
// docs/experiments, and whether a new build is worse than the old one, for a gate.
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

// gateAlpha is the probability that a gate calls one of two equal builds worse, at any of its
// metrics and any look. It is smaller than the error of a comparison, because a gate runs often
// and a false alarm stops work.
const gateAlpha = .01

// gateShares returns the number of equal shares into which [stats.Alpha] is divided when a gate
// asks for this number of metrics. Each metric gets one share. The interval of a metric errs on
// both sides alike, and one side alone calls a build worse. For n metrics each side of an interval
// errs with Alpha/2 divided by the shares, so all n together err with gateAlpha at most.
func gateShares(metrics int) int {
	return int(math.Ceil(float64(metrics) * stats.Alpha / (2 * gateAlpha)))
}

// GateMetrics returns the metrics that a gate can ask for, in the order of the table.
func GateMetrics() (all []stats.Metric) {
	for _, m := range stats.All() {
		if m.Allow > 0 {
			all = append(all, m)
		}
	}
	return all
}

// gated tells for each metric of a gate whether the last arm is worse than the first, by the interval of the change against both
// runs of the old build in each block. The new build is fine if the whole interval lies within the allowed worsening. Otherwise
// it is worse if the interval excludes no change, and the median is more than half of the allowed worsening.
func (b blocks) gated(gate Gate, arms []record.Arm) (answers []record.Gated) {
	if len(arms) < 3 {
		return nil
	}
	base, twin, challenger := arms[0], arms[1], arms[len(arms)-1]
	shares := gateShares(len(gate))
	for _, m := range stats.All() {
		asked, is := gate[m.Figure]
		if !is {
			continue
		}
		allow := asked.Share
		// The smallest effect that counts is half of the allowed worsening, so that a small sure
		// difference does not make a build worse.
		m.Effect, m.Same = allow/2, allow
		// The plan has the old build twice: its copy shows how much equal builds differ here.
		aa := stats.Compare(m, b.series(base.Name, m.Figure), b.series(twin.Name, m.Figure), shares)
		c := stats.CompareCopies(m, b.series(base.Name, m.Figure), b.series(twin.Name, m.Figure), b.series(challenger.Name, m.Figure), shares)
		// For goodput worse is lower, so the other end of the interval counts.
		fine := c.Low > 0 && c.High <= 1+allow
		if m.HigherIsBetter {
			fine = c.Low >= 1/(1+allow)
		}
		if fine && !m.Better(c.Decision.Rank) {
			c.Decision = stats.Decided(stats.Same) // drift and disturbances are checked for a decided verdict only
		}
		why := b.against(c, base, challenger, b.refusePair(m, base, challenger), newRuler(aa, base.Name, b.refuseMetric(m, twin)))
		g := record.Gated{Metric: m.Figure, Allow: allow, Ratio: c.Ratio, Low: c.Low, High: c.High, Needed: c.Needed, Outcome: outcome.Open, Watched: asked.Watched}
		switch {
		case !why.None():
			g.Outcome, g.Reason, g.Final = outcome.Refused, why, final(why)
		case fine:
			g.Outcome = outcome.Yes
		case m.Worse(c.Decision.Rank):
			g.Outcome = outcome.No
		}
		g.Answer = outcome.Gate.Phrase(g.Outcome)
		answers = append(answers, g)
	}
	return answers
}

// copyHides returns the doubt that a gate is open because the old build differs too much from its own copy; no fact if it does not.
// At the metric of the doubt the copy surely differs or is not fine itself. Of several such metrics it is the one with the most
// noise, compared with the allowed worsening.
func (b blocks) copyHides(r *record.Comparison) (f fact.Fact) {
	if r.GateOutcome() != outcome.Open {
		return f
	}
	base, most := r.Arms[0].Name, 0.
	for _, g := range r.Gate {
		m, allowed := g.Metric.Row(), 1+g.Allow
		aa := stats.Compare(m, b.series(base, m.Figure), b.series(r.Arms[1].Name, m.Figure), gateShares(len(r.Gate)))
		if g.Outcome != outcome.Open || g.Watched || aa.Low == 0 {
			continue
		}
		width := max(math.Log(aa.High), -math.Log(aa.Low)) / math.Log(allowed)
		if m.HigherIsBetter {
			allowed = 1 / allowed
		}
		if width > most && (width > 1 || aa.Low > 1 || aa.High < 1) {
			most = width
			f = gateNoise.Of(noise{aa.Low, aa.High, allowed}).Against(base).At(g.Metric.String())
		}
	}
	return f
}

// gateDecided reports whether more blocks would not change a gate's answer: a metric is worse, or
// none is open. One metric that is worse fails the gate, whatever the others are.
func gateDecided(answers []record.Gated) bool {
	open := false
	for _, g := range answers {
		if g.Outcome == outcome.No {
			return true
		}
		open = open || !g.Watched && (g.Outcome == outcome.Open || g.Outcome == outcome.Refused && !g.Final)
	}
	return !open
}
