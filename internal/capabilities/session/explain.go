package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"schedlab/internal/capabilities/explain"
	"schedlab/internal/capabilities/profiling"
	"schedlab/internal/capabilities/race"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/workload"
)

// TestBudget is how long the tests of an explanation may take, if nothing else is said.
const TestBudget = time.Minute

// An Explain asks why one arm of a run is slower than another. Of Where it has Out, AllowRemote and
// WaitIdle: the tests take the CPUs of the run.
type Explain struct {
	Where
	RunName  string        // a run's name below Out, a path, or latest
	Arms     []string      // two, or none for the pair that differs most
	NoTests  bool          // read the record only
	Budget   time.Duration // longest that the tests may take; a little longer if many causes need it, but for Fixed
	Fixed    bool
	Profiles bool // capture the profiles of the two arms as well
	Seed     *uint64
	// RunCommands allows what the record of somebody else would start or ask.
	RunCommands bool
}

// explaining is an Explain that is carried out: the explanation from the record alone, then tests with extra blocks,
// then profiles. Package explain plans and judges. afterRun means that it belongs to the comparison which has just run.
type explaining struct {
	Program
	Explain
	seed     uint64
	show     Observer
	afterRun bool
}

// Run explains one run. If the tests were stopped, it returns the explanation without them and the reason. The code is
// NoAnswer if no cause is known for sure, or whether the arms differ is not.
func (r Explain) Run(ctx context.Context, p Program, show Observer) (*explain.Explanation, error) {
	if err := checkWaitIdle(r.WaitIdle, false); err != nil {
		return nil, err
	}
	dir, run, err := record.Open(r.RunName, r.Out)
	if err != nil {
		return nil, Usage(err)
	}
	// A search for capacity has no blocks to pair.
	if !run.Plan.InBlocks() {
		return nil, Usagef("run %s is a search for capacity, which compares no arms: explain a run of 'schedlab compare'", run.Name)
	}
	if race.Asked(run.Plan) {
		return nil, Usagef("run %s is a race, in which arms left before the end: explain a run of 'schedlab compare --arms A,B'", run.Name)
	}
	e := explaining{Program: p, Explain: r, seed: seedOf(r.Seed), show: show}
	x, stopped := e.explain(ctx, dir, run)
	if x != nil && stopped == nil && !x.Outcome.Decided() {
		stopped = Exit(NoAnswer)
	}
	return x, stopped
}

// explain explains the difference of a run's arms and keeps the explanation in its record. With an explanation, the
// error is the reason why its tests were stopped; without one, why there is none.
func (e *explaining) explain(ctx context.Context, dir *record.Dir, run record.Run) (*explain.Explanation, error) {
	// The run is judged again, so an old record can be explained.
	c, err := explain.Read(dir, run)
	if err != nil {
		return nil, err
	}
	from, to, err := c.Pair(e.Arms)
	if err != nil {
		return nil, Usage(err)
	}
	x, err := c.Explain(from, to, e.Modes)
	if err != nil {
		return nil, err
	}
	var stopped error
	if !e.NoTests {
		x, stopped = e.test(ctx, dir, run.Plan, c, x)
	}
	if e.Profiles && stopped == nil {
		stopped = e.profileAgain(ctx, dir, run.Plan, c, x)
	}
	// Tests from an earlier call are worth more than their absence now.
	x, keep, err := explain.Merge(dir, x)
	if err != nil || !keep {
		return x, errors.Join(stopped, err)
	}
	return x, errors.Join(stopped, profiling.KeepOld(dir), explain.Keep(dir, x),
		dir.WriteFile("why.html", func(w io.Writer) error { return explain.Formats().Render(w, "html", x) }))
}

// again returns the options of a run under the load and on the CPUs of the explained one. Rate,
// CPUs and engine are from the record, through t; requests and arrivals come from the scenario in
// it. The record may be somebody else's, so programs that it names are not run without a check.
func (e *explaining) again(ctx context.Context, dir *record.Dir, recorded record.Plan, t explain.Test) (runner.Options, error) {
	return runner.Options{
		Self: e.Self, Version: e.Version, Modes: e.Modes, Iters: workload.Calibrate(),
		Rate: scenario.Rate{PerSecond: t.Rate}, CPUs: t.CPUs, Engine: t.Engine,
	}, e.mayRun(ctx, dir, recorded, t.Scenario)
}

// ofTests observes the test of an explanation: its doubts and its looks are not the answer.
type ofTests struct{ runner.Observer }

func (ofTests) Doubt(fact.Fact) {}

func (ofTests) Look(record.Result, int) {}

// test runs the comparison that would confirm the causes. With an error it returns the untested
// explanation. The test gets a separate record.
func (e *explaining) test(ctx context.Context, dir *record.Dir, recorded record.Plan, c *explain.Case, x *explain.Explanation) (*explain.Explanation, error) {
	t, ok, err := c.Test(x, e.Modes, e.Budget)
	if err != nil || !ok {
		return x, err
	}
	// A comparison that has just run has looked at the machine.
	if !e.afterRun {
		if _, err := beforeStart(ctx, runner.Options{CPUs: t.CPUs, Engine: t.Engine}, e.WaitIdle, e.show); err != nil {
			return x, err
		}
	}
	o, err := e.again(ctx, dir, recorded, t)
	if err != nil {
		return x, err
	}
	// Of the quantiles only p50 is asked for: the test judges parts of the time and not quantiles,
	// and longer windows would cost blocks.
	o.Seed, o.Budget, o.Aim, o.Sign = e.seed, e.Budget, judge.Winner{Quantiles: []stats.Figure{stats.P50}}, true
	o.Warmup = t.Warmup
	o.Note, o.Observer = "tests the causes of "+c.Result.Dir, ofTests{e.show}
	planned, err := runner.Plan(t.Scenario, o)
	if err != nil {
		return x, e.cannotTest(err)
	}
	// Many causes need a little more than a minute.
	if few, needs := fewBlocks(planned.Planned(), e.Budget); e.Fixed && few != "" {
		e.show.Say(few) // before the time that they take
	} else if few != "" {
		if needs > 2*e.Budget {
			e.show.Say(few) // before the time that they take
		}
		o.Budget = needs
		if planned, err = runner.Plan(t.Scenario, o); err != nil {
			return x, e.cannotTest(err)
		}
	}
	tests, run, err := measure(ctx, e.Program, planned, e.Out, e.show)
	if tests != nil { // the newest run stays the one that is explained
		err = errors.Join(err, tests.RestoreLatest())
	}
	if err != nil {
		return x, err
	}
	tested, err := explain.Read(tests, run)
	if err != nil {
		return x, err
	}
	return c.Confirm(x, tested), nil
}

// cannotTest returns the error about tests that cannot be planned. Tests have no limit but their budget,
// so the flags that the plan names for a budget that is too short are no help. compare --explain
// does not even have that: its advice is to explain the run again. Errors about anything else than
// the budget are failures: the record asks for the plan, not the user.
func (e *explaining) cannotTest(err error) error {
	bad, ok := errors.AsType[*runner.Impossible](err)
	switch {
	case !ok || bad.Needs == 0:
		return &Error{Code: Failed, Err: fmt.Errorf("planning the tests: %w", err)}
	case e.afterRun:
		return Usagef("the tests of --explain need %v and have %v: the run is kept, test its causes with 'schedlab explain --budget %v'", bad.Needs, e.Budget, bad.Needs)
	}
	return Usagef("--budget %v is too short for the tests of the causes: give --budget %v or more, or --no-interventions", e.Budget, bad.Needs)
}

// fewBlocks returns a warning about tests if their budget has no room for a verdict on their
// comparisons, and the budget that has; "" and 0 if it has. Such tests may run all the same: the
// parts of the time may still be told apart.
func fewBlocks(p record.Plan, budget time.Duration) (few string, needs time.Duration) {
	if p.Feasible == nil || len(p.Feasible.Cannot) == 0 || p.Feasible.Cannot[0].Code != record.ShortBudget {
		return "", 0
	}
	needs = time.Duration(math.Ceil(p.Feasible.Cannot[0].Limit)) * time.Second
	return fmt.Sprintf("the tests make %d comparisons, which need %d blocks for any verdict, and --budget %v is too short for these; --budget %v would do",
		stats.Primaries()*(len(p.Arms)-2), p.Feasible.First, budget, needs), needs
}

// mayRun refuses what a scenario from a record would run or ask: servers on other machines, and in
// a record that is not the user's own, unless RunCommands allows it, other programs, servers
// that run already, and variables of a server's environment. Servers of this very program with its
// flags do no harm.
//
// A record may come from anybody, and an explanation starts the commands in it. It counts as
// the user's own if this user signed plan, the plan that the record has now: an edit breaks the
// signature. Errors are wrong usage; the one about foreign programs lists them.
func (e *explaining) mayRun(ctx context.Context, dir *record.Dir, plan record.Plan, s scenario.Scenario) error {
	arms := s.Contestants()
	if !e.AllowRemote {
		if err := stayLocal(ctx, arms); err != nil {
			return err
		}
	}
	var foreign []string
	for _, a := range arms {
		// An environment variable can make a Go program do much, so it counts as foreign even with
		// a mode.
		if a.Mode == "" || len(a.Env) > 0 {
			foreign = append(foreign, "  "+a.Name+": "+cmdline.Join(a.Argv(e.Self, 1, record.StampsOff)))
		}
	}
	if len(foreign) == 0 || e.RunCommands || dir.Signed(plan) {
		return nil
	}
	return Usagef("%s was not recorded by you on this machine, and these are not schedlab's own servers:\n%s\nif you trust them, say --run-commands, which starts the commands and sends load to the addresses",
		dir.Path(), strings.Join(foreign, "\n"))
}
