package explain

import (
	"os"
	"strings"
	"testing"

	"schedlab/internal/record"
)

// A rule is complete: its phases and witnesses are known, a knob has a control, and the page
// that people read names it.
func TestRulesAreComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/guide/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	phases := map[string]bool{}
	for _, st := range record.Stretches() {
		for _, name := range st.Phases {
			phases[name] = true
		}
	}
	names := map[string]bool{}
	for _, w := range witnesses {
		names[w.name] = true
	}
	seen := map[record.Code]bool{}
	for _, r := range rules {
		if seen[r.code] || r.applies == nil || r.part.Name == "" || len(r.witnesses) == 0 {
			t.Errorf("%s: twice, or without what a rule needs", r.code)
		}
		seen[r.code] = true
		if (r.knob == nil) != (r.control == nil) || r.shown && r.knob != nil {
			t.Errorf("%s: a knob and a control, or neither; none where stamps are proof", r.code)
		}
		for _, p := range r.part.Phases {
			if !phases[p] {
				t.Errorf("%s: no phase is called %q", r.code, p)
			}
		}
		must := false
		for _, w := range r.witnesses {
			must = must || w.must
			if !names[w.witness] {
				t.Errorf("%s: no witness is called %q", r.code, w.witness)
			}
		}
		if !must {
			t.Errorf("%s: no witness can rule it out", r.code)
		}
		if !strings.Contains(string(page), "`"+string(r.code)+"`") {
			t.Errorf("%s: docs/guide/explain.md does not name it", r.code)
		}
	}
}
