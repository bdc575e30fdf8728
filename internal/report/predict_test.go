package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
)

// A formula of a queue that refuses speaks of the requests it serves, so it is held
// against good replies and not against refusals, which are quick.
func TestTheoryOfALossyQueue(t *testing.T) {
	t.Parallel()
	all, good, p50 := .010, .016, .009
	a := record.Arm{Name: "q", Mean: &all, GoodMean: &good, P50: &p50, Goodput: new(990.), Requests: 1500, Errors: 500, Predictions: []record.Prediction{{
		Model: "mm1", Formula: "M/M/c/K", Values: map[string]float64{"mean": .015, "p50": .014, "goodput": 1000, "loss": 1. / 3},
	}}}
	lines := predictions(&record.Result{Arms: []record.Arm{a}})
	want := []string{"q, mm1 (M/M/c/K): mean 15.0" + nbsp + "ms, measured 16.0" + nbsp + "ms (+6.7" + nbsp + "%); goodput 1,000/s, measured 990/s (-1.0" + nbsp + "%); loss 33" + nbsp + "%, measured 33" + nbsp + "%"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
