package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/report"
)

// newReport makes the command that renders records again. A run is judged again from its raw
// requests, so an old record gets the verdicts of this version; a map is shown as it was recorded.
// Several names are rendered one after the other; the first error ends it. The rest of the file is
// how all commands print a result.
func newReport() *cobra.Command {
	var root, output string
	var rewrite bool
	cmd := &cobra.Command{
		Use:   "report [RUN...]",
		Short: "Render a run's record again: text, JSON, Markdown, HTML, CSV, benchstat",
		Long: `Compute a run's result again from its raw requests and render it. RUN is a
path, a run's name below --out, or 'latest' (the default). Nothing is re-run. A
map is rendered as it was recorded, also as svg; its cells are runs of their own.`,
		Example: `  schedlab report
  schedlab report latest --output json
  schedlab report 20261121-081500-quick-ab12 --output html > report.html
  schedlab report --rewrite    # report.html, report.md and bench.txt in the record`,
		RunE: func(cmd *cobra.Command, args []string) error {
			// The link latest names the newest record.
			if len(args) == 0 {
				args = []string{"latest"}
			}
			for _, name := range args {
				if err := renderAgain(cmd, name, root, output, rewrite); err != nil {
					return err
				}
			}
			return nil
		},
	}
	// The shell offers records, and files because RUN may be a path.
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return recorded(root), cobra.ShellCompDirectiveDefault
	}
	cmd.Flags().StringVar(&root, "out", record.DefaultRoot, "directory of run records")
	// The formats of runs and of maps; renderAgain knows which is which.
	oneOf(cmd.Flags(), &output, "output", "text", "text, json, markdown, csv, html, benchstat or hgrm", append(report.Formats().Names(), "svg")...)
	cmd.Flags().BoolVar(&rewrite, "rewrite", false, "also write report.html, report.md and bench.txt into the record")
	return cmd
}

// renderAgain renders the run or the map of that name again. A run is judged again; the result in
// the record is not read. rewrite also writes the reports into the record. A record that cannot be
// read is wrong usage. So is a format of runs for a map, or of maps for a run: --output offers both.
func renderAgain(cmd *cobra.Command, name, root, output string, rewrite bool) error {
	dir, m, err := record.OpenMap(name, root)
	formats, isMap := report.MapFormats().Names(), err == nil
	// The name may be a run's.
	var run record.Run
	if errors.Is(err, fs.ErrNotExist) {
		formats = report.Formats().Names()
		dir, run, err = record.Open(name, root)
	}
	switch {
	case !slices.Contains(formats, output):
		return usagef("--output %q is %w", output, notAmong(formats))
	case err != nil:
		return usage(err)
	case isMap:
		return showMap(cmd, dir, output, &m, rewrite)
	}
	result, err := judge.FromRecord(dir, run)
	if err == nil && rewrite {
		err = writeReports(dir, result)
	}
	if err != nil {
		return err
	}
	return render(cmd, output, result, false)
}

// render writes a result to stdout. format is a name of report.Formats. Text fits the terminal, and is
// the answer only if brief is set; other formats are for programs and pages, and are always whole.
func render(cmd *cobra.Command, format string, r *record.Result, brief bool) error {
	w := cmd.OutOrStdout()
	_, err := os.Stat(filepath.Join(r.Dir, reportPage))
	r.NoPage = err != nil
	switch {
	case format == "text" && brief:
		return report.Brief(w, r, textOptions(w))
	case format == "text":
		return report.Text(w, r, textOptions(w))
	}
	if err := report.Render(w, format, r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// textOptions fit a text to the terminal that w is, if it is one: its width, and colour unless
// NO_COLOR is set (no-color.org). A file gets neither. A width of 0 is report's default.
func textOptions(w io.Writer) (o report.TextOptions) {
	is, width, _ := terminalSize(w)
	o.Width = width
	if is && os.Getenv("NO_COLOR") == "" {
		o.Colour = report.Colours
	}
	return o
}
