package runs

import (
	"testing"
	"time"

	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// The newest runs of each scenario stay, and so do young runs, those under way and those that cannot be
// read.
func TestPrunable(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	made := func(scenario, name string, days int, status record.Status) Run {
		return Run{Name: name, Scenario: scenario, Status: string(status), Started: now.AddDate(0, 0, -days)}
	}
	all := []Run{
		made("quick", "q1", 1, record.Complete), made("quick", "q2", 40, record.Complete), made("sticky", "s1", 50, record.Complete),
		made("quick", "q3", 60, record.Partial), made("quick", "q4", 61, record.Running), made("sticky", "s2", 70, record.Interrupted),
		{Name: "broken", Problem: "not JSON"},
	}
	for _, tt := range []struct {
		keep, days int
		want       string
	}{
		{0, 0, "q1 q2 s1 q3 s2 "},
		{1, 0, "q2 q3 s2 "},
		{1, 45, "q3 s2 "},
		{2, 45, "q3 "},
		{9, 0, ""},
	} {
		got := ""
		for _, p := range Prunable(all, tt.keep, now.AddDate(0, 0, -tt.days)) {
			got += p.Name + " "
		}
		if got != tt.want {
			t.Errorf("--keep %d --older %dd removes %q, want %q", tt.keep, tt.days, got, tt.want)
		}
	}
}

// The longest bar is that of the largest value; values that are all 0 have none.
func TestTrend(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		first, last float64
		bars        []string
	}{
		{1000, 500, []string{"##############################", "###############"}},
		{0, 0, []string{"", ""}},
	} {
		var all []Run
		for _, goodput := range []float64{tt.last, tt.first} { // the newest first
			all = append(all, Run{Record: record.Run{Result: &record.Comparison{Arms: []record.Arm{{Contestant: record.Contestant{Name: "a"}, Figures: record.Figures{Goodput: &goodput}}}}}})
		}
		table, err := Trend(all, stats.Goodput.Row(), "")
		if err != nil || len(table.Rows) != 3 || table.Rows[1][2] != tt.bars[0] || table.Rows[2][2] != tt.bars[1] {
			t.Errorf("%g, %g: got %q, %v; want the bars %q", tt.first, tt.last, table.Rows, err, tt.bars)
		}
	}
}

// A run that does not belong to the series before it is marked.
func TestTrendMarksWhatChanged(t *testing.T) {
	t.Parallel()
	goodput := 1000.
	of := func(cell string, window time.Duration) Run {
		return Run{Cell: cell, Machine: "m", Version: "v1", Record: record.Run{
			Plan:   record.Plan{Window: record.Lasting(window)},
			Result: &record.Comparison{Arms: []record.Arm{{Contestant: record.Contestant{Name: "a"}, Figures: record.Figures{Goodput: &goodput}}}},
		}}
	}
	newest := of("rate=200/s", 2*time.Second)
	newest.Version = "v2"
	table, err := Trend([]Run{newest, of("rate=200/s", time.Second), of("rate=100/s", time.Second), of("rate=100/s", time.Second)}, stats.Goodput.Row(), "")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "", "now rate=200/s", "now m, schedlab v2; windows of 2s"} {
		if got := table.Rows[i+1][3]; got != want {
			t.Errorf("row %d: %q, want %q", i+1, got, want)
		}
	}
}

// A change beside two figures of two runs is the quotient of these figures as they are printed.
func TestDiffHasTheQuotientOfItsFigures(t *testing.T) {
	t.Parallel()
	run := func(p50, goodput float64) record.Run {
		return record.Run{Result: &record.Comparison{Arms: []record.Arm{{Contestant: record.Contestant{Name: "a"}, Figures: record.Figures{P50: &p50, Goodput: &goodput}}}}}
	}
	for _, row := range Diff(run(.01604, 1990.4), run(.0168, 1999.6)).Rows {
		want := map[string]string{"a p50": "+5.0 %", "a goodput": "+0.5 %"}[row[0]]
		if want != "" && row[3] != want {
			t.Errorf("%s: %s and %s, got %s, want %s", row[0], row[1], row[2], row[3], want)
		}
	}
}
