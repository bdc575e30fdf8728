package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/advise"
	"schedlab/internal/command"
	"schedlab/internal/experiment"
	"schedlab/internal/judge"
	"schedlab/internal/model"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
	"schedlab/internal/workload"
)

// sizeFlags describe the load of the pool to be sized. One of held, workload, histogram and csv is
// the source of the time that a request holds its worker; cpu, cv, metric, column and unit add to
// one of them.
//
// demand reads that source, advise computes the answer, offerTest plans the test of it, and test
// runs that with --verify. Package advise has the computing and the page; this file has the flags
// and the comparison.
//
// cv is the coefficient of variation of the time blocked, 0..10, and margin a ratio of the rate,
// 0..1. unit is the unit of the times in csv. mode is the mode that a test runs.
type sizeFlags struct {
	adviceFlags
	held, cpu      time.Duration
	cv             float64
	workload       string
	histogram, csv string
	metric         string
	column, unit   string
	margin         float64
	mode           string
}

// sizedModes lists the modes that the theory is about: workers take requests, or connections of one
// request each, from one queue. The modes that take requests come first. The first one of all is
// --mode's default. At least one mode is Sized, or --mode would have no default.
func sizedModes() (names []string) {
	var sticky []string
	for _, m := range model.Modes() {
		switch {
		case m.Sized && m.Sticky:
			sticky = append(sticky, m.Name)
		case m.Sized:
			names = append(names, m.Name)
		}
	}
	return append(names, sticky...)
}

// newSize declares the flags of size. The advice needs no server and no load, so the command also
// runs where nothing may be measured.
func newSize() *cobra.Command {
	var f sizeFlags
	cmd := &cobra.Command{
		Use:   "size",
		Short: "Say how many workers and how long a queue keep an SLO, and what it costs to be wrong",
		Long: `Work out, before any load, how many workers a pool needs, how many requests may
wait for them, what waits and losses to expect, and what comes of it when the
rate, the time held or the workers are 20 % off. Little's law, Erlang's formulas
and Allen-Cunneen's are used where they hold, a replay in an ideal scheduler where
they do not; every figure names what it is from.

What a request asks is one of: --held, the time it holds its worker, database and
all; --workload, as in scenarios; --histogram, a Prometheus exposition of such
times; --csv, a column of them. Give the time held by a worker, not the response
time: that has the wait for the worker in it, which is what is to be found.

With --slo the advice is the fewest workers that keep it at the rate and at
--margin more of it. An SLO without an errors term gets errors<=0.1%, because
a server that refuses every request has no slow ones. Without --slo, a table of
workers against waits.

--verify runs the comparison that tests the advice: the advised workers against
about 20 % fewer (it says how many), same queue, same load. It is right when the SLO
is kept in the blocks of the first and broken in those of the second. Samples are
tested as a mix of eight values, up to p99.5. It tests pool-request, where a worker
serves a request and not a whole connection, unless --mode names another.

Exit codes: 0 there is advice, and with --verify it is right; 3 no number of
workers will do, or --verify found the advice wrong; 4 this machine could not
decide.`,
		Example: `  schedlab size --rate 300/s --held 20ms --slo 'p99<=100ms'
  schedlab size --rate 1200/s --workload 'cpu=100us,sleep=exp(15ms)' --slo 'p99<=90ms,errors<=0.01%' --verify
  curl -s localhost:9090/metrics | schedlab size --rate 300/s --histogram - --metric handler_seconds --slo 'p99.9<=1s'
  schedlab size --rate 300/s --csv times.csv --column took --unit ms`,
		Args: cobra.NoArgs,
		RunE: f.run,
	}
	f.bind(cmd.Flags())
	// The shell completes file names for these.
	for _, flag := range []string{"histogram", "csv"} {
		if err := cmd.MarkFlagFilename(flag); err != nil {
			panic(err) // the flag does not exist: a bug here
		}
	}
	return cmd
}

// bind declares the flags about the load and the pool.
func (f *sizeFlags) bind(fl *pflag.FlagSet) {
	f.adviceFlags.bind(fl)
	// The load: a rate, and one of four sources of the time held.
	fl.Var(&f.rate, "rate", "requests per second that will come, like 300/s; taken as Poisson")
	fl.DurationVar(&f.held, "held", 0, "mean time a request holds its worker; exponential, unless --cv or --cpu says otherwise")
	fl.Float64Var(&f.cv, "cv", 1, "coefficient of variation of what --held leaves beside --cpu: 0 always the same, 1 exponential, above that a heavier tail, up to 10")
	fl.DurationVar(&f.cpu, "cpu", 0, "CPU time within the time held, of --held, --histogram and --csv; workers share the cores for it")
	fl.StringVar(&f.workload, "workload", "", "what a request asks, as scenarios write it: cpu=200us,sleep=exp(10ms)")
	fl.StringVar(&f.histogram, "histogram", "", "file of a Prometheus text exposition with a histogram of times held; - is standard input")
	fl.StringVar(&f.metric, "metric", "", "the histogram's name (default the one that ends in _seconds, beside those of the Go runtime, the process and schedlab)")
	fl.StringVar(&f.csv, "csv", "", "CSV file with a column of times held; - is standard input")
	fl.StringVar(&f.column, "column", "", "its column, by the header (default the only one of numbers)")
	oneOf(fl, &f.unit, "unit", "s", "unit of its times: s, ms, us or ns", "s", "ms", "us", "ns")
	// The pool and its promise.
	fl.IntVar(&f.cores, "cores", 0, "cores the workers share (default those a comparison here gives the server)")
	fl.StringVar(&f.slo, "slo", "", "what is to be kept: p99<=100ms,errors<=0.1%,mean<=30ms,goodput>=290/s, or any quantile")
	fl.Float64Var(&f.margin, "margin", 0.15, "ratio of the rate by which it may grow with the SLO still kept, for what theory leaves out")
	modes := sizedModes()
	// The test, and the output.
	oneOf(fl, &f.mode, "mode", modes[0], "mode that --verify tests: "+strings.Join(modes, ", "), modes...)
	fl.Uint64Var(&f.Seed, "seed", 1, "seed of the replayed trace, and of --verify's load")
	fl.DurationVar(&f.Budget, "budget", 0, "longest --verify may take (default 75s, or what the SLO's quantiles need)")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print how the advice comes about, every wait and every doubt")
}

// run gives the advice, and with --verify tests it. If the test fails to run, the advice is printed
// all the same, and then the error. The exit code is sizeExit's.
func (f *sizeFlags) run(cmd *cobra.Command, _ []string) error {
	slo, err := f.check(cmd.Flags())
	if err != nil {
		return err
	}
	// From here on: read, compute, plan the test, test, print.
	d, err := f.demand(cmd)
	if err != nil {
		return err
	}
	show := newProgress(cmd.ErrOrStderr(), f.progress)
	s, err := f.advise(d, slo)
	if err != nil {
		return err
	}
	if err := f.offerTest(cmd, s); err != nil {
		return err
	}
	var untested error // the advice stands all the same
	if f.verify && s.Advice.Workers > 0 {
		if s.Verified, untested = f.test(cmd.Context(), s, show); untested != nil {
			s.Unverified = untested.Error()
		}
	}
	switch err := s.Write(cmd.OutOrStdout(), f.output, f.verbose); {
	case err != nil:
		return errors.Join(untested, fmt.Errorf("writing the advice: %w", err))
	case untested != nil:
		return untested
	}
	return sizeExit(s)
}

// check refuses missing and impossible flags. It returns the SLO, with the term that Objective
// adds; nil without --slo. A flag that belongs to another source of the demand is refused, because
// it would say nothing.
func (f *sizeFlags) check(fl *pflag.FlagSet) (stats.SLO, error) {
	given := func(names ...string) (all []string) {
		for _, name := range names {
			if fl.Changed(name) {
				all = append(all, "--"+name)
			}
		}
		return all
	}
	// Exactly one source must be given.
	sources := given("held", "workload", "histogram", "csv")
	// One request in 100 s.
	lowest := 0.01
	switch {
	case f.rate.PerSecond == 0:
		return nil, usagef("--rate is missing; say how many requests come, like --rate 300/s")
	case f.rate.PerSecond < lowest:
		return nil, usagef("--rate %s is below %g/s; no pool is needed for that", f.rate.String(), lowest)
	case len(sources) == 0:
		return nil, usagef("nothing says what a request asks; give one of --held 20ms, --workload 'cpu=200us,sleep=exp(10ms)', --histogram FILE, --csv FILE")
	case len(sources) > 1:
		return nil, usagef("%s each say what a request asks; give one of them", strings.Join(sources, " and "))
	case f.cores < 0 || fl.Changed("cores") && f.cores == 0:
		return nil, usagef("--cores %d; give 1 or more", f.cores)
	// Written so that NaN is refused as well.
	case !(f.margin >= 0 && f.margin <= 1):
		return nil, usagef("--margin %g is outside 0 to 1; 0.15 is 15 %%", f.margin)
	case f.verify && f.slo == "":
		return nil, usagef("--verify tests an SLO; give one with --slo, like 'p99<=100ms'")
	}
	// A flag that only makes sense with one of these sources.
	for _, need := range []struct {
		flag string
		of   []string
	}{{"cv", []string{"held"}}, {"metric", []string{"histogram"}}, {"column", []string{"csv"}}, {"unit", []string{"csv"}}, {"cpu", []string{"held", "histogram", "csv"}}} {
		if fl.Changed(need.flag) && len(given(need.of...)) == 0 {
			return nil, usagef("--%s belongs to --%s; with %s it says nothing", need.flag, strings.Join(need.of, ", --"), sources[0])
		}
	}
	return f.objective()
}

// objective parses --slo. A test of samples limits its quantiles. Without --slo it returns nil and
// no error.
func (f *sizeFlags) objective() (stats.SLO, error) {
	if f.slo == "" {
		return nil, nil
	}
	slo, err := advise.Objective(f.slo, f.rate.PerSecond, f.verify && f.csv+f.histogram != "")
	return slo, usage(err)
}

// demand reads the cost of a request from the one source that was given. Errors are wrong usage and
// name the flag.
func (f *sizeFlags) demand(cmd *cobra.Command) (d advise.Demand, err error) {
	switch {
	case f.workload != "":
		d, err = advise.ParseWorkload(f.workload)
		return d, flagged("workload", err)
	case f.histogram != "":
		// The closures set d as well as the error.
		err = flagged("histogram", readInput(cmd, f.histogram, func(in io.Reader, name string) (err error) {
			d, err = advise.ReadHistogram(in, name, f.metric)
			return err
		}))
	case f.csv != "":
		err = flagged("csv", readInput(cmd, f.csv, func(in io.Reader, name string) (err error) {
			d, err = advise.ReadCSV(in, name, f.column, f.unit)
			return err
		}))
	default:
		d, err = advise.Held(f.held, f.cpu, f.cv)
		return d, flagged("held", err)
	}
	// Samples hold CPU time and waiting together, and --cpu is the first part. Held knows it already.
	if err == nil && f.cpu != 0 {
		err = flagged("cpu", d.SetCPU(f.cpu))
	}
	return d, err
}

// flagged adds a flag's name to an error, which is wrong usage. nil stays nil. The form is "--csv:
// reason".
func flagged(flag string, err error) error {
	if err == nil {
		return nil
	}
	return usagef("--%s: %w", flag, err)
}

// keptIn stands for a file of what came on standard input: the command that tests the advice has to
// read it again.
const keptIn = "FILE"

// command returns the command line of this size with --verify and a budget, if one was given. Flags
// about the output are left out. Standard input becomes keptIn. budget replaces the given one,
// which may be too short.
func (f *sizeFlags) command(cmd *cobra.Command, budget time.Duration) string {
	argv := []string{"schedlab", "size"}
	cmd.Flags().Visit(func(fl *pflag.Flag) {
		if !slices.Contains([]string{"verify", "output", "verbose", "progress", "out"}, fl.Name) {
			// The values as they are now, wherever they came from.
			value := fl.Value.String()
			if value == stdin && slices.Contains([]string{"histogram", "csv"}, fl.Name) {
				value = keptIn // what came there is gone
			}
			if fl.Name == "budget" {
				value = budget.String()
			}
			argv = append(argv, "--"+fl.Name, value)
		}
	})
	return command.Join(append(argv, "--verify"))
}

// offerTest gives the page the command that tests the advice and how long that takes, or the reason
// why the advice cannot be tested. A budget that is too short is replaced by the one that it needs.
// Without an advice there is nothing to test. Its own error means that the mode does not exist,
// which --mode rules out.
func (f *sizeFlags) offerTest(cmd *cobra.Command, s *advise.Page) error {
	s.Test = f.command(cmd, f.Budget)
	if s.Advice.Workers == 0 {
		return nil
	}
	mode, err := model.Lookup(f.mode)
	if err != nil {
		return err
	}
	question, err := f.question(s, mode, f.Budget)
	// The user's budget is too short for the test: propose one that is enough.
	if short, ok := errors.AsType[*advise.ShortBudgetError](err); ok {
		s.Test = f.command(cmd, short.Needs)
		question, err = f.question(s, mode, short.Needs)
	}
	if err != nil {
		s.Test, s.Untestable = "", err.Error()
		return nil
	}
	s.TestTakes = time.Duration(question.Protocol.Budget).Round(time.Second)
	return nil
}

// advise computes the answer. It starts nothing. It notes on the page an SLO term that was added,
// and standard input, which a test cannot read again.
func (f *sizeFlags) advise(d advise.Demand, slo stats.SLO) (*advise.Page, error) {
	cores, err := f.serverCores()
	if err != nil {
		return nil, err
	}
	a, err := advise.Size(d, slo, advise.Options{Rate: f.rate.PerSecond, Cores: cores, Margin: f.margin, Seed: f.Seed})
	page := &advise.Page{Answer: a, Rate: f.rate.String()}
	// Objective has added a term, and the page has to say so.
	if slo != nil && !strings.Contains(f.slo, "errors") {
		page.Assumed = advise.Assumed
	}
	if f.histogram == stdin || f.csv == stdin {
		page.Stdin = keptIn
	}
	return page, err
}

// sizeExit returns the error with the exit code of the answer, nil for 0. A test that could not
// decide is 4, a wrong or hopeless advice 3.
func sizeExit(s *advise.Page) error {
	switch {
	// A wrong advice and none are the same to a script: do not use these workers.
	case s.Hopeless(), s.Verified != nil && s.Verified.Verdict == advise.AdviceWrong:
		return &exitError{code: exitExpectation}
	case s.Verified != nil && s.Verified.Verdict != advise.AdviceRight:
		return &exitError{code: exitPartial}
	}
	return nil
}

// test runs the advised workers against fewer workers. The advice is right if the first keep the
// SLO and the second break it. An error means that there is no verdict, and the advice stands
// untested.
func (f *sizeFlags) test(ctx context.Context, s *advise.Page, show *progress) (*advise.Verification, error) {
	// The test is planned again: offerTest has planned the scenario only.
	planned, err := f.planTest(s, show)
	if err != nil {
		return nil, err
	}
	dir, run, err := f.measure(ctx, planned, show)
	if err != nil {
		return nil, err
	}
	// Blocks that kept and broke the SLO decide, not verdicts between the arms.
	kept, err := judge.Keep(dir, run, s.SLO)
	if err != nil {
		return nil, err
	}
	mode, err := model.Lookup(f.mode)
	if err != nil {
		return nil, err
	}
	v := s.Verify(f.tested(mode), kept)
	v.Dir, v.Window = dir.Path(), run.Plan.Window
	return v, nil
}

// planTest plans that comparison. Its aim is the SLO alone, so it ends as soon as each arm surely
// keeps or breaks it. Doubts and troubles of the run go to show.
func (f *sizeFlags) planTest(s *advise.Page, show *progress) (*experiment.Comparison, error) {
	mode, err := model.Lookup(f.mode)
	if err != nil {
		return nil, err
	}
	question, err := f.question(s, mode, f.Budget)
	if err != nil {
		return nil, usage(err)
	}
	// As prepare does for other commands, but the seed of size is fixed by default.
	f.OnTrouble, f.OnCannot, f.OnDoubt = show.trouble, show.cannot, show.doubt
	f.Asks = []string{} // the windows are long enough for the objective's other quantiles
	for _, t := range s.SLO {
		if slices.Contains(experiment.Quantiles(), t.Metric) {
			f.Asks = append(f.Asks, t.Metric)
		}
	}
	f.Aim.SLO = s.SLO
	if err := knowSelf(&f.Options); err != nil {
		return nil, err
	}
	f.Note = "tests the advice of: " + s.Test
	f.Iters = workload.Calibrate()
	return f.plan(question)
}

// question returns the scenario that tests the advice on servers of a mode within a budget. If
// requests need CPU time, the servers must have the number of CPUs in the advice. Errors are
// sentences for the page, which then offers no test.
func (f *sizeFlags) question(s *advise.Page, mode model.Mode, budget time.Duration) (q scenario.Scenario, err error) {
	here, err := experiment.ServerCPUs(f.Options)
	if err != nil {
		return q, err
	}
	// Without CPU time the number of cores does not matter to the advice.
	if s.Ask.Service > 0 && here != s.Ask.Cores {
		return q, fmt.Errorf("--verify would run on the %d CPUs that servers get here, and the advice is for --cores %d; leave --cores out, or give --server-cpus as many", here, s.Ask.Cores)
	}
	t := f.tested(mode)
	t.Budget = budget
	return s.Scenario(t)
}

// tested returns how to test the advice on servers of a mode: the facts about the mode that package
// advise needs, with rate and budget. A Sticky mode is tested with a connection for each request.
func (f *sizeFlags) tested(mode model.Mode) advise.PoolTest {
	return advise.PoolTest{Mode: mode.Mode, Rate: f.rate.String(), Budget: f.Budget}
}
