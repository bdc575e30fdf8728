package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

func TestUnits(t *testing.T) {
	t.Parallel()
	got := map[string]string{
		"whole seconds": say.Seconds(12), "ms": say.Seconds(0.01234), "µs": say.Seconds(0.000234), "ns": say.Seconds(7e-9), "zero": say.Seconds(0),
		"rate": say.Rate(1127.4), "slow rate": say.Rate(0.25), "grouped": say.Rate(1234567), "count": say.Count(-1234),
		"+": say.Change(1.42), "-": say.Change(0.9874), "±": say.Change(0.99999), "×": say.Change(31.4), "one": say.Plural(1, "block"), "many": say.Plural(12, "P"),
	}
	want := map[string]string{
		"whole seconds": "12.0 s", "ms": "12.3 ms", "µs": "234 µs", "ns": "7.00 ns", "zero": "0 s",
		"rate": "1,127/s", "slow rate": "0.25/s", "grouped": "1,234,567/s", "count": "-1,234",
		"+": "+42 %", "-": "-1.3 %", "±": "±0 %", "×": "×31", "one": "1 block", "many": "12 Ps",
	}
	for k, v := range got {
		got[k] = strings.ReplaceAll(v, say.NBSP, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestColumnSharesOneUnit(t *testing.T) {
	t.Parallel()
	a, b := 0.0004123, 0.0131
	arms := []record.Arm{{Figures: record.Figures{P99: &a}}, {Figures: record.Figures{P99: &b}}, {}}
	got := strings.ReplaceAll(strings.Join(cells(stats.P99.Row(), arms), "|"), say.NBSP, " ")
	if want := "0.412 ms|13.1 ms|-"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Where one unit would leave a time two digits, each has its own.
func TestColumnOfTimesFarApart(t *testing.T) {
	t.Parallel()
	a, b := 0.0212, 1.168
	arms := []record.Arm{{Figures: record.Figures{P99: &a}}, {Figures: record.Figures{P99: &b}}}
	got := strings.ReplaceAll(strings.Join(cells(stats.P99.Row(), arms), "|"), say.NBSP, " ")
	if want := "21.2 ms|1.17 s"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAxisStaysInItsFrame(t *testing.T) {
	t.Parallel()
	for _, values := range [][]float64{nil, {0}, {1e-3}, {1e-3, 2e-3}, {1e-6, 1}, {math.NaN(), math.Inf(1), 3}} {
		a := chart.NewAxis(values, 10, 110).Marked(5, say.TimeLabel)
		if len(a.Ticks) == 0 {
			t.Errorf("%v: no ticks", values)
		}
		for _, tick := range a.Ticks {
			if !(tick.At >= 10 && tick.At <= 110) {
				t.Errorf("%v: tick %v outside 10..110", values, tick)
			}
		}
		if wantLog := len(values) == 2 && values[1] == 1; a.Log != wantLog {
			t.Errorf("%v: log = %v, want %v", values, a.Log, wantLog)
		}
	}
}

// Blocks in which an arm was neither better nor worse are not among those it lost.
func TestForestCountsNoTies(t *testing.T) {
	t.Parallel()
	v := record.Verdict{Metric: stats.P99, Verdict: stats.Decided(stats.Slower), Ratio: 1.5, Low: 1.4, High: 1.6, Blocks: 12, Won: 0, Lost: 11}
	if got := forestRowOf(&record.Comparison{}, v).Note; got != "slower in 11 of 12"+say.NBSP+"blocks" {
		t.Errorf("got %q, want 11 of 12: one is a tie", got)
	}
}

// The worst window of a rule is the farthest past its limit, above it or below.
func TestRefusalsNameTheWorst(t *testing.T) {
	t.Parallel()
	refusal := func(block int, rule string, value, limit float64) record.Refusal {
		return record.Refusal{Block: block, Arm: "pool", Rule: rule, Value: value, Limit: limit}
	}
	got := refusals([]record.Refusal{
		refusal(1, "too few requests for p99", 900, 1000), refusal(2, "too few requests for p99", 300, 1000), refusal(3, "too few requests for p99", 700, 1000),
		refusal(1, "lag mean (s)", 0.002, 0.001), refusal(2, "lag mean (s)", 0.005, 0.001),
		refusal(4, "flow law (connections)", 1, 0), refusal(5, "flow law (connections)", 3, 0),
		refusal(6, "requests in the window", 0, 1),
	})
	want := []string{
		"too few requests for p99: 3 windows in blocks 1, 2, 3; worst 300 (pool, block 2), below 1,000",
		"lag mean (s): 2 windows in blocks 1, 2; worst 0.005 (pool, block 2), limit 0.001",
		"flow law (connections): 2 windows in blocks 4, 5; worst 3 (pool, block 5), limit 0",
		"requests in the window: 1 window in block 6; worst 0 (pool, block 6), below 1",
	}
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], say.NBSP, " ")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestForestMarksNoDifference(t *testing.T) {
	t.Parallel()
	r := quick()
	r.Verdicts[0].Low, r.Verdicts[0].High = 0.00001, 1e9
	f := forestOf(r)
	if f.X.Ticks[0].Label != "same" || f.X.Ticks[0].At != f.X.At(1) {
		t.Errorf("first tick %+v, want the line of no difference at %v", f.X.Ticks[0], f.X.At(1))
	}
	for _, g := range f.Groups {
		for _, row := range g.Rows {
			low, at, high := f.X.At(row.Low), f.X.At(row.Ratio), f.X.At(row.High)
			if row.Drawn && !(0 <= low && low <= at && at <= high && high <= forestWidth) {
				t.Errorf("%s %s drawn at %v, %v, %v: not in order or outside", g.Name, row.Metric, low, at, high)
			}
		}
	}
}

// decision returns the decision with this text: a rank, open or refused.
func decision(text string) (d stats.Decision) {
	if err := d.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return d
}
