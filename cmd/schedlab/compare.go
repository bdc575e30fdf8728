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

	"schedlab/internal/command"
	"schedlab/internal/experiment"
	"schedlab/internal/judge"
	"schedlab/internal/load"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
	"schedlab/internal/workload"
)

// compareFlags are what the command line adds to a comparison.
type compareFlags struct {
	experiment.Options
	arms, addArms []string
	vary, expect  []string
	total         time.Duration
	out           string
	output        string
	dryRun        bool
	strict        bool
	why           bool
	verbose       bool
	progress      string
	adhoc         adhocFlags
	allowRemote   bool
	runCommands   bool // of a record that somebody else made
	close         bool
}

func newCompare() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare [SCENARIO|DIR|all...]",
		Short: "Say which model serves a scenario best, by how much, and how sure that is",
		Long: `Run every arm of a scenario in fresh processes, in interleaved blocks of the
same seeded open-loop load, beside a second copy of the baseline (A/A), and judge
them block by block. The first arm is the baseline. Without a SCENARIO the
embedded 'quick' comparison of net/http, fasthttp and a worker pool runs, in
half a minute on two CPUs where the machine is quiet, and 75 s at most.

Several scenarios, a directory of them, or 'all' (the embedded ones) make a pack:
each runs with a record of its own, and every expectation of theirs is told as
pass, fail, open or REFUSED, with a table at the end. One fails only when the
blocks are sure of it.

Any server is an arm: --arm name='CMD {addr}' starts one, where {addr} or {host} and
{port} become an address, {admin} a second one and {dir} an empty directory, and
VARIABLE=VALUE words before it are its environment; --arm name=http://127.0.0.1:9000
takes one that runs already. --path, --targets or --log ask without a scenario, of
the arms you name and no others.

It prints the answer; --verbose prints the whole report, as 'schedlab report' does
from the record, which is kept below --out with report.html. Verdicts are FASTER,
SLOWER, SAME, INCONCLUSIVE or REFUSED; what cannot be trusted is refused with its
reason.

Exit codes: 0 a verdict was reached, 1 a server died or something else failed
(what was measured is kept), 3 an expectation failed, 4 every verdict on p50, p90
and p99 was REFUSED, goodput differed nowhere and no expectation decided, 130
interrupted. An expectation that is open or REFUSED fails nothing; with
--strict the code is 4 then.`,
		Example: `  schedlab compare
  schedlab compare plaintext --seed 7
  schedlab compare --arms nethttp,pool --protocol full
  schedlab compare --arm 'pool,workers=64'
  schedlab compare pool-block --vary workers=4,5,8 --budget 5m
  schedlab compare --path / --arm pool --vary workers=4,8,16 --close
  schedlab compare all --total 3h15m
  schedlab compare --arm mine='./server -listen {addr}'
  schedlab compare --arms nethttp --arm nethttp,env.GOGC=400
  schedlab compare --path / --arm old='./old {addr}' --arm new='./new {addr}'
  schedlab compare --path / --arm old='./old {addr}' --arm new='./new {addr}' --rate 2000/s --expect 'not slower("p99", "new")' --strict
  schedlab compare --targets reqs.txt --rate 2000/s --arm a=http://127.0.0.1:9000 --arm b='GOGC=50 ./b {addr}'
  schedlab compare --log access.log --speed 10x --arm old='./old {addr}' --arm new='./new {addr}'
  schedlab compare ./mine.yaml --dry-run`,
		ValidArgsFunction: completeScenarios,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !f.adhoc.given() {
				args = []string{defaultScenario}
			}
			return f.run(cmd, args)
		},
	}
	f.bindRun(cmd)
	fl := cmd.Flags()
	fl.StringSliceVar(&f.arms, "arms", nil, "arms of the scenario or of --arm, or modes, to compare instead of all its arms; the baseline first")
	fl.StringArrayVar(&f.vary, "vary", nil, "an arm for each value of a server flag or load setting, FACTOR=V1,V2,... (repeatable: every combination)")
	fl.StringArrayVar(&f.expect, "expect", nil, "one more assertion, like 'not slower(\"p99\", \"new\")'; exit code 3 when it fails (repeatable; docs/scenarios.md)")
	fl.BoolVar(&f.strict, "strict", false, "exit code 4 when an expectation is open or REFUSED, also where others pass")
	fl.StringVar(&f.Protocol, "protocol", "", "quick (windows of 0.5 s, 75 s at most) or full (3.6 s, 10 min); either ends when everything is decided")
	fl.IntVar(&f.Blocks, "blocks", 0, "most blocks to run, 10 to 40 (default 40); a run ends as soon as everything is decided")
	fl.DurationVar(&f.Window, "window", 0, "measured time of one trial (default the protocol's or the scenario's, and longer where what is asked for needs it)")
	fl.DurationVar(&f.Warmup, "warmup", 0, "time before it that is not measured")
	fl.DurationVar(&f.Budget, "budget", 0, "longest each comparison may take; no block begins that does not fit (default 75s, or the scenario's)")
	fl.DurationVar(&f.total, "total", 0, "longest all scenarios may take together; those that no longer fit are refused (default no limit)")
	fl.Var(&f.Rate, "rate", "requests per second (3000/s), or a share of the slowest arm's throughput (0.7x)")
	fl.StringVar(&f.Engine, "engine", "", "what sends open loops: "+strings.Join(load.Engines(), " or ")+" (default "+load.DefaultEngine+"; docs/engines.md)")
	f.adhoc.bind(fl)
	fl.StringVar(&f.adhoc.log, "log", "", "ask what this access log says when it says so, without a scenario; each block takes the next stretch")
	fl.StringVar(&f.adhoc.speed, "speed", "", "replay the log so many times as fast, like 10x (or give --rate)")
	fl.StringVar(&f.Stamps, "stamps", "", "how our servers stamp each request, to say where its time went: off, basic, or full with the kernel's (default full on Linux, else basic)")
	fl.StringVar(&f.output, "output", "text", "text, json, markdown, html, csv, benchstat or hgrm")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print the whole report, as 'schedlab report' does, and not the answer only")
	fl.BoolVar(&f.why, "explain", false, "then explain the difference that is largest, with tests of its causes, as 'schedlab explain' does")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the plan, its time and its commands, and run nothing")
	completeFactors(cmd, "vary")
	complete(cmd, "protocol", "quick", "full")
	complete(cmd, "engine", load.Engines()...)
	complete(cmd, "stamps", "off", "basic", "full")
	complete(cmd, "output", formatNames()...)
	complete(cmd, "arms", modeNames()...)
	return cmd
}

func formatNames() []string { return report.Names(report.Formats()) }

func (f *compareFlags) run(cmd *cobra.Command, scenarios []string) error {
	if err := checkFormat(f.output, formatNames()); err != nil {
		return err
	}
	if err := f.checkGiven(cmd.Flags()); err != nil {
		return err
	}
	if err := f.adhoc.check(scenarios); err != nil {
		return err
	}
	show, err := f.prepare(cmd)
	if err != nil {
		return err
	}
	names, err := named(scenarios)
	if err != nil {
		return err
	}
	if f.adhoc.given() {
		names = []string{""} // the flags' own
	}
	all, err := f.plans(names)
	if err != nil {
		return err
	}
	for _, p := range all.Scenarios {
		if err := f.stayLocal(cmd.Context(), p.Scenario.Arms); err != nil {
			return err
		}
	}
	f.Iters = workload.Calibrate()
	if err := f.sayMachine(cmd); err != nil {
		return err
	}
	switch {
	case f.dryRun:
		return f.writePlans(cmd.OutOrStdout(), all)
	case len(all.Scenarios) > 1:
		return f.pack(cmd, all, show)
	}
	c, err := f.plan(all.Scenarios[0].Scenario)
	if err != nil {
		return err
	}
	if why := all.Late(record.Duration(c.Planned().Estimate), 0); why != nil {
		return &exitError{exitPartial, fmt.Errorf("scenario %q is not run: %w", c.Planned().Scenario, why)}
	}
	c.Aim(judge.Aim{Expectations: len(f.expect) > 0})
	r, err := f.carryOut(cmd, c, show)
	if err != nil {
		return err
	}
	if code := verdictCode(r, f.strict); code != exitDone {
		return &exitError{code: code}
	}
	return nil
}

// checkGiven refuses values that mean "not given" when they were given.
func (f *compareFlags) checkGiven(fl *pflag.FlagSet) error {
	for _, name := range []string{"blocks", "window", "warmup", "budget"} {
		if v := fl.Lookup(name).Value.String(); fl.Changed(name) && (v == "0" || v == "0s") {
			return usagef("--%s %s must be above 0; leave it out for the scenario's or the protocol's", name, v)
		}
	}
	if fl.Changed("arms") && (len(f.arms) == 0 || slices.Contains(f.arms, "")) {
		return usagef("--arms %q has an arm without a name; name modes or arms of the scenario, or leave it out", strings.Join(f.arms, ","))
	}
	if err := f.checkVary(fl); err != nil {
		return err
	}
	return checkEmpty(fl, "protocol", "server-cpus", "load-cpus", "out", "path", "targets", "log", "speed")
}

// scenario reads a scenario and puts the command line's arms into it.
func (f *compareFlags) scenario(name string) (scenario.Scenario, error) {
	s, err := f.question(name)
	if err != nil {
		return s, err
	}
	return f.withArms(s)
}

// withArms puts the command line's arms into a scenario.
func (f *compareFlags) withArms(s scenario.Scenario) (scenario.Scenario, error) {
	var added []scenario.Arm
	for _, text := range f.addArms {
		a, err := scenario.ParseArm(text)
		if err != nil {
			return s, usagef("--arm: %w", err)
		}
		added = append(added, a)
	}
	if len(f.arms) > 0 {
		own := s.Arms
		s.Arms = nil
		for _, name := range f.arms {
			called := func(a scenario.Arm) bool { return a.Name == name }
			if i := slices.IndexFunc(added, called); i >= 0 {
				s.Arms, added = append(s.Arms, added[i]), slices.Delete(added, i, i+1)
				continue
			}
			if i := slices.IndexFunc(own, called); i >= 0 {
				s.Arms = append(s.Arms, own[i])
				continue
			}
			a, err := scenario.ParseArm(name)
			if err != nil {
				return s, usagef("--arms: %w", err)
			}
			s.Arms = append(s.Arms, a)
		}
	}
	s.Arms = append(s.Arms, added...)
	if f.close {
		s.Keep(false)
	}
	for _, text := range f.vary {
		factor, values, _ := strings.Cut(text, "=")
		if err := s.Vary(factor, scenario.SplitValues(values), f.Modes); err != nil {
			return s, usagef("--vary: %w", err)
		}
	}
	seen := map[string]bool{}
	for _, a := range s.Arms {
		if seen[a.Name] {
			return s, usagef("arm %q is there twice; one with other flags is called pool,workers=8", a.Name)
		}
		seen[a.Name] = true
	}
	for _, text := range f.expect {
		if err := s.Assert(text); err != nil {
			return s, usagef("--expect: %w", err)
		}
	}
	return s, nil
}

func (f *compareFlags) plan(s scenario.Scenario) (*experiment.Comparison, error) {
	c, err := experiment.Plan(s, f.Options)
	return c, usageIfImpossible(err)
}

// usageIfImpossible gives the exit code of wrong usage to an error that says what to change.
func usageIfImpossible(err error) error {
	if _, bad := errors.AsType[*experiment.Impossible](err); bad {
		return usage(err)
	}
	return err
}

// carryOut runs one comparison or search, writes its reports and prints its result.
func (f *compareFlags) carryOut(cmd *cobra.Command, c *experiment.Comparison, show *progress) (*record.Result, error) {
	dir, run, err := c.Run(cmd.Context(), f.out, show.update)
	show.done()
	if run.Result == nil || run.Trials == 0 {
		return nil, f.failure(err, dir, run)
	}
	if f.why && err == nil && run.Result.Valid > 1 {
		e := explainFlags{compareFlags: *f, testBudget: testBudget}
		e.runCommands = true // they have just run
		run.Result.Explained, err = e.explain(cmd, dir, run, nil, show)
	}
	werr := errors.Join(writeReports(dir, run.Result), renderBriefly(cmd, f.output, run.Result, f.verbose))
	if err != nil || werr != nil {
		return nil, f.failure(errors.Join(err, werr), dir, run)
	}
	return run.Result, nil
}

// failure gives what cut a comparison short its exit code, and says where the
// record is. One without a measurement is not kept.
func (f *compareFlags) failure(err error, dir *record.Dir, run record.Run) error {
	if dir == nil {
		return err
	}
	_, impossible := errors.AsType[*experiment.Impossible](err)
	kept := "what was measured is kept in " + dir.Path()
	if run.Trials <= 0 && len(run.XMax) == 0 && dir.Discard() == nil {
		kept = "nothing was measured"
	}
	switch {
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return &exitError{exitInterrupted, fmt.Errorf("%w; %s", err, kept)}
	case impossible:
		return &exitError{exitPartial, err}
	}
	return fmt.Errorf("%w; %s", err, kept)
}

// verdictCode is 3 when an expectation failed, 0 when a challenger has a primary
// verdict other than REFUSED, does more or less than the baseline, or an expectation
// passed. Strict takes no expectation that is open or refused.
func verdictCode(r *record.Result, strict bool) int {
	switch {
	case answered(r, record.Failed) > 0:
		return exitExpectation
	case strict && answered(r, record.Undecided)+answered(r, record.NoAnswer) > 0:
		return exitPartial
	case answered(r, record.Passed) > 0:
		return exitDone
	}
	for _, v := range r.Verdicts {
		differs := v.Verdict == "HIGHER" || v.Verdict == "LOWER"
		if v.Primary && v.Verdict != string(stats.Refused) || v.Metric == "goodput" && differs {
			return exitDone
		}
	}
	return exitPartial
}

func answered(r *record.Result, a record.Answer) (n int) {
	for _, e := range r.Expectations {
		if e.Outcome == a {
			n++
		}
	}
	return n
}

// writeReports puts the files for people and benchstat into the record.
func writeReports(dir *record.Dir, r *record.Result) error {
	if r.Capacity != nil {
		return errors.Join(
			dir.WriteFile("report.html", func(w io.Writer) error { return report.HTML(w, r) }),
			dir.WriteFile("report.md", func(w io.Writer) error { return report.Markdown(w, r) }),
			dir.WriteFile("capacity.svg", func(w io.Writer) error { return report.CapacitySVG(w, r) }),
		)
	}
	return errors.Join(
		dir.WriteFile("report.html", func(w io.Writer) error { return report.HTML(w, r) }),
		dir.WriteFile("report.md", func(w io.Writer) error { return report.Markdown(w, r) }),
		dir.WriteFile("bench.txt", func(w io.Writer) error { return report.Bench(w, r) }),
	)
}

func writePlan(w io.Writer, c *experiment.Comparison) error {
	p := c.Planned()
	fmt.Fprintf(w, "scenario    %s: %s\n", p.Scenario, p.Question)
	fmt.Fprintf(w, "protocol    %s: up to %d blocks of %d arms, %v + %v each, until all is decided\n", p.Protocol, p.Blocks, len(p.Arms),
		record.Duration(p.Warmup).Round(time.Millisecond), record.Duration(p.Window).Round(time.Millisecond))
	fmt.Fprintf(w, "rate        %s, seed %d\n", c.Rate(), p.Seed)
	if p.Asked != "" {
		fmt.Fprintf(w, "asks        %s\n", p.Asked)
	}
	writeLoads(w, p, c.Env())
	budget, blocks := c.Budget()
	about := ""
	if p.Estimate < budget.Seconds() {
		about = fmt.Sprintf("about %.0f s, ", p.Estimate)
	}
	fmt.Fprintf(w, "time        %s%.0f s at most\n", about, budget.Seconds())
	fmt.Fprintf(w, "budget      %v, room for %d blocks\n", budget, blocks)
	if f := p.Feasible; f != nil {
		if f.Planned > 0 {
			fmt.Fprintf(w, "window      %v instead of %v, for the requests that the quantiles need\n", record.Duration(p.Window).Round(time.Millisecond), record.Duration(f.Planned).Round(time.Millisecond))
		}
		if f.NeedsRate > 0 {
			fmt.Fprintf(w, "awaits      the probes: below %.0f/s windows grow as far as the budget has room, and what is undecided then is told\n", f.NeedsRate)
		}
		for _, u := range experiment.Undecided(*f, false) {
			fmt.Fprintf(w, "undecided   %s\n", u.String())
		}
	}
	for _, text := range p.Expect {
		fmt.Fprintf(w, "expect      %s\n", text)
	}
	for _, d := range record.ByWeight(slices.Clone(p.Doubts)) {
		fmt.Fprintf(w, "doubt       %s\n", report.Doubt(d))
	}
	for _, a := range p.Arms {
		fmt.Fprintf(w, "%-11s %s: %s\n", a.Role, a.Name, command.Join(a.Command))
	}
	_, err := fmt.Fprintln(w)
	return err
}

// writeLoads prints what the arms' clients do, each once, and the CPUs of both sides.
func writeLoads(w io.Writer, p record.Plan, e record.Env) {
	var loads []string
	for _, a := range p.Arms {
		if text := report.Load(a.Clients); !slices.Contains(loads, text) {
			loads = append(loads, text)
			fmt.Fprintf(w, "load        %s\n", text)
		}
	}
	fmt.Fprintf(w, "CPUs        server %s, load %s\n", e.ServerCPUs, e.LoadCPUs)
}
