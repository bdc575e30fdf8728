package report

import (
	"bytes"
	"strings"
	"testing"

	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
)

// fiveCells are the cells of a grid of two columns and three rows, with one that was refused, one that is left out and one
// that was never begun.
func fiveCells() []PackEntry {
	cell := func(cpu, rate string, a *record.Conclusion) PackEntry {
		e := PackEntry{Scenario: "capacity", Cell: []record.Level{{Factor: "cpu", Value: cpu}, {Factor: "rate", Value: rate}}}
		if a != nil {
			e.Result = &record.Comparison{Answer: *a, Winner: record.Winner{Outcome: outcome.Yes, Arm: "pool"}, Arms: []record.Arm{{Contestant: record.Contestant{Name: "nethttp"}}, {Contestant: record.Contestant{Name: "nethttp'", Role: record.Copy}}, {Contestant: record.Contestant{Name: "pool"}}}}
		}
		return e
	}
	return []PackEntry{
		cell("20us", "500/s", &record.Conclusion{Outcome: outcome.Yes, Kind: record.OneWins}),
		cell("100us", "500/s", &record.Conclusion{Outcome: outcome.Yes, Kind: record.TieForBest}),
		cell("20us", "1000/s", &record.Conclusion{Outcome: outcome.Refused}),
		cell("100us", "1000/s", nil),
		cell("20us", "2000/s", &record.Conclusion{Outcome: outcome.Open}),
	}
}

// A grid's cell shows the arm that the answer names first, or why there is none. The second factor
// rises upwards, and a cell that did not run is a dot. Colour is for terminals only.
func TestGrid(t *testing.T) {
	t.Parallel()
	entries := fiveCells()
	got := func(o TextOptions) string {
		var b bytes.Buffer
		if err := PackSummary(&b, entries, o); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := []string{"rate \\ cpu 20us 100us", "2000/s open .", "1000/s refused .", "500/s pool =nethttp",
		"=NAME: NAME and others share the first place, and are the same", "open: no arm is surely the best"}
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
	if text := got(TextOptions{Colour: Colours}); !strings.Contains(text, "\x1b[1;34m=nethttp\x1b") {
		t.Errorf("no colour for the first of the best arms:\n%q", text)
	}
	if _, spoilt := Colours["pool"]; spoilt {
		t.Error("the colours of all reports changed")
	}
}

// The page has the drawing with each cell's answer under the pointer, the table, and a link to each cell's report.
func TestGridPage(t *testing.T) {
	t.Parallel()
	entries := fiveCells()
	entries[0].Result.Run, entries[3].NotRun = "20261128-120000-capacity-0001", "no room <left>"
	var b bytes.Buffer
	if err := GridPage(&b, entries); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"capacity over cpu and rate", "Of 6 cells: nethttp is among the best in 1, pool wins 1, 1 open, 1 refused, 2 not run.",
		`<rect class="g-1"`, `<rect class="g-0"`, `<rect class="g-open"`, `<rect class="g-refused"`, `<rect class="g-none"`,
		`href="20261128-120000-capacity-0001/report.html"`, "<td>pool</td>", "no room &lt;left&gt;",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(b.String(), "<g><title>"); n != 6 {
		t.Errorf("%d cells are drawn, want 6", n)
	}
	// One factor has one row, and no name at the left.
	for i := range entries {
		entries[i].Cell = entries[i].Cell[:1]
	}
	if b.Reset(); GridPage(&b, entries[:2]) != nil || strings.Contains(b.String(), "rotate(-90") || !strings.Contains(b.String(), "capacity over cpu<") {
		t.Errorf("a grid of one factor: got %s", &b)
	}
}

// The page of a cell has the whole grid, and so has its text; a run that is no cell has none. The first of two that beat the
// baseline and are the same stands for both.
func TestReportOfACellHasTheGrid(t *testing.T) {
	t.Parallel()
	var all []*record.Comparison
	for i, e := range fiveCells() {
		if e.Result != nil {
			e.Result.Scenario, e.Result.Cell = e.Scenario, e.Cell
			if i == 1 {
				e.Result.Answer.Faster = []string{"pool"}
			}
			all = append(all, e.Result)
		}
	}
	r := all[0]
	shown := func() (texts [2]string) {
		for i, write := range []func(b *bytes.Buffer) error{
			func(b *bytes.Buffer) error { return HTML(b, r) }, func(b *bytes.Buffer) error { return Text(b, r, TextOptions{}) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			texts[i] = b.String()
		}
		return texts
	}
	for i, text := range shown() {
		if strings.Contains(text, "Who wins where") {
			t.Errorf("report %d of a run without a grid has one", i)
		}
	}
	r.Grid = all
	texts := shown()
	for _, want := range []string{"Who wins where", `<rect class="g-1"`, "<td>=pool</td>", "<td>.</td>"} {
		if !strings.Contains(texts[0], want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if i := strings.Index(texts[1], "Who wins where"); i < 0 || !strings.Contains(texts[1][i:], "=pool") || strings.Contains(texts[1][i:], "Doubts") {
		t.Errorf("the text does not end with the grid:\n%s", texts[1])
	}
}
