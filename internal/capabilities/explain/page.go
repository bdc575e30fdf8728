package explain

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/timeline"
)

// Formats returns the formats of an explanation: text, json, markdown and html.
func Formats() say.FormatsOf[*Explanation] {
	return say.FormatsOfDocument(explanation, func(w io.Writer, x *Explanation) error { return record.WriteJSON(w, x) })
}

// Text writes an explanation, the result of `schedlab explain`, for a terminal.
//
// An explanation divides the difference of two arms' mean times into the stretches of a request's way
// (waterfall) and names suspected causes with the evidence for each (causes).
func Text(w io.Writer, x *Explanation, o document.Options) error {
	return say.Text(w, explanation(x), o)
}

// explanation returns an explanation as a separate document. The full report of a run has the
// same parts, by divided.
func explanation(x *Explanation) document.Document {
	question := "Why do %s and %s differ?"
	if x.Slower == "" && x.Outcome != outcome.Refused { // a question why would take the difference for granted
		question = "Do %s and %s differ?"
	}
	answer, more := document.Split(answerOf(x), document.Anywhere)
	if busy := say.TooBusy(x.Busy); busy != "" {
		answer, more = busy, say.BelowTooBusy(x.Busy, answerOf(x), x.Busy.Part("do"))
	}
	return document.Document{
		Name: x.Scenario, Question: fmt.Sprintf(question, x.From, x.To), Answer: answer, Lead: more,
		Context: []string{fmt.Sprintf("%s of the run %s; a figure is the mean over them, its interval Student's with 95%s%%", say.Plural(x.Blocks, "block"), cmdline.Quote(x.Dir), say.NBSP)},
		Parts:   divided(x),
	}
}

// Why is the explanation in one sentence or two. Where it found no cause of a difference, where the time went says more.
func (x *Explanation) Why() (answer string, last bool) {
	return strings.TrimSuffix(answerOf(x), "."), len(x.Causes) == 0 && (x.Slower != "" || x.Outcome == outcome.Refused)
}

// Between returns by how many seconds an arm's mean time surely differs from the baseline's; 0 where it does not, or where
// the explanation is of other arms.
func (x *Explanation) Between(baseline, arm string) float64 {
	switch {
	case x.Slower == "" || !x.Mean.Sure():
		return 0
	case x.From == baseline && x.To == arm:
		return x.Mean.By
	case x.From == arm && x.To == baseline:
		return -x.Mean.By
	}
	return 0
}

// Section is the explanation's part of the report of its run.
func (x *Explanation) Section(*record.Common) document.Part {
	answer, _ := x.Why()
	page := document.Page{document.Linked{{Text: "As a page of its own", Files: []string{"why.html"}}}}
	return document.Section{ID: "why", Title: "Why", Parts: append([]document.Part{document.Lines{answer}, page}, divided(x)...)}
}

// Page returns the explanation as a separate page.
func (x *Explanation) Page() (file string, page document.Document) { return "why.html", explanation(x) }

// divided returns the causes, the waterfalls and the witnesses, then theory if no cause is
// confirmed, and tests. The waterfall of the slowest requests is there if the tail surely
// differs, or if the mean does not.
func divided(x *Explanation) []document.Part {
	parts := []document.Part{causes(x), waterfall(x, x.Mean, "on average")}
	if x.Tail.Sure() || !x.Mean.Sure() {
		parts = append(parts, waterfall(x, x.Tail, "in the slowest 1"+say.NBSP+"% of requests"))
	}
	witnesses := [][]string{{"", x.From, x.To}}
	for _, w := range x.Witnesses {
		figure := func(v float64) string { return figureOf(v, w.Unit) }
		witnesses = append(witnesses, []string{w.Name, say.OrNone(w.From, figure), say.OrNone(w.To, figure)})
	}
	var facts document.Facts
	if !x.Busy.None() && say.TooBusy(x.Busy) == "" {
		facts = append(facts, document.Fact{Label: "Doubts", Text: x.Busy.String()})
	}
	// A confirmed cause says where the whole difference is from, which theory divides in another way.
	if x.Ideal != nil && (x.Outcome != outcome.Yes || x.Causes[0].Shown) {
		facts = append(facts, document.Fact{Label: "Theory", Text: ideal(x)})
	}
	if t := x.Tests; t != nil {
		facts = append(facts, document.Fact{Label: "Tested", Text: fmt.Sprintf("in %s more, recorded in %s", say.Plural(t.Blocks, "block"), cmdline.Quote(t.Dir))})
	}
	return append(parts, document.Section{
		ID: "witnesses", Title: "What else is known", About: "medians over the blocks", Parts: []document.Part{document.Table{Rows: witnesses}},
	}, facts)
}

// answerOf returns the answer in one or two sentences, with a full stop. "because" stands only before
// a cause that was tested or measured directly.
func answerOf(x *Explanation) string {
	switch {
	case x.Outcome == outcome.No:
		return fmt.Sprintf("No cause is sought: %s.", x.Reason.String())
	case x.Outcome == outcome.Refused:
		return fmt.Sprintf("An explanation of their times is refused: %s.", x.Reason.String())
	case x.Slower == "":
		return fmt.Sprintf("Whether they differ is open, so no cause is sought: %s.", x.Reason.String())
	case len(x.Causes) == 0:
		return fmt.Sprintf("%s. The cause is open: %s.", gap(x), x.Reason.String())
	}
	switch c := x.Causes[0]; {
	case c.Shown:
		return fmt.Sprintf("%s, because %s (measured directly).", gap(x), c.Fact.String())
	case c.Outcome == outcome.Yes:
		return fmt.Sprintf("%s, because %s (confirmed: %s).", gap(x), c.Fact.String(), proof(c))
	case c.Outcome == outcome.No: // the test is evidence against the cause, so it is in the answer
		return fmt.Sprintf("%s. The cause is open: a test refuted that %s (%s).", gap(x), c.Fact.String(), proof(c))
	default:
		return fmt.Sprintf("%s. The cause is open; suspected%s: %s.", gap(x), untested[c.Outcome], c.Fact.String())
	}
}

// untested tells why a cause has no test.
var untested = map[outcome.Outcome]string{outcome.Open: ", not tested", outcome.Refused: ", no setting takes it away"}

// gap tells by how much the slower arm is slower, in the figure that was explained: the mean
// time, the mean of the slowest requests, or the share of requests without a good reply. The first
// cause tells which; without a cause it is the mean, if that surely differs.
func gap(x *Explanation) string {
	s, where, tail := x.Mean.Step, "on average", !x.Mean.Sure()
	if len(x.Causes) > 0 {
		tail = x.Causes[0].Tail
		if x.Causes[0].Code == turnedAway.Code {
			more, less := say.Percent("%.2g", max(x.Lost.From, x.Lost.To)), say.Percent("%.2g", min(x.Lost.From, x.Lost.To))
			return fmt.Sprintf("%s leaves %s of its requests without a good reply, %s %s", x.Slower, more, x.faster(), less)
		}
	}
	if tail {
		s, where = x.Tail.Step, "in its slowest 1"+say.NBSP+"% of requests"
	}
	left := ""
	if x.Undecided {
		left = "; the run's own verdict, on quantiles, is open"
	}
	return fmt.Sprintf("%s is slower than %s by %s %s (%s instead of %s%s)", x.Slower, x.faster(),
		say.Seconds(math.Abs(s.By)), where, say.Seconds(max(s.From, s.To)), say.Seconds(min(s.From, s.To)), left)
}

// proof describes the test of a cause: how its stretch changed in the extra blocks with the knob, a setting
// that takes the cause away, and with the control, a change that must not matter. The figures are means, as
// in the waterfalls, but of other blocks. It returns "not tested" without a test.
func proof(c Suspect) string {
	if c.Moved == nil || c.Still == nil {
		return "not tested"
	}
	figure, of := say.Seconds, "the mean of "+c.Stretch
	if c.Tail {
		of += " in the slowest 1" + say.NBSP + "% of requests"
	}
	if c.Code == turnedAway.Code {
		figure, of = func(v float64) string { return say.Percent("%.2g", v) }, "the share of "+c.Stretch
	}
	way := "fell"
	if c.Moved.By >= 0 {
		way = "went"
	}
	text := fmt.Sprintf("in the extra blocks %s %s from %s to %s with %s, and with the control, %s, it was %s", of, way,
		figure(c.Moved.From), figure(c.Moved.To), c.Knob, c.Control, figure(c.Still.To))
	if !c.Why.None() {
		text += "; " + c.Why.String()
	}
	return text
}

// causeWords returns the words in front of a cause: its outcome and, without a test, why there is none.
func causeWords(c Suspect) string {
	words := outcome.Cause.Phrase(c.Outcome) + untested[c.Outcome]
	if c.Shown {
		words += ", measured directly"
	}
	return words + ":"
}

// causes lists all suspected causes, each with its share of the difference, the figures of its witnesses, and
// its test. A witness that disagrees is printed like the others, so that a reader can judge the suspicion.
func causes(x *Explanation) document.Part {
	var all document.Findings
	for _, c := range x.Causes {
		var heard []string
		for _, t := range c.Witnesses {
			heard = append(heard, testimony(t))
		}
		lies := "%s of the difference lies in %s"
		if c.Share > 1 { // other stretches may be shorter
			lies = "more than the whole difference (%s) lies in %s"
		}
		reason := fmt.Sprintf(lies+"; medians over the blocks: %s", say.Percent("%.0f", c.Share), c.Stretch, strings.Join(heard, "; "))
		if c.Moved != nil {
			reason += "; " + proof(c)
		}
		if rows := rowsOf(x, c); len(rows) > 1 {
			reason += fmt.Sprintf("; %s is %s in the table", c.Stretch, strings.Join(rows, " + "))
		}
		all = append(all, document.Finding{Mark: causeWords(c), Class: outcome.Cause.Phrase(c.Outcome), Said: c.Fact.String(), Reason: reason})
	}
	return document.Section{ID: "causes", Title: "Causes", Parts: []document.Part{all}}
}

// rowsOf names the rows of the table that a cause's stretch is the sum of: a reader who adds them up finds the share.
func rowsOf(x *Explanation, c Suspect) (rows []string) {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.cause.Code == c.Code })
	if i < 0 {
		return nil
	}
	pieces := x.Mean.Pieces
	if c.Tail {
		pieces = x.Tail.Pieces
	}
	for _, st := range timeline.Stretches() {
		shown := slices.ContainsFunc(pieces, func(p record.Piece) bool { return p.Stretch == st.Name })
		if shown && len(st.Phases) > 0 && slices.Contains(rules[i].part.Phases, st.Phases[0]) {
			rows = append(rows, st.Name)
		}
	}
	return rows
}

// testimony describes a witness's figure in both arms.
func testimony(t Testimony) string {
	text := t.Witness + " " + figureOf(t.Slower, t.Unit)
	if t.Faster != nil {
		text += ", of the other arm " + figureOf(*t.Faster, t.Unit)
	}
	if !t.Agrees {
		text += " (disagrees)"
	}
	return text
}

// figureOf formats a witness's figure in its unit: s, ratio, or anything else as a plain number.
func figureOf(v float64, unit string) string {
	switch unit {
	case "s":
		return say.Seconds(v)
	case "ratio":
		return say.Percent("%.3g", v)
	}
	return say.Plain(v)
}

// waterfall returns the table and the chart that lead from one arm's mean to the other's, piece by piece. of
// tells which requests it is about, "on average" or "in the slowest 1 % of requests".
func waterfall(x *Explanation, w record.Waterfall, of string) document.Part {
	unit := say.TimeScale(w.From, w.To)
	unit.Decimals = min(unit.Decimals+1, 3)
	// The sum is of all pieces, including those too small to print.
	pieces := append(visible(w.Pieces), record.Piece{Stretch: "sum (" + unit.Unit + ")", Step: w.Step})
	table := [][]string{{"", x.From, x.To, "difference", "interval"}}
	for _, p := range pieces {
		table = append(table, []string{p.Stretch, unit.Number(p.From), unit.Number(p.To), unit.Plus(p.By), unit.Plus(p.Low) + " to " + unit.Plus(p.High)})
	}
	title := "From " + x.From + " to " + x.To + " " + of
	return document.Section{
		ID: "waterfall-" + strings.Fields(of)[0], Title: title,
		Lead: "The pieces add up to the difference exactly: each is the mean over the blocks of what requests spent there.",
		Parts: []document.Part{document.Charts{{
			Picture: waterfallChart(x, w, title).SVG(), Instead: []document.Part{document.Table{Rows: table}},
		}}},
	}
}

// visible returns the pieces that are large enough to show.
func visible(pieces []record.Piece) (shown []record.Piece) {
	for _, p := range pieces {
		if max(math.Abs(p.From), math.Abs(p.To)) > say.Negligible {
			shown = append(shown, p)
		}
	}
	return shown
}

// waterfallChart draws the waterfall: the first bar is the whole time of one arm, each further
// bar begins where the previous one ended, and the last is the whole time of the other arm.
func waterfallChart(x *Explanation, w record.Waterfall, title string) chart.BarChart {
	// A sum may fall below zero on the way, so the scale covers every step and marks 0.
	low, high, at := 0.0, max(w.From, w.To), w.From
	for _, p := range w.Pieces {
		at += p.By
		low, high = min(low, at), max(high, at)
	}
	c := chart.BarChart{Label: title + ": bars that begin where the one before ended", Scale: chart.Axis{Low: low, High: max(high, low+1e-9), From: 0, To: 80}}
	c.Scale.Ticks = []chart.Tick{{At: c.Scale.At(0)}}
	unit := say.TimeScale(high)
	add := func(name, total, class, title string, from, to float64) {
		c.Rows = append(c.Rows, chart.Row{Name: name, Total: total, Bars: []chart.Bar{{Class: class, Title: title, From: min(from, to), To: max(from, to)}}})
	}
	add(x.From, unit.Format(w.From), "whole", say.Seconds(w.From), 0, w.From)
	at = w.From // from here on the end of the bar before
	for _, p := range visible(w.Pieces) {
		add(p.Stretch, unit.Signed(p.By), chart.StretchClass(p.Stretch), fmt.Sprintf("%s: %s to %s", p.Stretch, say.Seconds(p.From), say.Seconds(p.To)), at, at+p.By)
		at += p.By
	}
	add(x.To, unit.Format(w.To), "whole", say.Seconds(w.To), 0, w.To)
	return c
}

// ideal tells which part of the difference theory predicts, by the arms' ideal twins. x.Ideal
// must not be nil.
func ideal(x *Explanation) string {
	unit := say.TimeScale(math.Abs(x.Ideal.By), math.Abs(x.Mean.By))
	rest := fmt.Sprintf("the other %s are what running them takes", unit.Signed(x.Mean.By-x.Ideal.By))
	if x.Mean.Low <= x.Ideal.High && x.Ideal.Low <= x.Mean.High {
		rest = "whether running them takes more is not known, since the intervals overlap"
	}
	return fmt.Sprintf("ideal schedulers of both kinds would differ by %s on the same requests (%s and %s); %s",
		unit.Signed(x.Ideal.By), say.Seconds(x.Ideal.From), say.Seconds(x.Ideal.To), rest)
}
