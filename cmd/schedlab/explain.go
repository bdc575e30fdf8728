package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"schedlab/internal/experiment"
	"schedlab/internal/explain"
	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
	"schedlab/internal/workload"
)

// testBudget is how long the tests of an explanation may take, if --budget does not say.
const testBudget = time.Minute

// explainFlags are the flags of explain. With `compare --explain` compare fills them in.
//
// explain does the work in three steps that may be left out one by one: the explanation from the
// record alone, test with extra blocks. Package explain plans
// and judges; this file runs the plans.
//
// noInterventions leaves the tests out; testBudget is the longest
// that the tests may take. Of compare's flags it has --seed, --out, --output, --progress and
// --allow-remote.
type explainFlags struct {
	compareFlags
	noInterventions bool
	testBudget      time.Duration
	fixed           bool // testBudget was given, so the tests may not take longer
}

// newExplain declares the flags of explain. The shell completes the run, and then the run's arms.
func newExplain() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [RUN [ARM ARM]]",
		Short: "Find out why one server of a run was slower than another",
		Long: `Say in which part of a request the slower of two arms spends its time, and why. The
parts are measured in client and server, and their differences add up to the whole.
RUN is a run's name below --out, a path, or 'latest' (the default). Without two ARMs
they are the baseline and the challenger that differs from it most.

A table of rules (docs/guide/explain.md) suspects causes by what else is known: queue
waits, mutexes, context switches, the garbage collector, overflows, CPU time. Each
cause that has a setting is then tested in short extra blocks: the slower arm, the
same with the cause taken away, and the same with a setting changed that must not
matter. "Because" is said of a cause that was confirmed so: the part fell, and the
control did not move; and of a late load, which is measured directly. The explanation
is kept in the run's record (why.json, why.html); of the same arms, tests that are
there already stay until they run again. The tests have a record of their own.`,
		Example: `  schedlab explain
  schedlab explain latest nethttp pool
  schedlab explain 20261121-081500-quick-ab12 --no-interventions
  schedlab explain --output html > why.html`,
		Args: cobra.MaximumNArgs(3),
		RunE: f.run,
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.noInterventions, "no-interventions", false, "test no cause: read the record only")
	f.bindProfiles(fl) // an old spelling, see oldFlags
	fl.DurationVar(&f.testBudget, "budget", testBudget, "longest the tests may take; without the flag, a little longer if many causes need it")
	f.bindWaitIdle(fl)
	fl.BoolVar(&f.runCommands, "run-commands", false, runCommandsHelp)
	fl.BoolVar(&f.allowRemote, "allow-remote", false, "take an arm that runs on another machine")
	fl.Uint64Var(&f.Seed, "seed", 0, "seed of the tests (default random)")
	fl.StringVar(&f.out, "out", record.DefaultRoot, "directory of run records")
	oneOf(fl, &f.progress, "progress", "auto", "progress"+progressHelp, progressKinds...)
	oneOf(fl, &f.output, "output", "text", "text, json, markdown or html", report.ExplainFormats().Names()...)
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
		if len(args) == 0 {
			return recorded(f.out), cobra.ShellCompDirectiveDefault
		}
		_, run, _ := record.Open(args[0], f.out) // a run that cannot be read has no arms
		for _, a := range run.Plan.Arms {
			names = append(names, a.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	inSections(cmd,
		helpSection{"How to explain", "no-interventions budget seed"},
		helpSection{theOutput, "output progress out help"},
		helpSection{theMachine, "wait-idle run-commands allow-remote"},
	)
	return cmd
}

// run explains one run and prints the explanation. If the tests were stopped, it prints the
// explanation without them and returns the reason. The exit code is 4 if no
// cause is known for sure, or whether the arms differ is not.
func (f *explainFlags) run(cmd *cobra.Command, args []string) error {
	if err := checkValues(cmd.Flags(), "wait-idle"); err != nil {
		return err
	}
	if err := f.checkWaitIdle(); err != nil {
		return err
	}
	show := f.prepare(cmd)
	f.fixed = cmd.Flags().Changed("budget")
	// Without a RUN the newest one; further arguments are arms.
	if len(args) == 0 {
		args = []string{"latest"}
	}
	dir, run, err := record.Open(args[0], f.out)
	if err != nil {
		return usage(err)
	}
	// A search for capacity has no blocks to pair.
	if run.Plan.SLO != "" {
		return usagef("run %s is a search for capacity, which compares no arms: explain a run of 'schedlab compare'", run.Name)
	}
	x, stopped := f.explain(cmd, dir, run, args[1:], show)
	if x == nil {
		return stopped
	}
	w := cmd.OutOrStdout()
	if f.output == "text" {
		err = report.Explain(w, x, textOptions(w))
	} else {
		err = report.ExplainFormats().Render(w, f.output, x)
	}
	// The explanation is printed first: it stands without its tests.
	if err := errors.Join(err, stopped); err != nil {
		return err
	}
	if !x.Outcome.Decided() {
		return exit(exitPartial)
	}
	return nil
}

// explain explains the difference of a run's arms and keeps the explanation in its record. arms are
// two names, or none for the pair that differs most. With an explanation, the error is the reason
// why its tests were stopped; without one, why there is none.
func (f *explainFlags) explain(cmd *cobra.Command, dir *record.Dir, run record.Run, arms []string, show *progress) (*record.Explanation, error) {
	// The run is judged again, so an old record can be explained.
	c, err := explain.Read(dir, run)
	if err != nil {
		return nil, err
	}
	from, to, err := c.Pair(arms)
	if err != nil {
		return nil, usage(err)
	}
	x, err := c.Explain(from, to, f.Modes)
	if err != nil {
		return nil, err
	}
	var stopped error
	if !f.noInterventions {
		x, stopped = f.test(cmd, dir, run.Plan, c, x, show)
	}
	if f.profiles && !f.why && stopped == nil {
		stopped = f.profileAgain(cmd, dir, run.Plan, c, x, show)
	}
	// Tests from an earlier call are worth more than their absence now.
	x, keep, err := explain.Beside(dir, x)
	if err != nil || !keep {
		return x, errors.Join(stopped, err)
	}
	return x, errors.Join(stopped, dir.WriteExplanation(x),
		dir.WriteFile("why.html", func(w io.Writer) error { return report.ExplainFormats().Render(w, "html", x) }))
}

// again returns the options of a run under the load and on the CPUs of the explained one. Rate,
// CPUs and engine are from the record, through t; requests and arrivals come from the scenario in
// it. The record may be somebody else's, so programs that it names are not run without a check.
func (f *explainFlags) again(cmd *cobra.Command, dir *record.Dir, recorded record.Plan, t explain.Test) (experiment.Options, error) {
	return experiment.Options{
		Self: f.Self, Version: f.Version, Modes: f.Modes, Iters: workload.Calibrate(),
		Rate: scenario.Rate{PerSecond: t.Rate}, CPUs: t.CPUs, Engine: t.Engine,
	}, f.mayRun(cmd.Context(), dir, recorded, t.Scenario)
}

// ofTests observes the test of an explanation: its doubts and its looks are not the answer.
type ofTests struct{ experiment.Observer }

func (ofTests) Doubt(record.Fact) {}

func (ofTests) Look(*record.Result) {}

// test runs the comparison that would confirm the causes. With an error it returns the untested
// explanation. The test gets a separate record.
func (f *explainFlags) test(cmd *cobra.Command, dir *record.Dir, recorded record.Plan, c *explain.Case, x *record.Explanation, show *progress) (*record.Explanation, error) {
	t, ok, err := c.Test(x, f.Modes, f.testBudget)
	if err != nil || !ok {
		return x, err
	}
	if err := f.quiet(cmd, t, show); err != nil {
		return x, err
	}
	o, err := f.again(cmd, dir, recorded, t)
	if err != nil {
		return x, err
	}
	// Of the quantiles only p50 is asked for: the test judges parts of the time and not quantiles,
	// and longer windows would cost blocks.
	o.Seed, o.Budget, o.Aim, o.Sign = f.Seed, f.testBudget, judge.Winner{Quantiles: []stats.Figure{stats.P50}}, true
	o.Note, o.Observer = "tests the causes of "+c.Result.Dir, ofTests{f.Observer}
	planned, err := experiment.Plan(t.Scenario, o)
	if err != nil {
		return x, f.cannotTest(err)
	}
	// Many causes need a little more than a minute.
	if few, needs := fewBlocks(planned.Planned(), f.testBudget); f.fixed && few != "" {
		show.say(few) // before the time that they take
	} else if few != "" {
		o.Budget = needs
		if planned, err = experiment.Plan(t.Scenario, o); err != nil {
			return x, f.cannotTest(err)
		}
	}
	tests, run, err := f.measure(cmd.Context(), planned, show)
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

// quiet does what the other commands do before their first window, on the CPUs of the tests. With `compare --explain` the
// run has just ended, and done it.
func (f *explainFlags) quiet(cmd *cobra.Command, t explain.Test, show *progress) error {
	if f.why {
		return nil
	}
	_, err := f.beforeStart(cmd.Context(), experiment.Options{CPUs: t.CPUs, Engine: t.Engine}, show)
	return err
}

// cannotTest returns the error about tests that cannot be planned. Tests have no flag but --budget,
// so the flags that the plan names for a budget that is too short are no help. compare --explain
// does not even have that: its advice is to explain the run again. Errors about anything else than
// the budget are failures: the record asks for the plan, not the user.
func (f *explainFlags) cannotTest(err error) error {
	bad, ok := errors.AsType[*experiment.Impossible](err)
	switch {
	case !ok || bad.Needs == 0:
		return &exitError{exitFailed, fmt.Errorf("planning the tests: %w", err)}
	case f.why:
		return usagef("the tests of --explain need %v and have %v: the run is kept, test its causes with 'schedlab explain --budget %v'", bad.Needs, f.testBudget, bad.Needs)
	}
	return usagef("--budget %v is too short for the tests of the causes: give --budget %v or more, or --no-interventions", f.testBudget, bad.Needs)
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
