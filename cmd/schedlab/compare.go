package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/cluster"
	"schedlab/internal/command"
	"schedlab/internal/experiment"
	"schedlab/internal/judge"
	"schedlab/internal/load"
	"schedlab/internal/outcome"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/scenario"
	"schedlab/internal/workload"
)

// compareFlags are the flags of compare. Other commands that run comparisons embed them, and bind
// the flags that they have; the others stay zero. The embedded Options go to the planner as they
// are.
//
// A comparison goes through these steps, which the other commands share: checkGiven looks at the
// flags and prepare completes the options (ready), questions reads the scenarios, conduct looks at the
// machine (seeMachine in doctor.go) and plans everything, and carryOut runs one comparison, writes
// its reports and prints its answer.
//
// arms comes from --arms and replaces the scenario's arms; addArms comes from --arm and adds to
// them. total is the limit of a pack, 0 for none, waitIdle the longest wait for a quiet machine, and why is --explain. profiles asks for profiles of the arms. progress is one of
// progressKinds. adhoc, if given, replaces the scenario. out is the directory of records.
type compareFlags struct {
	experiment.Options
	arms, addArms, vary, expect  []string
	grid                         []string         // the factors of a grid and their values, as typed
	resume                       string           // a run of the pack to go on with, "" for a new one
	kept                         []*record.Result // what that pack has already
	total, waitIdle              time.Duration
	out, output, progress        string
	dryRun, strict, why, verbose bool
	profiles                     bool
	allowRemote, close           bool
	runCommands                  bool // of a record that somebody else made
	adhoc                        adhocFlags
	keep                         string // --slo, which each arm is expected to keep
}

// newCompare declares the flags of compare. Without a scenario and without flags that replace one,
// it compares defaultScenario.
func newCompare() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare [SCENARIO|DIR|all...]",
		Short: "Run servers side by side under the same load, and say which is faster",
		Long: `Start the servers of a scenario (its arms), send all of them the same requests at the
same times, and say which is faster, by how much, and how sure that is. They are
measured in turns, block by block, in a fresh process each time. The first arm is the
baseline, which runs twice in each block: by what the two differ is noise. Without a
SCENARIO 'quick' compares net/http, fasthttp and a worker pool, in half a minute on
two CPUs where the machine is quiet, and 75 s at most.

Several scenarios, a directory of them, or 'all' (the embedded ones) make a pack:
each has a record of its own, and a table tells every expectation as kept, not
kept, open or refused. One is not kept only when the blocks are sure of it. So does
--grid: one comparison for each cell, and a table of who wins where.

Any server is an arm: --arm name='CMD {addr}' starts one, where {addr} or {host} and
{port} become an address, {admin} a second one and {dir} an empty directory, and
VARIABLE=VALUE words before it are its environment; --arm name=http://127.0.0.1:9000
takes one that runs already.

It prints the answer; the whole report is in the record, below --out. Verdicts are
FASTER, SLOWER, SAME, open or refused, which comes with its reason.`,
		Example: `  schedlab compare
  schedlab compare plaintext --seed 7
  schedlab compare --arms nethttp,pool --window 3.6s --budget 10m
  schedlab compare --arm 'pool,workers=64'
  schedlab compare pool-block --vary workers=4,5,8 --budget 5m
  schedlab compare --path / --arm pool --vary workers=4,8,16 --close
  schedlab compare all --total 3h15m
  schedlab compare capacity --arms nethttp,fasthttp --grid cpu=20us,100us --grid rate=2500/s,4000/s
  schedlab compare --workload 'cpu=200us,sleep=exp(10ms)' --rate 2000/s --slo 'p99<=60ms'
  schedlab compare --arm mine='./server -listen {addr}'
  schedlab compare --arms nethttp --arm nethttp,env.GOGC=400
  schedlab compare --path / --arm old='./old {addr}' --arm new='./new {addr}'
  schedlab compare --path / --arm old='./old {addr}' --arm new='./new {addr}' --rate 2000/s --expect 'not slower("p99", "new")' --strict
  schedlab compare --targets reqs.txt --rate 2000/s --arm a=http://127.0.0.1:9000 --arm b='GOGC=50 ./b {addr}'
  schedlab compare --log access.log@10x --arm old='./old {addr}' --arm new='./new {addr}'
  schedlab compare plaintext --progress plain
  schedlab compare ./mine.yaml --dry-run`,
		ValidArgsFunction: completeScenarios,
		RunE:              f.run,
	}
	f.bindRun(cmd)
	fl := cmd.Flags()
	fl.StringSliceVar(&f.arms, "arms", nil, "which arms to compare, the baseline first: names of the scenario's arms, of those of --arm, or modes (default all)")
	fl.StringArrayVar(&f.vary, "vary", nil, "an arm for each value of a flag of serve or a setting of the load, like workers=4,8,16 (repeatable: every combination)")
	fl.StringArrayVar(&f.grid, "grid", nil, "a comparison for each value of a part of the workload (cpu, sleep, sleep-share), of a setting of the load or of a flag of serve, like cpu=20us,100us (twice: every pair of values)")
	fl.StringArrayVar(&f.expect, "expect", nil, "one more assertion, like 'not slower(\"p99\", \"new\")'; exit code 3 when it fails (repeatable; docs/reference/scenarios.md)")
	fl.StringVar(&f.keep, "slo", "", "what each arm is expected to keep, like 'p99<=10ms,errors<=0.1%': an expectation of each")
	fl.BoolVar(&f.strict, "strict", false, "exit code 4 when an expectation is open or refused, also where others are kept")
	fl.IntVar(&f.Blocks, "blocks", 0, "most blocks to run, 10 to 40 (default 40); a run ends earlier when everything is decided")
	fl.DurationVar(&f.Window, "window", 0, "how long each server is measured in a block (default 0.5s or the scenario's, and longer where the question needs it)")
	fl.DurationVar(&f.Budget, "budget", 0, "longest each comparison, or each cell of a grid, may take; one that you give is used up as long as something is open (default 75s, or the scenario's)")
	fl.DurationVar(&f.total, "total", 0, "longest all scenarios, or all cells of a grid, may take together; those that no longer fit are left out (default no limit)")
	fl.Var(&f.Rate, "rate", "requests a second, like 3000/s, or a share of what the slowest arm can do, like 0.7x")
	oneOf(fl, &f.Engine, "engine", "", "what sends open loops: "+strings.Join(load.Engines(), " or ")+" (default "+load.DefaultEngine+"; docs/reference/engines.md)", load.Engines()...)
	f.adhoc.bind(fl, true)
	f.adhoc.bindWorkload(cmd)
	oneOf(fl, &f.Stamps, "stamps", "", "what schedlab's own servers note of each request, to say where its time went: off, basic, or full, with the kernel's times (default full on Linux, else basic)", stampKinds...)
	fl.StringVar(&f.resume, "resume", "", "go on with several scenarios or a grid that were cut short: one of their runs, or latest; the other arguments as before. What ended is kept")
	oneOf(fl, &f.output, "output", "text", "text, json, markdown, html, csv, benchstat or hgrm", report.Formats().Names()...)
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print the whole report")
	f.bindProfiles(fl)
	fl.BoolVar(&f.why, "explain", false, "then explain the largest difference, as 'schedlab explain' does, in up to "+testBudget.String()+" more than --budget")
	var factors []string
	for _, factor := range scenario.VaryFactors() {
		factors = append(factors, factor+"=")
	}
	complete(cmd, "vary", factors...)
	complete(cmd, "grid", append([]string{"cpu=", "sleep=", "sleep-share="}, factors...)...)
	complete(cmd, "arms", modeNames()...)
	bindConfig(cmd)
	inSections(cmd,
		helpSection{whatToCompare, "arms arm vary grid workload path targets log"},
		helpSection{theLoad, "rate close warmup engine stamps seed"},
		helpSection{howSure, "budget window blocks slo expect strict total resume"},
		helpSection{theOutput, "output explain profiles dry-run progress note out config help"},
		helpSection{theMachine, "wait-idle cpus allow-remote"},
	)
	return cmd
}

// run reads every scenario, and conducts the comparisons. outcome has the exit code.
func (f *compareFlags) run(cmd *cobra.Command, args []string) error {
	show, err := f.ready(cmd, args)
	if err != nil {
		return err
	}
	if f.why && f.Site != nil {
		return usagef("--explain: its tests run on one machine only; explain a run of this machine, or leave it out")
	}
	if len(args) == 0 {
		args = []string{defaultScenario}
	}
	// Questions first, then the machine, then plans: mistakes in files are found before anything
	// takes time.
	asked, err := f.questions(args)
	if err != nil {
		return err
	}
	if asked, err = f.onGrid(cmd.Flags(), asked); err != nil {
		return err
	}
	if err := f.goOn(cmd.Flags(), asked); err != nil {
		return err
	}
	if f.why && len(asked) > 1 {
		return usagef("--explain is about one run, and these are %d scenarios; name one, or run 'schedlab explain' on the record that matters", len(asked))
	}
	// A single comparison asks for the expectations of the command line alone, or without any
	// expectation for the standing of every arm. A pack wants every verdict. Whoever gives a budget wants
	// it used: what a run needs is estimated from its blocks so far, and a disturbed one spoils the estimate.
	single := len(asked) == 1 || len(f.grid) > 0 // each cell of a grid is asked like a comparison of its own
	aim := judge.Winner{WholeBudget: f.Budget > 0}
	if single {
		aim.Standings, aim.Keep = len(asked[0].Assertions()) == 0, f.keep
	}
	f.Aim = aim
	if single && len(f.expect) > 0 {
		f.Aim = judge.Expectations{Winner: aim, Asked: f.expect}
	}
	return f.conduct(cmd, asked, show, func(r *record.Result) int {
		code, _ := deserved([]report.PackEntry{{Result: r}}, f.strict)
		return code
	})
}

// conduct looks at the machine and plans all questions. Then it prints the plans, runs the pack, or
// runs the one comparison, with the exit code of its result. Servers elsewhere are refused. In a pack
// a scenario that needs a larger machine is no mistake: it is left out. Alone it is, and so is one that
// cannot answer. Errors name the scenario where there are several.
func (f *compareFlags) conduct(cmd *cobra.Command, asked []question, show *progress, code func(*record.Result) int) error {
	machine, all, err := f.planAll(cmd.Context(), asked)
	if err != nil {
		return err
	}
	alone := len(asked) == 1
	switch {
	case f.profiles && f.Site != nil:
		return usagef("--profiles: profiles are captured on one machine only; leave it out")
	case f.profiles && !alone:
		return usagef("--profiles is about one run, and these are %d scenarios; name one", len(asked))
	}
	// Asking a name server may take time, so it comes after everything that may be refused at once.
	for _, q := range asked {
		if err := f.stayLocal(cmd.Context(), q.Arms); err != nil {
			return err
		}
	}
	c := all[0].Planned // all there is, if it is alone
	// Said before the run, because --budget alone does not tell it.
	if f.why && alone {
		budget, _ := c.Budget()
		show.say(fmt.Sprintf("measuring takes %v at most, and explaining (--explain) about %v more: %v together", budget, testBudget, budget+testBudget))
	}
	if f.profiles {
		arms := len(c.Planned().Arms) - 1 // without the baseline's copy
		show.say(fmt.Sprintf("capturing profiles (--profiles) takes about %v more", time.Duration(arms)*experiment.ProfileTakes))
	}
	if f.dryRun {
		show.machine(machine)
		return f.writePlans(cmd.OutOrStdout(), all)
	}
	// Mistakes were found before this may wait. After the wait the machine is another one.
	waited, err := f.beforeStart(cmd.Context(), f.Options, show)
	if waited && err == nil {
		machine, all, err = f.planAll(cmd.Context(), asked)
	}
	if err != nil {
		return err
	}
	show.machine(machine)
	if !alone {
		return f.pack(cmd, all, show)
	}
	c = all[0].Planned
	// --total may be too short even for one.
	if why := f.late(c, 0); why != nil {
		return &exitError{exitPartial, fmt.Errorf("scenario %q is not run: %w", c.Planned().Scenario, why)}
	}
	r, err := f.carryOut(cmd, c, show)
	if err != nil {
		return err
	}
	return exit(code(r))
}

// planAll looks at the machine and plans all questions. machine is the line about what is not fit there.
func (f *compareFlags) planAll(ctx context.Context, asked []question) (machine string, all []experiment.Packed, err error) {
	if machine, err = f.seeMachine(ctx); err != nil {
		return "", nil, err
	}
	// One calibration for all arms and scenarios, or they would differ by its error.
	f.Iters = workload.Calibrate()
	for _, q := range asked {
		p, err := experiment.PlanPacked(q.Scenario, f.Options)
		if err == nil && len(asked) == 1 {
			if err = p.Lacks; err == nil {
				err = p.Planned.CanAnswer()
			}
		}
		if err != nil {
			return "", nil, about(q.name, len(asked), err)
		}
		all = append(all, p)
	}
	return machine, all, nil
}

// carryOut runs one comparison or search, writes its reports and prints its result. The result is
// nil if there is an error. A run that was cut short is still judged and printed, and then fails.
func (f *compareFlags) carryOut(cmd *cobra.Command, c *experiment.Comparison, show *progress) (*record.Result, error) {
	if err := begin(cmd.Context()); err != nil {
		return nil, err
	}
	dir, run, err := c.Run(cmd.Context(), f.out, show.update)
	show.ended(dir, run)
	// An explanation needs two blocks. It runs before the reports are written, so that they hold
	// it.
	if f.why && err == nil && run.Result.Valid > 1 {
		// The same as `schedlab explain` without arguments would do now.
		e := explainFlags{compareFlags: *f, testBudget: testBudget}
		e.runCommands = true // they have just run
		run.Result.Explained, err = e.explain(cmd, dir, run, nil, show)
	}
	if f.profiles && err == nil {
		run.Result.Profiles, err = profileArms(cmd.Context(), c, dir, run.Plan, show)
	}
	// An error only sets the exit code and is printed below the result.
	if err = finish(dir, run, err); run.Result != nil && run.Trials > 0 {
		err = errors.Join(err, render(cmd, f.output, run.Result, !f.verbose))
	}
	return run.Result, err
}

// measure runs a comparison that serves another command, and writes its reports. It prints no
// answer. It returns the record with an error too, if there is one.
func (f *compareFlags) measure(ctx context.Context, c *experiment.Comparison, show *progress) (*record.Dir, record.Run, error) {
	if err := begin(ctx); err != nil {
		return nil, record.Run{}, err
	}
	dir, run, err := c.Run(ctx, f.out, show.update)
	show.ended(dir, run)
	return dir, run, finish(dir, run, err)
}

// finish writes the reports of a run, also of one that was cut short. It returns the run's error with
// the exit code and the place of the record. A record without a measurement is removed. A run that began
// and turned out to be impossible, as by a rate that an arm cannot serve, has no answer: exit code 4.
// Without a record (dir is nil) nothing was begun, and the error is returned as it is.
func finish(dir *record.Dir, run record.Run, err error) error {
	if run.Result != nil && run.Trials > 0 {
		err = errors.Join(err, writeReports(dir, run.Result))
	}
	if dir == nil || err == nil {
		return err
	}
	refused, impossible := errors.AsType[*experiment.Impossible](err)
	_, lost := errors.AsType[*cluster.LostError](err)
	kept := "what was measured is kept in " + dir.Path()
	// Probes alone are worth keeping: they tell why a plan was impossible.
	if run.Trials <= 0 && len(run.XMax) == 0 && dir.Discard() == nil {
		kept = "nothing was measured"
	}
	switch {
	// Ctrl-C is no failure, but the user should know that the record is kept.
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return &exitError{exitInterrupted, fmt.Errorf("%w; %s", err, kept)}
	case impossible && refused.Usage:
		return usage(err)
	case impossible:
		return &exitError{exitPartial, err}
	case lost:
		return &exitError{exitPartial, fmt.Errorf("%w; %s", err, kept)}
	}
	return fmt.Errorf("%w; %s", err, kept)
}

// reportPage is the page of a run in its record.
const reportPage = "report.html"

// writeReports writes the files for people and benchstat into the record: report.html, report.md
// and bench.txt, or capacity.svg for a search.
func writeReports(dir *record.Dir, r *record.Result) error {
	write := func(file string, page func(io.Writer, *record.Result) error) error {
		return dir.WriteFile(file, func(w io.Writer) error { return page(w, r) })
	}
	// A file that cannot be written does not keep the others from being written.
	pages := errors.Join(write(reportPage, report.HTML), write("report.md", report.Markdown))
	if r.Capacity != nil {
		return errors.Join(pages, write("capacity.svg", report.CapacitySVG))
	}
	return errors.Join(pages, write("bench.txt", report.Bench))
}

// A question is a scenario with the arms of the command line, by the name it has there. The name is
// "" if flags replace the scenario.
type question struct {
	scenario.Scenario
	name string
}

// questions reads the scenarios of the command line: names, files, directories, or "all". Two of
// one name are refused, because records and reports know a scenario by its name. Errors are wrong
// usage.
func (f *compareFlags) questions(args []string) (all []question, err error) {
	names, err := library.Expand(args)
	if err != nil {
		return nil, usage(err)
	}
	if f.adhoc.given() {
		names = []string{""} // the flags' own
	}
	for _, name := range names {
		s, err := f.question(name)
		if err != nil {
			return nil, err
		}
		// The same scenario twice is a slip; two of one name need other names.
		if i := slices.IndexFunc(all, func(q question) bool { return q.Name == s.Name }); i >= 0 {
			if filepath.Clean(all[i].name) == filepath.Clean(name) {
				return nil, usagef("scenario %q is named twice; drop one", name)
			}
			return nil, usagef("scenarios %q and %q are both called %s; give each a name of its own", all[i].name, name, s.Name)
		}
		if s, err = f.withArms(s); err != nil {
			return nil, about(name, len(names), err)
		}
		all = append(all, question{s, name})
	}
	return all, nil
}

// onGrid returns the cells of a grid in place of the scenario that --grid varies, or asked as it is
// without --grid. Errors are wrong usage.
func (f *compareFlags) onGrid(fl *pflag.FlagSet, asked []question) ([]question, error) {
	if len(f.grid) == 0 {
		return asked, nil
	}
	var factors []record.Factor
	for _, text := range f.grid {
		factor, err := scenario.ParseFactor(text)
		if err != nil {
			return nil, usagef("--grid: %w", err)
		}
		// Each cell would override the flag.
		if fl.Changed(factor.Name) {
			return nil, usagef("--%s has a value and --grid varies %s; drop one", factor.Name, factor.Name)
		}
		factors = append(factors, factor)
	}
	switch {
	case len(factors) > 2:
		return nil, usagef("a grid has one or two factors, and --grid names %d; drop some", len(factors))
	case len(factors) == 2 && factors[0].Name == factors[1].Name:
		return nil, usagef("--grid names %s twice; give all its values at once", factors[0].Name)
	case len(asked) > 1:
		return nil, usagef("--grid varies one scenario, and these are %d; name one", len(asked))
	}
	cells, err := asked[0].Grid(factors, f.Modes)
	if err != nil {
		return nil, usagef("--grid: %w", err)
	}
	asked = nil
	for _, cell := range cells {
		if err := f.assert(&cell); err != nil {
			return nil, err
		}
		asked = append(asked, question{cell, cell.Name + ", " + record.CellName(cell.Cell)})
	}
	return asked, nil
}

// about says which scenario an error is about, where there are several.
func about(name string, several int, err error) error {
	if several < 2 {
		return err
	}
	return fmt.Errorf("scenario %q: %w", name, err)
}

// pack runs scenarios one after the other, each with its own record, and prints the outcome of
// every expectation. After an interrupt the records are kept. A scenario that fails does not end
// the pack: its error comes at the end. With another format than text, each result is rendered
// whole and there is no table at the end.
func (f *compareFlags) pack(cmd *cobra.Command, all []experiment.Packed, show *progress) error {
	out := cmd.OutOrStdout()
	var entries []report.PackEntry
	var failed error
	began := time.Now()
	// Results are printed as they come: a pack may take hours.
	for _, s := range all {
		e, err := f.entry(cmd.Context(), s, time.Since(began), show)
		entries = append(entries, e)
		if f.output == "text" {
			if werr := report.PackScenario(out, e, report.TextOptions{}); werr != nil {
				return werr
			}
		} else if e.Result != nil {
			err = errors.Join(err, render(cmd, f.output, e.Result, false))
		}
		failed = errors.Join(failed, err)
		if cmd.Context().Err() != nil {
			break
		}
	}
	if f.output == "text" {
		if err := report.PackSummary(out, entries, textOptions(out)); err != nil {
			return err
		}
	}
	if len(f.grid) > 0 {
		page, err := f.writeGrid(entries)
		if failed = errors.Join(failed, err); err == nil && f.output == "text" {
			fmt.Fprintf(out, "\nPage    %s\n", page)
		}
	}
	if cmd.Context().Err() == nil {
		return packOutcome(entries, failed, f.strict)
	}
	// The user ended it: answers so far set no exit code.
	if failed == nil {
		failed = errInterrupted // between two scenarios
	}
	if i := slices.IndexFunc(entries, func(e report.PackEntry) bool { return e.Result != nil }); i >= 0 {
		failed = fmt.Errorf("%w; the same command with --resume %s goes on", failed, command.Quote(entries[i].Result.Run))
	}
	return &exitError{exitInterrupted, failed}
}

// writeGrid writes the page of a grid beside the records of its cells, and returns its path. A grid that goes on with --resume
// writes the same page again.
func (f *compareFlags) writeGrid(entries []report.PackEntry) (path string, err error) {
	path = filepath.Join(f.out, "grid-"+f.Pack+".html")
	var page bytes.Buffer
	if err = report.GridPage(&page, entries); err == nil {
		err = os.WriteFile(path, page.Bytes(), 0o644)
	}
	if err != nil {
		return "", fmt.Errorf("writing the grid's page: %w", err)
	}
	return path, nil
}

// late returns an error if a comparison does not fit into --total after the time gone. The error tells the
// time that is left.
func (f *compareFlags) late(c *experiment.Comparison, gone time.Duration) error {
	need := record.Duration(c.Planned().Estimate)
	if f.total <= 0 || gone+need <= f.total {
		return nil
	}
	return fmt.Errorf("it takes about %v, and of --total %v there are %v left", need.Round(time.Second), f.total, max(0, f.total-gone).Round(time.Second))
}

// entry runs one scenario of a pack that has lasted for the time gone, writes its files and returns its
// row of the report. An error makes the whole pack fail in the end. A scenario that turned out to be
// impossible is no error but a row without a result. The reports of a run that was cut short are written, too.
func (f *compareFlags) entry(ctx context.Context, s experiment.Packed, gone time.Duration, show *progress) (e report.PackEntry, err error) {
	e = report.PackEntry{Scenario: s.Scenario.Name, Cell: s.Scenario.Cell, Question: s.Scenario.Question, Expect: s.Scenario.Assertions()}
	if e.Result = f.keptOf(s.Scenario.Name, s.Scenario.Cell); e.Result != nil {
		return e, nil
	}
	// A machine too small, or no room in --total: told, and no error.
	notRun := s.Lacks
	if notRun == nil {
		notRun = f.late(s.Planned, gone)
	}
	if notRun != nil {
		e.NotRun = notRun.Error()
		return e, nil
	}
	c := s.Planned
	if f.total > 0 {
		c = c.Within(f.total - gone)
	}
	_, run, err := f.measure(ctx, c, show)
	if run.Trials > 0 {
		e.Result = run.Result
	}
	if err != nil && e.Result == nil {
		e.NotRun = err.Error()
	}
	// An impossible scenario is told as the reason, of this scenario alone.
	if _, impossible := errors.AsType[*experiment.Impossible](err); impossible {
		err = nil
	}
	return e, err
}

// packOutcome is the exit code a pack deserves. An interrupt counts most, then a failed expectation,
// then an error of a scenario, and last outcome's code.
func packOutcome(entries []report.PackEntry, failed error, strict bool) error {
	// The user ended it: answers so far set no exit code.
	if bad, ok := errors.AsType[*exitError](failed); ok && bad.code == exitInterrupted {
		return bad
	}
	code, broken := deserved(entries, strict)
	switch {
	// The message has the errors of other scenarios as well.
	case code == exitExpectation:
		return &exitError{code, errors.Join(fmt.Errorf("%s not kept", prose.Plural(broken, "expectation")), failed)}
	case failed != nil:
		return failed
	}
	return exit(code)
}

// deserved returns the exit code that results deserve, and how many expectations failed. The code is 3
// if one failed, and 0 if something that was asked could be judged ([record.Result.Judged]). Otherwise,
// and with strict if an expectation is open or refused, it is 4.
func deserved(entries []report.PackEntry, strict bool) (code, failed int) {
	answers, judged := map[outcome.Outcome]int{}, false
	for _, e := range entries {
		for answer, n := range e.Answers() {
			answers[answer] += n
		}
		judged = judged || e.Result != nil && e.Result.Judged()
	}
	switch {
	case answers[outcome.No] > 0:
		return exitExpectation, answers[outcome.No]
	case strict && answers[outcome.Open]+answers[outcome.Refused] > 0, !judged:
		return exitPartial, 0
	}
	return exitDone, 0
}

// writePlans prints the plans of a pack, their time, and the scenarios that do not fit into --total
// if each of the others takes as long as planned. It is --dry-run.
func (f *compareFlags) writePlans(w io.Writer, all []experiment.Packed) error {
	// total is the time of the scenarios that fit so far.
	total, late := time.Duration(0), []string{}
	for _, s := range all {
		// Of a scenario that is not run there is the reason in place of the plan. Planned times stand for
		// times that are not known yet.
		label, why := "refused", s.Lacks
		if why == nil {
			label, why = "not run", f.late(s.Planned, total)
		}
		if why != nil {
			fmt.Fprintf(w, "scenario    %s: %s\n%-11s %v\n\n", s.Scenario.Name, s.Scenario.Question, label, why)
			if s.Lacks == nil {
				late = append(late, cmp.Or(record.CellName(s.Scenario.Cell), s.Scenario.Name))
			}
			continue
		}
		if err := writePlan(w, s.Planned); err != nil {
			return err
		}
		total += record.Duration(s.Planned.Planned().Estimate)
	}
	if len(all) < 2 {
		return nil
	}
	what := "scenarios"
	if all[0].Scenario.Cell != nil {
		what = "cells"
	}
	fmt.Fprintf(w, "in all      %d %s, about %v; --budget is for each of them, --total for all", len(all), what, total.Round(time.Second))
	if len(late) > 0 {
		fmt.Fprintf(w, "; not within --total %v: %s", f.total, strings.Join(late, ", "))
	}
	_, err := fmt.Fprintln(w)
	return err
}

// writePlan prints a comparison or a search that has not begun: the question, its time, the metrics
// that it cannot decide, and the commands of its arms, which a person can run. Each line begins with
// a label of up to eleven letters.
func writePlan(w io.Writer, c *experiment.Comparison) error {
	p := c.Planned()
	span := func(s float64) time.Duration { return record.Duration(s).Round(time.Millisecond) }
	fmt.Fprintf(w, "scenario    %s: %s\n", p.Scenario, p.Question)
	if p.Cell != nil {
		fmt.Fprintf(w, "cell        %s\n", record.CellName(p.Cell))
	}
	if p.SLO != "" {
		fmt.Fprintf(w, "objective   %s\n", p.SLO)
		fmt.Fprintf(w, "search      up to %d windows of %v + %v for each arm, seed %d\n", p.Windows, span(p.Warmup), span(p.Window), p.Seed)
	} else {
		fmt.Fprintf(w, "blocks      up to %d of %d arms, %v + %v each, until all is decided\n",
			p.Blocks, len(p.Arms), span(p.Warmup), span(p.Window))
		fmt.Fprintf(w, "rate        %s, seed %d\n", c.Rate(), p.Seed)
		if p.Asked != "" {
			fmt.Fprintf(w, "asks        %s\n", p.Asked)
		}
	}
	// What the arms' clients do, each once: most arms have the same clients.
	var loads []string
	for _, a := range p.Arms {
		if text := report.Load(a.Clients); !slices.Contains(loads, text) {
			loads = append(loads, text)
			fmt.Fprintf(w, "load        %s\n", text)
		}
	}
	fmt.Fprintf(w, "CPUs        server %s, load %s\n", c.Env().ServerCPUs, c.Env().LoadCPUs)
	if p.SLO != "" { // every arm has the same budget, and the estimate is for all
		fmt.Fprintf(w, "time        about %.0f s, %v for each arm\n", p.Estimate, span(p.Budget))
	} else {
		writeBudget(w, c)
	}
	for _, d := range record.ByWeight(p.Doubts) {
		fmt.Fprintf(w, "doubt       %s\n", report.Doubt(d))
	}
	for _, a := range p.Arms {
		label := string(a.Role)
		if p.SLO != "" {
			label = "arm"
		}
		fmt.Fprintf(w, "%-11s %s: %s\n", label, a.Name, command.Join(a.Command))
	}
	_, err := fmt.Fprintln(w)
	return err
}

// writeBudget prints how long a comparison may take, and which metrics it can decide in that time.
func writeBudget(w io.Writer, c *experiment.Comparison) {
	p := c.Planned()
	budget, blocks := c.Budget()
	about := ""
	// The estimate is printed only where it is shorter than the budget.
	if p.Estimate < budget.Seconds() {
		about = fmt.Sprintf("about %.0f s, ", p.Estimate)
	}
	fmt.Fprintf(w, "time        %s%.0f s at most\n", about, budget.Seconds())
	fmt.Fprintf(w, "budget      %v, room for %d blocks\n", budget, blocks)
	if f := p.Feasible; f != nil {
		if f.Planned > 0 {
			fmt.Fprintf(w, "window      %v instead of %v, for the requests that the quantiles need\n",
				record.Duration(p.Window).Round(time.Millisecond), record.Duration(f.Planned).Round(time.Millisecond))
		}
		// A rate that depends on the probes: how long windows get is known when they have run.
		if f.NeedsRate > 0 {
			fmt.Fprintf(w, "awaits      the probes: below %.0f/s windows grow as far as the budget has room, and what is open then is told\n", f.NeedsRate)
		}
		for _, u := range experiment.Undecided(*f, false) {
			fmt.Fprintf(w, "open        %s\n", u.String())
		}
	}
	for _, text := range p.Expect {
		fmt.Fprintf(w, "expect      %s\n", text)
	}
}
