package session

import (
	"testing"

	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	refused, same := record.Verdict{Primary: true, Verdict: stats.Decision{Outcome: outcome.Refused}}, record.Verdict{Primary: true, Verdict: stats.Decided(stats.Same)}
	goodput := record.Verdict{Metric: stats.Goodput, Verdict: stats.Decided(stats.Same)}
	for _, c := range []struct {
		verdicts     []record.Verdict
		answers      []outcome.Outcome
		code, strict int
	}{
		{[]record.Verdict{refused, goodput}, nil, NoAnswer, NoAnswer},
		{[]record.Verdict{refused, {Metric: stats.Goodput, Verdict: stats.Decided(stats.Lower)}}, nil, Done, Done}, // it does not keep up
		{[]record.Verdict{refused, same}, nil, Done, Done},
		{[]record.Verdict{same}, []outcome.Outcome{outcome.Open}, Done, NoAnswer},
		{[]record.Verdict{refused}, []outcome.Outcome{outcome.Open}, NoAnswer, NoAnswer},
		{[]record.Verdict{same}, []outcome.Outcome{outcome.Refused, outcome.Refused}, NoAnswer, NoAnswer}, // nothing that was asked
		{[]record.Verdict{same}, []outcome.Outcome{outcome.Refused, outcome.Open}, Done, NoAnswer},
		{[]record.Verdict{refused}, []outcome.Outcome{outcome.Yes, outcome.Open}, Done, NoAnswer},
		{[]record.Verdict{refused}, []outcome.Outcome{outcome.Yes}, Done, Done},
		{[]record.Verdict{same}, []outcome.Outcome{outcome.Open, outcome.No}, NotKept, NotKept},
	} {
		r := &record.Comparison{Verdicts: c.verdicts}
		for _, a := range c.answers {
			r.Expectations = append(r.Expectations, record.Expectation{Outcome: a})
		}
		for strict, want := range map[bool]int{false: c.code, true: c.strict} {
			packed := Done
			if err, ok := packOutcome([]report.PackEntry{{Result: r}}, nil, strict).(*Error); ok {
				packed = err.Code
			}
			if got, _ := deserved([]report.PackEntry{{Result: r}}, strict); got != want || packed != want {
				t.Errorf("%v, strict %v: got %d, as a pack %d, want %d", c, strict, got, packed, want)
			}
		}
	}
}
