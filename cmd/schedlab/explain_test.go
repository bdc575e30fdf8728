package main

import (
	"testing"
	"time"

	"schedlab/internal/record"
)

// Before tests whose budget is too short for a verdict, explain names the flag.
func TestFewBlocksOfTests(t *testing.T) {
	t.Parallel()
	plan := record.Plan{Arms: make([]record.PlanArm, 5), Feasible: &record.Feasibility{First: 12}}
	if got := fewBlocks(plan, time.Minute); got != "" {
		t.Errorf("with time enough: %q", got)
	}
	plan.Feasible.Cannot = []record.Undecidable{{Code: record.ShortRequests, Value: 10, Limit: 200}}
	if got := fewBlocks(plan, time.Minute); got != "" {
		t.Errorf("with time enough, and few requests: %q", got)
	}
	plan.Feasible.Cannot = []record.Undecidable{{Code: record.ShortBudget, Value: 20, Limit: 35.2}}
	want := "the tests make 9 comparisons, which need 12 blocks for any verdict, and --budget 20s is too short for these; --budget 36s would do"
	if got := fewBlocks(plan, 20*time.Second); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
