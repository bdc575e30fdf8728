package choose

import (
	"slices"

	"schedlab/internal/judge"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// TestPairs returns the comparisons of a test: in every metric, each other arm with the advised
// arm. The advised arm is arms[0].
func TestPairs(arms, metrics []string) (all []judge.Pair) {
	for _, arm := range arms[1:] {
		for _, metric := range metrics {
			all = append(all, judge.Pair{Metric: metric, Baseline: arms[0], Arm: arm})
		}
	}
	return all
}

// Verify judges an advice by the verdicts of its test. The advice held if no other arm is better
// than the advised arm in one metric without being worse in another, if the advised arm keeps the
// SLO, and if each of its requests got a good reply. The last condition is dropped if overload
// matters. arms[0] is the advised arm.
func Verify(advised record.Arm, arms, metrics []string, verdicts []record.Verdict, slo []record.Expectation) *record.ChoiceTest {
	r := record.Result{Verdicts: verdicts}
	for i, name := range arms {
		r.Arms = append(r.Arms, record.Arm{Name: name, Role: []record.Role{record.Baseline, record.Challenger}[min(i, 1)]})
	}
	t := record.ChoiceTest{Answer: record.Failed, Verdicts: verdicts, SLO: slo, Why: record.Fact{
		Code: chooseWrong, Names: record.Names{"mode": arms[0]}, Values: record.Values{"errors": float64(advised.Errors), "requests": float64(advised.Requests)},
	}}
	for _, v := range verdicts {
		t.Why.Because = append(t.Why.Because, Said(v))
	}
	refused := func(v record.Verdict) bool { return v.Verdict == string(stats.Refused) }
	_, best := judge.Leaders(&r, metrics)
	switch {
	case !slices.ContainsFunc(verdicts, func(v record.Verdict) bool { return !refused(v) }):
		t.Answer, t.Why.Code = record.NoAnswer, chooseOpen
	case !slices.Contains(best, arms[0]):
	case slices.ContainsFunc(slo, func(e record.Expectation) bool { return e.Outcome == record.Failed }):
		t.Why.Code = chooseBroken
	case advised.Errors > 0 && !slices.Contains(metrics, "good_mean"):
		t.Answer, t.Why.Code = record.NoAnswer, chooseShed
	default:
		t.Answer, t.Why.Code = record.Passed, chooseHeld
	}
	return &t
}
