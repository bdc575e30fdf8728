package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// Formats are the formats of Write, the default first.
var Formats = []string{"text", "json", "markdown"}

// Write writes the report to w with one call of w.Write. format is one of Formats. Text fits on a
// screen unless verbose; the other formats are always complete.
func (r Report) Write(w io.Writer, format string, verbose bool) (err error) {
	switch format {
	case "text":
		_, err = io.WriteString(w, r.Document(verbose).Text(document.Options{}))
	case "markdown":
		_, err = io.WriteString(w, r.Document(true).Markdown())
	case "json":
		err = record.WriteJSON(w, r)
	default:
		return fmt.Errorf("unknown format %q: use one of %s", format, strings.Join(Formats, ", "))
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// Limits of a brief report.
const (
	// A terminal of the usual size has 24 lines.
	briefLines = 24 // lines of the report
	mostShown  = 3  // findings shown
)

// Document returns the report as a document: all findings if verbose, else only findings that need
// mending. Both have the table of differences that the machine can tell. The short form shows
// mostShown findings, the bad ones first, or fewer if it would not fit on a screen; one is always
// shown.
func (r Report) Document(verbose bool) document.Document {
	if verbose {
		return r.document(r.Sentence, r.Findings, nil)
	}
	wrong := slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return !f.wrong() })
	slices.SortStableFunc(wrong, func(a, b Finding) int { return stats.Count(b.State == Bad) - stats.Count(a.State == Bad) })
	for most := min(mostShown, len(wrong)); ; most-- {
		d := r.document(r.Summary(mostShown).String(), wrong[:most], r.below(len(wrong)-most))
		if most <= 1 || strings.Count(d.Text(document.Options{}), "\n") <= briefLines {
			return d
		}
	}
}

// below returns the end of a brief report. left is the number of bad findings and warnings that the
// report does not show.
func (r Report) below(left int) (facts document.Facts) {
	of := map[State]int{}
	for _, f := range r.Findings {
		of[f.State]++
	}
	if left > 0 {
		facts = append(facts, document.Fact{Label: "Also", Text: fmt.Sprintf("%d more with --verbose", left)})
	}
	text := fmt.Sprintf("%d of %d checks are fine", of[OK], len(r.Findings))
	if of[Unknown] > 0 {
		text += fmt.Sprintf("; of %d the machine does not tell", of[Unknown])
	}
	return append(append(facts, document.Fact{Label: "Sure", Text: text}), document.Below(nil)...)
}

// document builds both forms. answer is the first line, shown are the findings of the table. below
// is the end of a brief report; nil makes the long form, in which the table has a column for the
// harm that each finding does.
func (r Report) document(answer string, shown []Finding, below document.Facts) document.Document {
	d := document.Document{Answer: answer}
	if !r.Limits.None() {
		d.Context = []string{r.Limits.String()}
	}
	findings := document.Table{Rows: [][]string{{"check", "state", "found", "spoils", "fix"}}, Words: true, Below: 3}
	for _, f := range shown {
		state, spoils := string(f.State), ""
		if f.State == Bad {
			state = "BAD"
		}
		if f.Fix != "" && below == nil {
			spoils = f.Spoils
		}
		findings.Rows = append(findings.Rows, []string{f.Check, state, f.Found, spoils, f.Fix})
	}
	if len(findings.Rows) > 1 {
		d.Parts = append(d.Parts, findings)
	}
	if rows := r.table(); len(rows) > 0 {
		d.Parts = append(d.Parts, document.Section{
			Title: "Smallest difference that compare can tell here", About: r.Noise.origin(), Parts: []document.Part{document.Table{Rows: rows, Words: true}},
		})
	}
	d.Parts = append(d.Parts, below)
	return d
}

// origin returns a phrase that says what the table expects and by which measurement: scenario,
// blocks and rate.
func (n *Noise) origin() string {
	blocks := fmt.Sprint(n.Blocks)
	if n.Ran > n.Blocks {
		blocks += fmt.Sprintf(" of %d", n.Ran)
	}
	at := ""
	if n.Rate > 0 {
		at = fmt.Sprintf(" at %.0f requests/s", n.Rate)
	}
	return fmt.Sprintf("found in half of the runs; noise is half of the interval to expect, a rough figure (a run may have twice as much) from %s blocks of scenario %s's baseline against itself%s, and more for an arm near its limit",
		blocks, n.Scenario, at)
}

// table returns a header row and a row for each metric, with a column for each protocol. It relies
// on the order of the judgements: by metric, then by protocol.
func (r Report) table() (rows [][]string) {
	if r.Noise == nil || len(r.Noise.Judges) == 0 {
		return nil
	}
	all, protocols := r.Noise.Judges, 0
	head := []string{""}
	for _, j := range all {
		if j.Metric == all[0].Metric {
			protocols++
			head = append(head, fmt.Sprintf("%s: %d blocks of %.3g s in %s", j.Protocol, j.Blocks, j.Window, about(j.Takes)))
		}
	}
	rows = append(rows, head)
	for judges := range slices.Chunk(all, protocols) {
		row := []string{judges[0].Metric}
		for _, j := range judges {
			row = append(row, j.fact(noiseWidth).String())
		}
		rows = append(rows, row)
	}
	return rows
}

// about formats seconds like 50 s or 6 min.
func about(seconds float64) string {
	if seconds < 100 {
		return fmt.Sprintf("%.0f s", seconds)
	}
	return fmt.Sprintf("%.0f min", seconds/60)
}
