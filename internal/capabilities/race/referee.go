package race

import (
	"math"
	"slices"

	"schedlab/internal/measuring/judge"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A referee judges a race while it runs, and again from its record. Use it once.
type referee struct {
	*judge.Judge
	of      evidence // the judge; tests and the simulation have others
	run     record.Run
	metrics []stats.Figure
	shares  int // among which stats.Alpha is divided: every pair of arms at every metric, and at goodput if it ranks
	racing  []string
	out     map[string]Out
	blocks  int         // that ended
	open    [][2]string // pairs of arms that may still differ after the last look; nil before the first look
}

// evidence is what the trials so far tell of two arms, and of one.
type evidence interface {
	Match(base, arm string, metrics []stats.Figure, shares int) judge.Match
	Lone(arm string) judge.Lone
}

// newReferee returns the referee of a run that has no trials yet.
func newReferee(runName, path string, run record.Run) (*referee, error) {
	j, err := judge.New(runName, path, run, Question{})
	if err != nil {
		return nil, err
	}
	r := &referee{Judge: j, of: j, run: run, metrics: metrics(run), out: map[string]Out{}}
	r.shares = pairs(len(run.Plan.Arms)) * (len(r.metrics) + stats.Count(slices.ContainsFunc(run.Plan.Arms, impatient)))
	for _, a := range run.Plan.Arms {
		r.racing = append(r.racing, a.Name)
	}
	return r, nil
}

// impatient reports whether an arm's requests have a deadline. Goodput then ranks it, beside the metrics of its times.
func impatient(a record.PlanArm) bool { return a.Clients.Impatient() }

// Lost takes an arm out that cannot be measured any more.
func (r *referee) Lost(arm string) {
	r.leave(arm, Out{After: r.of.Lone(arm).Blocks})
}

// leave takes an arm out of the race.
func (r *referee) leave(arm string, how Out) {
	r.racing = slices.DeleteFunc(slices.Clone(r.racing), func(name string) bool { return name == arm })
	r.out[arm] = how
}

// faultyFrom is the number of windows, each with a fault, from which on an arm is out before any look. If a sound arm has a fault in one
// window of five by chance, it has one in all six of them in 6 races of 100,000.
const faultyFrom = 6

// Look ends a block, and tells which arms still race. The result is nil unless the block is one of the plan's looks, or an arm left.
func (r *referee) Look(block int) (record.Result, []string) {
	before := len(r.racing)
	r.end(block)
	switch {
	case r.over():
		return r.result(), nil
	case len(r.racing) == before && !slices.Contains(r.run.Plan.Looks, block):
		return nil, r.racing
	}
	return r.result(), r.racing
}

// end ends a block: arms with a fault of their own and, after a look, arms that another one beats leave the race.
func (r *referee) end(block int) {
	r.blocks = block
	look := slices.Contains(r.run.Plan.Looks, block)
	r.dropFaulty(look)
	if look {
		r.compare()
	}
}

// over reports whether more blocks would tell nothing: fewer than two arms race, or the last look left no pair of them open.
func (r *referee) over() bool {
	return len(r.racing) < 2 || r.open != nil && !slices.ContainsFunc(r.open, func(pair [2]string) bool {
		return slices.Contains(r.racing, pair[0]) && slices.Contains(r.racing, pair[1])
	})
}

// last compares the arms once more when the race has ended, if it had a look: blocks since then may have told more.
func (r *referee) last() {
	if looks := r.run.Plan.Looks; len(looks) > 0 && r.blocks > looks[0] {
		r.compare()
	}
}

// compare takes out the arms that another one beats, and notes which pairs are open.
func (r *referee) compare() {
	lost := map[string][]Out{}
	r.open = [][2]string{}
	for i, arm := range r.racing {
		for _, other := range r.racing[:i] {
			m := r.of.Match(other, arm, r.metrics, r.shares)
			if loser, by := beatenIn(m); loser != "" {
				lost[loser] = append(lost[loser], Out{After: r.blocks, By: by, Verdict: deciding(m)})
			}
			if !bothBest(m.Place) {
				r.open = append(r.open, [2]string{other, arm})
			}
		}
	}
	// Three arms that beat each other in a circle would leave none.
	if len(lost) == len(r.racing) {
		return
	}
	for arm, ways := range lost {
		r.leave(arm, slices.MaxFunc(ways, func(a, b Out) int { return a.compare(b, lost) }))
	}
}

// bothBest reports whether neither of two arms keeps the other from being the best: they are the same, or each is better at one metric.
func bothBest(p record.Place) bool {
	return p == record.Placed(stats.Same) || p == record.Placed(stats.Trade)
}

// dropFaulty takes out arms with a fault of their own, such as failed requests, which makes their times no evidence. If all arms have one,
// it takes out none.
func (r *referee) dropFaulty(look bool) {
	out := map[string]Out{}
	for _, arm := range r.racing {
		if l := r.of.Lone(arm); !l.Fault.None() && l.Blocks > 0 && (look || l.Always && l.Blocks >= faultyFrom) {
			out[arm] = Out{After: r.blocks, Fault: l.Fault}
		}
	}
	if len(out) == len(r.racing) {
		return
	}
	for arm, how := range out {
		r.leave(arm, how)
	}
}

// beatenIn returns the arm of a match that is out, and the arm that beats it; "" if neither is out. An arm is out if the other is surely
// better at one metric and surely worse at none, as in a comparison. An arm that is out gets no more windows, so later blocks must be
// unlikely to change this. Therefore the arm must be likely to be worse at one metric, by the smallest difference that counts, and at no
// metric may it be likely to be better by as much: that would be a trade.
func beatenIn(m judge.Match) (loser, by string) {
	if !m.Place.Better() && !m.Place.Worse() {
		return "", ""
	}
	loser, by = m.Arm, m.Baseline
	if m.Place.Better() {
		loser, by = by, loser
	}
	lasts := byGoodput(m.Place)
	for i, v := range m.Verdicts {
		if !v.Primary || v.Verdict.Outcome == outcome.Refused {
			continue
		}
		least := m.Likely[i].Low // of the ratio of the loser's time to the other's
		if m.Place.Better() {
			least = 1 / m.Likely[i].High
		}
		effect := 1 + v.Metric.Row().Effect
		if least*effect < 1 {
			return "", ""
		}
		lasts = lasts || least >= effect
	}
	if !lasts {
		return "", ""
	}
	return loser, by
}

// byGoodput reports whether a place is by goodput: one of the arms does not keep up, or fails requests.
func byGoodput(p record.Place) bool {
	return p == record.Placed(stats.Lower) || p == record.Placed(stats.Higher)
}

// deciding returns the verdict with the largest sure difference of a match. Its arm is the one that is out, and its baseline the better one.
func deciding(m judge.Match) *record.Verdict {
	var most *record.Verdict
	for i, v := range m.Verdicts {
		right := v.Worse() == m.Place.Worse() && v.Verdict.Rank.Differs()
		if right && v.Primary != byGoodput(m.Place) && (most == nil || math.Abs(math.Log(v.Ratio)) > math.Abs(math.Log(most.Ratio))) {
			most = &m.Verdicts[i]
		}
	}
	if most == nil || !m.Place.Better() {
		return most
	}
	return turned(*most)
}

// turned returns a verdict as seen from the other arm.
func turned(v record.Verdict) *record.Verdict {
	v.Arm, v.Baseline = v.Baseline, v.Arm
	if v.Ratio > 0 {
		v.Ratio = 1 / v.Ratio
	}
	if v.Low > 0 {
		v.Low, v.High = 1/v.High, 1/v.Low
	}
	v.Won, v.Lost = v.Lost, v.Won
	v.Verdict.Rank, v.Lean = v.Verdict.Rank.Reversed(), v.Lean.Reversed()
	return &v
}
