package audit

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
)

// judgements are the outcomes of findings, in the order of the page.
var judgements = []outcome.Outcome{outcome.No, outcome.Yes, outcome.Open}

// judgedAs returns the outcome of a finding in words. A finding on possible figures is there because they are suspicious.
func judgedAs(kind outcome.Outcome) string {
	if kind == outcome.Yes {
		return "suspicious"
	}
	return outcome.Figures.Phrase(kind)
}

// Write writes an audit as json, markdown or, for any other format, text for a terminal. A text has each kind
// of finding once or, if verbose, every finding and every line that was read or not read; the other formats
// have all. In JSON each finding gets its outcome in words and its message, the sentence that the other formats print.
func Write(w io.Writer, format string, a *Report, verbose bool, o document.Options) error {
	switch format {
	case "json":
		full := *a
		full.Findings = append([]Finding{}, a.Findings...)
		for i := range full.Findings {
			full.Findings[i].Answer = outcome.Figures.Phrase(full.Findings[i].Outcome)
			full.Findings[i].Message = full.Findings[i].Fact().String()
		}
		return record.WriteJSON(w, full)
	case "markdown":
		return say.Markdown(w, page(a, true))
	}
	return say.Text(w, page(a, verbose), o)
}

// page returns an audit as a document, with a section for each class of findings.
// Unless verbose is set a code is printed once, with the lines of its other findings, because
// one cause in many runs is one thing to read.
func page(a *Report, verbose bool) document.Document {
	d := document.Document{Name: a.File, Answer: answer(a)}
	for _, kind := range judgements {
		var items document.Facts
		said := map[fact.Code]bool{}
		for _, f := range a.Findings {
			if f.Outcome != kind || said[f.Code] && !verbose {
				continue
			}
			said[f.Code] = true
			text := where(a, f) + f.Fact().String()
			if !verbose {
				text += likewise(a, f)
			}
			items = append(items, document.Fact{Label: f.Law, Text: text})
		}
		d.Parts = append(d.Parts, document.Section{Title: say.UpperFirst(judgedAs(kind)), Parts: []document.Part{items}})
	}
	if verbose {
		d.Parts = append(d.Parts, allLines(a))
		return d
	}
	// The text of unread lines would fill the screen, so their number has to do.
	var facts document.Facts
	if lines := linesNotRead(a); lines > 0 {
		text := say.Plural(lines, "line")
		if i := slices.IndexFunc(a.NotRead, func(l Lines) bool { return l.Reason != "" }); i >= 0 {
			text += fmt.Sprintf("; line %d: %s", a.NotRead[i].Line, a.NotRead[i].Reason)
		}
		facts = append(facts, document.Fact{Label: "Not read", Text: text})
	}
	d.Parts = append(d.Parts, append(facts, document.Below(nil)...))
	return d
}

// allLines lists the runs that were read, and the lines that were not.
func allLines(a *Report) (facts document.Facts) {
	for _, run := range a.Runs {
		facts = append(facts, document.Fact{Label: "Read", Text: fmt.Sprintf("%s: %s, %s loop, %s", lineSpan(run.Line, run.End), run.Tool, run.Loop, say.Plural(len(run.Figures), "figure"))})
	}
	for _, l := range a.NotRead {
		text := lineSpan(l.Line, l.End) + ": " + l.Text
		if l.Reason != "" {
			text += " (" + l.Reason + ")"
		}
		facts = append(facts, document.Fact{Label: "Not read", Text: text})
	}
	return facts
}

// linesNotRead returns how many lines an audit did not read.
func linesNotRead(a *Report) (lines int) {
	for _, l := range a.NotRead {
		lines += l.End - l.Line + 1
	}
	return lines
}

// answer tells how to treat the first finding that is impossible or suspicious, as findings are in the
// order of their weight, and counts the findings of each class and the runs that were read. Without such a
// finding it tells what the first of the others means for all figures, where its code has such words.
func answer(a *Report) string {
	var grave, limits *Finding
	count := map[outcome.Outcome]int{}
	for i, f := range a.Findings {
		count[f.Outcome]++
		if grave == nil && f.Outcome != outcome.Open {
			grave = &a.Findings[i]
		}
		if but := f.Fact().Part("but"); limits == nil && f.Fact().Has("but") && but != "" {
			limits = &a.Findings[i]
		}
	}
	advice := "Nothing speaks against these figures"
	switch {
	case grave != nil:
		advice = where(a, *grave) + grave.Fact().Part("do")
	case limits != nil:
		advice += ", but " + limits.Fact().Part("but")
	case len(a.Findings) > 0:
		advice += ", but see what is open"
	}
	// The lines that were not read may be the ones that matter, so they come before the counts.
	if unread := linesNotRead(a); unread > 0 {
		advice += "; " + say.Plural(unread, "line") + " not read"
	}
	var counts []string
	for _, kind := range judgements {
		counts = append(counts, fmt.Sprintf("%d %s", count[kind], judgedAs(kind)))
	}
	return fmt.Sprintf("%s. %s, in %s of %s.", advice, strings.Join(counts, ", "), say.Plural(len(a.Runs), "run"), a.Format)
}

// where returns the line and name of the run that a finding is about, to put in front of its
// text; "" if it is about several runs or if there is only one without a name.
func where(a *Report, f Finding) string {
	if f.Run < 0 || len(a.Runs) == 1 && a.Runs[0].Name == "" {
		return ""
	}
	if name := a.Runs[f.Run].Name; name != "" {
		return fmt.Sprintf("line %d (%s): ", f.Line, name)
	}
	return fmt.Sprintf("line %d: ", f.Line)
}

// likewise returns "; likewise line 3, 9" with the lines of the other findings with the same
// code; "" for none.
func likewise(a *Report, than Finding) string {
	var lines []string
	for _, f := range a.Findings {
		if f.Code == than.Code && f.Outcome == than.Outcome && (f.Run != than.Run || f.Line != than.Line) {
			lines = append(lines, strconv.Itoa(f.Line))
		}
	}
	if lines == nil {
		return ""
	}
	return "; likewise line " + strings.Join(lines, ", ")
}

// lineSpan returns "line 3" or "lines 3-5".
func lineSpan(line, end int) string {
	if line == end {
		return fmt.Sprintf("line %d", line)
	}
	return fmt.Sprintf("lines %d-%d", line, end)
}
