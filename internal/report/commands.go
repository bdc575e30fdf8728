package report

import (
	"fmt"
	"io"
	"strconv"

	"schedlab/internal/outcome"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/report/say"
)

// judgements are the outcomes of an audit's findings, in the order of the report.
var judgements = []outcome.Outcome{outcome.No, outcome.Yes, outcome.Open}

// judgedAs returns the outcome of a finding in words. A finding on possible figures is there because they are suspicious.
func judgedAs(kind outcome.Outcome) string {
	return either(kind == outcome.Yes, "suspicious", outcome.Figures.Phrase(kind))
}

// Audit writes an audit as json, markdown or, for any other format, text for a terminal. A text has each kind
// of finding once or, if verbose, every finding and every line that was read or not read; the other formats
// have all. In JSON each finding gets its outcome in words and its message, the sentence that the other formats print.
func Audit(w io.Writer, format string, a *record.Audit, verbose bool, o TextOptions) error {
	switch format {
	case "json":
		full := *a
		full.Findings = list(a.Findings)
		for i := range full.Findings {
			full.Findings[i].Answer = outcome.Figures.Phrase(full.Findings[i].Outcome)
			full.Findings[i].Message = full.Findings[i].Fact().String()
		}
		return record.WriteJSON(w, full)
	case "markdown":
		return say.Markdown(w, auditDocument(a, true))
	}
	return say.Text(w, auditDocument(a, verbose), o)
}

// auditDocument returns an audit as a document, with a section for each class of findings.
// Unless verbose is set a code is printed once, with the lines of its other findings, because
// one cause in many runs is one thing to read.
func auditDocument(a *record.Audit, verbose bool) document.Document {
	d := document.Document{Name: a.File, Answer: auditAnswer(a)}
	for _, kind := range judgements {
		var items document.Facts
		said := map[record.Code]bool{}
		for _, f := range a.Findings {
			if f.Outcome == kind && (verbose || !said[f.Code]) {
				said[f.Code] = true
				items = append(items, document.Fact{Label: f.Law, Text: where(a, f) + f.Fact().String() + when(!verbose, "%s", likewise(a, f))})
			}
		}
		d.Parts = append(d.Parts, document.Section{Title: say.UpperFirst(judgedAs(kind)), Parts: []document.Part{items}})
	}
	if verbose {
		read := each(a.Runs, func(run record.AuditRun) string {
			return fmt.Sprintf("%s: %s, %s loop, %s", lineSpan(run.Line, run.End), run.Tool, run.Loop, say.Plural(len(run.Figures), "figure"))
		})
		not := each(a.NotRead, func(l record.AuditLines) string {
			return lineSpan(l.Line, l.End) + ": " + l.Text + when(l.Reason != "", " (%s)", l.Reason)
		})
		d.Parts = append(d.Parts, append(labelled("Read", read...), labelled("Not read", not...)...))
		return d
	}
	// The text of unread lines would fill the screen, so their number has to do.
	lines := linesNotRead(a)
	reason := first(a.NotRead, func(l record.AuditLines) bool { return l.Reason != "" })
	d.Parts = append(d.Parts, append(labelled("Not read", when(lines > 0, "%s%s", say.Plural(lines, "line"),
		when(reason.Line > 0, "; line %d: %s", reason.Line, reason.Reason))), document.Below(nil)...))
	return d
}

// linesNotRead returns how many lines an audit did not read.
func linesNotRead(a *record.Audit) int {
	return total(a.NotRead, func(l record.AuditLines) int { return l.End - l.Line + 1 })
}

// auditAnswer tells how to treat the first finding that is impossible or suspicious, as findings are in the
// order of their weight, and counts the findings of each class and the runs that were read. Without such a
// finding it tells what the first of the others means for all figures, where its code has such words.
func auditAnswer(a *record.Audit) string {
	grave := first(a.Findings, func(f record.AuditFinding) bool { return f.Outcome != outcome.Open })
	limits := first(a.Findings, func(f record.AuditFinding) bool {
		but := f.Fact().Part("but")
		return but != "" && but != string(f.Code)
	})
	advice := "Nothing speaks against these figures"
	switch {
	case grave.Code != "":
		advice = where(a, grave) + grave.Fact().Part("do")
	case limits.Code != "":
		advice += ", but " + limits.Fact().Part("but")
	case len(a.Findings) > 0:
		advice += ", but see what is open"
	}
	counts := listed(judgements, func(kind outcome.Outcome) string {
		return fmt.Sprintf("%d %s", len(only(a.Findings, func(f record.AuditFinding) bool { return f.Outcome == kind })), judgedAs(kind))
	})
	unread := linesNotRead(a)
	// What was not read may be what matters, so it comes before the counts.
	return fmt.Sprintf("%s%s. %s, in %s of %s.", advice, when(unread > 0, "; %s not read", say.Plural(unread, "line")),
		counts, say.Plural(len(a.Runs), "run"), a.Format)
}

// where returns the line and name of the run that a finding is about, to put in front of its
// text; "" if it is about several runs or if there is only one without a name.
func where(a *record.Audit, f record.AuditFinding) string {
	if f.Run < 0 || len(a.Runs) == 1 && a.Runs[0].Name == "" {
		return ""
	}
	name := a.Runs[f.Run].Name
	return fmt.Sprintf("line %d%s: ", f.Line, when(name != "", " (%s)", name))
}

// likewise returns "; likewise line 3, 9" with the lines of the other findings with the same
// code; "" for none.
func likewise(a *record.Audit, than record.AuditFinding) string {
	others := only(a.Findings, func(f record.AuditFinding) bool {
		return f.Code == than.Code && f.Outcome == than.Outcome && (f.Run != than.Run || f.Line != than.Line)
	})
	return when(others != nil, "; likewise line %s", listed(others, func(f record.AuditFinding) string { return strconv.Itoa(f.Line) }))
}

// lineSpan returns "line 3" or "lines 3-5".
func lineSpan(line, end int) string {
	return either(line == end, fmt.Sprintf("line %d", line), fmt.Sprintf("lines %d-%d", line, end))
}
