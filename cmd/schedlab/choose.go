package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/docs/experiments"
	"schedlab/internal/advise"
	"schedlab/internal/command"
	"schedlab/internal/experiment"
	"schedlab/internal/judge"
	"schedlab/internal/mode"
	"schedlab/internal/model"
	"schedlab/internal/outcome"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
	"schedlab/internal/workload"
	"schedlab/loadtests/recipes"
)

// chooseFlags describe requests. table is for tools/experiments: it prints a page's table.
//
// ask turns the flags into an advise.Ask, advise.Choose answers it, planTest and line make the
// test's plan and command line, and test runs it with --verify. Package advise has all knowledge;
// the command has what it may not import: the modes, the flags and the comparison.
//
// asked has what the flags say about the requests; its Demand, Rate, Path, Seed, SLO and Cores are
// set by ask.
type chooseFlags struct {
	adviceFlags
	asked advise.Ask
	table bool
}

// newChoose declares the flags of choose. It takes one scenario at most, for the values of flags
// that are not given.
func newChoose() *cobra.Command {
	var f chooseFlags
	cmd := &cobra.Command{
		Use:   "choose [SCENARIO]",
		Short: "Say which model should serve requests of a kind, how large, and how that is known",
		Long: `Say which model should serve requests of a kind on kept connections: what they
do (--cpu, --sleep, --lock, --connections, --idle, --pipeline, --arrivals) and what
matters (--matters) choose a cell of the table in docs/guide/choose.md. The advice is who
won there, in an experiment of the pack, which the answer names.

With a SCENARIO, embedded or a file, its workload and load say what the flags leave
out. The size of a pool is from 'schedlab size'.

The answer ends with the comparison that tests it, which --verify runs: the advised
model against net/http and others that may do. The advice held unless another model
is surely better at what matters, the SLO is broken, or a request got no good reply
(which overload is about). What is undecided is named.

Exit codes: 0 there is advice, and with --verify it held; 3 --verify found the
advised model SLOWER, or its SLO broken; 4 this machine could not decide, or
requests of the advised model got no good reply.`,
		Example: `  schedlab choose --cpu 'exp(200us)' --rate 2000/s --slo 'p99<=10ms'
  schedlab choose --cpu 20us --sleep 28ms --connections 200 --rate 2080/s --matters throughput
  schedlab choose --cpu 100us --idle 4000 --rate 1000/s --matters memory
  schedlab choose pool-cpu --rate 2000/s --verify`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeScenarios,
		RunE:              f.run,
	}
	f.bind(cmd.Flags())
	return cmd
}

// bind declares the flags about the requests. They have the names of the scenarios' keys, so that
// fill can set one from the other.
func (f *chooseFlags) bind(fl *pflag.FlagSet) {
	f.adviceFlags.bind(fl)
	fl.StringVar(&f.asked.CPU, "cpu", "", "CPU time of a request, as scenarios write it: 200us, exp(200us), 0.99*1ms+0.01*100ms")
	fl.StringVar(&f.asked.Sleep, "sleep", "", "time that a request waits for something else, likewise")
	fl.DurationVar(&f.asked.Lock, "lock", 0, "CPU time of a request under one lock, beside --cpu")
	fl.IntVar(&f.asked.Connections, "connections", 64, "kept connections that they come over")
	fl.IntVar(&f.asked.Idle, "idle", 0, "kept connections beside those, with nothing to ask")
	fl.IntVar(&f.asked.Pipeline, "pipeline", 1, "requests that a client sends in one write")
	fl.StringVar(&f.asked.Arrivals, "arrivals", "poisson", "how they come: poisson, constant, burst(12), in-phase(64)")
	oneOf(fl, &f.asked.Matters, "matters", advise.Tail, "what matters: "+strings.Join(advise.Matters(), ", "), advise.Matters()...)
	fl.DurationVar(&f.Budget, "budget", 2*time.Minute, "longest --verify may take")
	fl.BoolVar(&f.table, "table", false, "print the table of docs/guide/choose.md")
	fl.Lookup("table").Hidden = true // for tools/experiments
}

// run gives the advice, and with --verify tests it. The test is always planned: an advice comes
// with a command that works here. If the test fails to run, the advice is printed all the same, and
// then the error. The exit code is 0 for an advice, with --verify 3 if the test failed it and 4 if
// the test could not decide.
func (f *chooseFlags) run(cmd *cobra.Command, args []string) error {
	answers, err := experiments.Answers()
	if err != nil {
		return err
	}
	pack := packOf(answers)
	if f.table { // it needs no requests
		return report.WriteChoices(cmd.OutOrStdout(), advise.Cells(pack, choosable()), sizeOfMode)
	}
	ask, err := f.ask(cmd.Flags(), args)
	if err != nil {
		return err
	}
	show := newProgress(cmd.ErrOrStderr(), f.progress)
	// The advice needs no server. It is known before anything is started.
	choice, test, err := advise.Choose(ask, pack, choosable())
	if err != nil {
		return err
	}
	planned, err := f.planTest(cmd.Context(), test, show)
	if err != nil {
		return fmt.Errorf("planning the test of the advice: %w", err)
	}
	choice.Test = f.line(test)
	var untested error // the advice stands all the same
	if f.verify {
		var tested *record.ChoiceTest
		var disturbed []record.Fact
		if tested, disturbed, untested = f.test(cmd.Context(), planned, test, show); untested != nil {
			choice.Unverified = untested.Error()
		} else {
			choice = advise.Tested(choice, tested, disturbed)
		}
	}
	if _, ok := recipes.Of(choice.Mode); ok {
		choice.Recipe = "schedlab recipe " + choice.Mode
		// A plainer mode that is not known to be worse may need no other handlers.
		plain := choice.Answer.Names["plain"]
		if _, ok := recipes.Of(plain); ok && choice.Answer.Names["worse"] == "" {
			choice.Recipe += ", or schedlab recipe " + plain
		}
	}
	if err := report.WriteChoice(cmd.OutOrStdout(), f.output, choice); err != nil || untested != nil {
		return errors.Join(untested, err)
	}
	// Only the test's answer makes an exit code; an advice alone is 0.
	if choice.Verified == nil {
		return nil
	}
	return exit(map[outcome.Outcome]int{outcome.No: exitExpectation, outcome.Refused: exitPartial}[choice.Verified.Answer])
}

// choosable are the modes in the order in which they are shown, the plainest first, which is the
// order that advise wants. A fresh list for each call, which the caller may change.
func choosable() (all []mode.Mode) {
	for _, m := range model.Modes() {
		all = append(all, m.Mode)
	}
	return all
}

// sizeOfMode returns the table's cell about a mode's size, in Markdown. The link is relative to
// docs/guide, where the table stands.
func sizeOfMode(name string) string {
	switch m, err := model.Lookup(name); {
	case err != nil || !m.Has("workers") && !m.Loops:
		return "nothing to size"
	case m.Has("workers"):
		return "[`schedlab size`](size.md)"
	}
	return "a loop for each CPU"
}

// ask describes the requests by the flags, and by a scenario where a flag was not given. It refuses
// a rate that the connections cannot carry: the answer would be about the connections and not about
// the model. Errors name the flag or the scenario.
func (f *chooseFlags) ask(fl *pflag.FlagSet, args []string) (a advise.Ask, err error) {
	path := ""
	if len(args) == 1 {
		if path, err = f.fill(fl, args[0]); err != nil {
			return a, err
		}
	}
	a = f.asked
	err = append(f.mistakes(fl), mistakes{
		{a.CPU == "" && a.Sleep == "" && a.Lock == 0,
			"nothing says what a request asks; give --cpu 200us, --sleep 20ms or both, or name a scenario that says it"},
		// The limits are those of serve's /work.
		{a.Lock < 0 || a.Lock > 100*time.Millisecond, fmt.Sprintf("--lock %v; give 0 to 100ms", a.Lock)},
		{a.Connections < 1, fmt.Sprintf("--connections %d; give 1 or more", a.Connections)},
		{a.Idle < 0, fmt.Sprintf("--idle %d; give 0 or more", a.Idle)},
		{a.Pipeline < 1, fmt.Sprintf("--pipeline %d; give 1 or more", a.Pipeline)},
		// A pipeline is tested in a closed loop, which holds no idle connections.
		{a.Pipeline > 1 && a.Idle > 0,
			fmt.Sprintf("--idle %d beside --pipeline %d: clients that send without pause leave no time for others; drop one", a.Idle, a.Pipeline)},
		{f.Budget <= 0, fmt.Sprintf("--budget %v must be above 0", f.Budget)},
	}...).first()
	if err != nil {
		return a, err
	}
	// The checks of a scenario's load do the rest, in its words.
	l := scenario.Load{Loop: "open", Arrivals: a.Arrivals, Rate: f.rate.Rate, KeepAlive: true, Connections: a.Connections, Idle: a.Idle}
	if bad := l.Check(); bad != nil {
		return a, usagef("--%s: %s", strings.TrimPrefix(bad.Path, "load."), bad.Msg)
	}
	if a.Demand, err = a.Cost(); err != nil {
		return a, usage(err)
	}
	// A scenario's own path is asked as it is; otherwise /work gets the costs as its query.
	a.Rate, a.Path, a.Seed = f.rate.PerSecond, cmp.Or(path, a.Query()), f.Seed
	if f.slo != "" {
		if a.SLO, err = stats.ParseSLO(f.slo); err != nil {
			return a, usagef("--slo: %w", err)
		}
	}
	if a.Cores, err = f.serverCores(); err != nil {
		return a, err
	}
	// The message proposes twice the connections that are in use on average.
	if most, short := a.Carry(); short {
		return a, usagef("--connections %d carry %.0f/s at most, each with one request of %v under way (Little's law), and --rate is %v; give --connections %.0f or more",
			a.Connections, most, a.Demand.Held(), f.rate.Rate, math.Ceil(2*a.Rate*a.Demand.Held().Seconds()))
	}
	return a, nil
}

// fill sets flags that were not given from a scenario. It returns the path that the scenario asks,
// "" if that is /work. A scenario that does not tell the cost of a request, or a rate per second,
// needs the flags for these. Values that a flag does not accept, as arrivals that are no shape for
// it, are errors with the scenario's name.
func (f *chooseFlags) fill(fl *pflag.FlagSet, name string) (path string, err error) {
	s, err := findScenario(name)
	if err != nil {
		return "", err
	}
	// Values by flag, in the flag's own notation, so that the flags' parsers check them.
	said := map[string]string{
		"arrivals": s.Load.Arrivals, "connections": fmt.Sprint(s.Load.Connections),
		"idle": fmt.Sprint(s.Load.Idle), "pipeline": fmt.Sprint(s.Load.Pipeline),
	}
	// A scenario tells costs as its workload, or in the query of /work. Another path has costs that
	// are not known.
	if s.Workload.Path == "" {
		said["cpu"], said["sleep"] = s.Workload.CPU.String(), s.Workload.Sleep.String()
	} else if u, err := url.Parse(s.Workload.Path); err == nil && u.Path == "/work" {
		for _, key := range []string{"cpu", "sleep", "lock"} {
			said[key] = strings.ReplaceAll(u.Query().Get(key), " ", "+") // which a mix has, and a query means a blank by
		}
	}
	// A rate that is a share of a throughput is no rate to advise on.
	if s.Load.Rate.PerSecond > 0 {
		said["rate"] = s.Load.Rate.String()
	}
	if err := fill(fl, said); err != nil {
		return "", usagef("scenario %q: %w", name, err)
	}
	if w := s.Workload; w.Path != "" && w.Method == "GET" && !strings.HasPrefix(w.Path, "/work?") {
		return w.Path, nil
	}
	return "", nil
}

// packOf returns the verdicts among rows of docs/experiments/answers.tsv. Of a verdict's reason they have
// the code.
func packOf(rows []experiments.Row) (p advise.Pack) {
	for _, r := range rows {
		if r.Baseline == "" { // a figure alone, or a text
			continue
		}
		// The file does not say which metrics are primary: this program's own table does.
		v := record.Verdict{
			Metric: r.Metric, Primary: stats.MetricOf(r.Metric).Primary, Arm: r.Arm, Baseline: r.Baseline,
			Verdict: stats.Decision(r.Verdict), Ratio: r.Ratio, Low: r.Low, High: r.High, Blocks: r.Blocks,
		}
		if r.Reason != "" {
			v.Reason = record.Fact{Code: record.Code(r.Reason), Arm: r.Arm, Baseline: r.Baseline, Metric: r.Metric}
		}
		p = append(p, advise.Row{Scenario: r.Scenario, Commit: r.Commit, Verdict: v})
	}
	return p
}

// line returns the command line of the comparison that planTest planned, with the expectations that
// planTest added. The seed and the CPUs are not in it.
func (f *chooseFlags) line(t advise.Test) string {
	argv := []string{"schedlab", "compare", "--path", t.Path}
	if t.Rate > 0 {
		argv = append(argv, "--rate", f.Rate.String())
	}
	add := func(flag string, values []string) {
		for _, value := range values {
			argv = append(argv, flag, value)
		}
	}
	add("--arm", t.Arms)
	add("--vary", t.Vary)
	add("--expect", f.expect)
	return command.Join(append(argv, "--budget", f.Budget.String()))
}

// planTest plans the comparison that tests an advice, as the command line would. It adds an
// expectation for each other arm and metric, and for each term of the SLO. It also sets compare's
// flags in f accordingly; line reads some of them.
func (f *chooseFlags) planTest(ctx context.Context, t advise.Test, show *progress) (*experiment.Comparison, error) {
	f.addArms, f.vary, f.adhoc.path, f.Rate.PerSecond = t.Arms, t.Vary, t.Path, t.Rate
	f.tell(show)
	plain, err := f.scenario(ctx, "") // without expectations, for the arms' names
	if err != nil {
		return nil, err
	}
	arms := plain.Contestants()
	for _, arm := range arms[1:] {
		for _, metric := range t.Metrics {
			// Under overload the metrics are judged together, and no single one may be expected.
			if stats.MetricOf(metric).Compared && !slices.Contains(t.Metrics, "good_mean") {
				f.expect = append(f.expect, fmt.Sprintf("%s%q, %q)", notFaster, metric, arm.Name))
			}
		}
	}
	for _, term := range t.Keeps {
		f.expect = append(f.expect, fmt.Sprintf("%s(%q) <= %s", term.Metric, arms[0].Name, strings.TrimPrefix(term.String(), term.Metric+"<=")))
	}
	s, err := f.scenario(ctx, "")
	if err != nil {
		return nil, err
	}
	// Calibration takes some milliseconds and matters only if servers run.
	if f.verify {
		f.Note = "tests an advice of schedlab choose"
		f.Iters = workload.Calibrate()
	}
	return experiment.Plan(s, f.Options)
}

// notFaster begins the expectation that another arm is not faster. All other expectations of a test
// are about the SLO.
const notFaster = "not faster("

// test runs the comparison that tests the advice, and judges it. The arms of the plan are in the
// order of t.Arms, with the copy of the first left out. The facts are what disturbed the run. A run
// that was cut short has no answer: the error is the reason.
func (f *chooseFlags) test(ctx context.Context, planned *experiment.Comparison, t advise.Test, show *progress) (*record.ChoiceTest, []record.Fact, error) {
	dir, run, err := f.measure(ctx, planned, show)
	if err != nil {
		return nil, nil, err
	}
	var arms []string
	for _, a := range run.Plan.Arms {
		if a.Role != record.Copy {
			arms = append(arms, a.Name)
		}
	}
	// The run compares every arm with the first, which is the advised one; these are the verdicts
	// in the test's metrics.
	_, verdicts, err := judge.Pairs(dir, run, advise.TestPairs(arms, t.Metrics))
	if err != nil {
		return nil, nil, err
	}
	slo := slices.DeleteFunc(slices.Clone(run.Result.Expectations), func(e record.Expectation) bool { return strings.HasPrefix(e.Text, notFaster) })
	v := advise.Verify(run.Result.Arms[0], arms, t.Metrics, verdicts, slo)
	kept, err := judge.Keep(dir, run, t.Keeps)
	if err != nil {
		return nil, nil, err
	}
	v.Dir, v.Keeps = dir.Path(), advise.Keeps(t.Keeps, kept)
	return v, run.Result.Disturbances(), nil
}

// adviceFlags are flags of choose. The comparison that tests an advice runs with
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
