package ui

import (
	"math"
	"strings"
	"testing"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// watched is a run of two arms and a copy after that many blocks.
func watched(blocks int) session.Progress {
	p := session.Progress{FirstLook: 10}
	for i, role := range []record.Role{record.Baseline, record.Copy, record.Challenger} {
		a := session.ArmProgress{Name: []string{"nethttp", "nethttp'", "<pool>"}[i], Role: role, Connections: &record.Reading{Accepted: 1234, Done: 1200, Open: 34}}
		if i > 0 {
			a.Against = "nethttp"
		}
		var known []float64
		for k := range blocks {
			v := 1e-3 * float64(1+i) * (1 + 0.1*float64((3*k)%7))
			known = append(known, v)
			a.P50.Blocks = append(a.P50.Blocks, &v)
		}
		a.P50.SoFar, a.P99.Blocks = stats.SpreadOf(known), make([]*float64, blocks)
		p.Arms = append(p.Arms, a)
	}
	return p
}

// A live table has the figures that are known. The drawing has a row for each time of each arm, with the ratio of each block: before the first
// look without an interval, after it with the interval and the word of the judge.
//
// It is not parallel: that would change the order of the others, and a connection that net/http closes slowly would be the last.
func TestFiguresOfARunThatGoesOn(t *testing.T) {
	p := watched(8)
	table, charts := figuresOf(p)
	if got := strings.ReplaceAll(strings.Join(table.Rows[1], " "), say.NBSP, " "); got != "nethttp 8 1.25 ms 1.00 to 1.60 ms - - - 1,234 1,200 34" {
		t.Errorf("the first arm's row is %q", got)
	}
	picture := pictured(t, charts)
	for what, n := range map[string]int{"<tr class=\"primary\">": 2, `class="dots"`: 2, "first look after 10 blocks": 2, `class="interval"`: 0, `<span class="verdict open">open</span>`: 2, "&lt;pool&gt;</th>": 1, "A/A control": 1} {
		if got := strings.Count(picture, what); got != n {
			t.Errorf("before the first look %q stands there %d times, want %d:\n%s", what, got, n, picture)
		}
	}
	if dots := strings.Count(picture, "h0"); dots != 16 || strings.Contains(picture, "<pool>") {
		t.Errorf("%d dots, want one for each of 8 blocks of two arms, and the name escaped:\n%s", dots, picture)
	}

	p = watched(12)
	p.Verdicts = []record.Verdict{
		{Metric: stats.P50, Primary: true, Baseline: "nethttp", Arm: "<pool>", Verdict: stats.Decided(stats.Slower), Ratio: 3, Low: 2.9, High: 3.1, Blocks: 12, Lost: 12},
		{Metric: stats.P99, Primary: true, Baseline: "nethttp", Arm: "<pool>", Verdict: stats.Decision{Outcome: outcome.Open}, Ratio: 1, Low: .5, High: 2, Blocks: 12, Needed: 500},
		{Metric: stats.Goodput, Baseline: "nethttp", Arm: "<pool>", Verdict: stats.Decided(stats.Same), Ratio: 1, Low: .99, High: 1.01, Blocks: 12},
		{Metric: stats.CPUPerRequest, Baseline: "nethttp", Arm: "<pool>", Verdict: stats.Decided(stats.Lower), Ratio: .8, Low: .7, High: .9, Blocks: 12}, // its figures are not told
	}
	_, charts = figuresOf(p)
	picture = pictured(t, charts)
	for what, n := range map[string]int{
		"<tr class=": 3, `class="interval"`: 2, `<span class="verdict SLOWER">SLOWER</span>`: 1, ">&#43;200 %</td>": 1, ">slower in 12 of 12": 1, "first look": 0,
		"--window": 0, // no length of window is known here
	} {
		if got := strings.Count(picture, what); got != n {
			t.Errorf("after a look %q stands there %d times, want %d:\n%s", what, got, n, picture)
		}
	}
	if table, charts := figuresOf(session.Progress{}); len(table.Rows) > 0 || len(charts) > 0 {
		t.Errorf("before the first window there are %v and %v", table, charts)
	}
}

// pictured is the one drawing of a run that goes on.
func pictured(t *testing.T, verdicts []document.Part) string {
	t.Helper()
	if len(verdicts) != 2 {
		t.Fatalf("got %v, want a drawing and how to read it", verdicts)
	}
	how, _ := verdicts[1].(document.Note)
	if got := strings.ReplaceAll(string(how), say.NBSP, " "); !strings.HasSuffix(got, "SAME where the whole line lies in the band (±10 %), FASTER or SLOWER where it lies on one side of “same” and its median is 5 % or more away.") {
		t.Errorf("it is read so: %s", got)
	}
	return strings.ReplaceAll(string(verdicts[0].(document.Charts)[0].Picture), say.NBSP, " ")
}

// A ratio is that of one block to the same block, with the arm that the verdict names.
func TestRatiosOfBlocks(t *testing.T) {
	p := watched(3)
	p.Arms[0].P50.Blocks[1] = nil
	*p.Arms[0].P50.Blocks[2] = 0
	got := ratios(p, record.Verdict{Metric: stats.P50, Arm: "<pool>", Baseline: "nethttp"})
	if len(got) != 1 || math.Abs(got[0]-3) > 1e-9 {
		t.Errorf("got %v, want the ratio of the first block, 3", got)
	}
	if got := ratios(p, record.Verdict{Metric: stats.P50, Arm: "<pool>", Baseline: "nethttp'"}); len(got) != 3 || math.Abs(got[2]-1.5) > 1e-9 {
		t.Errorf("against the copy: got %v, want 1.5 in each of three blocks", got)
	}
}
