package main

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"schedlab/internal/experiment"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/scenario/demo"
)

// Before tests whose budget is too short for a verdict, explain names the flag.
func TestFewBlocksOfTests(t *testing.T) {
	t.Parallel()
	plan := record.Plan{Arms: make([]record.PlanArm, 5), Feasible: &record.Feasibility{First: 12}}
	if got, _ := fewBlocks(plan, time.Minute); got != "" {
		t.Errorf("with time enough: %q", got)
	}
	plan.Feasible.Cannot = []record.Undecidable{{Code: record.ShortRequests, Value: 10, Limit: 200}}
	if got, _ := fewBlocks(plan, time.Minute); got != "" {
		t.Errorf("with time enough, and few requests: %q", got)
	}
	plan.Feasible.Cannot = []record.Undecidable{{Code: record.ShortBudget, Value: 20, Limit: 35.2}}
	want := "the tests make 9 comparisons, which need 12 blocks for any verdict, and --budget 20s is too short for these; --budget 36s would do"
	if got, needs := fewBlocks(plan, 20*time.Second); got != want || needs != 36*time.Second {
		t.Errorf("got %q and %v, want %q", got, needs, want)
	}
}

// A budget that is too short for the tests is told by the flag that explain has, with a value that would do.
func TestExplainNamesItsOwnBudget(t *testing.T) {
	t.Parallel()
	s, err := scenario.Parse("demo", []byte(demo.Text))
	if err != nil {
		t.Fatal(err)
	}
	f := explainFlags{testBudget: 5 * time.Second}
	o := experiment.Options{Self: "schedlab", Iters: 1, Pin: "none", Modes: modeFacts(), Budget: f.testBudget}
	_, err = experiment.Plan(s, o)
	got := f.cannotTest(err)
	if want := regexp.MustCompile(`^--budget 5s is too short for the tests of the causes: give --budget \d+s or more, or --no-interventions$`); !want.MatchString(got.Error()) {
		t.Errorf("got %v", got)
	}
	if code, ok := errors.AsType[*exitError](got); !ok || code.code != exitUsage {
		t.Errorf("exit code of %v", got)
	}
	f.why = true
	if got := f.cannotTest(err).Error(); strings.Contains(got, "--window") || !strings.Contains(got, "'schedlab explain --budget ") {
		t.Errorf("of compare --explain: got %s", got)
	}
}

// Before anything else, compare --explain says how long measuring and explaining take together.
func TestCompareExplainSaysHowLong(t *testing.T) {
	t.Parallel()
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"compare", "--explain", "--budget", "1m30s", "--dry-run", "--pin", "none"}, &out, &errs); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	said, _, _ := strings.Cut(errs.String(), "\nmachine: ")
	if want := "schedlab: measuring takes 1m30s at most, and explaining (--explain) about 1m0s more: 2m30s together"; !strings.HasSuffix(said, want) {
		t.Errorf("got %q, want it to end with %q", said, want)
	}
}
