package explain

import (
	"testing"
	"time"

	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
)

// What was tested of two arms stays in the record until it is done again; an
// explanation of other arms takes its place only with tests of its own.
func TestExplanationsThatAreKept(t *testing.T) {
	t.Parallel()
	tested := Explanation{Schema: record.Schema, From: "a", To: "b", Outcome: outcome.Yes, Tests: &TestRun{Dir: "tests"}}
	fresh := Explanation{Schema: record.Schema, From: "a", To: "b", Outcome: outcome.Open}
	again, other := tested, fresh
	again.Tests = &TestRun{Dir: "later"}
	other.To = "c"
	for name, c := range map[string]struct {
		old   *Explanation
		x     Explanation
		tests string // where those of the result are
		keep  bool
	}{
		"the first":                        {nil, fresh, "", true},
		"the same arms, not tested":        {&tested, fresh, "tests", true},
		"the same arms, tested again":      {&tested, again, "later", true},
		"other arms, not tested":           {&tested, other, "", false},
		"other arms, of an untested":       {&fresh, other, "", true},
		"other arms that were tested, too": {&Explanation{Schema: record.Schema, From: "a", To: "c", Tests: &TestRun{Dir: "c"}}, again, "later", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := record.Create(t.TempDir(), "demo", time.Now(), func() uint32 { return 1 })
			if err != nil {
				t.Fatal(err)
			}
			if c.old != nil {
				if err := Keep(dir, c.old); err != nil {
					t.Fatal(err)
				}
			}
			both, keep, err := Merge(dir, &c.x)
			if err != nil || keep != c.keep || (both.Tests != nil) != (c.tests != "") {
				t.Fatalf("got %+v, keep %v, %v", both, keep, err)
			}
			if both.Tests != nil && both.Tests.Dir != c.tests || (both.Outcome == outcome.Yes) != (c.tests != "") {
				t.Errorf("got %s by %+v, want the tests %q", both.Outcome, both.Tests, c.tests)
			}
		})
	}
}
