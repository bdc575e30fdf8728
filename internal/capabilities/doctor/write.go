package doctor

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// Formats returns the formats of a report, the default first. Text fits on a screen unless verbose is set, and has the width and
// colour of o; the other formats are always complete.
func Formats(verbose bool, o document.Options) say.FormatsOf[Report] {
	return say.FormatsOf[Report]{
		{Name: "text", Render: func(w io.Writer, r Report) error { return say.Text(w, r.page(verbose), o) }},
		{Name: "json", Render: func(w io.Writer, r Report) error { return record.WriteJSON(w, r) }},
		{Name: "markdown", Render: func(w io.Writer, r Report) error { return say.Markdown(w, r.page(true)) }},
	}
}

// Limits of a brief report.
const (
	// A terminal of the usual size has 24 lines.
	briefLines = 24 // lines of the report
	mostShown  = 3  // findings shown
)

// page returns the report as a document: all findings if verbose, else only findings that need
// mending. Both have the table of differences that the machine can tell. The short form shows
// mostShown findings, the bad ones first, or fewer if it would not fit on a screen; one is always
// shown.
func (r Report) page(verbose bool) document.Document {
	if verbose {
		return r.document(r.Sentence, r.Findings, nil)
	}
	wrong := slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return !f.wrong() })
	slices.SortStableFunc(wrong, func(a, b Finding) int {
		return stats.Count(b.Outcome == outcome.No) - stats.Count(a.Outcome == outcome.No)
	})
	for most := min(mostShown, len(wrong)); ; most-- {
		d := r.document(r.Summary(mostShown).String(), wrong[:most], r.below(len(wrong)-most))
		if most <= 1 || strings.Count(d.Text(document.Options{}), "\n") <= briefLines {
			return d
		}
	}
}

// below returns the end of a brief report. left is the number of findings to mend that the
// report does not show.
func (r Report) below(left int) (facts document.Facts) {
	if left > 0 {
		facts = append(facts, document.Fact{Label: "Also", Text: fmt.Sprintf("%d more with --verbose", left)})
	}
	wrong := 0
	for _, f := range r.Findings {
		wrong += stats.Count(f.wrong())
	}
	untold := r.count(outcome.Open)
	text := fmt.Sprintf("%d of %d checks are fine", len(r.Findings)-wrong-untold, len(r.Findings))
	if untold > 0 {
		text += fmt.Sprintf("; of %d the machine does not tell", untold)
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
	findings := document.Table{Rows: [][]string{{"check", "fit", "found", "spoils", "fix"}}, Words: true, Below: 3}
	for _, f := range shown {
		fit, spoils := string(f.Outcome), ""
		switch {
		case f.Outcome == outcome.No:
			fit = "NO"
		case f.Doubt:
			fit = "doubt"
		}
		if f.Fix != "" && below == nil {
			spoils = f.Spoils
		}
		findings.Rows = append(findings.Rows, []string{f.Check, fit, f.Found, spoils, f.Fix})
	}
	if len(findings.Rows) > 1 {
		d.Parts = append(d.Parts, findings)
	}
	if n := r.Noise; n != nil && len(n.Judges) > 0 {
		about := fmt.Sprintf("one run of two finds it. Noise is half the width of the interval to expect, from %d of %d blocks of scenario %s's baseline against itself", n.Blocks, n.Ran, n.Scenario)
		if n.Rate > 0 {
			about += fmt.Sprintf(" at %.0f requests/s", n.Rate)
		}
		about += "; a run may have twice as much, and an arm near its limit more"
		d.Parts = append(d.Parts, document.Section{
			Title: "How small a difference can compare find here?", About: about, Parts: []document.Part{document.Table{Rows: n.table(), Words: true}},
		})
	}
	d.Parts = append(d.Parts, below)
	return d
}

// table returns a header row and a row for each metric, with a column for each comparison. It relies
// on the order of the judgements: by metric, then by comparison.
func (n *Noise) table() [][]string {
	head := []string{""}
	var rows [][]string
	for _, j := range n.Judges {
		if j.Metric == n.Judges[0].Metric {
			head = append(head, fmt.Sprintf("%s: %d blocks of %.3g s in %.0f s", j.Comparison, j.Blocks, j.Window, j.Takes))
		}
		if last := len(rows) - 1; last < 0 || rows[last][0] != j.Metric.String() {
			rows = append(rows, []string{j.Metric.String()})
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], j.fact(noiseWidth).String())
	}
	return slices.Insert(rows, 0, head)
}
