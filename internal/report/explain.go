package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"schedlab/internal/command"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// ExplainFormats are those of an explanation.
func ExplainFormats() []Format[*record.Explanation] {
	return []Format[*record.Explanation]{
		{"text", func(w io.Writer, x *record.Explanation) error { return Explain(w, x, TextOptions{}) }},
		{"json", ExplainJSON},
		{"markdown", func(w io.Writer, x *record.Explanation) error { return writeMarkdown(w, explanation(x)) }},
		{"html", ExplainHTML},
	}
}

// RenderExplanation is Render for an explanation.
func RenderExplanation(w io.Writer, format string, x *record.Explanation) error {
	return render(w, ExplainFormats(), format, x)
}

// Explain renders an explanation for a terminal.
func Explain(w io.Writer, x *record.Explanation, o TextOptions) error {
	return o.write(w, explanation(x))
}

// ExplainJSON writes an explanation with the text of its facts.
func ExplainJSON(w io.Writer, x *record.Explanation) error {
	all := *x
	say(&all.Reason)
	all.Causes = slices.Clone(x.Causes)
	for i := range all.Causes {
		say(&all.Causes[i].Fact)
	}
	return record.WriteJSON(w, all)
}

// ExplainHTML writes it as a page of its own, without a script.
func ExplainHTML(w io.Writer, x *record.Explanation) error { return writeHTML(w, explanation(x)) }

// explanation is it as a document.
func explanation(x *record.Explanation) document.Document {
	question := "Why do %s and %s differ?"
	if x.Outcome == record.NoDifference {
		question = "Do %s and %s differ?"
	}
	d := document.Document{
		Name: x.Scenario, Question: fmt.Sprintf(question, x.From, x.To), Answer: explained(x),
		Context: []string{fmt.Sprintf("%s of the run %s; a figure is the mean over them, its interval Student's with 95%s%%", plural(x.Blocks, "block"), command.Quote(x.Dir), nbsp)},
	}
	d.Parts = divided(x)
	return d
}

// divided are the causes, the waterfalls and what else is known.
func divided(x *record.Explanation) []document.Part {
	parts := []document.Part{causes(x), waterfall(x, x.Mean, "on average")}
	if x.Tail.Sure() || !x.Mean.Sure() {
		parts = append(parts, waterfall(x, x.Tail, "in the slowest 1"+nbsp+"% of requests"))
	}
	var facts document.Facts
	if x.Ideal != nil {
		facts = append(facts, document.Fact{Label: "Theory", Text: ideal(x)})
	}
	if t := x.Tests; t != nil {
		facts = append(facts, document.Fact{Label: "Tested", Text: fmt.Sprintf("in %s more, recorded in %s", plural(t.Blocks, "block"), command.Quote(t.Dir))})
	}
	return append(parts, beside(x), facts, profiled(x))
}

// explained is the answer in a sentence or two.
func explained(x *record.Explanation) string {
	switch x.Outcome {
	case record.NoDifference:
		return fmt.Sprintf("There is nothing to explain: %s.", Say(x.Reason))
	case record.NoCause:
		return fmt.Sprintf("%s. No cause found: %s.", gap(x), Say(x.Reason))
	}
	c := x.Causes[0]
	switch x.Outcome {
	case record.Because:
		return fmt.Sprintf("%s, because %s (confirmed: %s).", gap(x), Say(c.Fact), proof(c))
	case record.Shown:
		return fmt.Sprintf("%s, because %s (measured directly).", gap(x), Say(c.Fact))
	}
	text := fmt.Sprintf("%s. Correlated, not confirmed: %s", gap(x), Say(c.Fact))
	if c.State == record.NotConfirmed {
		text += " (" + proof(c) + ")"
	}
	return text + "."
}

// gap says by how much the slower arm is slower, in what was explained.
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

// proof says what the knob and the control did.
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
	return fmt.Sprintf("%s %s from %s to %s with %s, and with the control, %s, it was %s", c.Stretch, verb, figure(c.Moved.From), figure(c.Moved.To), c.Knob, c.Control, figure(c.Still.To))
}

// states are the states of causes in words.
var states = map[record.SuspectState]string{
	record.Confirmed: "confirmed:", record.ShownBy: "measured directly:", record.Untested: "not tested:",
	record.Untestable: "no setting takes it away:", record.NotConfirmed: "not confirmed:",
}

// causes are all that are suspected, with their witnesses.
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
		all = append(all, document.Finding{Mark: states[c.State], Class: string(c.State), Text: Say(c.Fact), Reason: reason})
	}
	if len(all) == 0 {
		return document.Lines{}
	}
	return document.Section{ID: "causes", Title: "Causes", Parts: []document.Part{all}}
}

// figureOf is a witness's figure in its unit.
func figureOf(v float64, unit string) string {
	switch unit {
	case "s":
		return seconds(v)
	case "ratio":
		return fmt.Sprintf("%.3g%s%%", 100*v, nbsp)
	}
	return plain(v)
}

// waterfall is the table that leads from one arm to the other, and its chart.
func waterfall(x *record.Explanation, w record.Waterfall, of string) document.Part {
	unit := timeScale(w.From, w.To)
	unit.decimals = min(unit.decimals+1, 3)
	row := func(name string, s record.Step) []string {
		return []string{name, unit.number(s.From), unit.number(s.To), bare(unit, s.By), bare(unit, s.Low) + " to " + bare(unit, s.High)}
	}
	rows := [][]string{{"", x.From, x.To, "difference", "interval"}}
	for _, p := range w.Pieces {
		if max(math.Abs(p.From), math.Abs(p.To)) > negligible {
			rows = append(rows, row(p.Stretch, p.Step))
		}
	}
	rows = append(rows, row("sum ("+unit.unit+")", w.Step))
	return document.Section{
		ID: "waterfall-" + strings.Fields(of)[0], Title: "From " + x.From + " to " + x.To + " " + of,
		Lead: "The pieces add up to the difference exactly: each is the mean over the blocks of what requests spent there.",
		Parts: []document.Part{document.Charts{{
			Picture: draw("waterfall", waterfallChart(x, w, of)), Instead: []document.Part{document.Table{Rows: rows}},
		}}},
	}
}

// bare is a signed figure without its unit, which stands elsewhere.
func bare(unit scale, v float64) string { return strings.TrimSuffix(unit.signed(v), nbsp+unit.unit) }

// A fall draws a waterfall: bars that begin where the one before ended.
type fall struct {
	Title         string
	Width, Height px
	Zero          px
	Bars          []fallBar
}

type fallBar struct {
	Class, Name, Label string
	X, Wide, Y, End    px
	Title              string
}

func waterfallChart(x *record.Explanation, w record.Waterfall, of string) fall {
	c := fall{Title: "From " + x.From + " to " + x.To + " " + of, Width: 640}
	low, high := 0.0, max(w.From, w.To)
	at := w.From
	for _, p := range w.Pieces {
		at += p.By
		low, high = min(low, at), max(high, at)
	}
	scale := axis{low: low, high: max(high, low+1e-9), from: 130, to: c.Width - 110}
	unit := timeScale(high)
	add := func(class, name string, from, to float64, label, title string) {
		a, b := scale.at(min(from, to)), scale.at(max(from, to))
		c.Bars = append(c.Bars, fallBar{Class: class, Name: name, Label: label, X: a, Wide: max(b-a, 1), End: b, Y: px(10 + 26*len(c.Bars)), Title: title})
	}
	c.Zero = scale.at(0)
	add("whole", x.From, 0, w.From, unit.format(w.From), seconds(w.From))
	at = w.From
	for _, p := range w.Pieces {
		if max(math.Abs(p.From), math.Abs(p.To)) <= negligible {
			continue
		}
		add(stretchClass(p.Stretch), p.Stretch, at, at+p.By, unit.signed(p.By), fmt.Sprintf("%s: %s to %s", p.Stretch, seconds(p.From), seconds(p.To)))
		at += p.By
	}
	add("whole", x.To, 0, w.To, unit.format(w.To), seconds(w.To))
	c.Height = px(10 + 26*len(c.Bars))
	return c
}

// beside are the witnesses.
func beside(x *record.Explanation) document.Part {
	rows := [][]string{{"", x.From, x.To}}
	cell := func(v *float64, unit string) string {
		if v == nil {
			return none
		}
		return figureOf(*v, unit)
	}
	for _, w := range x.Witnesses {
		rows = append(rows, []string{w.Name, cell(w.From, w.Unit), cell(w.To, w.Unit)})
	}
	if len(rows) == 1 {
		return document.Lines{}
	}
	return document.Section{ID: "witnesses", Title: "What else is known", About: "medians over the blocks", Parts: []document.Part{document.Table{Rows: rows}}}
}

// ideal says what of the difference is theory.
func ideal(x *record.Explanation) string {
	unit := timeScale(math.Abs(x.Ideal.By), math.Abs(x.Mean.By))
	return fmt.Sprintf("ideal schedulers of both kinds would differ by %s on the same requests (%s and %s); the other %s are what running them takes",
		unit.signed(x.Ideal.By), seconds(x.Ideal.From), seconds(x.Ideal.To), unit.signed(x.Mean.By-x.Ideal.By))
}
