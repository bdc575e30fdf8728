package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/runs"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// newRuns makes the command about recorded runs: it lists them, and its subcommands show, compare and
// remove them.
func newRuns() *cobra.Command {
	var root, scenario, output string
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List recorded runs; show, compare and remove them",
		Long: `List the recorded runs, the newest first: when, which scenario, its answer, the size of
its record. A run that cannot be read is listed with the reason.`,
		Example: `  schedlab runs
  schedlab runs show                       # the newest, whole
  schedlab runs show 20261121-081500-quick-ab12 --output html > report.html
  schedlab runs diff latest 20261121-081500-quick-ab12
  schedlab runs trend p99 --scenario quick
  schedlab runs prune --dry-run`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return session.Usagef("%q is no command of runs%s; a run is shown by: schedlab runs show %s", args[0], prose.DidYouMean(args[0], shownCommands(cmd)), cmdline.Quote(args[0]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := pastRuns(root, scenario)
			if err != nil {
				return err
			}
			if output == "json" {
				return record.WriteJSON(cmd.OutOrStdout(), all)
			}
			return writeTable(cmd, runs.Table(all), fmt.Sprintf("%s, %s", prose.Plural(len(all), "run"), runs.TotalSize(all)))
		},
	}
	cmd.PersistentFlags().StringVar(&root, "out", record.DefaultRoot, "directory of run records")
	cmd.PersistentFlags().StringVar(&scenario, "scenario", "", "only runs of this scenario")
	complete(cmd, "scenario", session.Scenarios.Names()...)
	oneOf(cmd.Flags(), &output, "output", "text", "text or json", "text", "json")
	cmd.AddCommand(newRunsShow(&root, &scenario), newRunsDiff(&root), newRunsTrend(&root, &scenario), newRunsPrune(&root, &scenario))
	return cmd
}

// oldName gives cmd its old name. Help does not list it, and a line on stderr names the command that replaces it.
func oldName(cmd *cobra.Command, old, now string) *cobra.Command {
	cmd.Use, cmd.Hidden = old, true
	for _, c := range slices.Concat(cmd.Commands(), []*cobra.Command{cmd}) {
		run := c.RunE
		c.RunE = func(cmd *cobra.Command, args []string) error {
			fmt.Fprintf(cmd.ErrOrStderr(), "schedlab: 'schedlab %s' is 'schedlab %s' now\n", old, now)
			return run(cmd, args)
		}
	}
	return cmd
}

// newReport makes the old name of runs show.
func newReport() *cobra.Command {
	root, scenario := record.DefaultRoot, ""
	cmd := newRunsShow(&root, &scenario)
	cmd.Flags().StringVar(&root, "out", root, "directory of run records")
	return oldName(cmd, "report", "runs show")
}

// newRunsShow makes the command that renders records again. A run is judged again from its raw
// requests, so an old record gets the verdicts of this version.
// Several names are rendered one after the other; the first error ends it.
func newRunsShow(root, scenario *string) *cobra.Command {
	var output string
	var rewrite bool
	cmd := &cobra.Command{
		Use:   "show [RUN...]",
		Short: "Show the whole report of a run: text, JSON, Markdown, HTML, CSV, benchstat",
		Long: `Show the whole report of a run: every figure, verdict and doubt. RUN is a run's name below
--out, a path, or 'latest'; without it, the newest run is shown. The answer is computed again
from the requests that were recorded; no server is started.`,
		Example: `  schedlab runs show
  schedlab runs show latest --output json
  schedlab runs show 20261121-081500-quick-ab12 --output html > report.html
  schedlab runs show --rewrite    # writes the pages into the record`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				name, err := session.Newest(*root, *scenario)
				if err != nil {
					return err
				}
				args = []string{name}
			}
			for _, name := range args {
				result, err := session.Again(name, *root, rewrite)
				if err != nil {
					return err
				}
				if err := render(cmd, output, result, false); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.ValidArgsFunction = completeRuns
	oneOf(cmd.Flags(), &output, "output", "text", "text, json, markdown, csv, html, benchstat or hgrm", report.Formats().Names()...)
	cmd.Flags().BoolVar(&rewrite, "rewrite", false, "also write report.html, report.md and bench.txt into the record")
	bindConfig(cmd)
	return cmd
}

// pastRuns reads the runs below root, of one scenario unless that is "", the newest first.
func pastRuns(root, scenario string) ([]runs.Run, error) {
	all, err := runs.List(root, scenario)
	if err != nil {
		return nil, session.Usagef("--out %s: %w; 'schedlab compare' makes the first run", root, err)
	}
	return all, nil
}

// writeTable prints a table and a sentence below it.
func writeTable(cmd *cobra.Command, t document.Table, below ...string) error {
	d := document.Document{Parts: []document.Part{t, document.Lines(below)}}
	_, err := fmt.Fprint(cmd.OutOrStdout(), d.Text(document.Options{Width: textOptions(cmd.OutOrStdout()).Width}))
	return err
}

// newRunsTrend makes the command that shows a metric over the runs of a scenario.
func newRunsTrend(root, scenario *string) *cobra.Command {
	var arm string
	cmd := &cobra.Command{
		Use:   "trend METRIC",
		Short: "Show a metric over the runs of a scenario, with changes of the machine marked",
		Long: `Show the median of a metric in every run of a scenario, the oldest first, with a bar.
Runs at different times differ by more than the server: a line says where machine,
kernel or schedlab changed. Only a gate or a comparison decides whether a server changed.`,
		Example: `  schedlab runs trend p99 --scenario quick
  schedlab runs trend cpu_per_request --scenario path --arm new`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: stats.Names(stats.Metrics()),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, _ := stats.FigureOf(args[0])
			if names := stats.Names(stats.Metrics()); !f.Row().Compared {
				return session.Usagef("METRIC %q is %w", args[0], notAmong(names))
			}
			all, err := pastRuns(*root, *scenario)
			if err != nil {
				return err
			}
			t, err := runs.Trend(all, f.Row(), arm)
			if err != nil {
				return session.Usage(err)
			}
			return writeTable(cmd, t, "A change may be the machine's: 'schedlab gate' compares two builds at the same time.")
		},
	}
	cmd.Flags().StringVar(&arm, "arm", "", "the arm to show (default each run's first)")
	return cmd
}

// newRunsDiff makes the command that shows in what two runs differ.
func newRunsDiff(root *string) *cobra.Command {
	return &cobra.Command{
		Use:               "diff A B",
		Short:             "Show how two runs differ: machine, settings, figures",
		Example:           `  schedlab runs diff 20261121-081500-quick-ab12 latest`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			var two [2]record.Run
			for i, name := range args {
				_, run, err := record.Open(name, *root)
				if err != nil {
					return session.Usage(err)
				}
				if run.Result == nil {
					return session.Usagef("run %s has no result", name)
				}
				two[i] = run
			}
			return writeTable(cmd, runs.Diff(two[0], two[1]),
				"Two runs at different times cannot be compared exactly: the machine may differ, too. 'schedlab compare' and 'schedlab gate' decide, with both servers in one run.")
		},
	}
}

// keepRuns and keepAge are what prune keeps where no flag says it: the newest runs of each scenario, and
// all that are younger.
const (
	keepRuns = 20
	keepAge  = "30d"
)

// newRunsPrune makes the command that removes old runs.
func newRunsPrune(root, scenario *string) *cobra.Command {
	var keep int
	var older string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove old runs, and say how much space that frees",
		Long: fmt.Sprintf(`Remove old runs below --out, and say which and how much space that frees. Without flags
the newest %d runs of each scenario stay, and all that are younger than %s. With --keep or
--older, what you give decides alone. A run that is under way always stays, and so does
one that cannot be read.`, keepRuns, keepAge),
		Example: `  schedlab runs prune --dry-run
  schedlab runs prune
  schedlab runs prune --keep 5 --scenario quick`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("keep") && !cmd.Flags().Changed("older") {
				keep, older = keepRuns, keepAge
			}
			if err := checkValues(cmd.Flags(), "older", "out"); err != nil {
				return err
			}
			age, err := parseAge(older)
			if err != nil {
				return err
			}
			if keep < 0 {
				return session.Usagef("--keep %d is below 0", keep)
			}
			all, err := pastRuns(*root, *scenario)
			if err != nil {
				return err
			}
			old, did := runs.Prunable(all, keep, time.Now().Add(-age)), "would remove"
			if !dryRun {
				did = "removed"
				for _, p := range old {
					if err := os.RemoveAll(p.Dir); err != nil {
						return fmt.Errorf("removing a run: %w", err)
					}
				}
				if err := record.DropLatest(*root); err != nil {
					return fmt.Errorf("removing the link to the newest run: %w", err)
				}
			}
			return writeTable(cmd, runs.Table(old), fmt.Sprintf("%s %d of %d runs, %s of %s", did, len(old), len(all), runs.TotalSize(old), runs.TotalSize(all)))
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 0, fmt.Sprintf("how many of the newest runs of each scenario stay (default %d, or with --older none)", keepRuns))
	cmd.Flags().StringVar(&older, "older", "", "remove only runs older than this, like 30d or 12h (default "+keepAge+", or with --keep any age)")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be removed, and remove nothing")
	return cmd
}

// parseAge parses a duration, in days, too: 30d. "" is 0.
func parseAge(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseFloat(days, 64); err == nil && n >= 0 && n < 1e5 {
			return time.Duration(n * 24 * float64(time.Hour)), nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, session.Usagef("--older %q is no time like 30d or 12h", text)
	}
	return d, nil
}
