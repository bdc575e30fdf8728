package main

import (
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/report"
)

func TestVerdictCode(t *testing.T) {
	t.Parallel()
	refused, same := record.Verdict{Primary: true, Verdict: "REFUSED"}, record.Verdict{Primary: true, Verdict: "SAME"}
	goodput := record.Verdict{Metric: "goodput", Verdict: "SAME"}
	for _, c := range []struct {
		verdicts     []record.Verdict
		answers      []record.Answer
		code, strict int
	}{
		{[]record.Verdict{refused, goodput}, nil, exitPartial, exitPartial},
		{[]record.Verdict{refused, {Metric: "goodput", Verdict: "LOWER"}}, nil, exitDone, exitDone}, // it does not keep up
		{[]record.Verdict{refused, same}, nil, exitDone, exitDone},
		{[]record.Verdict{same}, []record.Answer{record.Undecided}, exitDone, exitPartial},
		{[]record.Verdict{refused}, []record.Answer{record.Undecided}, exitPartial, exitPartial},
		{[]record.Verdict{refused}, []record.Answer{record.Passed, record.Undecided}, exitDone, exitPartial},
		{[]record.Verdict{refused}, []record.Answer{record.Passed}, exitDone, exitDone},
		{[]record.Verdict{same}, []record.Answer{record.Undecided, record.Failed}, exitExpectation, exitExpectation},
	} {
		r := &record.Result{Verdicts: c.verdicts}
		for _, a := range c.answers {
			r.Expectations = append(r.Expectations, record.Expectation{Outcome: a})
		}
		for strict, want := range map[bool]int{false: c.code, true: c.strict} {
			packed := exitDone
			if err, ok := packOutcome([]report.PackEntry{{Result: r}}, nil, strict).(*exitError); ok {
				packed = err.code
			}
			if got := verdictCode(r, strict); got != want || packed != want {
				t.Errorf("%v, strict %v: got %d, as a pack %d, want %d", c, strict, got, packed, want)
			}
		}
	}
}
