package report

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
	"schedlab/internal/stats"
)

// Summary writes r as short Markdown, for a pull request or a page: the claims, the ranking,
// one table of figures with the changes that the verdicts decided, and the doubts that not
// every run has. A search for capacity is short already, and is written as [Markdown]. A gate
// is written as a comment on its pull request.
//
// The pages of docs/experiments hold these tables, and [TopicSVG] reads them back to draw
// charts. So the form of a cell in summaryTable and found is read by topic.go: change both
// together.
func Summary(w io.Writer, r *record.Result) error {
	if r.Capacity != nil {
		return Markdown(w, r)
	}
	if len(r.Gate) > 0 {
		return gateComment(w, r)
	}
	// The claims are in a list of their own, so the headline must not repeat them.
	ranked := ranking(r)
	answered := Headline(r) == ranked
	own := only(r.Doubts, func(f record.Fact) bool { return !f.Code.General() })
	notes := slices.Concat(
		nonEmpty(when(!answered, "Ranking: %s", ranked)), refusedBecause(r), each(own, func(f record.Fact) string { return "Doubt: " + Doubt(f) }),
	)
	return writeMarkdown(w, document.Document{
		Question: r.Question, State: state(r), Answer: either(answered, ranked, ""), Context: []string{offered(r), machine(r.Env, r.Arms)},
		Parts: []document.Part{answers(r), summaryTable(r), document.Lines(notes)},
	})
}

// summaryTable returns the figures of every arm but the copy. After a figure stands the change
// from the arm's baseline with its interval, = for the same, or ~ for undecided. A figure
// without a verdict stands alone.
func summaryTable(r *record.Result) document.Part {
	named := func(a record.Arm) string { return a.Name + against(r, a.Name) }
	return document.Table{Rows: transposed(armColumns(choices(r.Arms), named, func(a record.Arm, m stats.Metric) string {
		return found(verdictOn(r.Verdicts, a.Name, m.Name))
	}))}
}

// found returns a verdict as it stands after its figure, such as "+12 % (+9 % to +15 %)"; "" if
// it was refused or has no interval yet.
func found(v record.Verdict) string {
	if v.Verdict == stats.Refused || v.Low == 0 {
		return ""
	}
	return fmt.Sprintf("%s%s (%s)", nbsp, mark(v), between(v))
}

// against returns " (against NAME)" for an arm with a baseline other than the first arm; else
// "".
func against(r *record.Result, arm string) string {
	v := first(r.Verdicts, func(v record.Verdict) bool { return v.Arm == arm && v.Baseline != r.Arms[0].Name })
	return when(v.Arm != "", " (against %s)", v.Baseline)
}

// refusedBecause returns a line for each reason against verdicts, with the first verdict that
// it refuses and how many more.
func refusedBecause(r *record.Result) []string {
	refused := only(r.Verdicts, func(v record.Verdict) bool { return v.Verdict == stats.Refused })
	return each(grouped(refused, func(v record.Verdict) string { return string(v.Reason.Code) }), func(vs []record.Verdict) string {
		v, more := vs[0], len(vs)-1
		others := when(more > 0, " and %s more", plural(more, "verdict"))
		return fmt.Sprintf("Refused: %s at %s%s: %s", v.Arm, stats.MetricOf(v.Metric).Label, others, reason(v))
	})
}

// answers returns the scenario's claims and then its other assertions, each with its answer and
// the reason. A claim is an assertion that the scenario also has in words.
func answers(r *record.Result) document.Findings {
	class := map[record.Answer]string{record.Passed: "FASTER", record.Failed: "SLOWER", record.Undecided: "INCONCLUSIVE", record.NoAnswer: "REFUSED"} // classes of verdicts' badges
	// Claims have words of their answer instead of pass and fail, as they are read by people.
	claims := each(only(r.Expectations, func(e record.Expectation) bool { return e.Claim != "" }), func(e record.Expectation) document.Finding {
		return document.Finding{Mark: strings.ToLower(answerWord(e.Outcome)), Class: class[e.Outcome], Said: e.Claim, Text: e.Text, Reason: e.Reason.String()}
	})
	others := each(only(r.Expectations, func(e record.Expectation) bool { return e.Claim == "" }), func(e record.Expectation) document.Finding {
		return document.Finding{Mark: string(e.Outcome), Class: class[e.Outcome], Text: e.Text, Reason: e.Reason.String()}
	})
	return append(claims, others...)
}

// A PackEntry is one scenario of a pack, a set of scenarios that run one after another. Expect
// is in the order of the scenario.
type PackEntry struct {
	Scenario string
	Question string
	Expect   []string       // its assertions
	Result   *record.Result // nil if it did not run
	NotRun   string         // why not
}

// Answers counts an entry's assertions by answer. All assertions of a scenario that did not run
// count as refused, so that a pack never looks better for leaving one out.
func (e PackEntry) Answers() map[record.Answer]int {
	n := map[record.Answer]int{}
	if e.Result == nil {
		n[record.NoAnswer] = len(e.Expect)
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
	d := document.Document{Name: e.Scenario, Question: e.Question}
	if e.Result == nil {
		d.State = "NOT RUN: " + e.NotRun
		d.Parts = []document.Part{document.Lines(each(e.Expect, func(text string) string { return string(record.NoAnswer) + " " + text }))}
	} else {
		r := e.Result
		d.Answer = Headline(r)
		d.Parts = []document.Part{expectations(r), document.Commands{{Label: "Record", Text: r.Dir}}}
	}
	return errors.Join(writeText(w, d, o), emit(w, "pack", "\n"))
}

// PackSummary writes the table of a pack as text, with a line for each scenario in the order of
// entries, and the totals below.
func PackSummary(w io.Writer, entries []PackEntry) error {
	rows := [][]string{{"scenario", "pass", "fail", "open", "REFUSED", "blocks", "answer"}}
	row := func(name string, n map[record.Answer]int, blocks, answer string) {
		rows = append(rows, []string{name, strconv.Itoa(n[record.Passed]), strconv.Itoa(n[record.Failed]), strconv.Itoa(n[record.Undecided]), strconv.Itoa(n[record.NoAnswer]), blocks, answer})
	}
	total := map[record.Answer]int{}
	for _, e := range entries {
		blocks, answer := none, "not run"
		if e.Result != nil {
			blocks, answer = fmt.Sprintf("%d/%d", e.Result.Valid, cmp.Or(e.Result.Ran, e.Result.Planned)), e.Result.Winner
		}
		row(e.Scenario, e.Answers(), blocks, answer)
		// The totals tell at a glance whether any scenario failed.
		for outcome, k := range e.Answers() {
			total[outcome] += k
		}
	}
	row(plural(len(entries), "scenario"), total, "", "")
	return writeText(w, document.Document{Parts: []document.Part{document.Table{Rows: rows}}}, TextOptions{})
}
