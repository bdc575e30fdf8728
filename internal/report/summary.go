package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/doubt"
	"schedlab/internal/outcome"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/report/say"
	"schedlab/internal/stats"
)

// Summary writes r as short Markdown, for a pull request or a page: the claims, the ranking,
// one table of figures with the changes that the verdicts decided, and the doubts that not
// every run has. A search for capacity is short already, and is written as [Markdown]. A gate
// is written as a comment on its pull request.
func Summary(w io.Writer, r *record.Result) error { return pageOf(r).summary(w) }

func (p comparisonPage) summary(w io.Writer) error {
	r := p.Result
	// The claims are a separate list, so the headline must not repeat them.
	ranked := ranking(r)
	answered := finding(r) == ranked
	refused := only(r.Verdicts, func(v record.Verdict) bool { return v.Verdict.Outcome == outcome.Refused })
	own := only(r.Doubts, func(f record.Fact) bool { return !f.Code.General() })
	notes := slices.Concat(
		nonEmpty(when(!answered, "Ranking: %s", ranked)),
		slices.Concat(each(byArm(refused), func(of []record.Verdict) []string { return sentences(r, of) })...),
		each(own, func(f record.Fact) string { return "Doubt: " + Doubt(f) }),
	)
	load, where := Setup(r)
	return say.Markdown(w, document.Document{
		Question: r.Question, State: state(r), Answer: cmp.Or(tooBusy(doubt.TooBusy(r.Doubts)), either(answered, ranked, "")),
		Context: append(belowTooBusy(doubt.TooBusy(r.Doubts), either(answered, ranked, "")), load, where),
		Parts:   []document.Part{answers(r), summaryTable(r), document.Lines(notes)},
	})
}

// Setup returns what load the arms had, for how many blocks and with which seed, and on which machine.
func Setup(r *record.Result) (load, where string) { return offered(r), machine(r.Env, r.Arms) }

// summaryTable returns the figures of every arm but the copy. After a figure stands the change from the arm's
// baseline with its interval, such as "+12 % (+9 % to +15 %)", with = for the same, or ~ for open, and the
// interval alone where the two figures' quotient lies outside it. A figure without a verdict stands alone. An arm's baseline
// is named unless it is the first arm.
func summaryTable(r *record.Result) document.Part {
	named := func(a record.Arm) string {
		v := first(r.Verdicts, func(v record.Verdict) bool { return v.Arm == a.Name && v.Baseline != r.Arms[0].Name })
		return a.Name + when(v.Arm != "", " (against %s)", v.Baseline)
	}
	return document.Table{Rows: transposed(armColumns(choices(r.Arms), named, func(a record.Arm, m stats.Metric) string {
		v := verdictOn(r.Verdicts, a.Name, m.Figure)
		sign := mark(r, v)
		if differs(v) && !within(quotient(r, v), v.Low, v.High) {
			sign = "" // the interval alone
		}
		return when(v.Verdict.Outcome != outcome.Refused && v.Low != 0, "%s", strings.TrimRight(say.NBSP+sign, say.NBSP)+say.NBSP+"("+between(v)+")")
	}))}
}

// answers returns the scenario's claims and then its other assertions, each with its answer and
// the reason. A claim is an assertion that the scenario also has in words, and so has its answer.
func answers(r *record.Result) document.Findings {
	class := map[outcome.Outcome]string{outcome.Yes: "FASTER", outcome.No: "SLOWER", outcome.Open: "open", outcome.Refused: "refused"} // classes of verdicts' badges
	finding := func(e record.Expectation) document.Finding {
		return document.Finding{Mark: outcome.Expectation.Phrase(e.Outcome), Class: class[e.Outcome], Said: e.Claim, Text: e.Text, Reason: e.Reason.String()}
	}
	claims := only(r.Expectations, func(e record.Expectation) bool { return e.Claim != "" })
	others := only(r.Expectations, func(e record.Expectation) bool { return e.Claim == "" })
	return each(append(claims, others...), finding)
}

// A PackEntry is one scenario of a pack, a set of scenarios that run one after another. Expect
// is in the order of the scenario.
type PackEntry struct {
	Scenario string
	Cell     []record.Level // on a grid; nil in a pack of scenarios
	Question string
	Expect   []string       // its assertions
	Result   *record.Result // nil if it did not run
	NotRun   string         // why not
}

// name returns what tells the entry from the others: its cell on a grid, or its scenario.
func (e PackEntry) name() string { return cmp.Or(record.CellName(e.Cell), e.Scenario) }

// Answers counts an entry's assertions by answer. All assertions of a scenario that did not run
// count as refused, so that a pack never looks better for leaving one out.
func (e PackEntry) Answers() map[outcome.Outcome]int {
	n := map[outcome.Outcome]int{}
	if e.Result == nil {
		n[outcome.Refused] = len(e.Expect)
		return n
	}
	for _, x := range e.Result.Expectations {
		n[x.Outcome]++
	}
	return n
}

// PackScenario writes the result of one scenario of a pack as text: its answer, and every
// assertion with its evidence. An empty line ends it. It returns the errors of w.
func PackScenario(w io.Writer, e PackEntry, o TextOptions) error {
	d := document.Document{Name: e.name(), Question: e.Question}
	if r := e.Result; r != nil {
		d.Answer, d.Parts = Headline(r), []document.Part{expectations(r), document.Commands{{Label: "Record", Text: r.Dir}}}
	} else {
		d.State = "NOT RUN: " + e.NotRun
		d.Parts = []document.Part{document.Lines(each(e.Expect, func(text string) string { return outcome.Expectation.Phrase(outcome.Refused) + " " + text }))}
	}
	return errors.Join(say.Text(w, d, o), say.Emit(w, "pack", "\n"))
}

// PackSummary writes the table of a pack as text, with a line for each scenario in the order of
// entries, and the totals below, which tell at a glance whether any scenario failed. A grid has the table
// of who wins where in its place.
func PackSummary(w io.Writer, entries []PackEntry, o TextOptions) error {
	if len(entries) > 0 && entries[0].Cell != nil {
		return writeGrid(w, entries, o)
	}
	// Columns of the expectations' answers stand only where something is expected.
	asked := only(outcome.All(), func(outcome.Outcome) bool {
		return slices.ContainsFunc(entries, func(e PackEntry) bool { return len(e.Answers()) > 0 })
	})
	row := func(name, blocks, answer string, of ...PackEntry) []string {
		counts := each(asked, func(a outcome.Outcome) string {
			return strconv.Itoa(total(of, func(e PackEntry) int { return e.Answers()[a] }))
		})
		return slices.Concat([]string{name}, counts, []string{blocks, answer})
	}
	phrases := each(asked, outcome.Expectation.Phrase)
	rows := append([][]string{slices.Concat([]string{"scenario"}, phrases, []string{"blocks", "answer"})}, each(entries, func(e PackEntry) []string {
		if e.Result == nil {
			return row(e.name(), say.None, "not run", e)
		}
		return row(e.name(), fmt.Sprintf("%d/%d", e.Result.Valid, cmp.Or(e.Result.Ran, e.Result.Planned)), e.Result.Winner.String(), e)
	})...)
	rows = append(rows, row(say.Plural(len(entries), "scenario"), "", "", entries...))
	return say.Text(w, document.Document{Parts: []document.Part{document.Table{Rows: rows}}}, TextOptions{})
}

// gateBriefly builds the answer of a gate for a terminal: a sentence, a table, how sure it is,
// and the first doubt.
//
// A gate answers one question, whether a new build is worse than the old one. The old build is
// the first arm and the new one the last.
func gateBriefly(r *record.Result) document.Document {
	return document.Document{
		Name: "gate", State: state(r), Answer: Headline(r), Context: append(context(r), askedBriefly(r)),
		Parts: []document.Part{gateFigures(r), append(gateEvidence(r), rest(others(r), 1)...)},
	}
}

// gateComment writes the answer of a gate as a comment on a pull request: the sentence and the
// table, and folded away the evidence, the doubts and the commands.
func gateComment(w io.Writer, r *record.Result) error {
	evidence := slices.Concat(gateEvidence(r), labelled("Doubt", doubts(r)...),
		document.Facts{{Label: "Machine", Text: machine(r.Env, r.Arms)}, {Label: "Command", Text: r.Note}})
	return say.Markdown(w, document.Document{Name: "gate", State: state(r), Answer: Headline(r), Context: context(r), Parts: []document.Part{
		gateFigures(r), document.Details{Summary: "How it was measured", Parts: []document.Part{document.Lines{askedBriefly(r)}, evidence}},
	}})
}

// gateEvidence tells how sure the answer of a gate is, and what may close an open one.
func gateEvidence(r *record.Result) document.Facts {
	sure := labelled("Sure", append([]string{blocks(r) + "; of a hundred gates of equal builds one at most says worse"}, append(silent(r), failings(r.Arms)...)...)...)
	// What it asks for, or how long, does not matter while others take the CPUs.
	if r.GateOutcome() != outcome.Open || !doubt.TooBusy(r.Doubts).None() {
		return sure
	}
	open := only(r.Gate, func(g record.Gated) bool { return g.Outcome == outcome.Open })
	needed := slices.Max(append(each(open, func(g record.Gated) int { return g.Needed }), 0))
	return append(sure, labelled("Open", remedies(r), remedy(r, needed)+when(needed > 0 && needed <= mostBlocks, "; raise --budget"))...)
}

// remedies returns what may close an open gate, apart from more blocks: it asks for less, or loads less.
// What is asked for less must include a time or the CPU time, which a slower build does not leave alone.
func remedies(r *record.Result) string {
	const mostBusy = .4 // ratio of the servers' CPU time above which queueing makes much of the noise
	word := func(g record.Gated) string { return cmp.Or(g.Metric.Row().Word, g.Metric.String()) }
	fine := only(r.Gate, func(g record.Gated) bool { return g.Outcome == outcome.Yes })
	open := only(r.Gate, func(g record.Gated) bool { return g.Outcome == outcome.Open && !g.Watched })
	// An open metric that looks worse must not be left out, nor allowed.
	looksWorse := slices.ContainsFunc(r.Gate, func(g record.Gated) bool {
		ratio := either(g.Metric.Row().HigherIsBetter, 1/g.Ratio, g.Ratio)
		return g.Outcome == outcome.Open && ratio > 1+g.Allow/4
	})
	slows := slices.ContainsFunc(fine, func(g record.Gated) bool {
		return g.Metric.Row().Quantile > 0 || g.Metric == stats.CPUPerRequest
	})
	known := len(open) > 0 && !slices.ContainsFunc(open, func(g record.Gated) bool { return g.Low <= 0 })
	allows := listed(open, func(g record.Gated) string {
		most := either(g.Metric.Row().HigherIsBetter, 1/g.Low, g.High)
		return fmt.Sprintf("%s=%.0f%%", word(g), math.Ceil(100*(most-1)))
	})
	busy := *cmp.Or(r.Arms[0].CPUPerRequest, new(0.)) * r.Rate / float64(max(r.Env.ServerProcs, 1))
	return strings.Join(nonEmpty(
		when(busy > mostBusy, "a lower --rate has less noise of queueing"),
		either(known && !looksWorse, "--allow "+strings.ReplaceAll(allows, ", ", ",")+" is what this machine can tell", "--allow can allow more"),
		when(slows && !looksWorse, "--metric %s asks only for what this machine can tell", strings.Join(each(fine, word), ",")),
	), "; ")
}

// gateAnswer returns the answer of a gate in one or two sentences, with the metrics that decided it.
func gateAnswer(r *record.Result) string {
	// A metric that is fine needs no figure in the sentence, and one that is only watched does not keep the gate
	// open; the table has them.
	of := func(answer outcome.Outcome) string {
		said := only(r.Gate, func(g record.Gated) bool {
			return g.Outcome == answer && !(g.Watched && answer == outcome.Open && r.GateOutcome() == outcome.Open)
		})
		return listed(said, func(g record.Gated) string {
			return g.Metric.Row().Label +
				when(g.Low > 0 && answer != outcome.Yes, " %s", gateChange(r, g, when(answer == outcome.Open, "; %s", allowed(g)))) +
				when(answer == outcome.Refused, " (%s)", g.Reason.String())
		})
	}
	before, after := r.Arms[0].Name, r.Arms[len(r.Arms)-1].Name
	refused := when(of(outcome.Refused) != "", " Refused: %s.", of(outcome.Refused))
	open := when(of(outcome.Open) != "", " Open: %s.", of(outcome.Open)) + refused
	switch r.GateOutcome() {
	case outcome.No:
		return fmt.Sprintf("%s is worse than %s: %s.", after, before, of(outcome.No)) + refused
	case outcome.Yes:
		text := fmt.Sprintf("%s is not worse than %s: %s within what is allowed.", after, before, of(outcome.Yes))
		// Surely better, by half of what it may be worse.
		better := only(r.Gate, func(g record.Gated) bool {
			if g.Metric.Row().HigherIsBetter {
				return g.Low > 1 && g.Ratio >= 1+g.Allow/2
			}
			return 0 < g.High && g.High < 1 && g.Ratio <= 1/(1+g.Allow/2)
		})
		gained := each(better, func(g record.Gated) string {
			return g.Metric.Row().Label + " " + changeWithin(gateQuotient(r, g), g.Low, g.High, false)
		})
		text += when(len(gained) > 0, " Surely better: %s.", strings.Join(gained, ", "))
		return text + strings.ReplaceAll(open, " Open: ", " Open, and only watched: ")
	}
	// An overload refuses times, but it is an answer itself.
	behind := doNotKeepUp(r)
	return when(behind != "", "%s. ", behind) + fmt.Sprintf("Whether %s is worse than %s is open.%s", after, before, open)
}

// allowed returns how much worse a metric may be: "+10 % allowed", or "-3 % allowed" for goodput.
func allowed(g record.Gated) string {
	return say.Change(either(g.Metric.Row().HigherIsBetter, 1/(1+g.Allow), 1+g.Allow)) + " allowed"
}

// gateFigures returns the table of a gate with the rule for its answers: a row for each metric with both
// figures, the change with its interval, the change that is allowed, and the answer. Cells without a figure
// are empty.
func gateFigures(r *record.Result) document.Section {
	const rule = "fine: surely within what is allowed; worse: not so, surely above no change, and in the median by more than half of what is allowed. Both by the changes within the blocks. The first build runs twice in each block: its figure is the median of both"
	rows := [][]string{{"", r.Arms[0].Name, r.Arms[len(r.Arms)-1].Name, "change", "surely between", "allowed", "answer"}}
	for _, g := range r.Gate {
		m := g.Metric.Row()
		before, after := builds(r, m)
		figure := func(v *float64) string {
			return say.OrNone(v, func(v float64) string { return either(m.Unit == "bytes", bytesText(int64(v)), Figure(m, v)) })
		}
		ratio := gateQuotient(r, g)
		rows = append(rows, []string{
			m.Label, figure(before), figure(after), when(ratio > 0 && within(ratio, g.Low, g.High), "%s", say.Change(ratio)),
			when(g.Low > 0, "%s to %s", bound(g.Low, false), bound(g.High, false)), strings.TrimSuffix(allowed(g), " allowed"), outcome.Gate.Phrase(g.Outcome),
		})
	}
	return document.Section{Parts: []document.Part{document.Table{Rows: rows}, document.Lines{rule}}}
}

// builds returns the figures of both builds at a metric; nil if one is not known. The first build ran twice in each block, and
// its figure is the median over both runs.
func builds(r *record.Result, m stats.Metric) (before, after *float64) {
	old, copied, last := r.Arms[0], r.Arms[1], r.Arms[len(r.Arms)-1]
	if m.Figure == stats.Memory { // which is no metric of blocks
		held := func(arms ...record.Arm) *float64 {
			known := only(arms, func(a record.Arm) bool { return a.Footprint != nil })
			if len(known) == 0 {
				return nil
			}
			return new(stats.Median(each(known, func(a record.Arm) float64 { return float64(a.Footprint.Memory) })))
		}
		return held(old, copied), held(last)
	}
	before, after = old.Median(m.Figure), last.Median(m.Figure)
	if both := slices.Concat(old.Blocks[m.Figure], copied.Blocks[m.Figure]); before != nil && len(both) > 0 {
		before = new(stats.Median(both))
	}
	return before, after
}

// gateQuotient returns the ratio of both builds' figures, as they are printed; 0 without a ratio of the blocks, and that
// of the blocks where a figure is not known.
func gateQuotient(r *record.Result, g record.Gated) float64 {
	m := g.Metric.Row()
	before, after := builds(r, m)
	if g.Ratio == 0 || before == nil || after == nil || m.Printed(*before) == 0 {
		return g.Ratio
	}
	return m.Printed(*after) / m.Printed(*before)
}

// gateChange formats a gate's change with its interval and more in parentheses or, where the change lies outside it, the
// interval alone.
func gateChange(r *record.Result, g record.Gated, more string) string {
	ratio, between := gateQuotient(r, g), bound(g.Low, false)+" to "+bound(g.High, false)
	if !within(ratio, g.Low, g.High) {
		return between + when(more != "", " (%s)", strings.TrimPrefix(more, "; "))
	}
	return say.Change(ratio) + " (" + between + more + ")"
}
