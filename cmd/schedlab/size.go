package main

import (
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
	"schedlab/internal/record"
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

// adviceFlags are the flags that size and choose share. The comparison that tests an advice runs with
// the flags of compare in it. rate is the rate to advise on, not the Rate of the planner's options.
// With cores 0 the advice is for the CPUs that a comparison here gives the server.
type adviceFlags struct {
	compareFlags
	rate   perSecond
	cores  int
	slo    string
	verify bool
}

// bind declares the flags that both commands have with the same meaning; each adds the others.
func (f *adviceFlags) bind(fl *pflag.FlagSet) {
	fl.Var(&f.rate, "rate", "requests per second that will come, like 300/s; size takes them as Poisson")
	fl.StringVar(&f.slo, "slo", "", "what is to be kept: p99<=100ms,errors<=0.1%,mean<=30ms,goodput>=290/s, or any quantile")
	fl.IntVar(&f.cores, "cores", 0, "CPUs of the server (default those a comparison here gives it)")
	fl.BoolVar(&f.verify, "verify", false, "run the comparison that tests the advice")
	fl.Uint64Var(&f.Seed, "seed", 1, "seed of the predictions, and of --verify's load")
	bindCPUs(fl, &f.CPUs)
	fl.StringVar(&f.out, "out", record.DefaultRoot, "directory of run records, for --verify")
	oneOf(fl, &f.output, "output", "text", "text, json or markdown", "text", "json", "markdown")
	oneOf(fl, &f.progress, "progress", "auto", "progress of --verify"+progressHelp, progressKinds...)
}

// mistakes checks the flags that size and choose share.
func (f *adviceFlags) mistakes(fl *pflag.FlagSet) mistakes {
	return mistakes{
		{f.rate.PerSecond == 0, "--rate is missing; say how many requests come, like --rate 300/s"},
		{f.cores < 0 || fl.Changed("cores") && f.cores == 0, fmt.Sprintf("--cores %d; give 1 or more", f.cores)},
	}
}

// serverCores returns --cores, or else the CPUs that a comparison here gives the server. So an
// advice without --cores is about the servers that --verify would start. An error means that the
// CPUs cannot be dealt out as the flags ask, which is wrong usage.
func (f *adviceFlags) serverCores() (int, error) {
	if f.cores > 0 {
		return f.cores, nil
	}
	n, err := experiment.ServerCPUs(f.Options)
	return n, usage(err)
}

// sizedModes lists the modes that the theory is about: workers take requests, or connections of one
// request each, from one queue. The modes that take requests come first. The first one of all is
// --mode's default. At least one mode is Sized, or --mode would have no default.
func sizedModes() (names []string) {
	for _, sticky := range []bool{false, true} {
		for _, m := range model.Modes() {
			if m.Sized && m.Sticky == sticky {
				names = append(names, m.Name)
			}
		}
	}
	return names
}

// newSize declares the flags of size. The advice needs no server and no load, so the command also
// runs where nothing may be measured.
func newSize() *cobra.Command {
	var f sizeFlags
	cmd := &cobra.Command{
		Use:   "size",
		Short: "Work out how many workers a pool needs; nothing is run",
		Long: `Work out, before any load, how many workers a pool needs, how many requests may
wait for them, what waits and losses to expect, and what comes of it when the
rate, the time held or the workers are 20 % off. Little's law, Erlang's formulas
and Allen-Cunneen's are used where they hold, a replay in an ideal scheduler where
they do not; every figure names what it is from.

What a request asks is one of --held, --workload, --histogram and --csv. Give the time
that it holds its worker, database and all, and not the response time: that has the
wait for the worker in it, which is what is to be found.

With --slo the advice is the fewest workers that keep it at the rate and at
--margin more of it. An SLO without an errors term gets errors<=0.1%, because
a server that refuses every request has no slow ones. Without --slo, a table of
workers against waits.

--verify runs the comparison that tests the advice: the advised workers against
about 20 % fewer, same queue, same load (fewer still where by the replay these break
the SLO in some blocks only). It is right when the SLO is kept in the
blocks of the first and broken in those of the second. Samples are tested as a mix
of eight values, up to p99.5, on servers of --mode.

Exit codes: 0 there is advice, and with --verify it is right; 3 no number of
workers will do, or --verify found the advice wrong; 4 the test could not
decide, and the page names the flag that would.`,
		Example: `  schedlab size --rate 300/s --held 20ms --slo 'p99<=100ms'
  schedlab size --rate 1200/s --workload 'cpu=100us,sleep=exp(15ms)' --slo 'p99<=90ms,errors<=0.01%' --verify
  curl -s localhost:9090/metrics | schedlab size --rate 300/s --histogram - --metric handler_seconds --slo 'p99.9<=1s'
  schedlab size --rate 300/s --csv times.csv --column took --unit ms`,
		Args: cobra.NoArgs,
		RunE: f.run,
	}
	f.bind(cmd.Flags())
	// The shell completes file names for these.
	must(cmd.MarkFlagFilename("histogram"))
	must(cmd.MarkFlagFilename("csv"))
	return cmd
}

// bind declares the flags about the load and the pool.
func (f *sizeFlags) bind(fl *pflag.FlagSet) {
	f.adviceFlags.bind(fl)
	// One of four sources of the time held.
	fl.DurationVar(&f.held, "held", 0, "mean time a request holds its worker; exponential, unless --cv or --cpu says otherwise")
	fl.Float64Var(&f.cv, "cv", 1, "coefficient of variation of what --held leaves beside --cpu: 0 always the same, 1 exponential, above that a heavier tail, up to 10")
	fl.DurationVar(&f.cpu, "cpu", 0, "CPU time within the time held, of --held, --histogram and --csv; workers share the cores for it")
	fl.StringVar(&f.workload, "workload", "", "what a request asks, as scenarios write it: cpu=200us,sleep=exp(10ms)")
	fl.StringVar(&f.histogram, "histogram", "", "file of a Prometheus text exposition with a histogram of times held; - is standard input")
	fl.StringVar(&f.metric, "metric", "", "the histogram's name (default the one that ends in _seconds, beside those of the Go runtime, the process and schedlab)")
	fl.StringVar(&f.csv, "csv", "", "CSV file with a column of times held; - is standard input")
	fl.StringVar(&f.column, "column", "", "its column, by the header (default the only one of numbers)")
	oneOf(fl, &f.unit, "unit", "s", "unit of its times: s, ms, us or ns", "s", "ms", "us", "ns")
	fl.Float64Var(&f.margin, "margin", 0.15, "ratio of the rate by which it may grow with the SLO still kept, for what theory leaves out")
	modes := sizedModes()
	oneOf(fl, &f.mode, "mode", modes[0], "mode that --verify tests: "+strings.Join(modes, ", "), modes...)
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
	d, err := f.demand(cmd)
	if err != nil {
		return err
	}
	s, err := f.advise(d, slo)
	if err != nil {
		return err
	}
	f.offerTest(cmd, s)
	var untested error // the advice stands all the same
	if f.verify && s.Advice.Workers > 0 {
		if s.Verified, untested = f.test(cmd, s); untested != nil {
			s.Unverified = untested.Error()
		}
	}
	if err := s.Write(cmd.OutOrStdout(), f.output, f.verbose); err != nil || untested != nil {
		return errors.Join(untested, err)
	}
	return sizeExit(s)
}

// check refuses missing and impossible flags. It returns the SLO, with the term that Objective
// adds; nil without --slo. A flag that belongs to another source of the demand is refused, because
// it would say nothing.
func (f *sizeFlags) check(fl *pflag.FlagSet) (stats.SLO, error) {
	// Exactly one source must be given.
	sources := given(fl, "held", "workload", "histogram", "csv")
	const lowest = 0.01 // requests per second
	err := append(f.mistakes(fl), mistakes{
		{f.rate.PerSecond < lowest, fmt.Sprintf("--rate %s is below %g/s; no pool is needed for that", f.rate, lowest)},
		{len(sources) == 0,
			"nothing says what a request asks; give one of --held 20ms, --workload 'cpu=200us,sleep=exp(10ms)', --histogram FILE, --csv FILE"},
		{len(sources) > 1, "--" + strings.Join(sources, " and --") + " each say what a request asks; give one of them"},
		// Written so that NaN is refused as well.
		{!(f.margin >= 0 && f.margin <= 1), fmt.Sprintf("--margin %g is outside 0 to 1; 0.15 is 15 %%", f.margin)},
		{f.verify && f.slo == "", "--verify tests an SLO; give one with --slo, like 'p99<=100ms'"},
	}...).first()
	if err != nil {
		return nil, err
	}
	// Flags that only make sense with one of these sources.
	for _, extra := range []struct{ flag, of string }{
		{"cv", "--held"}, {"metric", "--histogram"}, {"column", "--csv"}, {"unit", "--csv"}, {"cpu", "--held, --histogram, --csv"},
	} {
		if fl.Changed(extra.flag) && !strings.Contains(extra.of, sources[0]) {
			return nil, usagef("--%s belongs to %s; with --%s it says nothing", extra.flag, extra.of, sources[0])
		}
	}
	// A test of samples limits the objective's quantiles.
	if f.slo == "" {
		return nil, nil
	}
	slo, err := advise.Objective(f.slo, f.rate.PerSecond, f.verify && f.csv+f.histogram != "")
	return slo, usage(err)
}

// demand reads the cost of a request from the one source that was given. Errors are wrong usage and
// name the flag.
func (f *sizeFlags) demand(cmd *cobra.Command) (d advise.Demand, err error) {
	source := given(cmd.Flags(), "held", "workload", "histogram", "csv")[0] // check has found one
	switch source {
	case "held":
		d, err = advise.Held(f.held, f.cpu, f.cv)
	case "workload":
		d, err = advise.ParseWorkload(f.workload)
	case "histogram":
		d, err = readInput(cmd, f.histogram, func(in io.Reader, name string) (advise.Demand, error) {
			return advise.ReadHistogram(in, name, f.metric)
		})
	case "csv":
		d, err = readInput(cmd, f.csv, func(in io.Reader, name string) (advise.Demand, error) {
			return advise.ReadCSV(in, name, f.column, f.unit)
		})
	}
	// Samples hold CPU time and waiting together, and --cpu is the first part. Held knows it already.
	if err == nil && f.cpu != 0 && source != "held" {
		source, err = "cpu", d.SetCPU(f.cpu)
	}
	if err != nil {
		return d, usagef("--%s: %w", source, err)
	}
	return d, nil
}

// keptIn stands for a file of what came on standard input: the command that tests the advice has to
// read it again.
const keptIn = "FILE"

// command returns the command line of this size with --verify and a budget, if one was given. Flags
// about the output are left out. Standard input becomes keptIn: what came there is gone. budget
// replaces the given one, which may be too short.
func (f *sizeFlags) command(cmd *cobra.Command, budget time.Duration) string {
	words := invocation(cmd, "verify", "output", "verbose", "progress", "out")
	for i, word := range words {
		switch {
		case word == "--budget":
			words[i+1] = budget.String()
		case word == stdin:
			words[i] = keptIn
		}
	}
	return command.Join(append(words, "--verify"))
}

// offerTest gives the page the command that tests the advice and how long that takes, or the reason
// why the advice cannot be tested. A budget that is too short is replaced by the one that it needs.
// Without an advice there is nothing to test.
func (f *sizeFlags) offerTest(cmd *cobra.Command, s *advise.Page) {
	if s.Advice.Workers == 0 {
		return
	}
	budget := s.TestBudget(f.Budget)
	question, err := f.question(s, budget)
	if err != nil {
		s.Untestable = err.Error()
		return
	}
	s.Test = f.command(cmd, budget)
	s.TestTakes = time.Duration(question.Protocol.Budget).Round(time.Second)
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
		return exit(exitExpectation)
	case s.Verified != nil && s.Verified.Verdict != advise.AdviceRight:
		return exit(exitPartial)
	}
	return nil
}

// test runs the advised workers against fewer workers. The advice is right if the first keep the
// SLO and the second break it. An error means that there is no verdict, and the advice stands
// untested.
func (f *sizeFlags) test(cmd *cobra.Command, s *advise.Page) (*advise.Verification, error) {
	show := newProgress(cmd.ErrOrStderr(), f.progress)
	planned, err := f.planTest(s, show)
	if err != nil {
		return nil, err
	}
	dir, run, err := f.measure(cmd.Context(), planned, show)
	if err != nil {
		return nil, err
	}
	// Blocks that kept and broke the SLO decide, not verdicts between the arms.
	kept, err := judge.Keep(dir, run, s.SLO)
	if err != nil {
		return nil, err
	}
	fewer := run.Plan.Arms[len(run.Plan.Arms)-1].Station.Workers
	v := s.Verify(f.tested(f.Budget), fewer, kept)
	v.Dir, v.Window, v.Doubts = dir.Path(), run.Plan.Window, append(v.Doubts, run.Result.Disturbances()...)
	return v, nil
}

// planTest plans that comparison. Its aim is the SLO alone, so it ends as soon as each arm surely
// keeps or breaks it.
func (f *sizeFlags) planTest(s *advise.Page, show *progress) (*experiment.Comparison, error) {
	question, err := f.question(s, f.Budget)
	if err != nil {
		return nil, usage(err)
	}
	f.tell(show)
	f.Asks = []string{} // the windows are long enough for the objective's other quantiles
	for _, t := range s.SLO {
		if slices.Contains(stats.Names(stats.Quantiles()), t.Metric) {
			f.Asks = append(f.Asks, t.Metric)
		}
	}
	f.Aim.SLO, f.Note, f.Iters = s.SLO, "tests the advice of: "+s.Test, workload.Calibrate()
	return experiment.Plan(question, f.Options)
}

// question returns the scenario that tests the advice on servers of --mode within a budget. If
// requests need CPU time, the servers must have the number of CPUs in the advice. Errors are
// sentences for the page, which then offers no test.
func (f *sizeFlags) question(s *advise.Page, budget time.Duration) (q scenario.Scenario, err error) {
	here, err := experiment.ServerCPUs(f.Options)
	if err != nil {
		return q, err
	}
	// Without CPU time the number of cores does not matter to the advice.
	if s.Ask.Service > 0 && here != s.Ask.Cores {
		return q, fmt.Errorf("--verify would run on the %d CPUs that servers get here, and the advice is for --cores %d; leave --cores out, or give --cpus as many", here, s.Ask.Cores)
	}
	return s.Scenario(f.tested(budget))
}

// tested returns how to test the advice: the facts about --mode that package advise needs, with rate
// and budget. A Sticky mode is tested with a connection for each request.
func (f *sizeFlags) tested(budget time.Duration) advise.PoolTest {
	mode, _ := model.Lookup(f.mode) // --mode takes the names of modes only
	return advise.PoolTest{Mode: mode.Mode, Rate: f.rate.String(), Budget: budget}
}
