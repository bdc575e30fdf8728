package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"schedlab/internal/experiment"
	"schedlab/internal/explain"
	"schedlab/internal/record"
	"schedlab/internal/report"
	"schedlab/internal/workload"
)

// explainFlags are what is said of an explanation.
type explainFlags struct {
	compareFlags
	noInterventions bool
}

func newExplain() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [RUN [ARM ARM]]",
		Short: "Say where the time between two arms of a run went, and why",
		Long: `Divide the difference of two arms by the stamps of client and server, part by
part, with intervals over the blocks; the parts add up to it. RUN is a path, a
run's name below --out, or 'latest' (the default). Without two ARMs they are the
baseline and the challenger that differs from it most.

A table of rules (docs/explain.md) suspects causes by what else is known: queue
waits, mutexes, context switches, the garbage collector, overflows, CPU time. Each
cause that has a setting is then tested in short extra blocks: the slower arm, the
same with the cause taken away, and the same with a setting changed that must not
matter. "Because" is said only of a cause that was confirmed so: the part fell, and
the control did not move. --no-interventions leaves the tests out.

Exit codes: 0 a cause was confirmed or measured directly, or the arms do not differ;
4 they differ, and no cause was confirmed; 130 interrupted.`,
		Example: `  schedlab explain
  schedlab explain latest nethttp pool
  schedlab explain 20261121-081500-quick-ab12 --no-interventions
  schedlab explain --output html > why.html`,
		Args: cobra.MaximumNArgs(3),
		RunE: f.run,
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.noInterventions, "no-interventions", false, "test no cause: read the record only")
	fl.DurationVar(&f.Budget, "budget", time.Minute, "longest the tests may take")
	fl.Uint64Var(&f.Seed, "seed", 0, "seed of the tests (default random)")
	fl.StringVar(&f.out, "out", record.DefaultRoot, "directory of run records")
	fl.StringVar(&f.progress, "progress", "auto", "progress on stderr: auto, plain, none")
	fl.StringVar(&f.output, "output", "text", "text, json, markdown or html")
	complete(cmd, "output", report.Names(report.ExplainFormats())...)
	complete(cmd, "progress", "auto", "plain", "none")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return recorded(f.out), cobra.ShellCompDirectiveDefault
		}
		_, run, err := record.Open(args[0], f.out)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, a := range run.Plan.Arms {
			names = append(names, a.Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

func (f *explainFlags) run(cmd *cobra.Command, args []string) error {
	if err := checkFormat(f.output, report.Names(report.ExplainFormats())); err != nil {
		return err
	}
	show, err := f.prepare(cmd)
	if err != nil {
		return err
	}
	name := "latest"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	dir, run, err := record.Open(name, f.out)
	if err != nil {
		return usage(err)
	}
	if run.Plan.SLO != "" {
		return usagef("run %s is a search for capacity, which compares no arms: explain a run of 'schedlab compare'", run.Name)
	}
	c, err := explain.Read(dir, run)
	if err != nil {
		return err
	}
	from, to, err := c.Pair(args)
	if err != nil {
		return usage(err)
	}
	x, err := c.Explain(from, to, f.Modes)
	if err != nil {
		return err
	}
	var stopped error
	if !f.noInterventions {
		x, stopped = f.test(cmd, c, x, show)
	}
	if err := f.write(cmd, dir, x); err != nil {
		return err
	}
	if stopped != nil {
		return stopped
	}
	if x.Outcome == record.Correlated || x.Outcome == record.NoCause {
		return &exitError{code: exitPartial}
	}
	return nil
}

// test runs the comparison that would confirm the causes. What stops it is told beside the
// explanation without it.
func (f *explainFlags) test(cmd *cobra.Command, c *explain.Case, x *record.Explanation, show *progress) (*record.Explanation, error) {
	t, ok, err := c.Test(x, f.Modes)
	if err != nil || !ok {
		return x, err
	}
	f.Rate.PerSecond, f.ServerCPUs, f.LoadCPUs = t.Rate, t.ServerCPUs, t.LoadCPUs
	f.Engine, f.Pin = t.Engine, t.Pin
	f.Asks = []string{"p50"}
	f.Note = "tests the causes of " + c.Result.Dir
	f.Iters = workload.Calibrate()
	planned, err := experiment.Plan(t.Scenario, f.Options)
	if err != nil {
		return x, fmt.Errorf("planning the tests: %w", err)
	}
	dir, run, err := planned.Run(cmd.Context(), f.out, show.update)
	show.done()
	if err != nil {
		return x, f.failure(err, dir, run)
	}
	if err := writeReports(dir, run.Result); err != nil {
		return x, err
	}
	tested, err := explain.Read(dir, run)
	if err != nil {
		return x, err
	}
	return c.Confirm(x, tested), nil
}

// write prints the explanation, and keeps its page in the record.
func (f *explainFlags) write(cmd *cobra.Command, dir *record.Dir, x *record.Explanation) error {
	if err := dir.WriteFile("why.html", func(w io.Writer) error { return report.ExplainHTML(w, x) }); err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	if f.output == "text" {
		return report.Explain(w, x, textOptions(w))
	}
	return report.RenderExplanation(w, f.output, x)
}
