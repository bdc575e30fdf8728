package runner

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/record"
)

// A Race asks for blocks of fewer and fewer arms: an arm that cannot be the best takes no more windows.
type Race interface {
	judge.Aim
	// Start returns the referee of a run that has no trials yet.
	Start(run record.Run) (Referee, error)
	// Result computes the result of a race from its record.
	Result(dir *record.Dir, run record.Run) (record.Result, error)
}

// A Referee takes the trials of a race and tells after each block which arms still race.
type Referee interface {
	Take(t record.TrialRecord, err error)
	Taken(block int, arm string) window.Window
	Lost(arm string) // the arm cannot be measured any more
	// Look ends a block. racing are the names of the arms that take part in the next one: fewer than two if the race is over. soFar
	// is the result, or nil if nothing can have changed.
	Look(block int) (soFar record.Result, racing []string)
}

// byRace is the strategy of a race: blocks as in a comparison, without a copy of the baseline, and without the arms that are out.
type byRace struct {
	inBlocks
	race Race
}

// Judge computes the race from its record.
func (by byRace) Judge(dir *record.Dir, run record.Run) (record.Result, error) {
	return by.race.Result(dir, run)
}

// cast returns the arms. A race has no copy of the first one: each pair of arms is compared by itself.
func (byRace) cast(asked []scenario.Arm) (arms []contestant, err error) {
	if len(asked) < 2 {
		return nil, impossibleBy("arms", "a race needs two arms or more; name another with --arm")
	}
	for _, a := range asked {
		arms = append(arms, contestant{a, record.Challenger})
	}
	arms[0].role = record.Baseline
	return arms, nil
}

// raceSpare is how many times as many blocks of all arms as the first look needs the budget of a race has room for. The later blocks
// have fewer arms, so that about twice as many follow.
const raceSpare = 1.5

// policy probes the first arm only, to leave time for the blocks: an arm that cannot keep up with a rate that the first one can serve leaves
// the race. An arm that cannot be measured does not end it.
func (byRace) policy() policy {
	return policy{probes: 3, first: true, loses: true, rates: true, bounded: true, spare: raceSpare}
}

// schedule leaves out the arms that do not fit the load, and sets what a run of blocks needs.
func (by byRace) schedule(p *plan) error {
	var fit []arm
	for _, a := range p.Arms {
		if why := p.unfit(a); !why.None() {
			p.doubt(doubt.LeftOutOfRace.On(a.Name).Since(why.On(a.Name)))
			continue
		}
		fit = append(fit, a)
	}
	if len(fit) < 2 {
		last := p.Doubts[len(p.Doubts)-1]
		return impossibleBy("arms", "fewer than two of the %d arms can race: %s %v", len(p.Arms), last.Arm, last)
	}
	for _, a := range fit[1:] {
		if keys := judge.Differing(fit[0].Clients, a.Clients); len(keys) > 0 {
			return impossibleBy("arms", "a race ranks arms at one load, and %s and %s differ in %s; name the arms with --arms", fit[0].Name, a.Name, strings.Join(keys, ", "))
		}
	}
	p.Arms = fit
	p.Arms[0].Role = record.Baseline
	p.Timeout = record.Lasting(time.Duration(p.scenario.Load.Timeout))
	if err := p.takeTimes(); err != nil {
		return err
	}
	if err := p.settle(); err != nil {
		return err
	}
	if cost := p.cost(p.Feasible.First); cost > p.budget || p.Feasible.First > p.Blocks {
		return &Impossible{Needs: roundUp(cost, time.Second), Flag: "budget", msg: fmt.Sprintf("a race of %d arms tells nothing before block %d, which takes %v, and the budget is %v; raise --budget, shorten --window or name fewer arms",
			len(p.Arms), p.Feasible.First, cost.Round(time.Second), p.budget)}
	}
	p.Budget = record.Lasting(p.budget)
	p.Looks = slices.DeleteFunc(p.Looks, func(n int) bool { return n < p.Feasible.First })
	return nil
}

// raceBlocks is how many blocks of all arms a race must have room for before its windows grow, where the first look is after first.
func (p plan) raceBlocks(first int) int {
	return int(math.Ceil(max(p.strategy.policy().spare, 1) * float64(first)))
}

// unfit returns why an arm cannot serve the load whatever is measured, by the settings alone; no fact if it may.
func (p plan) unfit(a arm) (none fact.Fact) {
	s, held := p.setup(a.asked), p.scenario.Workload.MeanCPU()+p.scenario.Workload.MeanSleep()
	switch {
	case p.starves(a):
		n := a.Clients.Connections + a.Clients.Idle
		return doubt.StickyPool.Of(doubt.Sticky{Waiting: n - s.workers, Connections: n, Workers: s.workers})
	case !p.scenario.AsksWork() || a.Clients.Closed() && !s.mode.HandlersOnLoop():
		return none
	case s.mode.HandlersOnLoop() && p.scenario.Workload.MeanSleep() > 0 && (a.Clients.Rate == 0 || s.workers < queueing.Workers(a.Clients.Rate, held.Seconds())):
		return loopWaits.Of(waiting{Loops: s.workers, Held: held})
	case s.mode.Has("workers") && s.workers < queueing.Workers(a.Clients.Rate, held.Seconds()):
		return tooFewWorkers.Of(workers{Workers: s.workers, Rate: a.Clients.Rate, Held: held, Busy: queueing.Little(a.Clients.Rate, held.Seconds()), Needed: queueing.Workers(a.Clients.Rate, held.Seconds())})
	}
	return none
}

// measure settles the rates, and runs blocks of the arms that still race.
func (by byRace) measure(ctx context.Context, l lab, p plan, found findings, dir *record.Dir, run record.Run) (record.Run, error) {
	if end, failed := found.ends[p.Arms[0].Name]; failed && p.relative() {
		run.Plan = p.recorded()
		return run, impossible("the rate is a part of what arm %q can do, and that was not measured: %s; give --rate in requests per second, or another first arm", p.Arms[0].Name, end.Why)
	}
	offered, err := p.offered(found)
	run.Plan = offered.recorded() // also for an impossible rate: the record then shows the unfinished plan
	if err != nil {
		return run, err
	}
	offered.tellFirst()
	if err := dir.WriteRun(run); err != nil {
		return run, err
	}
	referee, err := by.race.Start(run)
	if err != nil {
		return run, err
	}
	r := racing{lab: l, plan: offered, run: run, referee: referee, write: dir.WriteRun, trial: func(ctx context.Context, number, block int, a arm) (record.TrialRecord, error) {
		return l.runTrial(ctx, offered, dir, number, block, a)
	}}
	err = r.blocks(ctx)
	return r.run, err
}

// A racing race runs the blocks of a probed plan. Its methods change it; use it once.
type racing struct {
	lab
	plan    probed
	run     record.Run // as it is recorded so far
	referee Referee
	write   func(record.Run) error
	trial   func(ctx context.Context, number, block int, a arm) (record.TrialRecord, error) // runTrial; tests replace it
	taken   time.Duration                                                                   // by all trials together
	lost    error                                                                           // the first error of an arm
}

// blocks runs blocks until fewer than two arms race, or the budget has no room for another block. The first error of an arm that
// could not be measured any more is returned when the others have ended.
func (r *racing) blocks(ctx context.Context) error {
	p := r.plan
	var arms []string
	for _, a := range p.Arms {
		if end, failed := r.run.Ends[a.Name]; failed { // its probe failed
			r.referee.Lost(a.Name)
			r.lost = errors.Join(r.lost, fmt.Errorf("arm %q: %s", a.Name, end.Why))
			continue
		}
		arms = append(arms, a.Name)
	}
	for block := range p.Order {
		if len(arms) < 2 {
			break
		}
		if !r.fits(len(arms)) {
			if block == 0 {
				return errors.Join(impossible("after the probes of %d arms the budget has no room for a block; give a --budget longer than %v, or name fewer arms", len(p.Arms), p.budget), r.lost)
			}
			break
		}
		switch err := r.block(ctx, block, arms); {
		case errors.Is(err, errBudget):
			return r.lost
		case err != nil:
			return err
		}
		var soFar record.Result
		if soFar, arms = r.referee.Look(block + 1); soFar != nil {
			p.opts.Observer.Look(soFar, block+1)
		}
	}
	return r.lost
}

// fits reports whether the budget has room for a block of this many arms, if each trial takes as long as those before it.
func (r *racing) fits(arms int) bool {
	p := r.plan
	each := p.blockCost(p.Window.Duration) / time.Duration(len(p.Arms))
	if r.run.Trials > 0 {
		each = r.taken / time.Duration(r.run.Trials)
	}
	return time.Since(r.began)+time.Duration(arms)*each+after(r.run.Trials+arms) <= p.budget
}

// block runs a trial of each of these arms, in the block's order. The error is errBudget when the budget ended before the trials.
func (r *racing) block(ctx context.Context, block int, arms []string) error {
	p := r.plan
	ctx, cancel := r.bounded(ctx, p.plan, r.run.Trials+len(arms))
	defer cancel()
	for _, i := range p.Order[block] {
		a := p.Arms[i]
		if !slices.Contains(arms, a.Name) {
			continue
		}
		spent := time.Since(r.began)
		r.tellLeft(fmt.Sprintf("block %d, %d of %d arms race: %s", block+1, len(arms), len(p.Arms), a.Name), int(spent.Seconds()), int(p.budget.Seconds()), p.budget-spent)
		began := time.Now()
		t, err := r.trial(ctx, r.run.Trials+1, block, a)
		switch {
		// The deadline looks like an error of the trial, so ask the context for the cause.
		case err != nil && errors.Is(context.Cause(ctx), errBudget):
			return errBudget
		case err != nil && ctx.Err() != nil:
			return err
		case err != nil:
			if t.Number > 0 { // it is in the record all the same
				r.run.Trials, r.taken = r.run.Trials+1, r.taken+time.Since(began)
			}
			if err := r.lose(a, err); err != nil {
				return err
			}
			continue
		}
		r.run.Trials, r.taken = r.run.Trials+1, r.taken+time.Since(began)
		r.referee.Take(t, nil)
		w := r.referee.Taken(block+1, a.Name)
		p.opts.Observer.Window(p.recorded(), w)
		if err := p.silent(a, block, w); err != nil {
			if err := r.lose(a, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// lose records why an arm races no more, at once: this program may be killed.
func (r *racing) lose(a arm, why error) error {
	if r.run.Ends == nil {
		r.run.Ends = map[string]record.ArmEnd{}
	}
	r.run.Ends[a.Name], r.lost = armEnd(a.Name, a.Clients.Rate, why), errors.Join(r.lost, why)
	r.referee.Lost(a.Name)
	return r.write(r.run)
}
