package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// inBlocks is the strategy of a comparison, with its question.
type inBlocks struct{ judge.Aim }

// Judge computes the comparison from its record.
func (inBlocks) Judge(dir *record.Dir, run record.Run) (record.Result, error) {
	return judge.FromRecord(dir, run)
}

// accept has the user's rate in place of the scenario's.
func (inBlocks) accept(s scenario.Scenario, o Options) (scenario.Scenario, Options, error) {
	if o.Rate != (scenario.Rate{}) {
		if was := s.Load.Rate; was.PerSecond > 0 && was != o.Rate { // the question may mention the scenario's rate
			s.Question += fmt.Sprintf(" (asked of %s, run at %s)", was, o.Rate)
		}
		s.Load.Rate, s.Load.MaxRate = o.Rate, scenario.Rate{} // offer the user's rate without an upper limit
	}
	return s, o, nil
}

// cast returns the baseline, its copy and the challengers. The copy is called as the baseline with an apostrophe. It
// shows how much two identical arms differ on this machine (the A/A control).
func (inBlocks) cast(asked []scenario.Arm) (arms []contestant, err error) {
	if len(asked) < 2 {
		return nil, impossibleBy("arms", "a comparison needs two arms or more, a baseline and a challenger; name another with --arm or --arms")
	}
	twin := asked[0]
	twin.Name, twin.CopyOf = twin.Name+"'", twin.Name
	twin.Levels, twin.Family = nil, "" // it serves only as the A/A control
	arms = append(arms, contestant{asked[0], record.Baseline}, contestant{twin, record.Copy})
	for _, a := range asked[1:] {
		arms = append(arms, contestant{a, record.Challenger})
	}
	return arms, nil
}

// schedule sets what a run of blocks needs.
func (inBlocks) schedule(p *plan) error {
	p.Timeout = record.Lasting(time.Duration(p.scenario.Load.Timeout))
	p.takeExpectations()
	if err := p.takeTimes(); err != nil {
		return err
	}
	return p.settle()
}

// lacks asks for two arms with times to compare.
func (inBlocks) lacks(serving []arm) (what, which string) {
	if len(serving) > 1 && serving[0].Role == record.Baseline {
		return "", ""
	}
	return "comparison", "the baseline and a challenger"
}

// policy probes an arm up to three times, since its figure is a part of the answer.
func (inBlocks) policy() policy { return policy{probes: 3, rates: true, bounded: true} }

// measure settles the rates and runs the blocks.
func (inBlocks) measure(ctx context.Context, l lab, p plan, found findings, dir *record.Dir, run record.Run) (record.Run, error) {
	offered, err := p.offered(found)
	run.Plan = offered.recorded() // also for an impossible rate: the record then shows the unfinished plan
	if err != nil {
		return run, err
	}
	offered.tellFirst()
	// Record the rates that follow from the probes, before the first trial is measured at them.
	if err := dir.WriteRun(run); err != nil {
		return run, err
	}
	soFar, err := judge.New(run.Name, "", run, p.opts.Aim)
	if err != nil {
		return run, err
	}
	r := running{lab: l, plan: offered, judge: soFar, trial: func(ctx context.Context, p probed, number, block int, a arm) (record.TrialRecord, error) {
		return l.runTrial(ctx, p, dir, number, block, a)
	}, keep: func(changed record.Plan) error {
		run.Plan = changed
		return dir.WriteRun(run)
	}}
	ended, err := r.run(ctx)
	run.Trials, run.Plan = r.trials, r.plan.recorded()
	run.Plan.Doubts = slices.Concat(run.Plan.Doubts, ended)
	return run, err
}

// A running comparison runs the blocks of a probed plan, and judges them as they come. Its methods
// change it; use it once.
//
// A block is one trial of every arm, in an order drawn for it. What drifts on the machine is then
// nearly the same for all arms of a block, so arms are compared within blocks only. After some
// numbers of blocks, fixed beforehand, the judge takes a look. The run ends at the first look that
// leaves nothing open. The budget is a limit and not a length.
type running struct {
	lab
	plan  probed
	judge *judge.Judge
	// trial is runTrial. Tests replace it.
	trial func(ctx context.Context, p probed, number, block int, a arm) (record.TrialRecord, error)
	// keep writes a plan that changed into the record, so that a run that is killed can be judged by it.
	keep   func(record.Plan) error
	trials int    // number of trials recorded
	start  int    // the first block that counts, from 0; see shorten
	slow   string // the last arm with a server that did not end in time
}

// run runs blocks until a look finds everything decided, or the budget has no room for another
// one. The facts are doubts about what the end of the budget left open. Trials of a block that the
// budget cut off are in the record, but the block does not count.
func (r *running) run(ctx context.Context) ([]fact.Fact, error) {
	p := r.plan
	begun, last := time.Now(), time.Duration(0)
	// Before the first block only an estimate of its time is known, then the mean of the blocks that have
	// run. A server that lingers makes blocks longer than planned.
	mean := p.blockCost(p.Window.Duration)
	for block := range p.Order {
		// Do not start a block that is not likely to end in time. The last block counts as well as
		// the mean, because blocks may become slower.
		room := r.room(block, max(mean, last))
		if block > 0 && room <= block {
			return r.budgetEnded(block-r.start, mean), nil
		}
		// Nor one of a run that cannot reach its first look, even if the rest are as fast as the last, or as the mean. The
		// first block may be slow for itself, so that the plan's own estimate counts until there are two.
		quickest := min(mean, cmp.Or(last, mean))
		if block-r.start < 2 {
			quickest = min(quickest, p.blockCost(p.Window.Duration))
		}
		if !r.reaches(block, quickest) {
			shortened, err := r.shorten(block, quickest)
			if err != nil {
				return nil, err
			}
			if shortened {
				p, begun, last = r.plan, time.Now(), 0
				mean = p.blockCost(p.Window.Duration)
				quickest, room = mean, r.room(block, mean)
			}
		}
		if !r.reaches(block, quickest) {
			ended := r.budgetEnded(block-r.start, quickest)
			if block == 0 {
				if busy := r.busy(p.plan); !busy.None() {
					return nil, impossible("%v; %s", ended[0], busy.Part("do"))
				}
				return nil, impossible("%v", ended[0])
			}
			return ended, nil
		}
		began := time.Now()
		err := r.runBlock(ctx, block, room, mean)
		last = time.Since(began)
		switch {
		case errors.Is(err, errBudget): // this block takes longer than the earlier ones
			return r.budgetEnded(block-r.start, max(mean, last)), nil
		case err != nil:
			return nil, err
		}
		mean = time.Since(begun) / time.Duration(block+1-r.start)
		r.judge.Watched(r.others.SoFar())
		// The judge waits for no verdict that needs more blocks than there is room for.
		soFar, ends := r.judge.Look(r.room(block+1, max(last, mean)) - r.start)
		switch {
		case ends && p.Blocks == scenario.MaxBlocks: // otherwise --blocks ended the run, not the budget
			return r.leftOpen(block+1-r.start, last), nil
		case ends:
			return nil, nil
		case soFar != nil:
			p.opts.Observer.Look(soFar, soFar.Valid)
		}
	}
	return nil, nil
}

// runBlock runs one trial of every arm. The error is errBudget when the budget ended before the trials.
// room is the number of blocks that the run has room for if each takes each, for its progress.
func (r *running) runBlock(ctx context.Context, block, room int, each time.Duration) error {
	p := r.plan
	// The deadline leaves time to judge and record all blocks, this one included.
	ctx, cancel := r.bounded(ctx, p.plan, (block+1)*len(p.Arms))
	defer cancel()
	for k, i := range p.Order[block] {
		a, number := p.Arms[i], block*len(p.Arms)+k
		trials := room * len(p.Arms)
		left := each*time.Duration(trials-number)/time.Duration(len(p.Arms)) + after(trials)
		r.tellLeft(fmt.Sprintf("block %d: %s", block+1, a.Name), number, trials, left)
		t, err := r.trial(ctx, p, number+1, block, a)
		// The deadline looks like an error of the trial, so ask the context for the cause.
		if err != nil && errors.Is(context.Cause(ctx), errBudget) {
			return errBudget
		}
		if err != nil {
			return err
		}
		r.trials++
		// A server that lingers can make the budget end too early; budgetEnded names it.
		if slices.ContainsFunc(t.Server.Doubts, lingered.Code.Is) {
			r.slow = a.Name
		}
		r.judge.Take(t, nil)
		w := r.judge.Taken(block+1, a.Name)
		p.opts.Observer.Window(p.recorded(), w)
		if err := p.silent(a, block, w); err != nil {
			return err
		}
	}
	return nil
}

// silent returns an error if an arm gave no good reply in its first window: it is set up wrongly, and more blocks would waste time. Not so if
// its queue is longer than the window or than the timeout: then good replies came to earlier requests, or a mode of ours gave no
// reply at all, or refused the others.
func (p plan) silent(a arm, block int, w window.Window) error {
	overloaded := w.Values[stats.Goodput].Float() > 0 || a.asked.Mode != "" && onlyOverload(w.Status)
	if block > 0 || w.Requests == 0 || w.Good > 0 || overloaded {
		return nil
	}
	return fmt.Errorf("arm %q: not one good reply to %s in its first window (%d failed: %s); %s",
		a.asked.Given(), strings.TrimPrefix(p.scenario.Targets(cmdline.AddrMark)[0].URL, "http://"+cmdline.AddrMark), w.Requests, request.Mostly(w.Failures), a.tryFirst(w.Failures))
}

// onlyOverload reports whether all requests went without a reply or were refused with 503, by their statuses.
func onlyOverload(status map[uint16]float64) bool {
	for code, share := range status {
		if share > 0 && code != 0 && code != http.StatusServiceUnavailable {
			return false
		}
	}
	return status[0] > 0
}

// tryFirst tells what to do about an arm whose requests all failed, in these ways. A server that speaks TLS answers 400 to
// plain HTTP.
func (a arm) tryFirst(ends map[string]int) string {
	if a.Mode == "" && a.Clients.Speaks.TLS == "" && ends[request.Request{Status: http.StatusBadRequest}.End()] > 0 {
		return "try it with curl first, and if it speaks https, put tls=insecure before its command or address"
	}
	return "try it with curl first"
}

// reaches reports whether the run comes to its first look, if each further block takes each.
func (r *running) reaches(block int, each time.Duration) bool {
	return block-r.start >= scenario.MinBlocks || r.room(block, each)-r.start >= min(scenario.MinBlocks, r.plan.Blocks-r.start)
}

// forFirstLook returns a budget that has room for the first look, if each block after the first ones takes each, and some spare.
func (r *running) forFirstLook(blocks int, each time.Duration) time.Duration {
	needed := time.Since(r.began) + time.Duration(scenario.MinBlocks-blocks)*each + after(scenario.MinBlocks*len(r.plan.Arms))
	return roundUp(needed+needed/budgetSpare, time.Second)
}

// shorten goes on with shorter windows from a block on, and reports whether it does. Only windows that grew for a quantile
// are shortened, where an arm does not keep up: it has no quantiles, and its queue takes long to drain, so that the run would
// end without an answer. The blocks before have other windows, and do not count.
func (r *running) shorten(block int, each time.Duration) (bool, error) {
	behind, was := r.judge.Behind(), r.plan.plan
	if len(behind) == 0 || r.start > 0 {
		return false, nil
	}
	long := was.Window.Duration
	shorter, ok := was.shorter(func(window time.Duration) bool {
		return r.room(block, each-was.blockCost(long)+was.blockCost(window))-block >= scenario.MinBlocks
	})
	if !ok {
		return false, nil
	}
	shorter.Before = &record.Before{Blocks: block, Window: was.Window}
	var lost []string
	for _, f := range shorter.limits().short(shorter.Window.Duration, was.needs().Quantiles) {
		lost = append(lost, f.String())
	}
	said := windowsShortened.Of(shorterWindows{
		Blocks: block, Next: block + 1, First: scenario.MinBlocks, Window: shorter.Window.Duration, Was: was.Window.Duration,
		Needed: r.forFirstLook(block, each), Lost: strings.Join(lost, ", "),
	}).On(behind[0])
	shorter.Doubts = append(slices.Clone(was.Doubts), said)
	shorter.opts.Observer.Doubt(said)
	r.plan.plan, r.start = shorter, block
	r.judge.Replan(shorter.recorded())
	return true, r.keep(shorter.recorded())
}

// room returns the total number of blocks that the run can have: the blocks that have run, and the
// further blocks that fit into the rest of the budget if each takes each. It is at most the plan's
// Blocks, and at least blocks.
func (r *running) room(blocks int, each time.Duration) int {
	n, left := blocks, r.plan.budget-time.Since(r.began)
	for n < r.plan.Blocks && time.Duration(n+1-blocks)*each+after((n+1)*len(r.plan.Arms)) <= left {
		n++
	}
	return n
}

// budgetEnded returns the doubts about a run that the budget ended after the given number of blocks, which take
// each. Before the first look nothing can be decided, and the doubt tells how long a block takes.
func (r *running) budgetEnded(blocks int, each time.Duration) []fact.Fact {
	p := r.plan
	if blocks >= scenario.MinBlocks {
		return r.leftOpen(blocks, each)
	}
	short := shortBudget{
		Budget: p.budget, Needed: r.forFirstLook(blocks, each), Blocks: blocks, First: scenario.MinBlocks,
		Block: each.Round(100 * time.Millisecond), Planned: p.blockCost(p.Window.Duration).Round(100 * time.Millisecond), Lingers: r.slow,
	}
	// A larger budget is no help against other programs.
	if busy := r.busy(p.plan); !busy.None() {
		short.Needed, short.Busy = 0, busy.Part("share")
	}
	return []fact.Fact{budgetTooShort.Of(short)}
}

// An advised budget is one part in budgetSpare longer than the blocks so far suggest, because some blocks take longer.
const budgetSpare = 10

// leftOpen returns doubts about the verdicts that are open after the given number of blocks, which take each:
// which they are, and the budget or window that would decide them. Where the budget had room for that, the run ended because its
// answer does not depend on them. Verdicts with the same remedy share a doubt.
func (r *running) leftOpen(blocks int, each time.Duration) (doubts []fact.Fact) {
	p, looks := r.plan, stats.Looks()
	const moreBlocks, longerWindows, hopeless = 0, 1, 2
	var names [3][]string
	var needed [3]int // blocks that decide all of them
	for _, v := range r.judge.Open() {
		remedy := moreBlocks
		if v.Needed > scenario.MaxBlocks {
			remedy = hopeless
			if window, _ := p.longer(v.Needed); window > 0 {
				remedy = longerWindows
			}
		}
		names[remedy] = append(names[remedy], v.Arm+" "+v.Metric.Row().In)
		needed[remedy] = max(needed[remedy], v.Needed)
	}
	for remedy, open := range names {
		if open == nil {
			continue
		}
		of := doubt.Ended{Budget: p.budget.Seconds(), Blocks: blocks, Most: scenario.MaxBlocks, Open: len(open), Verdicts: strings.Join(open, ", ")}
		// A verdict is given at looks only, so advise the next look, with time to judge the additional trials.
		if i, _ := slices.BinarySearch(looks, max(needed[remedy], blocks+1)); i < len(looks) {
			more := time.Duration(looks[i]-blocks) * (each + time.Duration(len(p.Arms))*judging)
			if of.Moot = time.Since(r.began)+more+after(blocks*len(p.Arms)) <= p.budget; !of.Moot {
				of.Needed, of.Room = roundUp(p.budget+more, time.Second).Seconds(), looks[i]
			}
		} else if window, budget := p.longer(needed[remedy]); window > 0 {
			of.Needed, of.Window = budget.Seconds(), window
		}
		doubts = append(doubts, doubt.BudgetEnded.Of(of))
	}
	return doubts
}

// longer returns the window, in seconds, that would decide a verdict that needs more blocks than a
// run may have, and the budget for it; 0 if that would take too long. The width of an interval shrinks with
// the square root of the measured time, so longer windows stand in for more blocks.
func (p plan) longer(needed int) (window float64, budget time.Duration) {
	window = stats.Widened(p.Window.Seconds(), needed)
	budget = roundUp(p.costOf(record.Duration(window), scenario.MaxBlocks), time.Second)
	if budget > stats.LongestBudget {
		return 0, 0
	}
	return window, budget
}
