package report

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/outcome"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
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
		return writeMarkdown(w, auditDocument(a, true))
	}
	return writeText(w, auditDocument(a, verbose), o)
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
		d.Parts = append(d.Parts, document.Section{Title: upperFirst(judgedAs(kind)), Parts: []document.Part{items}})
	}
	if verbose {
		read := each(a.Runs, func(run record.AuditRun) string {
			return fmt.Sprintf("%s: %s, %s loop, %s", lineSpan(run.Line, run.End), run.Tool, run.Loop, plural(len(run.Figures), "figure"))
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
	d.Parts = append(d.Parts, append(labelled("Not read", when(lines > 0, "%s%s", plural(lines, "line"),
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
	return fmt.Sprintf("%s%s. %s, in %s of %s.", advice, when(unread > 0, "; %s not read", plural(unread, "line")),
		counts, plural(len(a.Runs), "run"), a.Format)
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

// WriteChoice writes the recommendation of `schedlab choose` as text, json or markdown. It adds the headline.
func WriteChoice(w io.Writer, format string, c record.Choice) error {
	c.Headline = c.Answer.String() + "."
	return documentFormats(choiceDocument, func(w io.Writer, c record.Choice) error { return record.WriteJSON(w, c) }).Render(w, format, c)
}

// choiceDocument returns a recommendation as a document: the answer, the reasons, when the
// choice does not matter, and how to test it, or the result of the test if it ran.
func choiceDocument(c record.Choice) document.Document {
	facts := slices.Concat(labelled("For", c.Asked.String()), labelled("Why", c.Why.String()), labelled("Size", c.Size.String()),
		labelled("Handlers", c.Parser.String()), labelled("Note", "the choice does not matter "+c.Unless.String()))
	facts = append(facts, labelled("SLO", when(c.Verified == nil && c.Asked.Names["slo"] != "", "%s is not judged yet: the test does that for each model (--verify)", c.Asked.Names["slo"]))...)
	test := labelled("Test it:", c.Test)
	if v := c.Verified; v != nil {
		facts = slices.Concat(facts, labelled("Tested", v.Why.String()), labelled("SLO", each(v.SLO, answered)...), labelled("Kept", each(v.Keeps, record.Fact.String)...))
		test = labelled("Record:", v.Dir)
	}
	return document.Document{Answer: c.Headline, Parts: []document.Part{
		facts, document.Lines(nonEmpty(when(c.Unverified != "", "Not tested: %s.", c.Unverified))), document.Commands(test),
		labelled("Doubts", each(c.Doubts, record.Fact.String)...), document.Commands(labelled("Code:", c.Recipe)),
	}}
}

// WriteChoices writes the Markdown table of all recommendations: a section for each kind of
// requests, and in it a line for each goal. size returns the reason for the size of a mode.
func WriteChoices(w io.Writer, cells []record.ChoiceCell, size func(mode string) string) error {
	sections := each(grouped(cells, func(c record.ChoiceCell) string { return c.Does }), func(group []record.ChoiceCell) string {
		does := group[0].Does
		kind, unless := record.KindsOfRequests[does], record.Fact{Code: record.Code("choose-unless-" + does)}
		lines := each(group, func(c record.ChoiceCell) string {
			if len(c.Best) == 0 {
				return fmt.Sprintf("| %s | not measured here yet: run %s | | |\n", c.Matters, c.Scenario)
			}
			return fmt.Sprintf("| %s | `%s` | %s | %s |\n", c.Matters, c.Best[0].Mode, size(c.Best[0].Mode), measuredDifference(c))
		})
		return fmt.Sprintf("### %s\n\n%s It does not matter %s.\n\n", upperFirst(kind.Name), kind.About, unless.String()) +
			"| what matters | choose | size | measured difference |\n|---|---|---|---|\n" + strings.Join(lines, "")
	})
	return emit(w, "markdown", strings.Join(sections, "\n"))
}

// upperFirst returns s with its first letter in upper case. s must begin with an ASCII letter.
func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// measuredDifference returns what an experiment measured for a cell, in one table cell: the
// answer, the verdicts with the best arm in them, and a link to the experiment.
func measuredDifference(c record.ChoiceCell) string {
	// A verdict between two losers does not help to choose.
	ofBest := only(c.Verdicts, func(v record.Verdict) bool {
		return v.Verdict != stats.Refused && (v.Arm == c.Best[0].Name || v.Baseline == c.Best[0].Name)
	})
	told := each(ofBest, func(v record.Verdict) string {
		return fmt.Sprintf("%s against %s at %s: %s", v.Arm, v.Baseline, stats.MetricOf(v.Metric).Label, v.Verdict) +
			when(v.Low != 0, ", %s (%s to %s)", stats.Change(v.Ratio), stats.Change(v.Low), stats.Change(v.High))
	})
	lead := c.Outcome.Words() + when(len(c.Best) > 1, ": %s", listed(c.Best, func(arm record.ChoiceArm) string { return arm.Name }))
	lead = strings.Join(append([]string{lead}, each(c.Lacks, record.Fact.String)...), ". But ")
	blocks := prose.Plural(c.Verdicts[0].Blocks, "block")
	return fmt.Sprintf("%s. %s; [%s](../experiments/README.md), `%s`, %s", upperFirst(lead), strings.Join(told, "; "), c.Scenario, c.Commit, blocks)
}
