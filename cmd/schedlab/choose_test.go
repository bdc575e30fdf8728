package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"schedlab/docs/experiments"
	"schedlab/internal/advise"
	"schedlab/internal/model"
)

// The table of docs/guide/choose.md is what the pack's verdicts come to today.
func TestChoosePageIsOfThePack(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(moduleRoot(t), "docs", "guide", "choose.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(page), "<!-- choices: tools/experiments writes this section -->\n")
	shown, _, ends := strings.Cut(rest, "<!-- end -->")
	if !begins || !ends {
		t.Fatal("docs/guide/choose.md has no section of choices")
	}
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"choose", "--table"}, &out, &errs); code != exitDone {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	if out.String() != shown {
		t.Errorf("docs/guide/choose.md is not the table of docs/experiments/answers.tsv; print it with 'schedlab choose --table'")
	}
}

// Every cell asks a scenario that is embedded, of arms that it has, with the modes that they are, and
// the embedded pack answers it.
func TestTableIsOfThePack(t *testing.T) {
	t.Parallel()
	answers, err := experiments.Answers()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range advise.Cells(packOf(answers), choosable()) {
		if len(c.Best) == 0 {
			t.Errorf("%s, %s: docs/experiments/answers.tsv has no answer; run tools/experiments %s", c.Does, c.Matters, c.Scenario)
		}
		s, err := findScenario(c.Scenario)
		if err != nil {
			t.Errorf("%s, %s: %v", c.Does, c.Matters, err)
			continue
		}
		modes := map[string]string{}
		for _, a := range s.Contestants() {
			modes[a.Name] = a.Mode
		}
		for _, a := range c.Arms {
			// A mode that keeps its connections stands for the one that serves kept ones.
			if _, err := model.Lookup(a.Mode); err != nil || modes[a.Name] == "" {
				t.Errorf("%s, %s: scenario %s has no arm %q, or %q is no mode", c.Does, c.Matters, c.Scenario, a.Name, a.Mode)
			}
		}
	}
}

// Whatever a file of answers holds, the table has its cells.
func FuzzPack(f *testing.F) {
	answers, err := experiments.Answers()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(experiments.Format(slices.DeleteFunc(answers, func(r experiments.Row) bool { return r.Scenario != "quick" })))
	f.Fuzz(func(_ *testing.T, text string) {
		if rows, err := experiments.Parse(text); err == nil {
			advise.Cells(packOf(rows), choosable())
		}
	})
}
