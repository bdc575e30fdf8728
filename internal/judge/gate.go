package judge

import (
	"math"
	"slices"

	"schedlab/internal/expect"
	"schedlab/internal/outcome"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A Pair asks how an arm compares with another at a metric. Metric is a name that [stats.MetricOf]
// knows. The ratio is Arm divided by Baseline.
//
// This file answers what other commands ask of the blocks of a run: how any two arms compare (choose),
// whether a new build is worse (gate), and whether arms keep an objective (size).
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
	m := stats.MetricOf(p.Metric)
	for _, name := range []string{p.Baseline, p.Arm} {
		if armOf(arms, name) == nil {
			return verdict(stats.Comparison{Metric: m}, record.Arm{Name: p.Baseline}, record.Arm{Name: p.Arm}, record.Fact{Code: noSuchArm, Arm: name})
		}
	}
	base, arm := *armOf(arms, p.Baseline), *armOf(arms, p.Arm)
	own := slices.IndexFunc(g.result.Verdicts, func(v record.Verdict) bool {
		return v.Metric == p.Metric && v.Baseline == p.Baseline && v.Arm == p.Arm && v.Verdict != stats.Refused
	})
	if own >= 0 {
		return g.result.Verdicts[own]
	}
	why := g.refuseRun()
	switch p.Metric {
	case "goodput", "memory", "good_mean": // whatever became of the requests
	default:
		why = g.refusePair(m, base, arm)
	}
	for _, a := range []record.Arm{base, arm} { // a mean over some clients is not the mean over all
		if p.Metric == "good_mean" && g.starvesTooMany(a.Name) {
			why = firstOf(why, record.Fact{Code: record.CauseStarvation, Arm: a.Name, Values: record.Values{"starved": float64(a.StarvedConnections)}})
		}
	}
	// As many shares as there are pairs of arms and primary metrics, since any pair may be asked
	// for.
	c := g.compared(m, base.Name, arm.Name, stats.Primaries()*(len(arms)-1)*(len(arms)-2)/2)
	return verdict(c, base, arm, g.against(c, base, arm, why, ruler{}))
}

// Leaders names the best arms by the verdicts on some metrics, by the same rule that names a
// winner. best holds the winner, or the arms that share the first place, or all arms faster than
// the baseline, or else the arms that are not surely worse than another and starved no client. Two
// challengers are compared by their duel in r.Duels. The names are in the order of the plan.
func Leaders(r *record.Result, metrics []string) (kind record.AnswerKind, best []string) {
	f := newRanking(r, func(v record.Verdict) bool { return slices.Contains(metrics, v.Metric) }, false)
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

// GateFineness returns by how much longer a gate's windows and budget have to be than those of a gate
// with the usual allowances, so that it can tell what is allowed: 2 where a metric may be half as much
// worse as usual. It is between 1 and 4.
func GateFineness(gate map[string]record.Allowance) float64 {
	_, usual := GateMetrics()
	finest := 1.
	for name, asked := range gate {
		finest = max(finest, usual[name]/asked.Share)
	}
	return min(finest, 4)
}

// gated tells for each metric of the plan's gate whether the last arm is worse than the first, by the
// interval against both runs of the old build in each block. The new build is worse when it excludes
// that it is as good, and the median is more than half of the allowed worsening. It is fine when the
// whole interval lies within the allowed worsening, which has precedence.
func (b blocks) gated(arms []record.Arm) (answers []record.Gated) {
	gate := b.run.Plan.Gate
	if len(gate) == 0 || len(arms) < 3 {
		return nil
	}
	base, twin, challenger := arms[0], arms[1], arms[len(arms)-1]
	shares := GateShares(len(gate))
	for _, m := range stats.Figures() {
		asked, is := gate[m.Name]
		if !is {
			continue
		}
		name, allow := m.Name, asked.Share
		// The smallest effect that counts is half of the allowed worsening, so that a small sure
		// difference does not make a build worse.
		m.Effect, m.Same = allow/2, allow
		// The plan has the old build twice: its copy shows how much equal builds differ here.
		aa := stats.Compare(m, b.series(base.Name, name), b.series(twin.Name, name), shares)
		c := stats.CompareCopies(m, b.series(base.Name, name), b.series(twin.Name, name), b.series(challenger.Name, name), shares)
		// For goodput worse is lower, so the other end of the interval counts.
		fine := c.Low > 0 && c.High <= 1+allow
		if m.HigherIsBetter {
			fine = c.Low >= 1/(1+allow)
		}
		if fine && !m.Better(c.Decision) {
			c.Decision = stats.Same // of which drift and disturbances are checked
		}
		why := b.against(c, base, challenger, b.refusePair(m, base, challenger), newRuler(aa, base.Name, b.refuseMetric(m, twin)))
		g := record.Gated{Metric: name, Allow: allow, Ratio: c.Ratio, Low: c.Low, High: c.High, Needed: c.Needed, Outcome: outcome.Open, Watched: asked.Watched}
		switch {
		case !why.None():
			g.Outcome, g.Reason, g.Final = outcome.Refused, why, final(why)
		case fine:
			g.Outcome = outcome.Yes
		case m.Worse(c.Decision):
			g.Outcome = outcome.No
		}
		g.Answer = outcome.Gate.Phrase(g.Outcome)
		answers = append(answers, g)
	}
	return answers
}

// copyHides returns the doubt that comes first where a gate cannot tell, at a metric at which the old
// build's own copy surely differs or is not fine either: the one with the most noise for what it allows.
// It returns no fact otherwise. Where the copy refuses a metric, the answer has the reason.
func (b blocks) copyHides(r *record.Result) (f record.Fact) {
	if r.GateOutcome() != outcome.Open {
		return f
	}
	base, most := r.Arms[0].Name, 0.
	for _, g := range r.Gate {
		m, allowed := stats.MetricOf(g.Metric), 1+g.Allow
		aa := stats.Compare(m, b.series(base, g.Metric), b.series(r.Arms[1].Name, g.Metric), GateShares(len(r.Gate)))
		if g.Outcome != outcome.Open || g.Watched || aa.Low == 0 {
			continue
		}
		noise := max(math.Log(aa.High), -math.Log(aa.Low)) / math.Log(allowed)
		if m.HigherIsBetter {
			allowed = 1 / allowed
		}
		if noise > most && (noise > 1 || aa.Low > 1 || aa.High < 1) {
			most = noise
			f = record.Fact{Code: gateNoise, Baseline: base, Metric: g.Metric, Values: record.Values{"low": aa.Low, "high": aa.High, "allowed": allowed}}
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

// A Keeping tells how well an arm kept an SLO. It is part of the JSON of a size test (package
// advise).
type Keeping struct {
	Arm    string          `json:"arm"`
	Blocks int             `json:"blocks"`          // valid blocks
	Kept   int             `json:"kept"`            // valid blocks in which every term held
	Answer outcome.Outcome `json:"answer"`          // Yes: it keeps the SLO; No: it breaks it
	Reason record.Fact     `json:"reason,omitzero"` // why the answer is neither Yes nor No
	// Figures holds the spread of each term's metric over the blocks, by metric, in the term's
	// unit.
	Figures map[string]*record.Spread `json:"figures"`
	// Whole holds each quantile of the terms over the requests of all valid blocks together, in seconds. It
	// can break a term that most blocks keep.
	Whole map[string]float64 `json:"whole"`
	// Requests are those of all valid blocks, and Failed of them had no good reply. A block with many
	// failures does not show in a median.
	Requests int `json:"requests"`
	Failed   int `json:"failed"`
}

// Breaks returns the quantiles of an SLO that the requests of all blocks together break, each with its
// figure: "p99 13.6 ms".
func (k Keeping) Breaks(slo stats.SLO) (broken []string) {
	for _, term := range slo {
		if v, ok := k.Whole[term.Metric]; ok && !term.Holds(v) {
			broken = append(broken, term.Metric+" "+prose.Seconds(v))
		}
	}
	return broken
}

// Keep decides whether the baseline and each challenger keep an SLO, in plan order. It reads the
// record again, and uses the blocks with right data. At each look an arm passes if it kept all
// terms together in enough blocks to be sure that it keeps them in most, with 95 % confidence over
// all looks. It fails if it broke a term in enough blocks. In between it is undecided. The answer
// is refused if a window is too short for a quantile. A growing backlog refuses nothing, because
// it is a way to break an SLO. Keep returns an error if the record cannot be read.
//
// It counts blocks, as a sign test does: an arm that keeps the SLO in only half of all blocks
// keeps it in nearly all blocks of a run with a small and known probability, whatever the
// distribution of the times.
func Keep(dir *record.Dir, run record.Run, slo stats.SLO) ([]Keeping, error) {
	g, err := read(dir, run, Aim{SLO: slo}, func(record.TrialRecord) {})
	if err != nil {
		return nil, err
	}
	return g.keepings(slo), nil
}

// keepings returns the keeping of every arm but the baseline's copy, in plan order.
func (g judgement) keepings(slo stats.SLO) (all []Keeping) {
	for _, a := range g.run.Plan.Arms {
		if a.Role != record.Copy {
			all = append(all, g.keeping(a.Name, slo))
		}
	}
	return all
}

// quantiles returns the quantiles of a trial that an SLO asks for, in seconds, by metric. It
// leaves out those for which the window has too few requests. It returns nil without an SLO. An
// SLO may ask for quantiles that a run does not compare, so they are taken from the requests.
func quantiles(t record.TrialRecord, slo stats.SLO) map[string]float64 {
	if slo == nil {
		return nil
	}
	figures := map[string]float64{}
	took := t.Responses()
	for _, term := range slo {
		if term.Quantile > 0 && len(took) >= stats.MinRequests(term.Quantile) {
			figures[term.Metric] = stats.Quantile(took, term.Quantile)
		}
	}
	return figures
}

// keeping decides whether one arm keeps the SLO.
func (g judgement) keeping(arm string, slo stats.SLO) Keeping {
	k := Keeping{Arm: arm, Blocks: len(g.valid), Answer: outcome.Open, Figures: map[string]*record.Spread{}, Whole: map[string]float64{}}
	if why := g.refuseRun(); !why.None() {
		k.Answer, k.Reason = outcome.Refused, why
		return k
	}
	values, all := map[string][]float64{}, record.NewHistogram()
	for i, block := range g.valid {
		// All terms together: a block that breaks one term breaks the SLO.
		kept, w := true, g.windows[block][arm]
		k.Requests, k.Failed = k.Requests+w.Requests, k.Failed+w.Requests-w.Good
		all.Merge(w.Hist)
		for _, term := range slo {
			v, ok := w.quantiles[term.Metric]
			if term.Quantile == 0 {
				v, ok = w.Values[term.Metric]
			}
			if !ok || math.IsNaN(v) {
				k.Answer, k.Reason = outcome.Refused, record.Fact{Code: windowTooShort, Arm: arm, Metric: term.Metric, Values: record.Values{"block": float64(block)}}
				return k
			}
			values[term.Metric] = append(values[term.Metric], v)
			kept = kept && term.Holds(v)
		}
		k.Kept += stats.Count(kept)
		// The first look that decides counts. Go on only to complete the counts and figures.
		if k.Answer == outcome.Open {
			k.Answer = answer(i+1, k.Kept)
		}
	}
	for metric, v := range values {
		k.Figures[metric] = record.SpreadOf(v)
	}
	for _, term := range slo {
		if term.Quantile > 0 {
			k.Whole[term.Metric] = all.Quantile(term.Quantile).Seconds()
		}
	}
	switch {
	case k.Answer != outcome.Open:
	case !expect.Looked(k.Blocks, stats.Alpha):
		k.Reason = record.Fact{Code: record.TooFewBlocks, Values: record.Values{"blocks": float64(k.Blocks)}}
	default:
		k.Reason = record.Fact{Code: keptInSome, Values: record.Values{"kept": float64(k.Kept), "blocks": float64(k.Blocks)}}
	}
	return k
}

// answer decides after a number of blocks: the SLO was kept in kept blocks and broken in the rest.
// It is undecided between looks. With rank k of the look, fewer than k blocks on one side decide
// for the other.
func answer(blocks, kept int) outcome.Outcome {
	rank := stats.LookRank(blocks, stats.Alpha)
	switch {
	case rank == 0:
	case blocks-kept < rank:
		return outcome.Yes
	case kept < rank:
		return outcome.No
	}
	return outcome.Open
}
