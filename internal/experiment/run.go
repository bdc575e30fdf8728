package experiment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"schedlab/internal/capacity"
	"schedlab/internal/record"
)

// Progress is called as a run goes on: what it does now, how far it is, and how
// long it should still take. It is called between windows only.
type Progress func(doing string, done, total int, left time.Duration)

// A Comparison is planned and ready to run; so is a search for capacity, which
// compares nothing but the arms' capacities.
type Comparison struct {
	plan *plan
	opts Options
}

// Plan lays a comparison out without starting anything. An [*Impossible] error
// says what to change.
func Plan(s Scenario, o Options) (*Comparison, error) {
	p, err := newPlan(s, o)
	if err != nil {
		return nil, err
	}
	return &Comparison{p, o}, nil
}

// Planned is what will run; its rate is 0 when it depends on the probes.
func (c *Comparison) Planned() record.Plan { return c.plan.Plan }

// Rate is the planned rate as the scenario says it, or the log's own; in a closed
// loop without a pace there is none.
func (c *Comparison) Rate() string {
	s := c.plan.scenario
	switch {
	case s.Load.Rate != (Rate{}):
		return s.Load.Rate.String()
	case s.log != nil:
		return Rate{PerSecond: rounded(s.log.OwnRate())}.String()
	}
	return "as the replies come"
}

// Budget is the longest the comparison may take, how many of its spare blocks there is
// time for in it, and the least budget that has time for all.
func (c *Comparison) Budget() (budget time.Duration, spare int, all time.Duration) {
	p := c.plan
	for spare < p.Spare && p.cost(p.Blocks+spare+1) <= p.budget {
		spare++
	}
	return p.budget, spare, roundUp(p.cost(p.Blocks + p.Spare))
}

// Env is the machine the comparison would run on.
func (c *Comparison) Env() record.Env {
	e := fingerprint(c.opts.Version, c.plan.cpus)
	e.ItersPerUsec = c.opts.Iters
	return e
}

// Run carries the comparison out and records it below root. Whatever happens
// after the first trial, the record is readable and is returned; err says what
// cut it short: the context's cause, or a server that died.
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
	r := &runner{plan: c.plan, iters: c.opts.Iters, dir: dir, run: &run, progress: progress, began: time.Now(), others: newWatchdog(c.plan.cpus, c.opts.OnTrouble), cannot: c.tellCannot}
	runErr := r.onItsCPUs(func() error { return r.carryOut(ctx) })
	run.Others = r.others.end()
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
	// First without a result: how the run ended is known whatever judging comes to.
	wrote := dir.WriteRun(run)
	if run.Result, err = Judge(dir, run); err != nil {
		return dir, run, errors.Join(runErr, wrote, err)
	}
	return dir, run, errors.Join(runErr, dir.WriteRun(run))
}

// interruption is why a run ended whose context did: the context's cause, and what else
// went wrong if err is not its work.
func interruption(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(err, cause) || errors.Is(err, ctx.Err()) {
		return cause
	}
	return errors.Join(cause, err)
}

type runner struct {
	plan     *plan
	iters    float64
	dir      *record.Dir
	run      *record.Run
	launcher *launcher
	progress Progress
	began    time.Time
	trials   int    // recorded
	lingers  string // the last arm whose server did not end when asked to
	cannot   func()
	others   *watchdog // nil: nobody asks who else uses the CPUs
}

// onItsCPUs binds this process as the load is while f runs, with a launcher for
// servers.
func (r *runner) onItsCPUs(f func() error) error {
	undo, err := r.plan.cpus.bindLoad()
	if err != nil {
		return err
	}
	defer undo()
	if r.launcher, err = r.plan.cpus.newLauncher(); err != nil {
		return err
	}
	defer r.launcher.close()
	return f()
}

func (r *runner) carryOut(ctx context.Context) error {
	r.run.Env.Pause = platformPause(r.plan.cpus).Seconds()
	if self := r.plan.self; self != "" {
		r.tell("measuring the load itself", 0, len(r.plan.Arms))
		floor, err := r.launcher.floor(ctx, self, r.plan.cpus.shared)
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
	if err := r.plan.chooseRate(r.run.XMax); err != nil {
		return err
	}
	r.plan.chooseRing(r.run.XMax)
	r.cannot()
	r.run.Plan = r.plan.Plan
	if err := r.dir.WriteRun(*r.run); err != nil {
		return err
	}
	return r.runBlocks(ctx)
}

func (r *runner) probeAll(ctx context.Context) error {
	for i, a := range r.plan.Arms {
		if a.Role == record.Copy {
			continue
		}
		if same := r.plan.sameAs(i); same >= 0 {
			r.alike(a.Name, r.plan.Arms[same].Name)
			continue
		}
		r.tell("measuring the throughput of "+a.Name, i, len(r.plan.Arms))
		x, apart, err := r.probe(ctx, i)
		if err != nil && r.plan.slo != nil && ctx.Err() == nil {
			err = r.lose(a.Name, 0, err)
			if _, alone := errors.AsType[*capacity.Lost](err); alone {
				continue
			}
		}
		if err != nil {
			return err
		}
		r.run.XMax[a.Name] = x
		if r.run.Apart == nil {
			r.run.Apart = map[string]float64{}
		}
		r.run.Apart[a.Name] = apart
		if apart > probeDoubt && r.plan.slo == nil {
			r.plan.doubt(a.Name, "the halves of its probe of X_max were %.0f %% apart, and a share of it is as unsure", 100*apart)
		}
	}
	return nil
}

// alike gives an arm what the probe of one like it found.
func (r *runner) alike(arm, probed string) {
	if x, ok := r.run.XMax[probed]; ok {
		r.run.XMax[arm], r.run.Apart[arm] = x, r.run.Apart[probed]
	}
	if end, ok := r.run.Ends[probed]; ok {
		r.run.Ends[arm] = end
	}
}

// runBlocks runs the planned blocks, and spare ones for those a rule refused, while
// the budget lasts. Past it go only the planned blocks that a verdict needs.
func (r *runner) runBlocks(ctx context.Context) error {
	p := r.plan
	number, valid := 0, 0
	first := time.Now()
	for block := range p.Order {
		each := time.Since(first) / time.Duration(max(block, 1))
		affords := time.Since(r.began)+each+closing <= p.budget
		if p.enough(block, valid, affords) {
			if block < p.Blocks {
				p.doubt("", "the run stopped after %d of %s, to stay within the budget of %v: %s", block, plural(p.Blocks, "block"), p.budget, r.pace(each))
			} else if valid < p.Blocks {
				p.Unspared = p.unspared(block, time.Since(r.began), each)
				p.doubt("", "%s", p.Unspared)
			}
			break
		}
		past := ""
		if time.Since(r.began) > p.budget {
			past = fmt.Sprintf(" (past the budget of %v: %s)", p.budget, r.pace(each))
		}
		spoiled := false
		for _, arm := range p.Order[block] {
			r.tell(p.blockName(block)+": "+p.Arms[arm].Name+past, number, p.Blocks*len(p.Arms))
			if err := ctx.Err(); err != nil {
				return err
			}
			number++
			bad, err := r.trial(ctx, number, block, arm)
			if err != nil {
				return err
			}
			spoiled = spoiled || bad
		}
		if !spoiled {
			valid++
		}
	}
	if took := time.Since(r.began); took > p.budget {
		p.doubt("", "the run took %v, past the budget of %v: %s", took.Round(100*time.Millisecond), p.budget, r.pace(time.Since(first)/time.Duration(max(1, number/len(p.Arms)))))
	}
	return nil
}

// enough says whether a run ends before the block of that index, with so many valid
// ones behind it; affords, whether the budget has room for it.
func (p *plan) enough(block, valid int, affords bool) bool {
	return valid >= p.Blocks || !affords && (block >= p.Blocks || valid >= p.MinValid)
}

// unspared says why the spare blocks from that index on do not run, and what would make
// room for them.
func (p *plan) unspared(block int, gone, each time.Duration) string {
	left := p.Blocks + p.Spare - block
	all := gone + time.Duration(left)*each + closing
	return fmt.Sprintf("the budget of %v has no room for %s in place of those refused; raise --budget to %v",
		p.budget, plural(left, "more spare block"), roundUp(all))
}

func roundUp(d time.Duration) time.Duration {
	return (d + time.Second - 1).Truncate(time.Second)
}

// pace says what a block takes, and who makes it take longer.
func (r *runner) pace(each time.Duration) string {
	p := r.plan
	said := fmt.Sprintf("a block takes %v, planned were %v", each.Round(100*time.Millisecond), p.blockCost().Round(100*time.Millisecond))
	if r.lingers != "" {
		said += fmt.Sprintf(", and the server of %s lingers when it is to end", r.lingers)
	}
	return said
}

func (p *plan) blockName(block int) string {
	if block >= p.Blocks {
		return fmt.Sprintf("spare block %d of %d", block+1-p.Blocks, p.Spare)
	}
	return fmt.Sprintf("block %d of %d", block+1, p.Blocks)
}

// trial runs one trial and reports whether it broke a window rule other than
// the backlog, which may be the arm's nature.
func (r *runner) trial(ctx context.Context, number, block, arm int) (spoiled bool, err error) {
	t, err := r.runTrial(ctx, number, block, arm)
	if err != nil {
		return false, err
	}
	r.trials++
	w := reduce(t, r.run.Env, r.plan.Arms[arm].Clients)
	for _, b := range w.breaches(serverCPUs(r.run.Env), judgedQuantiles(r.plan.Plan), r.plan.accounts(arm)) {
		spoiled = spoiled || b.rule != ruleBacklog
	}
	return spoiled, nil
}

// closing is what remains to be done after the last block: the reports.
const closing = 1500 * time.Millisecond

func (r *runner) tell(doing string, done, total int) {
	r.others.between()
	if r.progress != nil {
		left := seconds(r.plan.Estimate) - time.Since(r.began)
		r.progress(doing, done, total, max(0, left))
	}
}
