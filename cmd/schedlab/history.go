package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"schedlab/internal/history"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

func newHistory() *cobra.Command {
	var root, scenario, output string
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List the runs that were recorded; compare, draw and remove them",
		Long: `List the runs below --out, the newest first: when, which scenario, its answer, the
size of its record. A run that cannot be read is listed with the reason.`,
		Example: `  schedlab history
  schedlab history --scenario quick --output json
  schedlab history trend p99 --scenario quick
  schedlab history diff latest 20261121-081500-quick-ab12
  schedlab history prune --keep 20 --older 30d`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := pastRuns(root, scenario)
			if err != nil {
				return err
			}
			if output == "json" {
				return record.WriteJSON(cmd.OutOrStdout(), all)
			}
			return writeTable(cmd, history.Table(all), fmt.Sprintf("%s, %s", prose.Plural(len(all), "run"), history.TotalSize(all)))
		},
	}
	cmd.PersistentFlags().StringVar(&root, "out", record.DefaultRoot, "directory of run records")
	cmd.PersistentFlags().StringVar(&scenario, "scenario", "", "only runs of this scenario")
	oneOf(cmd.Flags(), &output, "output", "text", "text or json", "text", "json")
	cmd.AddCommand(newHistoryTrend(&root, &scenario), newHistoryDiff(&root), newHistoryPrune(&root, &scenario))
	return cmd
}

// pastRuns reads the runs below root, of one scenario unless that is "", the newest first.
func pastRuns(root, scenario string) ([]history.Run, error) {
	all, err := history.List(root, scenario)
	if err != nil {
		return nil, usagef("--out %s: %w; 'schedlab compare' makes the first run", root, err)
	}
	return all, nil
}

// writeTable prints a table and a sentence below it.
func writeTable(cmd *cobra.Command, t document.Table, below ...string) error {
	d := document.Document{Parts: []document.Part{t, document.Lines(below)}}
	_, err := fmt.Fprint(cmd.OutOrStdout(), d.Text(document.Options{Width: textOptions(cmd.OutOrStdout()).Width}))
	return err
}

// newHistoryTrend makes the command that shows a metric over the runs of a scenario.
func newHistoryTrend(root, scenario *string) *cobra.Command {
	var arm string
	cmd := &cobra.Command{
		Use:   "trend METRIC",
		Short: "Show a metric over the runs of a scenario, with changes of the machine marked",
		Long: `Show the median of a metric in every run of a scenario, the oldest first, with a bar.
Runs at different times differ by more than the server: a line says where machine,
kernel or schedlab changed. Only a gate or a comparison decides whether a server changed.`,
		Example: `  schedlab history trend p99 --scenario quick
  schedlab history trend cpu_per_request --scenario path --arm new`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: stats.Names(stats.Metrics()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if names := stats.Names(stats.Metrics()); !slices.Contains(names, args[0]) {
				return usagef("METRIC %q is %w", args[0], notAmong(names))
			}
			all, err := pastRuns(*root, *scenario)
			if err != nil {
				return err
			}
			t, err := history.Trend(all, stats.MetricOf(args[0]), arm)
			if err != nil {
				return usage(err)
			}
			return writeTable(cmd, t, "A change may be the machine's: 'schedlab gate' compares two builds at the same time.")
		},
	}
	cmd.Flags().StringVar(&arm, "arm", "", "the arm to show (default each run's first)")
	return cmd
}

// newHistoryDiff makes the command that shows in what two runs differ.
func newHistoryDiff(root *string) *cobra.Command {
	return &cobra.Command{
		Use:     "diff A B",
		Short:   "Show in what two runs differ: machine, settings, figures",
		Example: `  schedlab history diff 20261121-081500-quick-ab12 latest`,
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var runs [2]record.Run
			for i, name := range args {
				_, run, err := record.Open(name, *root)
				if err != nil {
					return usage(err)
				}
				if run.Result == nil {
					return usagef("run %s has no result", name)
				}
				runs[i] = run
			}
			return writeTable(cmd, history.Diff(runs[0], runs[1]),
				"Two runs at different times cannot be compared exactly: the machine may differ, too. 'schedlab compare' and 'schedlab gate' decide, with both servers in one run.")
		},
	}
}

// newHistoryPrune makes the command that removes old runs.
func newHistoryPrune(root, scenario *string) *cobra.Command {
	var keep int
	var older string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove old runs, and say how much space that frees",
		Long: `Remove runs below --out. The newest --keep runs of each scenario stay, and all that are
younger than --older. A run that is under way stays, too.`,
		Example: `  schedlab history prune --keep 20 --older 30d
  schedlab history prune --keep 5 --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			age, err := parseAge(older)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("keep") && older == "" {
				return usagef("give --keep N, --older 30d, or both: how many runs of each scenario stay, and how old the others must be")
			}
			if keep < 0 {
				return usagef("--keep %d is below 0", keep)
			}
			all, err := pastRuns(*root, *scenario)
			if err != nil {
				return err
			}
			old, did := history.Prunable(all, keep, time.Now().Add(-age)), "would remove"
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
			return writeTable(cmd, history.Table(old), fmt.Sprintf("%s %d of %d runs, %s of %s", did, len(old), len(all), history.TotalSize(old), history.TotalSize(all)))
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 0, "newest runs of each scenario that stay")
	cmd.Flags().StringVar(&older, "older", "", "remove only runs older than this, like 30d or 12h")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be removed")
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
		return 0, usagef("--older %q is no time like 30d or 12h", text)
	}
	return d, nil
}
