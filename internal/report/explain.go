package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"schedlab/internal/command"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// ExplainFormats returns the formats of an explanation in presentation order.
func ExplainFormats() []Format[*record.Explanation] {
	return documentFormats(explanation, func(w io.Writer, x *record.Explanation) error { return record.WriteJSON(w, x) })
}

// RenderExplanation renders an explanation in the named format. An unknown name is an error that
// lists the known ones.
func RenderExplanation(w io.Writer, format string, x *record.Explanation) error {
	return render(w, ExplainFormats(), format, x)
}

// Explain writes an explanation for a terminal.
func Explain(w io.Writer, x *record.Explanation, o TextOptions) error {
	return o.write(w, explanation(x))
}

// explanation returns an explanation as a document.
func explanation(x *record.Explanation) document.Document {
	question := "Why do %s and %s differ?"
	if x.Outcome == record.NoDifference {
		question = "Do %s and %s differ?"
	}
	return document.Document{
		Name: x.Scenario, Question: fmt.Sprintf(question, x.From, x.To), Answer: explained(x),
		Context: []string{fmt.Sprintf("%s of the run %s; a figure is the mean over them, its interval Student's with 95%s%%", plural(x.Blocks, "block"), command.Quote(x.Dir), nbsp)},
		Parts:   divided(x),
	}
}

// divided returns the causes, the waterfalls and the witnesses.
func divided(x *record.Explanation) []document.Part {
	parts := []document.Part{causes(x), waterfall(x, x.Mean, "on average")}
	if x.Tail.Sure() || !x.Mean.Sure() {
		parts = append(parts, waterfall(x, x.Tail, "in the slowest 1"+nbsp+"% of requests"))
	}
	theory, tested := "", ""
	if x.Ideal != nil {
		theory = ideal(x)
	}
	if t := x.Tests; t != nil {
		tested = fmt.Sprintf("in %s more, recorded in %s", plural(t.Blocks, "block"), command.Quote(t.Dir))
	}
	return append(parts, beside(x), append(labelled("Theory", theory), labelled("Tested", tested)...), profiled(x))
}

// explained returns the answer in one or two sentences.
func explained(x *record.Explanation) string {
	switch x.Outcome {
	case record.NoDifference:
		return fmt.Sprintf("There is nothing to explain: %s.", x.Reason.String())
	case record.NoCause:
		return fmt.Sprintf("%s. No cause found: %s.", gap(x), x.Reason.String())
	}
	c := x.Causes[0]
	switch x.Outcome {
	case record.Because:
		return fmt.Sprintf("%s, because %s (confirmed: %s).", gap(x), c.Fact.String(), proof(c))
	case record.Shown:
		return fmt.Sprintf("%s, because %s (measured directly).", gap(x), c.Fact.String())
	}
	text := fmt.Sprintf("%s. Correlated, not confirmed: %s", gap(x), c.Fact.String())
	if c.State == record.NotConfirmed {
		text += " (" + proof(c) + ")"
	}
	return text + "."
}

// gap tells by how much the slower arm is slower, in the figure that was explained.
func gap(x *record.Explanation) string {
	fast := x.Faster()
	lost, tail := len(x.Causes) > 0 && x.Causes[0].Code == record.CauseTurnedAway, len(x.Causes) > 0 && x.Causes[0].Tail
	s, where := x.Mean.Step, "on average"
	if tail || len(x.Causes) == 0 && !s.Sure() {
		s, where = x.Tail.Step, "in its slowest 1"+nbsp+"% of requests"
	}
	if lost {
		return fmt.Sprintf("%s leaves %.2g%s%% of its requests without a good reply, %s %.2g%s%%", x.Slower, 100*max(x.Lost.From, x.Lost.To), nbsp, fast, 100*min(x.Lost.From, x.Lost.To), nbsp)
	}
	unit := timeScale(math.Abs(s.By))
	return fmt.Sprintf("%s is slower than %s by %s %s (%s instead of %s)", x.Slower, fast, unit.format(math.Abs(s.By)), where, seconds(max(s.From, s.To)), seconds(min(s.From, s.To)))
}

// proof describes the effects of the knob and of the control.
func proof(c record.Suspect) string {
	if c.Moved == nil || c.Still == nil {
		return "not tested"
	}
	figure := seconds
	if c.Code == record.CauseTurnedAway {
		figure = func(v float64) string { return fmt.Sprintf("%.2g%s%%", 100*v, nbsp) }
	}
	verb := "fell"
	if c.Moved.By >= 0 {
		verb = "went"
	}
	text := fmt.Sprintf("%s %s from %s to %s with %s, and with the control, %s, it was %s", c.Stretch, verb, figure(c.Moved.From), figure(c.Moved.To), c.Knob, c.Control, figure(c.Still.To))
	if !c.Why.None() {
		text += "; " + c.Why.String()
	}
	return text
}

// states are the words for the states of causes.
var states = map[record.SuspectState]string{
	record.Confirmed: "confirmed:", record.ShownBy: "measured directly:", record.Untested: "not tested:",
	record.Untestable: "no setting takes it away:", record.NotConfirmed: "not confirmed:",
}

// causes lists all suspected causes with their witnesses.
func causes(x *record.Explanation) document.Part {
	var all document.Findings
	for _, c := range x.Causes {
		var heard []string
		for _, t := range c.Witnesses {
			says := t.Witness + " " + figureOf(t.Slower, t.Unit)
			if t.Faster != nil {
				says += ", of the other arm " + figureOf(*t.Faster, t.Unit)
			}
			if !t.Agrees {
				says += " (disagrees)"
			}
			heard = append(heard, says)
		}
		reason := fmt.Sprintf("%.0f%s%% of the difference lies in %s; %s", 100*c.Share, nbsp, c.Stretch, strings.Join(heard, "; "))
		if c.Moved != nil {
			reason += "; " + proof(c)
		}
		all = append(all, document.Finding{Mark: states[c.State], Class: string(c.State), Text: c.Fact.String(), Reason: reason})
	}
	return document.Section{ID: "causes", Title: "Causes", Parts: []document.Part{all}}
}

// figureOf formats a witness's figure in its unit.
func figureOf(v float64, unit string) string {
	switch unit {
	case "s":
		return seconds(v)
	case "ratio":
		return fmt.Sprintf("%.3g%s%%", 100*v, nbsp)
	}
	return plain(v)
}

// waterfall returns the table and the chart that lead from one arm to the other.
func waterfall(x *record.Explanation, w record.Waterfall, of string) document.Part {
	unit := timeScale(w.From, w.To)
	unit.decimals = min(unit.decimals+1, 3)
	row := func(name string, s record.Step) []string {
		return []string{name, unit.number(s.From), unit.number(s.To), unit.plus(s.By), unit.plus(s.Low) + " to " + unit.plus(s.High)}
	}
	rows := [][]string{{"", x.From, x.To, "difference", "interval"}}
	for _, p := range w.Pieces {
		if max(math.Abs(p.From), math.Abs(p.To)) > negligible {
			rows = append(rows, row(p.Stretch, p.Step))
		}
	}
	rows = append(rows, row("sum ("+unit.unit+")", w.Step))
	title := "From " + x.From + " to " + x.To + " " + of
	return document.Section{
		ID: "waterfall-" + strings.Fields(of)[0], Title: title,
		Lead: "The pieces add up to the difference exactly: each is the mean over the blocks of what requests spent there.",
		Parts: []document.Part{document.Charts{{
			Picture: draw("bars", waterfallChart(x, w, title)), Instead: []document.Part{document.Table{Rows: rows}},
		}}},
	}
}

// waterfallChart draws the waterfall: each bar begins where the previous one ended.
func waterfallChart(x *record.Explanation, w record.Waterfall, title string) barChart {
	low, high := 0.0, max(w.From, w.To)
	at := w.From
	for _, p := range w.Pieces {
		at += p.By
		low, high = min(low, at), max(high, at)
	}
	c := barChart{Label: title + ": bars that begin where the one before ended", Scale: axis{low: low, high: max(high, low+1e-9), From: 10, To: 530}}
	c.Scale.Ticks = []tick{{At: c.Scale.At(0)}}
	unit := timeScale(high)
	add := func(name, total, class, title string, from, to float64) {
		c.Rows = append(c.Rows, barRow{name, total, []bar{{class, title, min(from, to), max(from, to)}}})
	}
	add(x.From, unit.format(w.From), "whole", seconds(w.From), 0, w.From)
	at = w.From
	for _, p := range w.Pieces {
		if max(math.Abs(p.From), math.Abs(p.To)) > negligible {
			add(p.Stretch, unit.signed(p.By), stretchClass(p.Stretch), fmt.Sprintf("%s: %s to %s", p.Stretch, seconds(p.From), seconds(p.To)), at, at+p.By)
			at += p.By
		}
	}
	add(x.To, unit.format(w.To), "whole", seconds(w.To), 0, w.To)
	return c
}

// beside returns the table of the witnesses.
func beside(x *record.Explanation) document.Part {
	if len(x.Witnesses) == 0 {
		return document.Lines{}
	}
	of := func(head string, figure func(w record.Witness) *float64) field[record.Witness] {
		return field[record.Witness]{head, nil, func(w record.Witness) string {
			return orNone(figure(w), func(v float64) string { return figureOf(v, w.Unit) })
		}}
	}
	table := rows(x.Witnesses, field[record.Witness]{"", nil, func(w record.Witness) string { return w.Name }},
		of(x.From, func(w record.Witness) *float64 { return w.From }), of(x.To, func(w record.Witness) *float64 { return w.To }))
	return document.Section{ID: "witnesses", Title: "What else is known", About: "medians over the blocks", Parts: []document.Part{document.Table{Rows: table}}}
}

// ideal tells which part of the difference theory predicts.
func ideal(x *record.Explanation) string {
	unit := timeScale(math.Abs(x.Ideal.By), math.Abs(x.Mean.By))
	return fmt.Sprintf("ideal schedulers of both kinds would differ by %s on the same requests (%s and %s); the other %s are what running them takes",
		unit.signed(x.Ideal.By), seconds(x.Ideal.From), seconds(x.Ideal.To), unit.signed(x.Mean.By-x.Ideal.By))
}
