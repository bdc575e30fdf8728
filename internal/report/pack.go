package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"schedlab/internal/record"
)

// A PackEntry is one scenario of a pack.
type PackEntry struct {
	Scenario string
	Question string
	Expect   []string       // its assertions
	Result   *record.Result // nil if it did not run
	NotRun   string         // why not
}

// Answers counts an entry's assertions: those of a scenario that did not run are
// refused.
func (e PackEntry) Answers() map[record.Answer]int {
	n := map[record.Answer]int{}
	if e.Result == nil {
		n[record.Undecided] = len(e.Expect)
		return n
	}
	for _, x := range e.Result.Expectations {
		n[x.Outcome]++
	}
	return n
}

// PackScenario writes what one scenario of a pack came to: its answer, and every
// assertion with its evidence.
func PackScenario(w io.Writer, e PackEntry, o TextOptions) error {
	if o.Width <= 0 {
		o.Width = 100
	}
	return emit(w, "pack", func(b *bytes.Buffer) {
		p := printer{b, o}
		p.prose("", e.Scenario+": "+e.Question)
		if e.Result == nil {
			p.prose("  ", "NOT RUN: "+e.NotRun)
			for _, text := range e.Expect {
				p.prose("  ", fmt.Sprintf("%s %s", record.Undecided, text))
			}
			p.line("")
			return
		}
		p.prose("  ", Headline(e.Result))
		for _, x := range e.Result.Expectations {
			p.prose("  ", fmt.Sprintf("%s %s", x.Outcome, x.Text))
			p.prose("       ", Say(x.Reason))
		}
		p.prose("  ", "Record "+e.Result.Dir)
		p.line("")
	})
}

// PackSummary writes the table of a pack, a line for each scenario.
func PackSummary(w io.Writer, entries []PackEntry) error {
	return emit(w, "pack", func(b *bytes.Buffer) {
		rows := [][]string{{"scenario", "pass", "fail", "REFUSED", "blocks", "answer"}}
		total := map[record.Answer]int{}
		for _, e := range entries {
			n := e.Answers()
			blocks, answer := none, "not run"
			if e.Result != nil {
				blocks, answer = fmt.Sprintf("%d/%d", e.Result.Valid, cmp.Or(e.Result.Ran, e.Result.Planned)), e.Result.Winner
			}
			rows = append(rows, []string{
				e.Scenario, strconv.Itoa(n[record.Passed]), strconv.Itoa(n[record.Failed]), strconv.Itoa(n[record.Undecided]), blocks, answer,
			})
			for outcome, k := range n {
				total[outcome] += k
			}
		}
		rows = append(rows, []string{
			plural(len(entries), "scenario"), strconv.Itoa(total[record.Passed]), strconv.Itoa(total[record.Failed]), strconv.Itoa(total[record.Undecided]), "", "",
		})
		p := printer{b, TextOptions{}}
		for _, l := range aligned(rows, 1, 5) {
			p.line(l)
		}
	})
}

// aligned sets rows in columns; those from first to before last are numbers.
func aligned(rows [][]string, first, last int) (lines []string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			gap := fmt.Sprintf("%*s", widths[i]-utf8.RuneCountInString(cell), "")
			cells[i] = cell + gap
			if i >= first && i < last {
				cells[i] = gap + cell
			}
		}
		lines = append(lines, strings.Join(cells, "  "))
	}
	return lines
}
