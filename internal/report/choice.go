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

// kindsOfRequests say what requests do, and what of them is meant.
var kindsOfRequests = map[string]struct{ name, about string }{
	"short-cpu":  {"short CPU work", "A request computes, and waits for nothing else."},
	"blocking":   {"requests that wait", "A request holds its goroutine while a database or another service answers, and computes a tenth of that time at most."},
	"mixed":      {"requests that compute and wait, or are of two lengths", "Both parts count, or long requests stand among short ones."},
	"heavy-tail": {"a heavy tail", "One request in a hundred takes as long as all the others."},
	"idle":       {"many idle connections", "A thousand kept connections or more, few of which ask something at a time."},
	"bursts":     {"bursts", "Many requests come in one moment."},
	"pipelined":  {"tiny and pipelined requests", "A request asks next to nothing, or several come in one write."},
	"locks":      {"locks", "Much of the work is done under one lock."},
}

// choiceMetrics are the metrics of a choice, for people.
var choiceMetrics = map[string]string{"cpu_per_request": "CPU/request", "good_mean": "mean of good replies"}

func choiceMetric(name string) string {
	if long, ok := choiceMetrics[name]; ok {
		return long
	}
	return name
}

// WriteChoice writes an advice as text, json or markdown.
func WriteChoice(w io.Writer, format string, c record.Choice) error {
	c = choiceInWords(c)
	switch format {
	case "json":
		return record.WriteJSON(w, c)
	case "markdown":
		_, err := io.WriteString(w, choiceDocument(c).Markdown())
		return err
	}
	_, err := io.WriteString(w, choiceDocument(c).Text(document.Options{}))
	return err
}

func choiceInWords(c record.Choice) record.Choice {
	c.Headline = Say(c.Answer) + "."
	for _, f := range []*record.Fact{&c.Answer, &c.Asked, &c.Why, &c.Size, &c.Unless} {
		say(f)
	}
	c.Doubts = Texts(c.Doubts)
	if c.Verified != nil {
		v := *c.Verified
		say(&v.Why)
		v.Verdicts = reasoned(v.Verdicts)
		v.SLO = slices.Clone(v.SLO)
		for i := range v.SLO {
			say(&v.SLO[i].Reason)
		}
		c.Verified = &v
	}
	if c.Cell != nil {
		cell := *c.Cell
		cell.Verdicts, cell.Lacks = reasoned(cell.Verdicts), Texts(cell.Lacks)
		c.Cell = &cell
	}
	return c
}

func choiceDocument(c record.Choice) document.Document {
	facts := document.Facts{
		{Label: "For", Text: c.Asked.Text}, {Label: "Why", Text: c.Why.Text}, {Label: "Size", Text: c.Size.Text}, {Label: "Note", Text: "the choice does not matter " + c.Unless.Text},
	}
	if c.Verified != nil {
		facts = append(facts, document.Fact{Label: "Tested", Text: c.Verified.Why.Text})
		for _, e := range c.Verified.SLO {
			facts = append(facts, document.Fact{Label: "SLO", Text: fmt.Sprintf("%s %s: %s", e.Outcome, e.Text, e.Reason.Text)})
		}
	}
	var test document.Commands
	switch {
	case c.Verified != nil:
		test = document.Commands{{Label: "Record:", Text: c.Verified.Dir}}
	default:
		test = document.Commands{{Label: "Test it:", Text: c.Test}}
	}
	var untested document.Lines
	if c.Unverified != "" {
		untested = document.Lines{"Not tested: " + c.Unverified + "."}
	}
	var doubts document.Facts
	for _, d := range c.Doubts {
		doubts = append(doubts, document.Fact{Label: "Doubts", Text: d.Text})
	}
	return document.Document{Answer: c.Headline, Parts: []document.Part{facts, untested, test, doubts}}
}

// WriteChoices writes the table of what to choose, in Markdown: a section for what requests do,
// a line in it for what matters. Sizes says of a mode where its size is from.
func WriteChoices(w io.Writer, cells []record.ChoiceCell, size func(mode string) string) error {
	var b bytes.Buffer
	for i, c := range cells {
		if i == 0 || cells[i-1].Does != c.Does {
			kind := kindsOfRequests[c.Does]
			fmt.Fprintf(&b, "### %s\n\n%s It does not matter %s.\n\n", upperFirst(kind.name), kind.about, Say(record.Fact{Code: record.Code("choose-unless-" + c.Does)}))
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

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// measuredDifference is what was measured of a cell, with a link to the experiment.
func measuredDifference(c record.ChoiceCell) string {
	link := fmt.Sprintf("[%s](experiments/%s.md)", c.Scenario, c.Scenario)
	var metrics []string
	for _, m := range c.Metrics {
		metrics = append(metrics, choiceMetric(m))
	}
	switch c.Outcome {
	case "":
		return link + " asks it by " + strings.Join(metrics, " and ")
	case record.NoVerdict:
		var why record.Fact
		for _, v := range c.Verdicts {
			why = v.Reason
		}
		return fmt.Sprintf("%s, `%s`: every verdict was refused (%s)", link, c.Commit, why.Code)
	}
	var said []string
	for _, v := range c.Verdicts {
		if v.Verdict != string(stats.Refused) && slices.ContainsFunc([]string{v.Arm, v.Baseline}, func(name string) bool { return name == c.Best[0].Name }) {
			said = append(said, verdictInShort(v))
		}
	}
	var lead strings.Builder
	lead.WriteString(outcomeWords(c.Outcome))
	if len(c.Best) > 1 {
		var names []string
		for _, arm := range c.Best {
			names = append(names, arm.Name)
		}
		lead.WriteString(": " + strings.Join(names, ", "))
	}
	for _, why := range c.Lacks {
		lead.WriteString(". But " + Say(why))
	}
	return fmt.Sprintf("%s. %s; %s, `%s`, %s", upperFirst(lead.String()), strings.Join(said, "; "), link, c.Commit, prose.Plural(c.Verdicts[0].Blocks, "block"))
}

// verdictInShort is an arm against another in a few words.
func verdictInShort(v record.Verdict) string {
	if v.Low == 0 {
		return fmt.Sprintf("%s against %s at %s: %s", v.Arm, v.Baseline, choiceMetric(v.Metric), v.Verdict)
	}
	return fmt.Sprintf("%s against %s at %s: %s, %s (%s to %s)", v.Arm, v.Baseline, choiceMetric(v.Metric), v.Verdict, stats.Change(v.Ratio), stats.Change(v.Low), stats.Change(v.High))
}

// outcomeWords say what the verdicts of a cell come to.
func outcomeWords(k record.AnswerKind) string {
	switch k {
	case record.OneWins:
		return "one wins"
	case record.ATie:
		return "a tie"
	case record.TieForBest:
		return "a tie for the best"
	case record.SeveralWin:
		return "several win, and which of them is open"
	case record.ATrade:
		return "better at one and worse at another"
	}
	return "not decided"
}
