// Package experiment turns a scenario into trials, and trials into a result. It plans the run. It runs
// every arm in fresh processes on their own CPUs, in interleaved blocks. It checks whether the windows
// can be trusted, and judges them. It knows servers only by a command line and an address.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"schedlab/internal/command"
	"schedlab/internal/host"
	"schedlab/internal/judge"
	"schedlab/internal/process"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
)

// Progress is called during a run, between windows only. doing describes the current step; done of
// total steps are finished; left estimates the remaining time.
type Progress func(doing string, done, total int, left time.Duration)

// A Comparison is planned and ready to run. A search for capacity is also a Comparison, which compares
// only the arms' capacities. It is not safe for concurrent use.
type Comparison struct {
	plan *plan
	opts Options
}

// Plan plans a comparison without starting anything. If it is impossible as asked, the error is an
// [*Impossible] that tells how to change it.
func Plan(s scenario.Scenario, o Options) (*Comparison, error) {
	p, err := newPlan(s, o)
	if err != nil {
		return nil, err
	}
	return &Comparison{p, o}, nil
}

// Planned returns the plan. Its rate is 0 if the rate depends on the probes.
func (c *Comparison) Planned() record.Plan { return c.plan.Plan }

// Rate returns the planned rate in the scenario's words, or the log's own rate. For a closed loop
// without a rate it returns a phrase that says so.
func (c *Comparison) Rate() string {
	s := c.plan.scenario
	switch {
	case s.Load.Rate != (scenario.Rate{}):
		return s.Load.Rate.String()
	case s.Log != nil:
		return scenario.Rate{PerSecond: scenario.Rounded(s.Log.OwnRate())}.String()
	}
	return "as the replies come"
}

// Budget returns the time after which the comparison ends even if not everything is decided, and the
// number of blocks that fit into it.
func (c *Comparison) Budget() (budget time.Duration, blocks int) {
	p := c.plan
	for blocks < p.Blocks && p.cost(blocks+1) <= p.budget {
		blocks++
	}
	return p.budget, blocks
}

// Aim sets the purpose of the run. The run ends as soon as that is decided.
func (c *Comparison) Aim(aim judge.Aim) { c.plan.aim = aim }

// Env returns a description of this machine, on which the comparison would run.
func (c *Comparison) Env() record.Env {
	e := host.Fingerprint(c.opts.Version, c.plan.cpus)
	e.ItersPerUsec = c.opts.Iters
	return e
}

// Run carries the comparison out and records it below root. Whatever happens after the first trial, the
// record is readable and is returned. If the run was cut short, err is the reason: the context's cause,
// or a server that died.
func (c *Comparison) Run(ctx context.Context, root string, progress Progress) (*record.Dir, record.Run, error) {
	run := record.Run{Status: record.Running, Started: time.Now().UTC(), Env: c.Env(), Plan: c.plan.Plan, XMax: map[string]float64{}, Trials: -1}
	dir, err := record.Create(root, c.plan.Scenario, run.Started, rand.Uint32)
	if err != nil {
		return nil, run, err
	}
	run.Name = dir.Name()
	c.tellCannot()
	if err := dir.WriteRun(run); err != nil {
		return dir, run, err
	}
	r := &runner{plan: c.plan, iters: c.opts.Iters, dir: dir, run: &run, progress: progress, began: time.Now(), others: host.NewWatchdog(c.plan.cpus, c.opts.OnTrouble), cannot: c.tellCannot, onLook: c.opts.OnLook}
	r.trial = r.runTrial
	runErr := r.onItsCPUs(ctx, r.carryOut)
	run.Others = r.others.End()
	run.Plan = r.plan.Plan
	run.Ended = time.Now().UTC()
	switch {
	case runErr == nil:
		run.Status = record.Complete
	case ctx.Err() != nil:
		run.Status = record.Interrupted
		runErr = interruption(ctx, runErr)
	default:
		run.Status = record.Partial
	}
	if runErr != nil {
		run.Failure = runErr.Error()
	}
	run.Trials = r.trials
	// First write the run without a result, so that its end is recorded even if judging fails.
	wrote := dir.WriteRun(run)
	if c.opts.Sign {
		wrote = errors.Join(wrote, dir.Sign(run.Plan))
	}
	if run.Result, err = judge.FromRecord(dir, run); err != nil {
		return dir, run, errors.Join(runErr, wrote, err)
	}
	return dir, run, errors.Join(runErr, dir.WriteRun(run))
}

// interruption returns the reason why a run ended when its context did: the context's cause, joined
// with err if err has another cause.
func interruption(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(err, cause) || errors.Is(err, ctx.Err()) {
		return cause
	}
	return errors.Join(cause, err)
}

// A runner carries out one plan.
type runner struct {
	plan      *plan
	iters     float64
	dir       *record.Dir
	run       *record.Run
	launcher  *process.Launcher
	progress  Progress
	began     time.Time
	trials    int    // number of trials recorded
	slowToEnd string // the last arm with a server that did not end in time
	cannot    func()
	trial     func(ctx context.Context, number, block int, a arm) (record.TrialRecord, error) // runTrial, or a test's
	// sendable is the highest rate, in requests per second, that the generator can send to every arm; 0:
	// no limit is known. See rehearse.
	sendable float64
	ring     int            // number of requests for which a server keeps stamps; see plan.ring
	others   *host.Watchdog // watches other programs on the CPUs; may be nil
	onLook   func(*record.Result)
}

// withLauncher runs f with a launcher for servers. While f runs, this process is bound to the load's
// CPUs.
func withLauncher(cpus host.Sides, f func(*process.Launcher) error) error {
	undo, err := cpus.BindLoad()
	if err != nil {
		return err
	}
	defer undo()
	launcher, err := process.NewLauncher(cpus)
	if err != nil {
		return err
	}
	defer launcher.Close()
	return f(launcher)
}

// onItsCPUs runs f on the load's CPUs, with the runner's launcher set.
func (r *runner) onItsCPUs(ctx context.Context, f func(context.Context) error) error {
	return withLauncher(r.plan.cpus, func(l *process.Launcher) error {
		r.launcher = l
		return f(ctx)
	})
}

// errBudget is the cause of the deadline that bounded sets.
var errBudget = errors.New("the budget ended")

// bounded returns a context with the deadline of a comparison: the end of its budget, less the time that
// judging and recording take after the given number of trials. A search for capacity has no deadline;
// its number of windows limits it.
func (r *runner) bounded(ctx context.Context, trials int) (context.Context, context.CancelFunc) {
	if r.plan.slo != nil {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, r.began.Add(r.plan.budget-after(trials)), errBudget)
}

// carryOut measures within the budget. If the budget ends before the first block, the error is an
// *[Impossible].
func (r *runner) carryOut(ctx context.Context) error {
	ctx, cancel := r.bounded(ctx, 0)
	defer cancel()
	err := r.measure(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errBudget) {
		return impossible("the budget of %v ended before the first block: %v; raise --budget", r.plan.budget, err)
	}
	return err
}

// measure takes all measurements in order: the load itself, the arms' throughput, and then the blocks or
// the search.
func (r *runner) measure(ctx context.Context) error {
	if err := r.answers(ctx); err != nil {
		return err
	}
	if self := r.plan.self; self != "" {
		r.tell("measuring the load itself", 0, len(r.plan.Arms))
		floor, err := floor(ctx, r.launcher, self, r.plan.Arms[0].Clients.Engine, r.plan.cpus.Shared)
		if err != nil {
			return err
		}
		r.run.Env.Floor = floor
	}
	if err := r.probeAll(ctx); err != nil {
		return err
	}
	if r.plan.slo != nil {
		return r.search(ctx)
	}
	if err := r.plan.chooseRate(r.run.XMax, r.sendable); err != nil {
		return err
	}
	r.ring = r.plan.ring(r.run.XMax)
	r.cannot()
	r.tell("replaying the arrivals in theory", 0, len(r.plan.Arms))
	if err := r.plan.expect(ctx, r.run.Env, r.iters); err != nil {
		return err
	}
	r.run.Plan = r.plan.Plan
	if err := r.dir.WriteRun(*r.run); err != nil {
		return err
	}
	return r.runBlocks(ctx)
}

// answers sends a request to each server that is already running, before anything is measured. A server
// that does not reply so fails the run at once. A search for capacity goes on without such an arm, and
// skips this check.
func (r *runner) answers(ctx context.Context) error {
	if r.plan.slo != nil {
		return nil
	}
	for _, a := range r.plan.arms {
		if a.URL == "" {
			continue
		}
		if _, err := r.launcher.Attach(ctx, a.URL, r.plan.scenario.ReadyPath(a.asked)); err != nil {
			return fmt.Errorf("arm %q: %w", a.asked.Given(), err)
		}
	}
	return nil
}

// runBlocks runs blocks until a look finds everything decided, or the budget has no room
// for another one.
func (r *runner) runBlocks(ctx context.Context) error {
	p := r.plan
	soFar, err := judge.New(r.run.Name, "", *r.run)
	if err != nil {
		return err
	}
	figures := map[judge.FigureKey]float64{}
	first, last := time.Now(), time.Duration(0)
	for block := range p.Order {
		each := p.blockCost(record.Duration(p.Window))
		if block > 0 {
			each = time.Since(first) / time.Duration(block)
		}
		if r.room(block, max(each, last)) <= block {
			r.budgetEnded(soFar, block, each)
			return nil
		}
		begun := time.Now()
		err := r.runBlock(ctx, block, soFar, figures)
		last = time.Since(begun)
		if errors.Is(err, errBudget) { // this block takes longer than the earlier ones
			r.budgetEnded(soFar, block, max(each, last))
			return nil
		}
		if err != nil {
			return err
		}
		aim := p.aim
		aim.Room = r.room(block+1, max(last, time.Since(first)/time.Duration(block+1)))
		result, ends := soFar.Look(aim, figures)
		if ends {
			if p.Blocks == scenario.MaxBlocks { // otherwise --blocks ended the run, not the budget
				r.tellOpen(soFar, block+1, last)
			}
			return nil
		}
		if result != nil && r.onLook != nil {
			r.onLook(result)
		}
	}
	return nil
}

// runBlock runs one trial of every arm. The error is errBudget when the budget ended before the trials.
func (r *runner) runBlock(ctx context.Context, block int, soFar *judge.Judge, figures map[judge.FigureKey]float64) error {
	p := r.plan
	ctx, cancel := r.bounded(ctx, (block+1)*len(p.arms))
	defer cancel()
	for k, i := range p.Order[block] {
		a, number := p.arms[i], block*len(p.arms)+k
		r.tell(fmt.Sprintf("block %d: %s", block+1, a.Name), number, p.Blocks*len(p.arms))
		t, err := r.trial(ctx, number+1, block, a)
		if err != nil && errors.Is(context.Cause(ctx), errBudget) {
			return errBudget
		}
		if err != nil {
			return err
		}
		r.trials++
		soFar.Take(t, nil)
		if w := soFar.Taken(block+1, a.Name); block == 0 && w.Requests > 0 && w.Good == 0 {
			return fmt.Errorf("arm %q: not one good reply to %s in its first window (%d failed); try it with curl first",
				a.asked.Given(), strings.TrimPrefix(p.scenario.Targets(command.AddrMark)[0].URL, "http://"+command.AddrMark), w.Requests)
		}
		judge.Measure(figures, t, p.aim.SLO)
	}
	return nil
}

// budgetEnded adds the doubt that the budget ended the run after the given number of blocks.
func (r *runner) budgetEnded(soFar *judge.Judge, blocks int, each time.Duration) {
	p := r.plan
	if blocks < scenario.MinBlocks {
		p.doubt(record.Fact{Code: budgetTooShort, Names: record.Names{"lingers": r.slowToEnd}, Values: record.Values{
			"budget": p.budget.Seconds(), "blocks": float64(blocks), "first": float64(scenario.MinBlocks),
			"block": each.Round(100 * time.Millisecond).Seconds(), "planned": p.blockCost(record.Duration(p.Window)).Round(100 * time.Millisecond).Seconds(),
		}})
	} else {
		r.tellOpen(soFar, blocks, each)
	}
}

// room returns the total number of blocks that the run can have: the blocks that have run, and the
// further blocks that fit into the rest of the budget if each takes each.
func (r *runner) room(blocks int, each time.Duration) int {
	n, left := blocks, r.plan.budget-time.Since(r.began)
	for n < r.plan.Blocks && time.Duration(n+1-blocks)*each+after((n+1)*len(r.plan.arms)) <= left {
		n++
	}
	return n
}

// tellOpen adds a doubt when the run ends with open verdicts: how many are open, and the budget
// or window that would decide them.
func (r *runner) tellOpen(soFar *judge.Judge, blocks int, each time.Duration) {
	if a := r.plan.aim; a.SLO != nil || a.Outcome != nil || a.Expectations {
		return
	}
	open, needed := soFar.Open()
	if open == 0 {
		return
	}
	f := record.Fact{Code: budgetEnded, Values: record.Values{
		"budget": r.plan.budget.Seconds(), "blocks": float64(blocks), "open": float64(open), "most": float64(scenario.MaxBlocks),
	}}
	if i, _ := slices.BinarySearch(stats.Looks(), max(needed, blocks+1)); i < len(stats.Looks()) {
		more := stats.Looks()[i]
		budget := r.plan.budget + time.Duration(more-blocks)*(each+time.Duration(len(r.plan.Arms))*judging)
		f.Values["needed"], f.Values["room"] = roundUp(budget).Seconds(), float64(more)
	} else if window := stats.Widened(r.plan.Window, needed); window > 0 {
		f.Values["needed"], f.Values["window"] = roundUp(r.plan.costOf(record.Duration(window), scenario.MaxBlocks)).Seconds(), window
	}
	r.plan.doubt(f)
}

// Time needed after the last block: closing for the reports, and judging for each trial.
const (
	closing = 1500 * time.Millisecond
	judging = 10 * time.Millisecond
)

// after returns the time needed after the last of a number of trials.
func after(trials int) time.Duration { return closing + time.Duration(trials)*judging }

// tell lets the watchdog look at the machine, and reports progress.
func (r *runner) tell(doing string, done, total int) {
	r.others.Between()
	if r.progress != nil {
		left := record.Duration(r.plan.Estimate) - time.Since(r.began)
		r.progress(doing, done, total, max(0, left))
	}
}
