package report

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"

	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// A PackEntry is one scenario of a pack.
type PackEntry struct {
	Scenario string
	Question string
	Expect   []string       // its assertions
	Result   *record.Result // nil if it did not run
	NotRun   string         // why not
}

// Answers counts an entry's assertions by answer. All assertions of a scenario that did not run
// count as refused.
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

// PackScenario writes the result of one scenario of a pack: its answer, and every assertion with
// its evidence.
func PackScenario(w io.Writer, e PackEntry, o TextOptions) error {
	d := document.Document{Name: e.Scenario, Question: e.Question}
	if e.Result == nil {
		d.State = "NOT RUN: " + e.NotRun
		refused := document.Lines{}
		for _, text := range e.Expect {
			refused = append(refused, fmt.Sprintf("%s %s", record.NoAnswer, text))
		}
		d.Parts = []document.Part{refused}
	} else {
		r := e.Result
		d.Answer = Headline(r)
		d.Parts = []document.Part{expectations(r), document.Commands{{Label: "Record", Text: r.Dir}}}
	}
	return errors.Join(o.write(w, d), emit(w, "pack", func(b *bytes.Buffer) { b.WriteString("\n") }))
}

// PackSummary writes the table of a pack, with a line for each scenario.
func PackSummary(w io.Writer, entries []PackEntry) error {
	rows := [][]string{{"scenario", "pass", "fail", "open", "REFUSED", "blocks", "answer"}}
	total := map[record.Answer]int{}
	for _, e := range entries {
		n := e.Answers()
		blocks, answer := none, "not run"
		if e.Result != nil {
			blocks, answer = fmt.Sprintf("%d/%d", e.Result.Valid, cmp.Or(e.Result.Ran, e.Result.Planned)), e.Result.Winner
		}
		rows = append(rows, []string{
			e.Scenario, strconv.Itoa(n[record.Passed]), strconv.Itoa(n[record.Failed]), strconv.Itoa(n[record.Undecided]), strconv.Itoa(n[record.NoAnswer]), blocks, answer,
		})
		for outcome, k := range n {
			total[outcome] += k
		}
	}
	rows = append(rows, []string{
		plural(len(entries), "scenario"), strconv.Itoa(total[record.Passed]), strconv.Itoa(total[record.Failed]), strconv.Itoa(total[record.Undecided]), strconv.Itoa(total[record.NoAnswer]), "", "",
	})
	return TextOptions{}.write(w, document.Document{Parts: []document.Part{document.Table{Rows: rows}}})
}
