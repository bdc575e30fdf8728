package fact_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/shared/fact"
)

// Doubts come in the order of their weights. This is the whole order, over all packages: first what decides whether there
// is an answer, then all that have no weight (""), last what every run on such a machine has.
func TestByWeight(t *testing.T) {
	t.Parallel()
	want := []fact.Code{
		"machine-busy", "sticky-pool", "short-round", "starved-connections", "cold-server", "generator-limit", "too-few-workers", "overloaded", "rate-few-workers", "rate-lowered", "disturbed-probe", "windows-shortened",
		"run-not-complete", "budget-too-short", "missing-trials", "load-stood-still", "blocks-left-out", "answered-none", "redirects", "windows-refused", "load-took-cpu", "unsent-requests",
		"other-mode", "queue-unused", "one-cpu-shared", "one-p-shared", "parsers-differ", "idle-workers", "queue-never-full",
		"",
		"runs-already", "other-program", "shared-cpus", "one-cpu", "virtualised", "one-host",
	}
	light := slices.Index(want, "")
	weighed := 0
	for _, code := range fact.Codes() {
		at := slices.Index(want, code)
		if at >= 0 {
			weighed++
		}
		if got := code.Decides(); got != (at >= 0 && at < light) {
			t.Errorf("%s: decides is %t", code, got)
		}
		if got := code.General(); got != (at > light) {
			t.Errorf("%s: general is %t", code, got)
		}
	}
	if weighed != len(want)-1 {
		t.Errorf("%d of %d codes are registered", weighed, len(want)-1)
	}
	var doubts []fact.Fact
	for _, code := range slices.Backward(want) {
		doubts = append(doubts, fact.Fact{Code: code})
	}
	doubts = append(doubts, fact.Fact{Code: "uneven-probe"}, fact.Fact{Code: "of another version"})
	want = slices.Insert(want, light+1, "uneven-probe", "of another version")
	var got []fact.Code
	for _, f := range fact.ByWeight(doubts) {
		got = append(got, f.Code)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
