package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// Formats are the names that Write knows.
var Formats = []string{"text", "json", "markdown"}

// Write renders r, in one Write, in a format of Formats.
func (r Report) Write(w io.Writer, format string) error {
	var b bytes.Buffer
	switch format {
	case "text":
		r.text(&b)
	case "markdown":
		r.markdown(&b)
	case "json":
		enc := json.NewEncoder(&b)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}
	default:
		return fmt.Errorf("unknown format %q: use one of %s", format, strings.Join(Formats, ", "))
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func (r Report) text(b *bytes.Buffer) {
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, f := range r.Findings {
		state := string(f.State)
		if f.State == Bad {
			state = "BAD"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\n", f.Check, state, f.Found)
		if f.Fix != "" {
			fmt.Fprintf(tw, "\t\tspoils: %s\n\t\tfix: %s\n", f.Spoils, f.Fix)
		}
	}
	_ = tw.Flush() // into memory
	if rows := r.table(); len(rows) > 0 {
		fmt.Fprintf(b, "\nWhat this machine can tell apart, %s:\n\n", r.Noise.origin())
		for _, row := range rows {
			fmt.Fprintln(tw, strings.Join(row, "\t"))
		}
		_ = tw.Flush()
	}
	fmt.Fprintf(b, "\n%s\n", r.Sentence)
}

func (r Report) markdown(b *bytes.Buffer) {
	row := func(cells ...string) {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
	row("check", "state", "found", "spoils", "fix")
	row("---", "---", "---", "---", "---")
	for _, f := range r.Findings {
		row(f.Check, string(f.State), f.Found, f.Spoils, f.Fix)
	}
	if rows := r.table(); len(rows) > 0 {
		fmt.Fprintf(b, "\nWhat this machine can tell apart, %s:\n\n", r.Noise.origin())
		for i, cells := range rows {
			row(cells...)
			if i == 0 {
				row(strings.Split(strings.Repeat("--- ", len(cells)-1)+"---", " ")...)
			}
		}
	}
	fmt.Fprintf(b, "\n**%s**\n", r.Sentence)
}

// origin says what the table rests on.
func (n *Noise) origin() string {
	blocks := fmt.Sprint(n.Blocks)
	if n.Ran > n.Blocks {
		blocks += fmt.Sprintf(" of %d", n.Ran)
	}
	text := fmt.Sprintf("by the baseline of scenario %s against itself in %s blocks", n.Scenario, blocks)
	if n.Rate > 0 {
		text += fmt.Sprintf(" at %.0f requests/s", n.Rate)
	}
	return text
}

// table is a row for each metric and a column for each protocol, with a head.
func (r Report) table() (rows [][]string) {
	if r.Noise == nil || len(r.Noise.Judges) == 0 {
		return nil
	}
	head := []string{""}
	at := map[string]int{}
	for _, j := range r.Noise.Judges {
		if at[j.Protocol] == 0 {
			at[j.Protocol] = len(head)
			head = append(head, fmt.Sprintf("%s: %d blocks of %.3g s in %s", j.Protocol, j.Blocks, j.Window, about(j.Takes)))
		}
	}
	rows = append(rows, head)
	for _, j := range r.Noise.Judges {
		last := rows[len(rows)-1]
		if last[0] != j.Metric {
			last = make([]string, len(head))
			last[0] = j.Metric
			rows = append(rows, last)
		}
		last[at[j.Protocol]] = j.String()
		if j.Scaled && j.HalfWidth != nil {
			last[at[j.Protocol]] += " (estimated)"
		}
	}
	return rows
}

// about is 50 s, or 6 min.
func about(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < 100*time.Second {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}
