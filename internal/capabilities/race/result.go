package race

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// Kind is the kind of a [Race].
var Kind = record.Declare("race", "race", func() record.Result { return new(Race) })

// A Race is the result of `schedlab compare --arms all`: the best arm, or the best arms that are not told apart, and why the others are
// out.
type Race struct {
	record.Common
	// Outcome is Yes if it is known which arms are best: one arm is left, or all that are left are surely the same, or better at one
	// metric and worse at another. It is Open while some of them are not told apart, and Refused where each of them has a fault of its own, or no
	// block.
	Outcome outcome.Outcome `json:"outcome"`
	Answer  string          `json:"answer"` // Outcome in words: decided, open, refused
	Fact    fact.Fact       `json:"fact"`   // the answer with its figures
	Budget  record.Span     `json:"budget"`
	Blocks  int             `json:"blocks"`  // blocks that ended
	Rate    float64         `json:"rate"`    // offered to each arm, requests per second; 0 in a closed loop
	Metrics []stats.Figure  `json:"metrics"` // by which arms are ranked
	Best    []string        `json:"best"`    // arms that are not out, the best median ratios first
	Arms    []Arm           `json:"arms"`    // in plan order
	// LeftOut tells which arms could not serve the load, by their settings, and so did not race.
	LeftOut []fact.Fact `json:"left_out"`
}

// An Arm is one arm of a race.
type Arm struct {
	record.Contestant
	Blocks  int              `json:"blocks"`        // of its windows, those that count
	Medians stats.Figures    `json:"medians"`       // over these windows
	Against []record.Verdict `json:"against"`       // against the first of Best, by the blocks of both; empty for that itself
	Out     *Out             `json:"out,omitempty"` // nil for an arm that is not out
}

// An Out tells why an arm is out.
type Out struct {
	After int    `json:"after"`        // blocks
	By    string `json:"by,omitempty"` // the arm that is surely better; "" if a fault of its own is the reason
	// Verdict is the one with the largest sure difference from By; nil without By.
	Verdict *record.Verdict `json:"verdict,omitempty"`
	Fault   fact.Fact       `json:"fault,omitzero"` // why its own times are not judged; no fact if that is not the reason
	Why     fact.Fact       `json:"why"`            // in words
}

// compare orders the ways in which an arm is out; reports tell the last one. An arm that still races comes after one that is out itself, and
// then the larger difference comes later.
func (o Out) compare(than Out, lost map[string][]Out) int {
	size := func(o Out) float64 {
		if o.Verdict == nil || o.Verdict.Ratio <= 0 {
			return 0
		}
		return math.Abs(math.Log(o.Verdict.Ratio))
	}
	stays := func(o Out) int { return stats.Count(len(lost[o.By]) == 0) }
	return cmp.Or(cmp.Compare(stays(o), stays(than)), cmp.Compare(size(o), size(than)), cmp.Compare(than.By, o.By))
}

// Decided reports whether the race tells anything: which arms are best, or that an arm is not.
func (r *Race) Decided() bool {
	return r.Outcome == outcome.Yes || slices.ContainsFunc(r.Arms, func(a Arm) bool { return a.Out != nil && a.Out.By != "" })
}

// Contestants returns the arms without their figures.
func (r *Race) Contestants() []record.Contestant {
	all := make([]record.Contestant, len(r.Arms))
	for i, a := range r.Arms {
		all[i] = a.Contestant
	}
	return all
}

// MarshalJSON writes the race with its attachments.
func (r Race) MarshalJSON() ([]byte, error) {
	type plain Race // without this method
	return r.AsJSON(plain(r))
}

// Result computes the race from its record. Blocks are judged in their order, as while they ran. The last one counts only if each arm
// that still raced has a window in it.
func (Question) Result(dir *record.Dir, run record.Run) (record.Result, error) {
	r, err := newReferee(dir.Name(), dir.Path(), run)
	if err != nil {
		return nil, err
	}
	block, ran := 0, map[string]bool{}
	for t, err := range dir.Trials() {
		if err == nil && t.Block != block {
			r.ended(block, ran, false)
			block, ran = t.Block, map[string]bool{}
		}
		r.Take(t, err)
		ran[t.Arm] = ran[t.Arm] || err == nil
		if err == nil && t.Failure != "" {
			r.Lost(t.Arm)
		}
	}
	r.ended(block, ran, true)
	for arm := range run.Ends {
		if _, gone := r.out[arm]; !gone {
			r.Lost(arm)
		}
	}
	if !r.over() {
		r.last()
	}
	return r.result(), nil
}

// ended takes a block of the record; ran has the arms with a window in it. If an arm that still races has none, the last block was cut
// off, unless that arm's server was lost. In an earlier block a window that cannot be read is missing from its pairs only.
func (r *referee) ended(block int, ran map[string]bool, last bool) {
	if block == 0 { // before the first trial nothing has ended
		return
	}
	for _, arm := range slices.Clone(r.racing) {
		if _, lost := r.run.Ends[arm]; !ran[arm] && lost {
			r.Lost(arm)
		} else if !ran[arm] && last {
			r.Drop(block)
			return
		}
	}
	r.end(block)
}

// result returns the race by the trials so far.
func (r *referee) result() *Race {
	p := r.run.Plan
	of := &Race{
		Common: r.Common(Kind), Budget: p.Budget, Blocks: r.blocks, Rate: p.Rate, Metrics: r.metrics,
		Best: []string{}, Arms: []Arm{}, LeftOut: []fact.Fact{},
	}
	of.Best = append(of.Best, r.ranked()...)
	for _, pa := range p.Arms {
		l := r.of.Lone(pa.Name)
		a := Arm{Contestant: r.Contestant(pa), Blocks: l.Blocks, Medians: l.Medians, Against: []record.Verdict{}}
		if len(of.Best) > 0 && of.Best[0] != pa.Name && l.Blocks > 0 {
			a.Against = r.of.Match(of.Best[0], pa.Name, r.metrics, r.shares).Verdicts
		}
		if how, gone := r.out[pa.Name]; gone {
			how.Why = r.why(pa.Name, how)
			a.Out = &how
		}
		of.Arms = append(of.Arms, a)
	}
	var pairsLeft []record.Place
	for i, arm := range of.Best {
		for _, other := range of.Best[:i] {
			pairsLeft = append(pairsLeft, r.of.Match(other, arm, r.metrics, r.shares).Place)
		}
	}
	of.Outcome, of.Fact = r.conclude(of, pairsLeft)
	of.Answer = outcome.Winner.Phrase(of.Outcome)
	decided := of.Outcome == outcome.Yes
	leftOut := func(d fact.Fact) bool { return d.Code == doubt.LeftOutOfRace.Code }
	for _, d := range p.Doubts {
		if leftOut(d) {
			of.LeftOut = append(of.LeftOut, d)
		}
	}
	of.Doubts = slices.DeleteFunc(r.Trials.Doubts(of, decided || len(of.Best) < len(of.Arms)), leftOut)
	return of
}

// ranked returns the arms that still race, those with the lowest median times first: by the mean logarithm over the metrics.
func (r *referee) ranked() []string {
	score := map[string]float64{}
	for _, arm := range r.racing {
		l := r.of.Lone(arm)
		for _, f := range r.metrics {
			v, known := l.Medians[f].Get()
			if !known || v <= 0 {
				v = math.Inf(1)
			}
			score[arm] += math.Log(v)
		}
	}
	best := slices.Clone(r.racing)
	slices.SortStableFunc(best, func(a, b string) int { return cmp.Compare(score[a], score[b]) })
	return best
}

// why tells in words why an arm is out.
func (r *referee) why(arm string, how Out) fact.Fact {
	switch {
	case how.Verdict != nil:
		v := how.Verdict
		return beaten.Of(beatenBy{Ratio: v.Ratio, Low: v.Low, High: v.High, After: how.After}).On(arm).Against(how.By).At(v.Metric.Row().Name)
	case !how.Fault.None():
		return faulty.Of(afterBlocks{how.After}).On(arm).Since(how.Fault)
	}
	return lost.Of(ended{how.After, r.run.Ends[arm].Why}).On(arm)
}

// conclude returns the outcome and the answer. left are the places of every pair of arms that are not out.
func (r *referee) conclude(of *Race, left []record.Place) (outcome.Outcome, fact.Fact) {
	group := standing{Arms: list(of.Best), Many: len(of.Best) > mostNamed, Best: len(of.Best), Raced: len(of.Arms), Blocks: of.Blocks}
	all := func(is func(record.Place) bool) bool {
		return !slices.ContainsFunc(left, func(p record.Place) bool { return !is(p) })
	}
	switch {
	case !slices.ContainsFunc(of.Best, r.sound):
		return outcome.Refused, nothingRaced.Of(group).Since(r.fault(of.Best)...)
	case len(of.Best) == 1 && !r.compared():
		return outcome.Open, aloneLeft.Of(group).On(of.Best[0])
	case len(of.Best) == 1:
		return outcome.Yes, oneLeft.Of(group).On(of.Best[0])
	case all(func(p record.Place) bool { return p == record.Placed(stats.Same) }):
		return outcome.Yes, sameLeft.Of(group)
	case all(bothBest):
		return outcome.Yes, tradeLeft.Of(group)
	}
	if r.run.Status == record.Complete && of.Blocks < r.run.Plan.Blocks {
		group.Twice = 2 * of.Budget.Seconds()
	}
	return outcome.Open, openLeft.Of(group)
}

// compared reports whether an arm is out by its own fault or beaten by one that still races. Others are out because their server
// ended, or were beaten by one of which it did: of those the arms that still race were told apart by nothing.
func (r *referee) compared() bool {
	for _, how := range r.out {
		if slices.Contains(r.racing, how.By) || !how.Fault.None() {
			return true
		}
	}
	return false
}

// mostNamed is how many arms an answer names; it counts more of them.
const mostNamed = 5

// sound reports whether an arm can be judged by its times.
func (r *referee) sound(arm string) bool {
	l := r.of.Lone(arm)
	return l.Blocks > 0 && l.Fault.None()
}

// fault returns the fault of the first of these arms that has one; nothing if none has.
func (r *referee) fault(arms []string) []fact.Fact {
	for _, arm := range arms {
		if l := r.of.Lone(arm); !l.Fault.None() {
			return []fact.Fact{l.Fault}
		}
	}
	return nil
}

// list returns names as part of a sentence.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
