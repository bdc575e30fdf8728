package advise

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
)

// A pack's file has all that a cell needs, and a scenario that is measured again replaces its
// lines.
func TestPackFile(t *testing.T) {
	t.Parallel()
	quick := rows("quick", "p90 fasthttp nethttp SAME\nmemory pool nethttp REFUSED")
	lock := rows("lock", "p99 nethttp goroutine SLOWER")
	p := Pack(nil).With("quick", rows("quick", "p50 fasthttp nethttp SAME")).With("lock", lock).With("quick", quick)
	got, err := ParsePack(p.String())
	if err != nil {
		t.Fatal(err)
	}
	want := append(lock, quick...)
	for i := range want {
		want[i].Primary = strings.HasPrefix(want[i].Metric, "p")
		if !want[i].Reason.None() {
			want[i].Reason.Baseline, want[i].Reason.Metric = want[i].Baseline, want[i].Metric
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A verdict that the run refuses, for replies that overload is meant to have, stands as the
// figures of the blocks do.
func TestRowsTakeTheVerdictThatThereIs(t *testing.T) {
	t.Parallel()
	r := &record.Result{Scenario: "accept", Verdicts: []record.Verdict{
		{Metric: "p99", Arm: "b", Baseline: "a", Verdict: "FASTER"}, {Metric: "goodput", Arm: "b", Baseline: "a", Verdict: "REFUSED"},
	}}
	got := Rows(r, []record.Verdict{{Metric: "goodput", Arm: "b", Baseline: "a", Verdict: "SAME"}, {Metric: "good_mean", Arm: "b", Baseline: "a", Verdict: "FASTER"}})
	var words []string
	for _, row := range got {
		words = append(words, row.Metric+" "+string(row.Verdict.Verdict))
	}
	if diff := cmp.Diff([]string{"p99 FASTER", "goodput SAME", "good_mean FASTER"}, words); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzParsePack(f *testing.F) {
	f.Add(rows("quick", "p90 fasthttp nethttp SAME").String())
	f.Add(strings.Join(columns, "\t") + "\nquick\ta\tp90\tx\ty\tSAME\tNaN\t\t\tx\t\n")
	f.Fuzz(func(_ *testing.T, text string) {
		p, err := ParsePack(text)
		if err != nil {
			return
		}
		Cells(p, someModes())
	})
}
