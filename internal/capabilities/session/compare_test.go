package session

import (
	"testing"

	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/fact"
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

// A question of the run's own alone decides: a gate, or one that is answered in a sentence.
func TestOutcomeOfAnotherQuestion(t *testing.T) {
	t.Parallel()
	for is, want := range map[outcome.Outcome]int{outcome.Yes: Done, outcome.No: NotKept, outcome.Open: NoAnswer, outcome.Refused: NoAnswer} {
		for name, r := range map[string]*record.Comparison{
			"a gate":     {Gate: []record.Gated{{Outcome: is}}},
			"a sentence": {Answer: record.Conclusion{Outcome: is, Says: fact.Fact{Code: "says"}}},
		} {
			r.Verdicts = []record.Verdict{{Primary: true, Verdict: stats.Decided(stats.Same)}}
			r.Expectations = []record.Expectation{{Outcome: outcome.No}}
			if got, _ := deserved([]report.PackEntry{{Result: r}}, false); got != want {
				t.Errorf("%s that is %s: got %d, want %d", name, is, got, want)
			}
		}
	}
}
