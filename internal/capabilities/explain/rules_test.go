package explain

import (
	"os"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/timeline"
)

// A rule is complete: its phases and witnesses are known, a knob has a control, and the page
// that people read names it.
func TestRulesAreComplete(t *testing.T) {
	page, err := os.ReadFile("../../../docs/guide/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	phases := map[string]bool{}
	for _, st := range timeline.Stretches() {
		for _, name := range st.Phases {
			phases[name] = true
		}
	}
	seen := map[fact.Code]bool{}
	for _, r := range rules {
		if seen[r.cause.Code] || r.applies == nil || r.part.Name == "" || len(r.witnesses) == 0 {
			t.Errorf("%s: twice, or without what a rule needs", r.cause.Code)
		}
		seen[r.cause.Code] = true
		if r.knob == nil && r.control != nil || r.shown && r.knob != nil {
			t.Errorf("%s: a control without a knob, or a knob where stamps are proof", r.cause.Code)
		}
		for _, p := range r.part.Phases {
			if !phases[p] {
				t.Errorf("%s: no phase is called %q", r.cause.Code, p)
			}
		}
		must := false
		for _, w := range r.witnesses {
			must = must || w.must
			if !slices.Contains(witnesses, w.witness) {
				t.Errorf("%s: %q is no witness that is reported", r.cause.Code, w.witness.name)
			}
		}
		if !must {
			t.Errorf("%s: no witness can rule it out", r.cause.Code)
		}
		if !strings.Contains(string(page), "`"+string(r.cause.Code)+"`") {
			t.Errorf("%s: docs/guide/explain.md does not name it", r.cause.Code)
		}
	}
}
