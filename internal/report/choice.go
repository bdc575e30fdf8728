package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// WriteChoice writes the recommendation of `schedlab choose` as json or markdown; as text for
// any other format. It adds the headline.
func WriteChoice(w io.Writer, format string, c record.Choice) error {
	c.Headline = c.Answer.String() + "."
	switch format {
	case "json":
		return record.WriteJSON(w, c)
	case "markdown":
		return writeMarkdown(w, choiceDocument(c))
	}
	return TextOptions{}.write(w, choiceDocument(c))
}

// choiceDocument returns a recommendation as a document: the answer, the reasons, when the
// choice does not matter, and how to test it, or the result of the test if it ran.
func choiceDocument(c record.Choice) document.Document {
	facts := document.Facts{
		{Label: "For", Text: c.Asked.String()}, {Label: "Why", Text: c.Why.String()}, {Label: "Size", Text: c.Size.String()},
	}
	if !c.Parser.None() {
		facts = append(facts, document.Fact{Label: "Handlers", Text: c.Parser.String()})
	}
	facts = append(facts, document.Fact{Label: "Note", Text: "the choice does not matter " + c.Unless.String()})
	test := document.Commands{{Label: "Test it:", Text: c.Test}}
	if v := c.Verified; v != nil {
		facts = slices.Concat(facts, labelled("Tested", v.Why.String()), labelled("SLO", each(v.SLO, answered)...))
		test = document.Commands{{Label: "Record:", Text: v.Dir}}
	}
	var untested document.Lines
	if c.Unverified != "" {
		untested = document.Lines{"Not tested: " + c.Unverified + "."}
	}
	return document.Document{Answer: c.Headline, Parts: []document.Part{
		facts, untested, test, labelled("Doubts", each(c.Doubts, record.Fact.String)...), document.Commands(labelled("Code:", c.Recipe)),
	}}
}

// WriteChoices writes the Markdown table of all recommendations: a section for each kind of
// requests, and in it a line for each goal. cells with one kind must follow each other. size
// returns the reason for the size of a mode.
func WriteChoices(w io.Writer, cells []record.ChoiceCell, size func(mode string) string) error {
	var b bytes.Buffer
	for i, c := range cells {
		if i == 0 || cells[i-1].Does != c.Does {
			kind := record.KindsOfRequests[c.Does]
			fmt.Fprintf(&b, "### %s\n\n%s It does not matter %s.\n\n", upperFirst(kind.Name), kind.About, record.Fact{Code: record.Code("choose-unless-" + c.Does)}.String())
			b.WriteString("| what matters | choose | size | measured difference |\n|---|---|---|---|\n")
		}
		choose, sized := "not measured here yet", ""
		if len(c.Best) > 0 {
			choose, sized = "`"+c.Best[0].Mode+"`", size(c.Best[0].Mode)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.Matters, choose, sized, measuredDifference(c))
		if i == len(cells)-1 || cells[i+1].Does != c.Does {
			b.WriteString("\n")
		}
	}
	_, err := w.Write(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return err
}

// upperFirst returns s with its first letter in upper case. s must begin with an ASCII letter.
func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// measuredDifference returns what an experiment measured for a cell, in one table cell: the
// answer, the verdicts with the best arm in them, and a link to the experiment. Without a
// measurement it names the scenario that would make one.
func measuredDifference(c record.ChoiceCell) string {
	link := fmt.Sprintf("[%s](../experiments/README.md)", c.Scenario)
	switch c.Outcome {
	case "":
		return link + " asks it by " + strings.Join(each(c.Metrics, func(m string) string { return stats.MetricOf(m).Label }), " and ")
	case record.NoVerdict:
		var why record.Fact
		for _, v := range c.Verdicts {
			why = v.Reason
		}
		return fmt.Sprintf("%s, `%s`: every verdict was refused (%s)", link, c.Commit, why.Code)
	}
	// A verdict between two losers does not help to choose.
	ofBest := only(c.Verdicts, func(v record.Verdict) bool {
		return v.Verdict != stats.Refused && (v.Arm == c.Best[0].Name || v.Baseline == c.Best[0].Name)
	})
	lead := c.Outcome.Words()
	if len(c.Best) > 1 {
		lead += ": " + strings.Join(each(c.Best, func(arm record.ChoiceArm) string { return arm.Name }), ", ")
	}
	lead = strings.Join(append([]string{lead}, each(c.Lacks, record.Fact.String)...), ". But ")
	return fmt.Sprintf("%s. %s; %s, `%s`, %s", upperFirst(lead), strings.Join(each(ofBest, verdictInShort), "; "), link, c.Commit, prose.Plural(c.Verdicts[0].Blocks, "block"))
}

// verdictInShort formats a verdict in a few words, with the interval where there is one.
func verdictInShort(v record.Verdict) string {
	text := fmt.Sprintf("%s against %s at %s: %s", v.Arm, v.Baseline, stats.MetricOf(v.Metric).Label, v.Verdict)
	if v.Low != 0 {
		text += fmt.Sprintf(", %s (%s to %s)", stats.Change(v.Ratio), stats.Change(v.Low), stats.Change(v.High))
	}
	return text
}
