// Package runner turns a scenario into trials, and trials into a result. Each step makes a value from
// the values before it, and changes none of them:
//
//	scenario  Plan          → plan      arms, windows, order and budget; nothing has run
//	plan      lab.probe     → findings  what the arms and the load can do
//	both      plan.offered  → probed    the plan with its rates
//	probed    running.run   → trials    in interleaved blocks, until a look finds all decided
//	trials    judge         → result    after each look, and at the end from the record
//
// Every arm runs in fresh processes on their own CPUs. The package knows servers only by a command line
// and an address.
package runner

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/record"
)

// Options are the user's settings for a run of a scenario. The zero value changes nothing.
//
// Seed fixes every random draw of a run: the arrivals, the demands and the order of the arms. Note,
// Command and Version are only recorded.
type Options struct {
	Self    string // path of this program, which runs the servers with a mode
	Seed    uint64
	Note    string
	Command string        // the line of a shell that asks the same again; "" if there is none
	Blocks  int           // 0: the scenario's, or MaxBlocks
	Window  time.Duration // 0: the scenario's, or Quick's
	Warmup  time.Duration // likewise
	Budget  time.Duration // likewise
	Rate    scenario.Rate // zero: the scenario's
	Engine  string        // engine for open loops, one of load.Engines; "" is load.DefaultEngine
	CPUs    string        // the servers' and the load's, like 0-1/2-3; a side without a list gets the rest; "" lets Plan choose; FreeCPUs
	Iters   float64       // calibration of CPU demand, iterations per microsecond
	Version string
	Stamps  string               // stamps of our own servers: off, basic, full; "" is full on Linux, else basic
	Modes   map[string]mode.Mode // the modes Self serves, by name
	// Site, if not nil, is where servers and load run instead of here.
	Site Site
	// ForImages is the command whose help tells how images are run, for the message that this machine runs none; "" if
	// nothing runs them.
	ForImages string
	// EveryMode is the word that stands for all modes in the flag arms, for the message about an unknown mode; "" if none
	// does.
	EveryMode string
	// Aim is the question of the run, which ends as soon as that is answered; nil is judge.Winner{}. With a Search the
	// run is no comparison in blocks, and has no aim; a Race is its aim itself.
	Aim    judge.Aim
	Search Search
	Race   Race
	// Pack is the identity that the runs of one pack or grid share; "" for a run alone.
	Pack     string
	Observer Observer // nil: nobody
	// Sign makes Run sign the record as this user when it ends.
	Sign    bool
	Machine fact.Fact // why the machine is not fit, which becomes a doubt of the plan; none if it is fit
}

// Progress is called during a run, between windows only. doing describes the current step; done of
// total steps are finished; left estimates the remaining time.
type Progress func(doing string, done, total int, left time.Duration)

// A Comparison is planned and ready to run. A search is also a Comparison, in windows of single arms. It never changes: its methods read it or return another one.
// It may be used by many goroutines, but two runs at a time disturb each other.
type Comparison struct{ plan plan }

// Plan plans a comparison or a search, without starting anything. If it is impossible as asked, the error is an
// [*Impossible] that tells how to change it. Any other error is about this machine, such as CPUs
// that cannot be read.
func Plan(s scenario.Scenario, o Options) (*Comparison, error) {
	p, err := newPlan(s, o)
	if err != nil {
		return nil, err
	}
	return &Comparison{p}, nil
}

// Planned returns the plan. Its rate is 0 if the rate depends on the probes. It is a copy:
// changing its doubts or arms does not change the comparison.
func (c *Comparison) Planned() record.Plan { return c.plan.recorded() }

// Rate returns the planned rate in the scenario's words, or the log's own rate. For a closed loop
// without a rate it returns a phrase that says so. It is for people.
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

// Budget returns the time after which the comparison ends even if not everything is decided, and
// the number of blocks that fit into it. blocks is at most the plan's.
func (c *Comparison) Budget() (budget time.Duration, blocks int) {
	p := c.plan
	for blocks < p.Blocks && p.cost(blocks+1) <= p.budget {
		blocks++
	}
	return p.budget, blocks
}

// Within returns the same comparison with a smaller budget. A larger budget changes nothing.
func (c *Comparison) Within(budget time.Duration) *Comparison {
	p := c.plan
	if budget < p.budget {
		p.budget, p.asked.budget = budget, budget
	}
	return &Comparison{p}
}

// Shortened returns the comparison with at most blocks blocks. They may be too few for a verdict, but
// enough to see the spread of one arm's blocks.
func (c *Comparison) Shortened(blocks int) *Comparison {
	p := c.plan
	p.Blocks = min(blocks, p.Blocks)
	p.Order = p.Order[:p.Blocks]
	p.Estimate = record.Lasting(p.cost(p.Blocks))
	return &Comparison{p}
}

// Env returns a description of this machine, on which the comparison would run, and of its site.
func (c *Comparison) Env() record.Env {
	e := host.Fingerprint(c.plan.opts.Version, c.plan.cpus)
	e.ItersPerUsec = c.plan.opts.Iters
	if site := c.plan.opts.Site; site != nil {
		e.Site = site.Describe()
	}
	return e
}

// CanAnswer returns an [*Impossible] error if the baseline, or every challenger, starves clients:
// no two arms then have times to compare. A search gets it if every arm starves
// clients. A scenario with expectations is never refused, because it may ask for just that.
//
// A starved client never gets a reply in the window, so an arm that starves clients has response times of some
// clients only. Ask before a run, so that the user does not wait for a result that says no more than this.
func (c *Comparison) CanAnswer() error {
	p := c.plan
	what, which := p.strategy.lacks(slices.DeleteFunc(p.originals(), p.starves))
	if what == "" || len(p.Expect) > 0 {
		return nil
	}
	first := p.Arms[slices.IndexFunc(p.Arms, p.starves)]
	n := first.Clients.Connections + first.Clients.Idle
	return impossibleBy("arms", "this %s cannot answer: a worker keeps its connection until that closes, so %s starves %d of %d kept connections, and %s must serve all of theirs; give them workers=%d or more, take pool-requeue, whose workers serve all clients, or give --close for clients that open a connection for each request, which is another question",
		what, first.Name, n-p.setup(first.asked).workers, n, which, n)
}

// Offered returns the rate, in requests per second, that Run would offer the first arm, if a rate is
// relative to the slowest arm. For that it measures the arms' throughput as Run does. If no rate is
// relative, it measures nothing and returns 0. It records nothing. An [*Impossible] error tells why the
// arms could not serve the rate.
func (c *Comparison) Offered(ctx context.Context, tell Progress) (rate float64, err error) {
	p := c.plan
	if !p.relative() {
		return 0, nil
	}
	err = withLab(p.cpus, lab{progress: tell, began: time.Now(), site: p.opts.Site}, func(l lab) error {
		found, err := l.probeArms(ctx, p)
		if err != nil {
			return err
		}
		offered, err := p.offered(found)
		if err == nil {
			rate = offered.Arms[0].Clients.Rate
		}
		return err
	})
	return rate, err
}

// Run carries the comparison out and records it below root. Whatever happens after the first trial, the
// record is readable and is returned. If the run was cut short, err is the reason: the context's cause,
// or a server that died.
func (c *Comparison) Run(ctx context.Context, root string, progress Progress) (*record.Dir, record.Run, error) {
	p := c.plan
	// Trials of -1 tells readers that the run goes on.
	run := record.Run{Status: record.Running, Started: time.Now().UTC(), Env: c.Env(), Plan: p.recorded(), XMax: map[string]float64{}, Trials: -1}
	dir, err := record.Create(root, p.Scenario, run.Started, rand.Uint32)
	if err != nil {
		return nil, run, err
	}
	run.Name = dir.Name()
	p.tellFirst()
	// Write the plan before anything runs, so that the record has it even if this program is killed.
	if err := dir.WriteRun(run); err != nil {
		return dir, run, err
	}
	// It watches other programs over the whole run, the probes included.
	var others *host.Watchdog
	if p.opts.Site == nil {
		others = host.NewWatchdog(p.cpus, p.opts.Observer.Trouble)
	}
	runErr := withLab(p.cpus, lab{progress: progress, began: time.Now(), others: others, site: p.opts.Site}, func(l lab) (err error) {
		run, err = p.measure(ctx, l, dir, run)
		return err
	})
	if _, search := p.strategy.(bySearch); runErr == nil && run.Trials == 0 && !search {
		runErr = impossible("the budget ended before the first window did; give a longer --budget")
	}
	run.Others, run.Ended, run.Trials = others.End(), time.Now().UTC(), max(run.Trials, 0)
	if p.opts.Site != nil {
		run.Env.Site = p.opts.Site.Describe()
	}
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
	// First write the run without a result, so that its end is recorded even if judging fails.
	wrote := dir.WriteRun(run)
	if p.opts.Sign {
		runErr = errors.Join(runErr, dir.Sign())
	}
	if run.Result, err = p.strategy.Judge(dir, run); err != nil {
		return dir, run, errors.Join(runErr, wrote, err)
	}
	return dir, run, errors.Join(runErr, dir.WriteRun(run))
}

// interruption returns the reason why a run ended when its context did: the context's cause,
// joined with err if err has another cause. A joined error then names both.
func interruption(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(err, cause) || errors.Is(err, ctx.Err()) {
		return cause
	}
	return errors.Join(cause, err)
}

// measure takes all measurements in order: the probes, and then those of the strategy. It returns the run with
// everything that was measured, also with an error.
func (p plan) measure(ctx context.Context, l lab, dir *record.Dir, run record.Run) (record.Run, error) {
	// The probes are limited by the budget as well, so that a slow server cannot hold up the run for ever.
	early, cancel := l.bounded(ctx, p, 0)
	defer cancel()
	found, err := l.probe(early, p)
	run.Env.Floor, run.Apart, run.Ends = found.floor, found.apart, found.ends
	maps.Copy(run.XMax, found.xmax) // which stays empty and is not null where nothing was probed
	switch {
	case err != nil && errors.Is(context.Cause(early), errBudget):
		do := "raise --budget"
		if busy := l.busy(p); !busy.None() { // a larger budget is no help against other programs
			do = busy.Part("share") + "; " + busy.Part("do")
		}
		return run, impossibleBy("budget", "the budget of %v ended before the first block: %v; %s", p.budget, err, do)
	case err != nil:
		return run, err
	}
	return p.strategy.measure(ctx, l, p, found, dir, run)
}

// A Packed is a scenario of a pack, which runs several one after the other. It is planned before anything
// runs, so that its faults are found. Either Planned or Lacks is set.
type Packed struct {
	Scenario scenario.Scenario
	Planned  *Comparison // nil if the scenario is not run
	Lacks    error       // why this machine cannot run the scenario; nil when it can
}

// PlanPacked plans a scenario of a pack. If the machine is too small for the scenario, Lacks says so and
// there is no error: on a small machine a pack still runs its other scenarios.
func PlanPacked(s scenario.Scenario, o Options) (Packed, error) {
	c, err := Plan(s, o)
	if bad, ok := errors.AsType[*Impossible](err); ok && bad.Machine {
		return Packed{Scenario: s, Lacks: bad}, nil
	}
	return Packed{Scenario: s, Planned: c}, err
}
