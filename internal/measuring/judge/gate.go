package judge

import (
	"maps"
	"math"
	"slices"

	"schedlab/internal/measuring/expect"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A Gate asks whether the last arm is worse than the first. It maps each metric to the allowed worsening. It asks for no verdict.
type Gate map[stats.Figure]Allowance

// An Allowance is what a gate asks of a metric.
type Allowance struct {
	Share   float64 `json:"share"`             // the largest worsening that is allowed, as a ratio: 0.1 is 10 %
	Watched bool    `json:"watched,omitempty"` // the gate passes also while this metric is open
}

var gateName = question[Gate]("gate")

// Record notes the gate, in the plan's own field for it.
func (a Gate) Record(p *record.Plan) { p.Gate = noteOf(a) }

// Needs returns what the plan has to make decidable. A gate compares with the baseline and with its copy. A smaller allowed
// worsening takes longer: half of the usual one takes twice as long, and none takes more than four times as long.
func (a Gate) Needs([]expect.Expectation, int) Needs {
	n := Needs{Comparisons: gateShares(len(a)), Bases: 2, Stretch: 1}
	for _, f := range slices.Sorted(maps.Keys(a)) {
		if n.Stretch = max(n.Stretch, f.Row().Allow/a[f].Share); !a[f].Watched {
			n.Must, n.Flag = append(n.Must, f), "--metric"
		}
	}
	n.Stretch = min(n.Stretch, 4)
	// What is only watched may be open, so no window grows for it.
	n.Quantiles = n.Must
	_, n.Capacity = a[stats.Capacity]
	return n
}

func (a Gate) judge(b blocks, r *record.Comparison) { r.Gate = b.gated(a, r.Arms) }

func (a Gate) answered(g judgement, _ int) bool { return gateDecided(g.result.Gate) }

// awaited returns the open metrics that must be fine, as verdicts on the last arm; none once the gate has its answer.
func (a Gate) awaited(g judgement) (open []record.Verdict) {
	if gateDecided(g.result.Gate) {
		return nil
	}
	for _, of := range g.result.Gate {
		if arms := g.result.Arms; of.Outcome == outcome.Open && !of.Watched {
			open = append(open, record.Verdict{Metric: of.Metric, Baseline: arms[0].Name, Arm: arms[len(arms)-1].Name, Needed: of.Needed})
		}
	}
	return open
}

func (a Gate) open(r *record.Comparison, looked bool) bool {
	return looked && r.GateOutcome() == outcome.Open && slices.ContainsFunc(r.Gate, func(g record.Gated) bool {
		return !g.Watched && (g.Outcome == outcome.Open || mayBeOthers(r, g.Reason))
	})
}

func (a Gate) ofBuilds() bool { return true }

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
// it is worse if the interval excludes no change, and the median is more than half of the allowed worsening. Where nothing speaks
// for a worsening, a narrower interval tells that the build is fine, too: as a build passes only if all metrics are fine, it
// passes wrongly only if the interval of each metric that is worse than allowed errs, so that none shares its error with the
// others (the intersection-union test of Berger, 1982).
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
		compare := func(shares int) stats.Comparison {
			return stats.CompareCopies(m, b.series(base.Name, m.Figure), b.series(twin.Name, m.Figure), b.series(challenger.Name, m.Figure), shares)
		}
		c := compare(shares)
		better, fine, needed := m.Better(c.Decision.Rank), allowed(c, allow), c.Needed
		if alone := compare(1); !fine && within(m, alone.Ratio, allow/2) && reachesNoChange(alone) { // nothing points to worse
			if fine, needed = allowed(alone, allow), alone.Needed; fine {
				c = alone
			}
		}
		if fine {
			// Also of a build that is better: it need not be better by more than copies differ, nor all the time.
			c.Decision = stats.Decided(stats.Same) // drift and disturbances are checked for a decided verdict only
		}
		why := b.refusePair(m, base, challenger)
		if c.Decision.Outcome == outcome.Refused {
			why = firstOf(why, b.unfit(c, base.Name, twin.Name, challenger.Name))
		}
		rules := newRuler(aa, base.Name, b.refuseCopy(aa, base, twin))
		rules.differs = rules.differs && !(better && rules.exceeded(c)) // copies that differ make no build better by more than that
		why = b.against(c, base, challenger, why, rules)
		g := record.Gated{Metric: m.Figure, Allow: allow, Ratio: c.Ratio, Low: c.Low, High: c.High, Needed: needed, Outcome: outcome.Open, Watched: asked.Watched}
		switch {
		case !why.None():
			g.Outcome, g.Reason, g.Final = outcome.Refused, why, final(why)
			g.Ratio, g.Low, g.High = 0, 0, 0
		case fine:
			g.Outcome = outcome.Yes
		case m.Worse(c.Decision.Rank):
			g.Outcome = outcome.No
		}
		if g.Outcome != outcome.Open {
			g.Needed = 0
		}
		g.Answer = outcome.Gate.Phrase(g.Outcome)
		answers = append(answers, g)
	}
	return answers
}

// allowed reports whether a comparison has an interval, and the whole of it is no worse than allowed.
func allowed(c stats.Comparison, worsening float64) bool {
	return c.Low > 0 && within(c.Metric, c.Low, worsening) && within(c.Metric, c.High, worsening)
}

// reachesNoChange reports whether the interval of a comparison is not surely worse than no change.
func reachesNoChange(c stats.Comparison) bool {
	return within(c.Metric, c.Low, 0) || within(c.Metric, c.High, 0)
}

// within reports whether a ratio is no worse than allowed. For goodput and capacity worse is lower.
func within(m stats.Metric, ratio, worsening float64) bool {
	if m.HigherIsBetter {
		return ratio >= 1/(1+worsening)
	}
	return ratio <= 1+worsening
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
