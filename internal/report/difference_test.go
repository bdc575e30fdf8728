package report

import (
	"bytes"
	"html"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
)

func phasesWith(figures map[string]float64) (all []record.Phase) {
	for _, name := range []string{"lag", "accept", "wakeup", "parse", "queue", "cpu", "sleep", "unexplained"} {
		all = append(all, record.Phase{Name: name, Mean: figures[name], Tail: figures[name]})
	}
	return all
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	base := map[string]float64{"lag": 60e-6, "accept": 40e-6, "wakeup": 50e-6, "parse": 10e-6, "cpu": 100e-6, "sleep": 1e-3}
	with := func(changes map[string]float64) []record.Phase {
		own := maps.Clone(base)
		for name, v := range changes {
			own[name] += v
		}
		return phasesWith(own)
	}
	for _, c := range []struct {
		name    string
		changes map[string]float64
		want    string
	}{
		{"largest first, the small ones together", map[string]float64{"accept": 50e-6, "queue": 1.9e-3, "wakeup": -60e-6, "parse": 10e-6, "lag": 4e-6},
			"pool is 1.90 ms slower on average than nethttp: queue +1.90 ms, run queue -0.06 ms, kernel +0.05 ms, the rest +0.01 ms"},
		{"faster", map[string]float64{"sleep": -400e-6, "unexplained": 50e-6}, "pool is 350 µs faster on average than nethttp: sleep -400 µs, the handler held up by others or a late timer +50 µs"},
		{"a rest that rounds to nothing", map[string]float64{"queue": 2e-3, "lag": 3e-6}, "pool is 2.00 ms slower on average than nethttp: queue +2.00 ms, the rest ±0.00 ms"},
		{"under 5 %", map[string]float64{"queue": 60e-6}, ""},
		{"just 5 %", map[string]float64{"queue": 64e-6}, "pool is 64.0 µs slower on average than nethttp: queue +64.0 µs"},
	} {
		r := &record.Result{Arms: []record.Arm{
			{Name: "nethttp", Role: record.Baseline, Phases: phasesWith(base), Joined: 1},
			{Name: "nethttp'", Role: record.Copy, Phases: with(map[string]float64{"queue": 1}), Joined: 1},
			{Name: "pool", Role: record.Challenger, Phases: with(c.changes), Joined: 1},
			{Name: "mine", Role: record.Challenger, Phases: with(map[string]float64{"accept": 1}), Joined: 0},
		}}
		if got := strings.ReplaceAll(strings.Join(differences(r), "\n"), nbsp, " "); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	small := &record.Result{Arms: []record.Arm{
		{Name: "nethttp", Role: record.Baseline, Phases: phasesWith(map[string]float64{"cpu": 50e-6}), Joined: 1},
		{Name: "pool", Role: record.Challenger, Phases: phasesWith(map[string]float64{"cpu": 69e-6}), Joined: 1},
	}}
	if got := differences(small); got != nil {
		t.Errorf("19 µs: got %q, want nothing under 20 µs", got)
	}
}

// plainText is a report without its layout.
func plainText(s string) string {
	s = regexp.MustCompile("</?[a-z][^>]*>").ReplaceAllString(s, "")
	return strings.Join(strings.Fields(strings.ReplaceAll(html.UnescapeString(s), nbsp, " ")), " ")
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
			"4 blocks, 9 left out", "All 10 verdicts are REFUSED: errors: nethttp failed 31 of 4732",
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
		if !strings.Contains(whole, "pool is 1.19 ms slower on average than nethttp: queue +1.20 ms, the rest -0.01 ms") || strings.Contains(whole, "too few") || strings.Contains(whole, "no finding") {
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
	if got := caveat(one); !strings.Contains(got, "of 1"+nbsp+"block,") {
		t.Errorf("got %q of one block", got)
	}
	steal := quick()
	for i := range steal.Verdicts {
		steal.Verdicts[i].Verdict, steal.Verdicts[i].Reason = "REFUSED", said("steal")
	}
	if got := caveat(steal); got != "of a run without a verdict: no finding" {
		t.Errorf("got %q of a run refused for steal", got)
	}
}

// The table beside the curves reads the quantiles themselves, not their neighbours
// on the grid.
func TestTableOfTheCurvesReadsItsQuantiles(t *testing.T) {
	t.Parallel()
	h := record.NewHistogram()
	for i := range 1000 {
		took := time.Millisecond
		if i >= 510 {
			took = 10 * time.Millisecond
		}
		h.Record(took)
	}
	c := curves([]record.Arm{{Name: "two humps", Curve: h.Curve()}})
	if got := strings.Join(c.Rows[0], " "); got != "arm least p50 p75 p90 p95 p99" {
		t.Fatalf("head %s", got)
	}
	if got := plainText(strings.Join(c.Rows[1], ", ")); got != "two humps, 1,000 µs, 1.00 ms, 10.0 ms, 10.0 ms, 10.0 ms, 10.0 ms" {
		t.Errorf("got %s", got)
	}
}

// The time of a server that stamps nothing is not the kernel's: it stands in a column of
// its own, which is told once, and where the arm's time is not split stands no figure.
func TestServersThatStampNothing(t *testing.T) {
	t.Parallel()
	r := quick()
	r.Arms[2].Joined, r.Arms[3].Joined = 0, 0
	b := breakdowns(r)[0]
	cells := b.cells()
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
		if err := Render(&page, format, r); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(strings.Join(strings.Fields(page.String()), " "), "stamps nothing"); n != 1 {
			t.Errorf("%s tells %d times of servers that stamp nothing, want once", format, n)
		}
	}
}
