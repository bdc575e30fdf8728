package judge

import (
	"math"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// gateAlpha is the probability that a gate calls one of two equal builds worse, at any of its
// metrics and any look. It is smaller than the error of a comparison, because a gate runs often
// and a false alarm stops work.
const gateAlpha = .01

// GateShares returns the number of equal shares into which [stats.Alpha] is divided when a gate
// asks for this number of metrics. Each metric gets one share. The interval of a metric errs on
// both sides alike, and one side alone calls a build worse. For n metrics each side of an interval
// errs with Alpha/2 divided by the shares, so all n together err with gateAlpha at most.
func GateShares(metrics int) int {
	return int(math.Ceil(float64(metrics) * stats.Alpha / (2 * gateAlpha)))
}

// GateMetrics returns the metrics that a gate can ask for, with the largest worsening that it
// allows unless told otherwise, as a ratio. The names are in the order of stats.Figures.
func GateMetrics() (names []string, allowed map[string]float64) {
	allowed = map[string]float64{}
	for _, m := range stats.Figures() {
		if m.Allow > 0 {
			names, allowed[m.Name] = append(names, m.Name), m.Allow
		}
	}
	return names, allowed
}

// gated tells for each metric of the plan's gate whether the last arm is worse than the first. The
// new build is worse when the interval excludes that it is as good, and the median of the blocks
// is more than half of the allowed worsening. It is fine when the whole interval lies within the
// allowed worsening, which has precedence.
func (b blocks) gated(arms []record.Arm, run record.Fact) (answers []record.Gated) {
	gate := b.run.Plan.Gate
	if len(gate) == 0 || len(arms) < 3 {
		return nil
	}
	base, twin, challenger := arms[0], arms[1], arms[len(arms)-1]
	shares := GateShares(len(gate))
	names, _ := GateMetrics()
	for _, name := range names {
		asked, is := gate[name]
		if !is {
			continue
		}
		allow := asked.Share
		m := stats.MetricOf(name)
		// The smallest effect that counts is half of the allowed worsening, so that a small sure
		// difference does not make a build worse.
		m.Effect, m.Same = allow/2, allow
		// The plan has the old build twice: its copy shows how much equal builds differ here.
		aa := stats.Compare(m, b.series(base.Name, name), b.series(twin.Name, name), shares)
		c := b.compared(m, base.Name, challenger.Name, shares)
		// For goodput worse is lower, so the other end of the interval counts.
		fine := c.Low > 0 && c.High <= 1+allow
		if m.HigherIsBetter {
			fine = c.Low >= 1/(1+allow)
		}
		if fine && !m.Better(c.Decision) {
			c.Decision = stats.Same // of which drift and disturbances are checked
		}
		why := b.against(c, base, challenger, b.refusePair(m, base, challenger, run), newRuler(aa, base.Name, b.refuseMetric(m, twin)))
		g := record.Gated{Metric: name, Allow: allow, Ratio: c.Ratio, Low: c.Low, High: c.High, Needed: c.Needed, Answer: record.GateOpen, Watched: asked.Watched}
		switch {
		case !why.None():
			g.Answer, g.Reason, g.Final = record.GateRefused, why, final(why)
		case fine:
			g.Answer = record.GateFine
		case m.Worse(c.Decision):
			g.Answer = record.GateWorse
		}
		answers = append(answers, g)
	}
	return answers
}

// gateDecided reports whether more blocks would not change a gate's answer: a metric is worse, or
// none is open. One metric that is worse fails the gate, whatever the others are.
func gateDecided(answers []record.Gated) bool {
	open := false
	for _, g := range answers {
		if g.Answer == record.GateWorse {
			return true
		}
		open = open || !g.Watched && (g.Answer == record.GateOpen || g.Answer == record.GateRefused && !g.Final)
	}
	return !open
}
