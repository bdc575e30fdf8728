// Package judge turns the record of a run into its result. It measures nothing. It works in steps,
// and each step makes a value from the values before it:
//
//	trials      Judge.Take       each trial as a window of figures, with its ideal twin's
//	→ blocks    validate         the blocks that count: those with right data only
//	→ arms      blocks.arms      the figures of each arm over these blocks
//	→ verdicts  blocks.compare   every arm against the baseline, unless something refuses it
//	→ outcomes  blocks.expected  the scenario's expectations, decided
//	→ answer    conclude         who wins; Aim.judge, where another question is asked
//	→ doubts    doubts           everything that speaks against the result
package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// FromRecord computes the comparison of a run in blocks from its record: first every figure from the raw
// requests, then the rules, then the verdicts. A trial that cannot be read becomes a doubt and not
// an error. A run that goes on or was cut short is judged by the trials it has. The error tells that the
// record itself is damaged or cannot be read.
func FromRecord(dir *record.Dir, run record.Run) (record.Result, error) {
	g, err := read(dir, run, func(record.TrialRecord) {})
	if err != nil {
		return nil, err
	}
	return g.result, nil
}

// A Judge takes the trials of a run one after the other, and can judge those taken so far at any
// time. It is not safe for concurrent use.
//
// The run uses it to look at its blocks while it goes on (see [Judge.Look]), and [FromRecord] uses
// it afterwards. Both take the same path, so the result in the record is the one that ended the
// run.
type Judge struct {
	Trials
	windows    windows
	aim        Aim
	toldBehind bool // the last Look between the plan's looks told of an arm that does not keep up
	reducer    window.Reducer
}

// New returns a Judge of a run that has no trials yet, and is to answer aim. The trials come from
// [Judge.Take] or a record. New returns an error if run.json is damaged. path is for messages only.
func New(name, path string, run record.Run, aim Aim) (*Judge, error) {
	t, err := NewTrials(name, path, run)
	return &Judge{Trials: t, windows: windows{}, aim: aim, reducer: window.Reducer{Classes: run.Plan.Classes}}, err
}

// Replan goes on with another plan, under which the blocks so far do not count; see [record.Plan.Before].
func (j *Judge) Replan(p record.Plan) {
	j.run.Plan, j.windows, j.servers, j.toldBehind = p, windows{}, servers{}, false
}

// Take adds a trial. err, if not nil, is the reason why the trial cannot be read; it becomes a
// doubt. It keeps the window and its twin's figures, and not the requests: a run may have millions of
// these.
func (j *Judge) Take(t record.TrialRecord, err error) {
	// A second trial of one arm in a block is not used, because either may be wrong.
	var again fact.Fact
	if j.windows[t.Block][t.Arm] != nil {
		again = secondTrial.Of(twice{t.Block})
	}
	if !j.Admits(t.Trial, err, again) {
		return
	}
	arm := planned(j.run.Plan, t.Arm)
	if t.Client.Patience != (record.Patience{}) {
		arm.Clients.Patience = t.Client.Patience // a plan that was read does not have it
	}
	if j.windows[t.Block] == nil {
		j.windows[t.Block] = map[string]*modelled{}
	}
	j.windows[t.Block][t.Arm] = model(j.reducer.Reduce(t, j.run.Env, arm.Clients), t, *arm, j.run)
}

// read judges all trials of a record, and calls show with each one that can be read. A trial that
// show has seen may still be left out of the result.
func read(dir *record.Dir, run record.Run, show func(record.TrialRecord)) (judgement, error) {
	if !run.Plan.InBlocks() {
		return judgement{}, fmt.Errorf("judging %q: a search has no blocks to compare", dir.Path())
	}
	aim, err := aimOf(run.Plan)
	if err != nil {
		return judgement{}, fmt.Errorf("judging %q: %w", dir.Path(), err)
	}
	j, err := New(dir.Name(), dir.Path(), run, aim)
	if err != nil {
		return judgement{}, err
	}
	for t, err := range dir.Trials() {
		j.Take(t, err)
		if err == nil {
			show(t)
		}
	}
	cut, err := dir.Unfinished()
	if err != nil {
		return judgement{}, err
	}
	j.doubts = append(j.doubts, lacking(run, j.found, len(cut))...)
	return j.judge(), nil
}

// Taken returns the window of an arm in a block; blocks count from 1. It returns the zero Window
// if none was taken.
func (j *Judge) Taken(block int, arm string) (w window.Window) {
	if taken := j.windows[block][arm]; taken != nil {
		w = taken.Window
	}
	return w
}

// A judgement is a run's result together with the blocks it was made from. It is the [expect.Run] of its expectations.
type judgement struct {
	blocks
	result *record.Comparison
}

// judge judges the trials taken so far. It computes everything anew, so it can be called after
// each block. See the package comment for the steps.
func (j *Judge) judge() judgement {
	b := validate(j.run, j.aim, j.windows)
	arms := b.arms(j.servers)
	v := b.compare(arms)
	r := j.newComparison()
	r.Valid, r.Ran, r.Refused, r.Order = len(b.valid), len(b.windows), b.refused, b.order()
	if r.Others == nil {
		r.Env.StealRatio = b.stolen()
	}
	r.Arms, r.AA, r.Verdicts, r.Duels, r.Differences = arms, v.aa, v.all, v.duels, b.differences(arms, v.all)
	r.Laws, r.NotChecked = b.audit(), b.notChecked()
	g := judgement{b, r}
	r.Expectations = g.expected()
	r.Winner, r.Answer = conclude(r)
	j.aim.judge(b, r)
	r.Doubts = b.doubts(r, slices.Concat(j.doubts, j.servers.doubtsOf(j.run.Plan)))
	return g
}

// newComparison returns a comparison with the facts about its run, and no figures yet.
func (of *Trials) newComparison() *record.Comparison {
	p := of.run.Plan
	class, _ := p.JudgedClass()
	return &record.Comparison{
		Common: of.Common(record.Compared), Cell: p.Cell, Class: class.Name, Rate: p.Rate, Sendable: p.Sendable, Before: p.Before, Planned: p.Blocks,
		Refused: []record.Refusal{}, Verdicts: []record.Verdict{}, AA: []record.Verdict{}, LoadsDiffer: loadsDiffer(p.Arms),
	}
}

// planned returns the plan's arm with this name, or nil. It points into p.Arms.
func planned(p record.Plan, arm string) *record.PlanArm {
	i := slices.IndexFunc(p.Arms, func(a record.PlanArm) bool { return a.Name == arm })
	if i < 0 {
		return nil
	}
	return &p.Arms[i]
}

// RunMargin is the factor by which a window's expected requests must exceed a quantile's
// minimum, so that a window of Poisson arrivals rarely falls short of the minimum.
const RunMargin = 1.1

// RequestsFor returns how many requests a window must expect for quantile q to be judged. q is in 0..1. The result is
// RunMargin times [stats.MinRequests]. Where a window's length can be chosen it is planned for more, if q needs few:
// see [stats.PlannedRequests].
func RequestsFor(q float64) float64 {
	const slack = 1e-9 // 1.1 x 100 is above 110 in binary
	return RunMargin * float64(stats.MinRequests(q)) * (1 - slack)
}

// LowestRate returns the lowest rate of all open loops, in requests per second: the arm with that rate has
// the fewest requests in a window. It is 0 while a rate is not known, and +Inf if all
// arms are closed loops: their rate is not known in advance.
func LowestRate(p record.Plan) float64 {
	lowest := math.Inf(1)
	for _, a := range p.Arms {
		if !a.Clients.Closed() {
			lowest = min(lowest, a.Clients.Rate)
		}
	}
	return lowest
}

// QuantileRate is LowestRate of the requests that the quantiles are about.
func QuantileRate(p record.Plan) float64 {
	if c, ok := p.JudgedClass(); ok {
		return c.Share * LowestRate(p)
	}
	return LowestRate(p)
}

// Accounts reports whether an arm's server stamps the requests of its clients. Only our own
// servers stamp. With a deep pipeline a server has no room for the stamps, and over HTTP/2 requests share a connection, to which
// the stamps belong.
func Accounts(p record.Plan, arm string) bool {
	a := planned(p, arm)
	if a == nil || a.Mode == "" || a.Clients.Pipeline > timeline.MaxPending || a.Clients.Speaks.HTTP2 {
		return false
	}
	stamps := cmp.Or(a.Stamps, p.Stamps)
	return stamps != "" && stamps != record.StampsOff
}

// Evidence returns a run's result and the windows it rests on: for each arm, the windows of the valid blocks in block order. It
// calls see with every trial that can be read. It returns an error if the record cannot be read.
func Evidence(dir *record.Dir, run record.Run, see func(record.TrialRecord)) (*record.Comparison, map[string][]window.Window, error) {
	g, err := read(dir, run, see)
	if err != nil {
		return nil, nil, err
	}
	windows := map[string][]window.Window{}
	for _, a := range run.Plan.Arms {
		for _, w := range g.of(a.Name) {
			windows[a.Name] = append(windows[a.Name], w.Window)
		}
	}
	return g.result, windows, nil
}
