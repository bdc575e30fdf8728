package experiments

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The file is as Format writes it, and a scenario that is measured again replaces its rows.
func TestFile(t *testing.T) {
	t.Parallel()
	all, err := Answers()
	if err != nil {
		t.Fatal(err)
	}
	if got := Format(all); got != answers {
		t.Errorf("answers.tsv is not as Format writes it:\n%s", cmp.Diff(strings.Split(answers, "\n"), strings.Split(got, "\n")))
	}
	quick := []Row{
		{Scenario: "quick", Day: "2026-11-28", Commit: "abc1234", Blocks: 12, Metric: "p90", Arm: "pool", Baseline: "nethttp", Figure: .034, Verdict: "SLOWER", Ratio: 1.1656, Low: 1.1, High: 1.31},
		{Scenario: "quick", Day: "2026-11-28", Commit: "abc1234", Blocks: 12, Metric: "claim", Verdict: "yes", Asks: `p90("pool") > 30ms`, Reason: "true in 12 of 12 blocks", Text: `it says "long"`},
	}
	got, err := Parse(Format(With(all, "quick", quick)))
	if err != nil {
		t.Fatal(err)
	}
	of := slices.DeleteFunc(slices.Clone(got), func(r Row) bool { return r.Scenario != "quick" })
	if diff := cmp.Diff(quick, of); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.IsSortedFunc(got, func(a, b Row) int { return strings.Compare(a.Scenario, b.Scenario) }) {
		t.Error("the scenarios are not in the order of their names")
	}
}

// An error names the line, and the columns are these and no others.
func TestFileMistakes(t *testing.T) {
	t.Parallel()
	head := strings.Join(columns, "\t") + "\n"
	for text, want := range map[string]string{
		"":                "the first line is not scenario, day",
		"scenario\tday\n": "wrong number of fields",
		head + "a\td\tc\tx\tp50\t\t\t\t\t\t\t\t\t\t\n":      "line 2: ",
		head + "a\td\tc\t9\tp50\tb\t\tlong\t\t\t\t\t\t\t\n": "line 2: ",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want one with %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Format([]Row{{Scenario: "quick", Blocks: 12, Metric: "p90", Figure: .034, Verdict: "SAME", Ratio: 1}}))
	f.Fuzz(func(_ *testing.T, text string) {
		if rows, err := Parse(text); err == nil {
			Format(rows)
		}
	})
}
