package report

import (
	"bytes"
	"strings"
	"testing"

	"schedlab/internal/record"
)

// A grid's cell shows the arm that the answer names first, or why there is none. The second factor
// rises upwards, and a cell that did not run is a dot. Colour is for terminals only.
func TestGrid(t *testing.T) {
	t.Parallel()
	cell := func(cpu, rate string, a *record.Conclusion) PackEntry {
		e := PackEntry{Scenario: "capacity", Cell: []record.Level{{Factor: "cpu", Value: cpu}, {Factor: "rate", Value: rate}}}
		if a != nil {
			e.Result = &record.Result{Answer: *a, Winner: "pool", Arms: []record.Arm{{Name: "nethttp"}, {Name: "nethttp'", Role: record.Copy}, {Name: "pool"}}}
		}
		return e
	}
	entries := []PackEntry{
		cell("20us", "500/s", &record.Conclusion{Outcome: record.OneWins}),
		cell("100us", "500/s", &record.Conclusion{Outcome: record.TieForBest}),
		cell("20us", "1000/s", &record.Conclusion{Outcome: record.NoVerdict}),
		cell("100us", "1000/s", nil),
		cell("20us", "2000/s", &record.Conclusion{Outcome: record.OpenOutcome}),
	}
	got := func(o TextOptions) string {
		var b bytes.Buffer
		if err := PackSummary(&b, entries, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := []string{"rate \\ cpu 20us 100us", "2000/s open .", "1000/s refused .", "500/s pool same",
		"same: the best arms are the same", "open: no arm is surely better"}
	var lines []string
	for line := range strings.Lines(got(TextOptions{})) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	for _, w := range want {
		if !strings.Contains(strings.Join(lines, "\n"), w) {
			t.Errorf("no line %q in\n%s", w, strings.Join(lines, "\n"))
		}
	}
	if text := got(TextOptions{}); strings.Contains(text, "\x1b") {
		t.Errorf("colour without a terminal:\n%q", text)
	}
	if text := got(TextOptions{Colour: Colours}); !strings.Contains(text, "\x1b[1;32mpool\x1b") {
		t.Errorf("no colour for the arm that wins:\n%q", text)
	}
	if _, spoilt := Colours["pool"]; spoilt {
		t.Error("the colours of all reports changed")
	}
}
