// Package explain finds where the time between two arms of a run went, and why. It reads a
// record, divides the difference into stretches by the stamps (judge.Waterfall), gathers further
// figures of both arms, called witnesses (witness.go), and checks a table of rules for causes
// (rules.go, suspect.go). For each cause it plans the extra arms that would confirm it, and
// judges their results (confirm.go). It runs nothing.
package explain

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// A Case is a run, read and ready to be explained. Make one with [Read]. It does not change
// afterwards. The test of an explanation is a run too, and becomes another Case.
//
// The steps: Pair chooses two arms, Explain divides their difference and suspects causes, Test
// plans the extra arms, Confirm judges them, and Merge adds what an older explanation has.
//
// Result is the run's result as it is judged now; read it only.
type Case struct {
	Result   *record.Comparison
	run      record.Run
	scenario scenario.Scenario
	arms     map[string]*arm
}

// Read judges a run again from its record and reads its servers' metrics. It returns an error if
// the record cannot be read or has fewer than two valid blocks: one block has no interval.
func Read(dir *record.Dir, run record.Run) (*Case, error) {
	type key struct {
		block int
		arm   string
	}
	shown := map[key]counters{}
	var bad error
	r, windows, err := judge.Evidence(dir, run, func(t record.TrialRecord) {
		c, err := readCounters(t.Path)
		bad = errors.Join(bad, err)
		shown[key{t.Block, t.Arm}] = c
	})
	if err := errors.Join(err, bad); err != nil {
		return nil, err
	}
	if r.Valid < 2 {
		return nil, fmt.Errorf("run %s has %d blocks that count, and an explanation needs 2 or more: measure again, with a longer --budget", run.Name, r.Valid)
	}
	s, err := scenario.Recorded(run.Plan.Scenario, []byte(run.Plan.Source))
	if err != nil {
		return nil, fmt.Errorf("reading the scenario of run %s from its record: %w", run.Name, err)
	}
	if s, err = s.OfCell(run.Plan.Cell); err != nil {
		return nil, fmt.Errorf("reading the cell of run %s from its record: %w", run.Name, err)
	}
	c := &Case{Result: r, run: run, scenario: s, arms: map[string]*arm{}}
	for i, p := range run.Plan.Arms {
		a := &arm{Arm: r.Arms[i], plan: p, cpus: cpuset.Count(run.Env.ServerCPUs, run.Env.CPUs), windows: windows[p.Name]}
		// Counters line up with windows, so that a witness finds both at the block's index.
		for _, w := range a.windows {
			a.counters = append(a.counters, shown[key{w.Trial.Block, p.Name}])
		}
		c.arms[p.Name] = a
	}
	return c, nil
}

// Pair chooses the arms to explain: the two in names or, if names is empty, the baseline and the
// challenger with the largest relative difference of mean response time. from is the arm compared
// with. Any other number of names is an error, and so is a name that the run does not have.
func (c *Case) Pair(names []string) (from, to string, err error) {
	switch len(names) {
	case 0:
		from = c.Result.Arms[0].Name
		most := 0.0
		for _, a := range c.Result.Arms {
			if a.Role != record.Challenger {
				continue
			}
			w := c.waterfalls(from, a.Name)
			if by := math.Abs(w.Mean.By) / w.Mean.From; to == "" || by > most {
				to, most = a.Name, by
			}
		}
		return from, to, nil
	case 2:
		for _, name := range names {
			if c.arms[name] == nil {
				return "", "", fmt.Errorf("run %s has no arm %q; its arms are %s", c.run.Name, name, slices.Sorted(maps.Keys(c.arms)))
			}
		}
		if names[0] == names[1] {
			return "", "", fmt.Errorf("arm %q is named twice; name two arms", names[0])
		}
		return names[0], names[1], nil
	}
	return "", "", errors.New("name two arms, or none for the baseline and the one that differs most from it")
}

// Limits below which a difference or a cause gets no explanation.
const (
	// A difference must reach leastShare and leastSeconds, or for lost requests leastLost; a
	// cause's part must reach leastPart.
	leastShare   = .03  // a ratio of the faster arm's mean
	leastSeconds = 2e-6 // seconds of the mean
	leastLost    = .005 // a ratio of the requests
	leastPart    = .2   // a ratio of the difference: what the part of a cause must explain
	// With more connections starved than mostStarved, a ratio, times are not explained.
	mostStarved = .01
)

// Explain finds where the time between two arms went, and suspects causes. modes are the modes of
// schedlab's own servers, by name. The causes are at most suspected: [Case.Confirm] adds the
// results of tests. An error means that the record does not tell how the slower arm was started.
func (c *Case) Explain(from, to string, modes map[string]mode.Mode) (*Explanation, error) {
	x := c.waterfalls(from, to)
	x.Lost = c.step(from, to, valued(stats.Errors))
	f, t := c.arms[from], c.arms[to]
	// The ideal twins' difference is the part that theory predicts. Its interval is the widest that
	// the two intervals allow.
	if hasIdeal(f.Twin) && hasIdeal(t.Twin) {
		x.Ideal = &stats.Step{From: f.Twin.Ideal.Median, To: t.Twin.Ideal.Median, By: t.Twin.Ideal.Median - f.Twin.Ideal.Median,
			Low: t.Twin.Ideal.Low - f.Twin.Ideal.High, High: t.Twin.Ideal.High - f.Twin.Ideal.Low}
	}
	x.Witnesses = witnessed(f.figures(), t.figures())
	// Times of the served connections say nothing about the starved ones.
	for _, a := range []*arm{f, t} {
		if starved := a.starved(); starved > mostStarved {
			x.settle(outcome.Refused)
			x.Reason = doubt.Starvation.Of(doubt.Unanswered{Starved: a.StarvedConnections}).On(a.Name)
			return x, nil
		}
	}
	all, why := c.whatDiffers(x)
	if len(all) == 0 {
		x.settle(outcome.No)
		x.Reason = fact.List(why...)
		if slices.ContainsFunc(why, func(f fact.Fact) bool { return !tooLittle.Code.Is(f) }) {
			x.settle(outcome.Open)
		}
		x.Busy = busy(x, c.Result.Doubts)
		return x, nil
	}
	x.Slower = all[0].slower(from, to)
	x.Undecided = slices.ContainsFunc(c.Result.Answer.Standings, func(s record.Standing) bool {
		return s.Place == record.Place{Outcome: outcome.Open} && (s.Baseline == from && s.Arm == to || s.Baseline == to && s.Arm == from)
	})
	// Causes are sought for one slower arm only. Once there are causes, or where the mean differs too, only
	// rules about the tail alone can add a cause: a cause of the mean lengthens the tail as well.
	s, err := sideOf(c.arms[x.Slower], c.scenario, modes)
	if err != nil {
		return nil, err
	}
	tailOnly := false
	for _, about := range all {
		if about.slower(from, to) != x.Slower || len(x.Causes) > 0 && !about.tail {
			break
		}
		c.suspect(x, about, s, tailOnly || len(x.Causes) > 0)
		tailOnly = tailOnly || !about.lost
	}
	conclude(x)
	x.Busy = busy(x, c.Result.Doubts)
	return x, nil
}

// busy returns the doubt about other programs that took CPU time, with its Open set if no cause is known, or if it is not
// decided whether the arms differ.
func busy(x *Explanation, doubts []fact.Fact) fact.Fact {
	f, of := doubt.Busy(doubts)
	if f.None() {
		return f
	}
	of.Open = x.Outcome == outcome.Open && (x.Slower != "" || x.Reason.RestsOn(notSure.Code))
	return doubt.MachineBusy.Of(of).Replacing(f)
}

// hasIdeal reports whether an arm has an ideal twin with the arm's own ratio of lost requests. A twin
// that loses more answers an easier load.
func hasIdeal(t *record.Twin) bool {
	return t != nil && t.Ideal != nil && (t.Loss == nil || t.MeasuredLoss == nil || math.Abs(t.Loss.Median-t.MeasuredLoss.Median) < leastLost)
}

// waterfalls returns an explanation with the waterfalls of two arms, of the mean and of the slowest
// 1 %, and no causes yet. The blocks of both arms pair up by index.
func (c *Case) waterfalls(from, to string) *Explanation {
	f, t := c.arms[from], c.arms[to]
	x := &Explanation{
		Schema: record.Schema, Run: c.run.Name, Dir: c.Result.Dir, Scenario: c.run.Plan.Scenario, From: from, To: to,
		Blocks: c.Result.Valid, Witnesses: []Witness{}, Causes: []Suspect{},
	}
	var blocks []judge.Block
	for i := range f.windows {
		blocks = append(blocks, judge.Block{From: f.windows[i].Phases.List(), To: t.windows[i].Phases.List()})
	}
	stretches := timeline.Stretches()
	if f.Joined == 0 || t.Joined == 0 { // one server stamps nothing: only client and rest can be told apart
		rest := timeline.Stretch{Name: "server and kernel"}
		for _, st := range stretches[1:] {
			rest.Phases = append(rest.Phases, st.Phases...)
		}
		stretches = []timeline.Stretch{stretches[0], rest}
	}
	x.Mean, x.Tail = judge.Waterfall(blocks, stretches, judge.MeanOf), judge.Waterfall(blocks, stretches, judge.TailOf)
	return x
}

// step returns the difference of a figure between the arms, to - from, paired by block. of reads
// the figure of an arm in a block.
func (c *Case) step(from, to string, of func(*arm, int) float64) stats.Step {
	return judge.Paired(c.series(of, from), c.series(of, to))
}

// A difference is one difference of the two arms that needs a cause: of lost requests, of the mean,
// or of the slowest 1 %. Neither lost nor tail means the mean.
type difference struct {
	step       stats.Step
	lost, tail bool
}

// slower returns the arm with the larger figure: more time, or more lost requests.
func (d difference) slower(from, to string) string {
	if d.step.By < 0 {
		return from
	}
	return to
}

// whatDiffers returns the differences to explain, in the order in which causes are sought: lost
// requests, then the mean, then the slowest 1 %. Lost requests come first because times are only
// about the requests that were answered. A difference of times does not count if one as large
// appears between the baseline and its own copy, or can come from the load itself; why has a fact for each
// difference that does not count.
func (c *Case) whatDiffers(x *Explanation) (all []difference, why []fact.Fact) {
	if x.Lost.Sure() && math.Abs(x.Lost.By) >= leastLost {
		all = append(all, difference{step: x.Lost, lost: true})
	}
	var copied Explanation
	noise := "" // who differs by that much
	if arms := c.Result.Arms; len(arms) > 1 && arms[1].Role == record.Copy {
		copied, noise = *c.waterfalls(arms[0].Name, arms[1].Name), arms[0].Name+", run twice as a check, differs from itself"
	}
	for _, d := range []struct {
		of, copied stats.Step
		where      string
		tail       bool
	}{{x.Mean.Step, copied.Mean.Step, "on average", false}, {x.Tail.Step, copied.Tail.Step, "in the slowest 1 % of requests", true}} {
		by, most := math.Abs(d.of.By), max(math.Abs(d.of.Low), math.Abs(d.of.High))
		least := max(leastShare*min(d.of.From, d.of.To), leastSeconds)
		switch limit := judge.Noise(d.copied, c.run.Env.Floor); {
		case most < least: // the whole interval
			why = append(why, tooLittle.Of(little{Where: d.where, By: most, Least: least}))
		case !d.of.Sure():
			v := unsure{Where: d.where, Low: d.of.Low, High: d.of.High}
			if (d.of.High-d.of.Low)/2 > 3*math.Abs(d.of.Middle) {
				v.Middle = d.of.Middle
			}
			why = append(why, notSure.Of(v))
		case by < limit:
			whose := noise
			if limit > judge.Noise(d.copied, nil) {
				whose = "the load engine itself adds to a time"
			}
			why = append(why, withinNoise.Of(noisy{Where: d.where, By: by, Noise: limit, Whose: whose}))
		case by < least:
			why = append(why, littleSoFar.Of(little{Where: d.where, By: by, Least: least}))
		default:
			all = append(all, difference{step: d.of, tail: d.tail})
		}
	}
	return all, why
}

// conclude sets x.Outcome from the outcome of the first cause, which is the surest.
func conclude(x *Explanation) {
	x.settle(outcome.Open)
	switch {
	case len(x.Causes) == 0:
		x.Reason = noRuleApplies
	case x.Causes[0].Outcome == outcome.Yes:
		x.settle(outcome.Yes)
	}
}

// Merge merges a new explanation with the one in the record. For the same two arms, the old tests
// stay until they run again: they take time, and explaining again without them must not lose them. keep is
// false if the old explanation has tests of other arms and the new one has no tests: the old one then stays
// in the record.
func Merge(dir *record.Dir, x *Explanation) (both *Explanation, keep bool, err error) {
	old, err := Kept(dir)
	switch {
	case err != nil || old == nil:
		return x, err == nil, err
	case old.From != x.From || old.To != x.To:
		return x, old.Tests == nil || x.Tests != nil, nil
	}
	if x.Tests == nil && old.Tests != nil {
		// The old explanation has the test's results in its causes, so it stays as a whole.
		return old, true, nil
	}
	return x, true, nil
}
