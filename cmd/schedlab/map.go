package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"schedlab/internal/command"
	"schedlab/internal/experiment"
	"schedlab/internal/mapping"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
	"schedlab/internal/workload"
)

// winnerMetric stands for the winner over the primary metrics.
const winnerMetric = "winner"

// mapFlags are what the command line asks of a map. x and y are factors with values, metric is what
// decides a cell, and resume names the map to go on with.
//
// A map is planned new (begin) or from its record (reopen); then package mapping measures it, and
// the rest of the file prints plans and results. `schedlab runs show` prints maps with showMap.
// Blocks and Budget of the embedded Options are of one cell and of the whole map. With resume, x, y
// and metric come from the record, and giving them is a mistake.
type mapFlags struct {
	compareFlags
	x, y   string
	metric string
	resume string
}

// newMap declares the flags of map. Unlike compare it has no --vary and no --expect: the grid
// varies the load, and each cell asks the map's question.
func newMap() *cobra.Command {
	var f mapFlags
	cmd := &cobra.Command{
		Use:   "map [SCENARIO]",
		Short: "Draw which arm wins over two factors, measuring where the winner changes",
		Long: `Compare the arms of a scenario in cells of a grid of two factors, and draw who
wins where. Each cell is a comparison of its own, with an A/A control and a
record. A coarse lattice is measured first, then whatever lies between cells with
different verdicts; a cell between two that agree is inferred, and marked so.
Undecided cells at a border are measured again with twice the blocks, refused ones
with as many. When --budget ends first, what is known by then is the map.

A factor is any server flag (given to the arms whose mode takes it), any setting
of the load, keepalive, or a part of the workload: cpu, sleep, and sleep-share,
the share of requests that sleep at all. Its values stand in the order given.
Without a scenario (--path, --targets) only the first two are factors.

The --metric 'winner' is the rule of compare over the primary metrics. Where one arm
is overloaded it has no times to compare, and goodput decides.

Where Little's law tells which arm has too few workers, its border is drawn beside
the measured one. --resume goes on with a map that was cut short.

Exit codes: 0 a cell was decided, 4 none was, 130 interrupted.`,
		Example: `  schedlab map crossover --metric goodput --x sleep-share=0.01,0.08,0.18,0.36,0.72 --y workers=1,2,4,8,16 --budget 13m
  schedlab map capacity --metric p50 --arms nethttp,fasthttp --x cpu=20us,100us,500us --y rate=500/s,1000/s,1500/s
  schedlab map pool-cpu --arms nethttp --arm pool-request,workers=4 --x cpu=50us,200us --y connections=4,16,64 --dry-run
  schedlab map --path / --arm old='./old {addr}' --arm new='./new {addr}' --x rate=500/s,1000/s,2000/s --y connections=4,16,64
  schedlab map --resume latest --budget 5m`,
		ValidArgsFunction: completeScenarios,
		Args:              cobra.MaximumNArgs(1),
		RunE:              f.run,
	}
	f.bindRun(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.x, "x", "", "the factor of the columns and its values, FACTOR=V1,V2,...")
	fl.StringVar(&f.y, "y", "", "the factor of the rows and its values")
	fl.StringSliceVar(&f.arms, "arms", nil, "arms of the scenario, or modes, to compare instead of all its arms; the baseline first")
	f.adhoc.bind(fl, false)
	metrics := append([]string{winnerMetric}, stats.Names(stats.Metrics())...)
	oneOf(fl, &f.metric, "metric", winnerMetric, "what decides: "+strings.Join(metrics, ", "), metrics...)
	fl.DurationVar(&f.Budget, "budget", 10*time.Minute, "longest the whole map may take; no cell is begun that does not fit")
	// Twelve blocks are few: a cell at a border that stays undecided is measured again, for 24 blocks.
	fl.IntVar(&f.Blocks, "blocks", 12, "most blocks of a cell, 10 to 40; it ends as soon as it is decided")
	fl.DurationVar(&f.Window, "window", 0, "measured time of one trial (default the scenario's, and longer where a cell's rate needs it)")
	fl.Var(&f.Rate, "rate", "requests per second (3000/s), or a share of the slowest arm's throughput (0.7x)")
	oneOf(fl, &f.Stamps, "stamps", "", "how our servers stamp each request: off, basic, or full (default full on Linux, else basic)", stampKinds...)
	fl.StringVar(&f.resume, "resume", "", "go on with this map, as it was planned: a path, a name below --out, or latest")
	fl.BoolVar(&f.runCommands, "run-commands", false, runCommandsHelp)
	formats := report.MapFormats().Names()
	oneOf(fl, &f.output, "output", "text", strings.Join(formats, ", "), formats...)
	complete(cmd, "arms", modeNames()...)
	bindConfig(cmd)
	return cmd
}

// run begins a map or goes on with one, and prints it. A map that was cut short is printed all the
// same, with the cells known by then. Its record is made only after the plan is accepted. The exit
// code is 0 if a cell was decided, 4 if none was.
func (f *mapFlags) run(cmd *cobra.Command, args []string) error {
	show, err := f.ready(cmd, args)
	if err != nil {
		return err
	}
	var r *mapping.Run
	var dir *record.Dir // of a map that goes on
	if f.resume != "" {
		dir, r, err = f.reopen(cmd, args)
	} else {
		r, err = f.begin(cmd, args)
	}
	if err != nil {
		return usage(err) // a cell that cannot be planned needs other flags
	}
	if f.dryRun {
		f.writePlan(cmd.OutOrStdout(), r)
		return nil
	}
	// A warning only: a map with open cells may still answer its question.
	if why := f.outOfReach(r); why != "" {
		show.say(why)
	}
	if _, err := f.beforeStart(cmd.Context(), f.Options, show); err != nil {
		return err
	}
	// One calibration for all cells of a session.
	iters := workload.Calibrate()
	if err := begin(cmd.Context()); err != nil {
		return err
	}
	// A new map; one that goes on has its directory.
	if dir == nil {
		if dir, err = record.CreateMap(f.out, r.Map.Plan.Scenario, time.Now().UTC(), rand.Uint32); err != nil {
			return err
		}
		// Signed at once and not at the end: a map that is killed can be resumed.
		if err := dir.Sign(signedMap(r.Map.Plan)); err != nil {
			return err
		}
	}
	// Explore writes the map's record after every cell, and each cell's reports are written when it
	// is judged.
	runErr := r.Explore(cmd.Context(), dir, iters, mapping.Calls{Progress: show.update, Judged: writeReports})
	show.kept(dir, "")
	show.done()
	// An error before the first comparison leaves nothing to print.
	if r.Sampled() == 0 && runErr != nil && !errors.Is(runErr, errInterrupted) {
		return &exitError{exitFailed, runErr}
	}
	if err := showMap(cmd, dir, f.output, &r.Map, true); err != nil {
		return errors.Join(runErr, err)
	}
	switch {
	// An interrupt comes first: any other error may be its consequence. The message has the command
	// that goes on.
	case errors.Is(runErr, errInterrupted), cmd.Context().Err() != nil:
		return &exitError{exitInterrupted, fmt.Errorf("interrupted; what was measured is kept in %s; schedlab map --resume %s goes on", dir.Path(), command.Quote(dir.Path()))}
	case runErr != nil:
		return &exitError{exitFailed, fmt.Errorf("%w; what was measured is kept in %s", runErr, dir.Path())}
	// Not one decided cell is no answer.
	case !slices.ContainsFunc(r.Map.Cells, func(c record.Cell) bool { return c.Decided() }):
		return exit(exitPartial)
	}
	return nil
}

// begin plans a new map. The plan holds everything that reopen needs, so that a resumed map is the
// same one.
func (f *mapFlags) begin(cmd *cobra.Command, args []string) (*mapping.Run, error) {
	// Factors first: the scenario need not be read for these mistakes.
	if f.x == "" || f.y == "" {
		return nil, usagef("a map has two factors; give both --x and --y, like --x sleep-share=0.1,0.2,0.4 --y workers=2,4,8")
	}
	var axes [2]record.Factor
	for i, axis := range [][2]string{{"x", f.x}, {"y", f.y}} {
		var err error
		if axes[i], err = scenario.ParseFactor(axis[1]); err != nil {
			return nil, usagef("--%s: %w", axis[0], err)
		}
		// Each cell would override the flag.
		if factor := axes[i].Name; cmd.Flags().Changed(factor) {
			return nil, usagef("--%s has a value and %s is a factor; drop one", factor, factor)
		}
	}
	x, y := axes[0], axes[1]
	if x.Name == y.Name {
		return nil, usagef("--x and --y are both %s; a map has two factors", x.Name)
	}
	s, err := f.scenario(cmd.Context(), append(args, defaultScenario)[0])
	if err != nil {
		return nil, err
	}
	metric := f.metric
	if metric == winnerMetric {
		metric = "" // as records write it
	}
	servers, load, _ := strings.Cut(f.CPUs, "/")
	pin := "auto"
	if f.CPUs == experiment.FreeCPUs {
		servers, pin = "", f.CPUs
	}
	// Rate and arms are kept as the flags' text, so that reopen can parse them again.
	return mapping.Plan(s, f.Options, record.Map{
		Started: time.Now().UTC(),
		Plan: record.MapPlan{
			Scenario: s.Name, Source: s.Source, Path: f.adhoc.path, Targets: f.adhoc.targets,
			Arms: f.arms, Added: f.addArms, X: x, Y: y, Metric: metric,
			Seed: f.Seed, Blocks: f.Blocks, Window: f.Window.Seconds(), Warmup: f.Warmup.Seconds(), Rate: f.Rate.String(),
			ServerCPUs: servers, LoadCPUs: load, Pin: pin, Stamps: f.Stamps, Note: f.Note,
		},
	})
}

// reopen goes on with a map as it was planned. Of the plan, only the budget may be given again. It
// refuses a record that would run foreign programs (mayRun). It returns the map's directory, in
// which measuring goes on.
func (f *mapFlags) reopen(cmd *cobra.Command, args []string) (*record.Dir, *mapping.Run, error) {
	// A map of two plans would be no map.
	changed := given(cmd.Flags(), "x", "y", "path", "targets", "arms", "arm", "metric", "blocks", "window", "warmup", "rate",
		"seed", "cpus", "stamps", "note")
	if len(changed)+len(args) > 0 {
		return nil, nil, usagef("--resume goes on with a map as it was planned; drop the scenario and all but --budget, --out, --output and --progress")
	}
	dir, m, err := record.OpenMap(f.resume, f.out)
	if err != nil {
		return nil, nil, err
	}
	// The scenario comes from the record and not from its file, which may have changed. From here on
	// the flags get the plan's values, as if they had been given, all but the budget.
	p := m.Plan
	f.adhoc = adhocFlags{path: p.Path, targets: p.Targets}
	f.arms, f.addArms = p.Arms, p.Added
	f.Seed, f.Blocks, f.Note = p.Seed, p.Blocks, p.Note
	f.Window, f.Warmup = record.Duration(p.Window), record.Duration(p.Warmup)
	f.Stamps = p.Stamps
	switch {
	case p.Pin == experiment.FreeCPUs:
		f.CPUs = p.Pin
	case p.ServerCPUs+p.LoadCPUs != "":
		f.CPUs = p.ServerCPUs + "/" + p.LoadCPUs
	}
	if p.Rate != "" {
		if err := f.Rate.Set(p.Rate); err != nil {
			return nil, nil, err
		}
	}
	var s scenario.Scenario
	if f.adhoc.given() {
		s, err = f.adhoc.scenario(false)
	} else {
		s, err = scenario.Recorded(m.Name, []byte(p.Source))
	}
	if err == nil {
		s, err = f.withArms(s)
	}
	if err != nil {
		return nil, nil, err
	}
	// A record is a file that anybody may have edited, so its factors are checked like --x and --y.
	for _, axis := range []record.Factor{p.X, p.Y} {
		if _, err := scenario.ParseFactor(axis.Name + "=" + strings.Join(axis.Values, ",")); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", dir.Path(), err)
		}
	}
	// Before anything is planned or run.
	if err := f.mayRun(cmd.Context(), dir, signedMap(p), s); err != nil {
		return nil, nil, err
	}
	r, err := mapping.Plan(s, f.Options, m)
	return dir, r, err
}

// outOfReach describes what the map cannot decide within its budget: quantiles of some cells, or
// more cells than it can measure once. It is "" if the budget suffices. The map runs all the same.
func (f *mapFlags) outOfReach(r *mapping.Run) string {
	o := r.Outlook()
	if len(o.Cannot) > 0 {
		return fmt.Sprintf("%d of %s cannot be decided; the first: %s", len(o.Cannot), prose.Plural(len(r.Map.Cells), "cell"), experiment.Undecided(o.Cannot[0], false)[0].String())
	}
	if o.Once > f.Budget {
		// Rounded up to minutes, as people give budgets.
		need := (o.Once + time.Minute - 1).Truncate(time.Minute)
		return fmt.Sprintf("all %d cells once take %v, and the budget is %v: some may stay unmeasured; --budget %v would do", len(r.Map.Cells), o.Once.Round(time.Second), f.Budget, need)
	}
	return ""
}

// writePlan prints what a map would measure and how long it could take, for --dry-run. Errors of w
// are ignored.
func (f *mapFlags) writePlan(w io.Writer, r *mapping.Run) {
	m, o := &r.Map, r.Outlook()
	p := m.Plan
	fmt.Fprintf(w, "scenario    %s: %s\n", p.Scenario, m.Question)
	fmt.Fprintf(w, "arms        %s\n", strings.Join(m.Arms, ", "))
	fmt.Fprintf(w, "columns     %s: %s\n", p.X.Name, strings.Join(p.X.Values, ", "))
	fmt.Fprintf(w, "rows        %s: %s\n", p.Y.Name, strings.Join(p.Y.Values, ", "))
	fmt.Fprintf(w, "rate        %s, seed %d\n", m.Rate, p.Seed)
	// Cells may have windows of several lengths, because their rates differ.
	window := o.Windows[0].Round(time.Millisecond).String()
	if o.Windows[0] < o.Windows[1] {
		window += fmt.Sprintf(" to %v, by its rate,", o.Windows[1].Round(time.Millisecond))
	}
	fmt.Fprintf(w, "cell        %d blocks of %d arms, %v + %s each: about %v, and up to %v where an arm is overloaded\n", p.Blocks, len(m.Arms)+1,
		record.Duration(p.Warmup).Round(time.Millisecond), window, o.Cell.Round(time.Second), o.Overloaded.Round(time.Second))
	if why := f.outOfReach(r); why != "" {
		fmt.Fprintf(w, "open        %s\n", why)
	}
	fmt.Fprintf(w, "cells       %d; measured are those of a coarse lattice and what lies between different verdicts\n", len(m.Cells))
	fmt.Fprintf(w, "worst case  %v for every cell once, %v with every one again; --budget %v ends it\n",
		// A repeated cell takes up to twice the blocks, so both together take three times as long.
		o.Expected.Round(time.Second), (3 * o.Expected).Round(time.Second), f.Budget)
	// The law's border is known before anything is measured.
	if b := m.Theory; b != nil {
		var at []string
		for _, l := range b.Lines {
			at = append(at, fmt.Sprintf("%s: %d", l.Value, l.Law))
		}
		fmt.Fprintf(w, "law         %s; cells along %s before the border: %s\n", b.Law, b.Along, strings.Join(at, ", "))
	}
	for _, d := range m.Doubts {
		fmt.Fprintf(w, "doubt       %s\n", report.Doubt(d))
	}
}

// showMap prints a map in one of the formats of maps. write also writes its pages and its picture
// into its record: map.html, map.md and map.svg. One that fails does not keep the others from being
// written. Records leave the headline out, so it is made here.
func showMap(cmd *cobra.Command, dir *record.Dir, format string, m *record.Map, write bool) (err error) {
	m.Headline = report.MapHeadline(m)
	if write {
		for _, page := range [][2]string{{"map.html", "html"}, {"map.md", "markdown"}, {"map.svg", "svg"}} {
			err = errors.Join(err, dir.WriteFile(page[0], func(w io.Writer) error { return report.MapFormats().Render(w, page[1], m) }))
		}
	}
	if werr := report.MapFormats().Render(cmd.OutOrStdout(), format, m); werr != nil {
		err = errors.Join(err, fmt.Errorf("writing the map: %w", werr))
	}
	return err
}
