package session

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/record"
)

// modes are those of the scenarios that tests plan.
var modes = map[string]mode.Mode{
	"nethttp":  {Name: "nethttp", Station: "goroutines"},
	"fasthttp": {Name: "fasthttp", Station: "goroutines"},
	"pool":     {Name: "pool", Station: "pool", Flags: []string{"workers"}},
}

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
	e := explaining{Explain: Explain{Budget: 5 * time.Second}}
	o := runner.Options{Self: "schedlab", Iters: 1, CPUs: runner.FreeCPUs, Modes: modes, Budget: e.Budget}
	_, err = runner.Plan(s, o)
	got := e.cannotTest(err)
	if want := regexp.MustCompile(`^--budget 5s is too short for the tests of the causes: give --budget \d+s or more, or --no-interventions$`); !want.MatchString(got.Error()) {
		t.Errorf("got %v", got)
	}
	if code, ok := errors.AsType[*Error](got); !ok || code.Code != Mistake {
		t.Errorf("exit code of %v", got)
	}
	e.afterRun = true
	if got := e.cannotTest(err).Error(); strings.Contains(got, "--window") || !strings.Contains(got, "'schedlab explain --budget ") {
		t.Errorf("of compare --explain: got %s", got)
	}
}
