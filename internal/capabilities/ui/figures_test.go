package ui

import (
	"strings"
	"testing"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// watched is a run of two arms and a copy after that many blocks.
func watched(blocks int) session.Progress {
	p := session.Progress{FirstLook: 10}
	for i, role := range []record.Role{record.Baseline, record.Copy, record.Challenger} {
		a := session.ArmProgress{Name: []string{"nethttp", "nethttp'", "<pool>"}[i], Role: role, Connections: &record.Reading{Accepted: 1234, Done: 1200, Open: 34}}
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

// A live table has the figures that are known, and a drawing the medians and intervals after each block.
//
// It is not parallel: that would change the order of the others, and a connection that net/http closes slowly would be the last.
func TestFiguresOfARunThatGoesOn(t *testing.T) {
	table, charts := figuresOf(watched(8))
	rows := table.(document.Table).Rows
	if got := strings.ReplaceAll(strings.Join(rows[1], " "), say.NBSP, " "); got != "nethttp 8 1.25 ms 1.00 to 1.60 ms - - - 1,234 1,200 34" {
		t.Errorf("the first arm's row is %q", got)
	}
	drawn := charts.(document.Charts)
	if len(drawn) != 1 || !strings.HasPrefix(drawn[0].Caption, "p50 ") || len(drawn[0].Keys) != 3 {
		t.Fatalf("got %d charts: %+v", len(drawn), drawn)
	}
	picture := string(drawn[0].Picture)
	if n := strings.Count(picture, `<path class="line`); n != 9 {
		t.Errorf("%d lines, want three for each arm:\n%s", n, picture)
	}
	if !strings.Contains(picture, "&lt;pool&gt;: 3.75") || strings.Contains(picture, "<pool>") {
		t.Errorf("a name is not escaped:\n%s", picture)
	}
	if table, charts := figuresOf(session.Progress{}); len(table.(document.Lines)) > 0 || len(charts.(document.Charts)) > 0 {
		t.Errorf("before the first window there are %v and %v", table, charts)
	}
}
