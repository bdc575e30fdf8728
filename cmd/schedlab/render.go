package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/record"
)

// render writes a result to stdout. format is a name of report.Formats. Text fits the terminal, and is
// the answer only if brief is set; other formats are for programs and pages, and are always whole.
func render(cmd *cobra.Command, format string, r record.Result, brief bool) error {
	w := cmd.OutOrStdout()
	_, err := os.Stat(filepath.Join(r.Head().Dir, session.ReportPage))
	r.Head().NoPage = err != nil
	switch {
	case format == "text" && brief:
		return report.Brief(w, r, textOptions(w))
	case format == "text":
		return report.Text(w, r, textOptions(w))
	}
	if err := report.Formats().Render(w, format, r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// textOptions fit a text to the terminal that w is, if it is one: its width, and colour unless
// NO_COLOR is set (no-color.org) or the terminal is dumb. A file gets neither. A width of 0 is report's default.
func textOptions(w io.Writer) (o report.TextOptions) {
	is, width, _ := terminalSize(w)
	o.Width = width
	if is && os.Getenv("NO_COLOR") == "" && !dumb() {
		o.Colour = report.Colours
	}
	return o
}

// dumb reports whether the terminal says that it knows no control sequences: only lines can be written to it.
func dumb() bool { return os.Getenv("TERM") == "dumb" }
