package report

import (
	"fmt"

	"schedlab/internal/record"
)

// An answered is one expectation as it is shown.
type answered struct {
	record.Expectation
	Class string // of its verdict badge
}

func answers(r *record.Result) (all []answered) {
	class := map[record.Answer]string{record.Passed: "FASTER", record.Failed: "SLOWER", record.Undecided: "REFUSED"}
	for _, e := range r.Expectations {
		all = append(all, answered{e, class[e.Outcome]})
	}
	return all
}

// tally counts the answers in a sentence, "" when nothing was expected.
func tally(all []record.Expectation) string {
	if len(all) == 0 {
		return ""
	}
	n := map[record.Answer]int{}
	for _, e := range all {
		n[e.Outcome]++
	}
	return fmt.Sprintf("%s: %d passed, %d failed, %d refused", plural(len(all), "expectation"), n[record.Passed], n[record.Failed], n[record.Undecided])
}

func (p printer) expectations(r *record.Result) {
	if len(r.Expectations) == 0 {
		return
	}
	p.line("")
	p.prose("", tally(r.Expectations))
	for _, e := range r.Expectations {
		p.prose("  ", fmt.Sprintf("%-7s %s", e.Outcome, e.Text))
		p.prose("          ", e.Reason.Text)
	}
}

func markdownExpectations(line func(string, ...any), r *record.Result) {
	if len(r.Expectations) == 0 {
		return
	}
	line("\n### Expectations\n\n%s.\n", md(tally(r.Expectations)))
	for _, e := range r.Expectations {
		line("- **%s** `%s`: %s", e.Outcome, code(e.Text), md(e.Reason.Text))
	}
}
