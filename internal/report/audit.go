package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// judgements are the classes of findings in the order of the report, with their headings.
var judgements = []struct {
	kind  record.Judgement
	title string
	short string
}{
	{record.Impossible, "Impossible", "impossible"},
	{record.Suspicious, "Suspicious", "suspicious"},
	{record.CannotTell, "Cannot be told", "cannot be told"},
}

// Audit writes an audit for a terminal: each kind of finding once or, if verbose, every finding.
func Audit(w io.Writer, a *record.Audit, verbose bool, o TextOptions) error {
	return o.write(w, auditDocument(a, verbose))
}

// AuditMarkdown writes every finding as Markdown, for an issue or a page.
func AuditMarkdown(w io.Writer, a *record.Audit) error {
	return writeMarkdown(w, auditDocument(a, true))
}

// AuditJSON writes the whole audit as JSON. Each finding gets its message.
func AuditJSON(w io.Writer, a *record.Audit) error {
	full := *a
	full.Findings = slices.Clone(a.Findings)
	if full.Findings == nil {
		full.Findings = []record.AuditFinding{}
	}
	for i := range full.Findings {
		full.Findings[i].Message = full.Findings[i].Fact().String()
	}
	return record.WriteJSON(w, full)
}

// auditDocument returns an audit as a document: each code of finding once or, if verbose, every
// finding.
func auditDocument(a *record.Audit, verbose bool) document.Document {
	d := document.Document{Name: a.File, Answer: auditAnswer(a)}
	for _, j := range judgements {
		var items document.Facts
		said := map[record.Code]bool{}
		for _, f := range a.Findings {
			if f.Kind != j.kind || said[f.Code] && !verbose {
				continue
			}
			said[f.Code] = true
			text := where(a, f) + f.Fact().String()
			if !verbose {
				text += likewise(a, f)
			}
			items = append(items, document.Fact{Label: f.Law, Text: text})
		}
		d.Parts = append(d.Parts, document.Section{Title: j.title, Parts: []document.Part{items}})
	}
	if verbose {
		read := each(a.Runs, func(run record.AuditRun) string {
			return fmt.Sprintf("%s: %s, %s loop, %s", lineSpan(run.Line, run.End), run.Tool, run.Loop, plural(len(run.Figures), "figure"))
		})
		not := each(a.NotRead, func(l record.AuditLines) string { return lineSpan(l.Line, l.End) + ": " + l.Text })
		d.Parts = append(d.Parts, append(labelled("Read", read...), labelled("Not read", not...)...))
		return d
	}
	lines, left := 0, ""
	for _, l := range a.NotRead {
		lines += l.End - l.Line + 1
		left = plural(lines, "line") + " that are no run's"
	}
	d.Parts = append(d.Parts, append(labelled("Not read", left), document.Below(nil)...))
	return d
}

// auditAnswer counts the findings of each class.
func auditAnswer(a *record.Audit) string {
	var parts []string
	for _, j := range judgements {
		n := 0
		for _, f := range a.Findings {
			n += stats.Count(f.Kind == j.kind)
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, j.short))
	}
	return fmt.Sprintf("%s, in %s of %s.", strings.Join(parts, ", "), plural(len(a.Runs), "run"), a.Format)
}

// where returns the line and name of the run that a finding is about, to put in front of its
// text; "" if it is about several runs or if there is only one without a name.
func where(a *record.Audit, f record.AuditFinding) string {
	if f.Run < 0 || len(a.Runs) == 1 && a.Runs[0].Name == "" {
		return ""
	}
	name := a.Runs[f.Run].Name
	if name != "" {
		name = " (" + name + ")"
	}
	return fmt.Sprintf("line %d%s: ", f.Line, name)
}

// likewise returns the lines of the other findings with the same code; "" for none.
func likewise(a *record.Audit, than record.AuditFinding) string {
	others := only(a.Findings, func(f record.AuditFinding) bool {
		return f.Code == than.Code && (f.Run != than.Run || f.Line != than.Line)
	})
	if len(others) == 0 {
		return ""
	}
	return "; likewise line " + strings.Join(each(others, func(f record.AuditFinding) string { return fmt.Sprint(f.Line) }), ", ")
}

// lineSpan returns "line 3" or "lines 3-5".
func lineSpan(line, end int) string {
	if line == end {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("lines %d-%d", line, end)
}
