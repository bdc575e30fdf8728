package report

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/responses"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	step := func(by float64) stats.Step { return stats.Step{By: by, Low: by - 9e-6, High: by + 11e-6} }
	piece := func(stretch string, by float64) record.Piece { return record.Piece{Stretch: stretch, Step: step(by)} }
	for _, c := range []struct {
		name string
		d    record.Difference
		want string
	}{
		{"largest first, what no piece is sure of as the rest", record.Difference{Waterfall: record.Waterfall{Step: step(1.904e-3), Pieces: []record.Piece{piece("kernel", 50e-6), piece("run queue", -60e-6), piece("queue", 1.9e-3)}}},
			"pool is 1.90 ms slower on average than nethttp (1.90 ms to 1.92 ms): queue +1.90 ms, run queue -0.06 ms, kernel +0.05 ms, the rest +0.01 ms"},
		{"faster", record.Difference{Tail: true, Waterfall: record.Waterfall{Step: step(-350e-6), Pieces: []record.Piece{piece("sleep", -400e-6), piece("interference", 50e-6)}}},
			"pool is 350 µs faster in the slowest 1 % than nethttp (339 µs to 359 µs): sleep -400 µs, the handler held up by others or a late timer +50 µs"},
		{"no piece is sure", record.Difference{Waterfall: record.Waterfall{Step: step(64e-6)}}, "pool is 64.0 µs slower on average than nethttp (55.0 µs to 75.0 µs): in which part is not decided"},
		{"a few blocks make it", record.Difference{Waterfall: record.Waterfall{Step: stats.Step{By: 5e-3, Low: 1e-3, High: 9e-3, Middle: 2e-3}}},
			"pool is 5.00 ms slower on average than nethttp (1.00 ms to 9.00 ms; +2.00 ms in the middle one of the blocks): in which part is not decided"},
		{"the blocks agree", record.Difference{Waterfall: record.Waterfall{Step: stats.Step{By: 5e-3, Low: 4e-3, High: 6e-3, Middle: 4.5e-3}}},
			"pool is 5.00 ms slower on average than nethttp (4.00 ms to 6.00 ms): in which part is not decided"},
	} {
		c.d.Arm, c.d.Baseline = "pool", "nethttp"
		if got := strings.ReplaceAll(difference(c.d), say.NBSP, " "); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
}

// plainText is a report without its layout.
func plainText(s string) string {
	s = regexp.MustCompile("</?[a-z][^>]*>").ReplaceAllString(s, "")
	return strings.Join(strings.Fields(strings.ReplaceAll(html.UnescapeString(s), say.NBSP, " ")), " ")
}

// Every report of a run without a verdict says beside its figures that they are no
// finding, of how many blocks they are, and nothing that reads like a finding.
func TestRefusedRunIsNoFinding(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "markdown", "html"} {
		got := plainText(rendered(t, format, hopeless()))
		for _, want := range []string{
			"hese figures are of 4 blocks, too few for a finding",
			"on average (means of 4 blocks, too few for a finding)",
			"on average (means of 4 blocks, too few for a finding; 48 requests an arm at the least, too few to tell)",
			"4 blocks, 9 left out", "All 10 verdicts are refused: errors: nethttp failed 31 of 4732",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%s lacks %q", format, want)
			}
		}
		for _, unwanted := range []string{"slower on average than", "comparisons"} {
			if strings.Contains(got, unwanted) {
				t.Errorf("%s of a refused run says %q", format, unwanted)
			}
		}
		whole := plainText(rendered(t, format, quick()))
		if !strings.Contains(whole, "pool is 1.19 ms slower on average than nethttp (1.07 ms to 1.31 ms): queue +1.20 ms, the rest -0.01 ms") || strings.Contains(whole, "too few") || strings.Contains(whole, "no finding") {
			t.Errorf("%s of a whole run: no difference is told, or it is taken back", format)
		}
		for _, want := range []string{"Medians over the blocks", "Where the time went on average (means over the blocks)", "only nearly"} {
			if !strings.Contains(whole, want) {
				t.Errorf("%s lacks %q", format, want)
			}
		}
		if !strings.Contains(whole, "in the model") || !strings.Contains(whole, "the handler") {
			t.Errorf("%s has no legend of the stretches", format)
		}
	}
	one := hopeless()
	one.Valid = 1
	if got := caveat(one); !strings.Contains(got, "of 1"+say.NBSP+"block,") {
		t.Errorf("got %q of one block", got)
	}
	steal := quick()
	for i := range steal.Verdicts {
		steal.Verdicts[i].Verdict, steal.Verdicts[i].Reason = decision("refused"), said("steal")
	}
	if got := caveat(steal); got != "of a run without a verdict: no finding" {
		t.Errorf("got %q of a run refused for steal", got)
	}
}

// The table beside the curves reads the quantiles themselves, not their neighbours
// on the grid.
func TestTableOfTheCurvesReadsItsQuantiles(t *testing.T) {
	t.Parallel()
	h := responses.NewHistogram()
	for i := range 1000 {
		took := time.Millisecond
		if i >= 510 {
			took = 10 * time.Millisecond
		}
		h.Record(took)
	}
	_, rows := curves([]curve{{chart.Series{Name: "two humps"}, h.Curve()}})
	if got := strings.Join(rows[0], " "); got != "arm least p50 p75 p90 p95 p99" {
		t.Fatalf("head %s", got)
	}
	if got := plainText(strings.Join(rows[1], ", ")); got != "two humps, 1.00 ms, 1.00 ms, 10.0 ms, 10.0 ms, 10.0 ms, 10.0 ms" {
		t.Errorf("got %s", got)
	}
}

// The time of a server that stamps nothing is not the kernel's: it stands in a column of
// its own, which is told once, and where the arm's time is not split stands no figure.
func TestServersThatStampNothing(t *testing.T) {
	t.Parallel()
	r := quick()
	r.Arms[2].Joined, r.Arms[3].Joined = 0, 0
	cells := breakDown(r.Arms, func(p timeline.Phase) float64 { return p.Mean }).cells()
	want := [][]string{
		{"arm", "client", "server and kernel", "kernel", "run queue", "http", "cpu", "sleep", "interference", "sum (ms)"},
		{"nethttp", "0.132", "-", "0.048", "0.035", "0.025", "0.100", "2.000", "0.090", "2.430"},
		{"pool", "0.132", "3.485", "-", "-", "-", "-", "-", "-", "3.617"},
	}
	for i, row := range []int{0, 1, 4} {
		if diff := cmp.Diff(want[i], cells[row]); diff != "" {
			t.Errorf("row %d (-want +got):\n%s", row, diff)
		}
	}
	for _, format := range []string{"text", "markdown", "html"} {
		var page bytes.Buffer
		if err := Formats().Render(&page, format, r); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(strings.Join(strings.Fields(page.String()), " "), "stamps nothing"); n != 1 {
			t.Errorf("%s tells %d times of servers that stamp nothing, want once", format, n)
		}
	}
}
