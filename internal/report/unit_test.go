package report

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
)

func TestUnits(t *testing.T) {
	t.Parallel()
	got := map[string]string{
		"whole seconds": seconds(12), "ms": seconds(0.01234), "µs": seconds(0.000234), "ns": seconds(7e-9), "zero": seconds(0),
		"rate": rate(1127.4), "slow rate": rate(0.25), "grouped": rate(1234567), "count": count(-1234),
		"+": change(1.42), "-": change(0.9874), "±": change(0.99999), "×": change(31.4), "one": plural(1, "block"), "many": plural(12, "P"),
	}
	want := map[string]string{
		"whole seconds": "12.0 s", "ms": "12.3 ms", "µs": "234 µs", "ns": "7.00 ns", "zero": "0 s",
		"rate": "1,127/s", "slow rate": "0.25/s", "grouped": "1,234,567/s", "count": "-1,234",
		"+": "+42 %", "-": "-1.3 %", "±": "±0 %", "×": "×31", "one": "1 block", "many": "12 Ps",
	}
	for k, v := range got {
		got[k] = strings.ReplaceAll(v, nbsp, " ")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestColumnSharesOneUnit(t *testing.T) {
	t.Parallel()
	a, b := 0.0004123, 0.0131
	arms := []record.Arm{{P99: &a}, {P99: &b}, {}}
	got := strings.ReplaceAll(strings.Join(find("p99").cells(arms), "|"), nbsp, " ")
	if want := "0.412 ms|13.100 ms|-"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCPUCount(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]int{"0": 1, "0,2-3": 3, "4-7": 4, "": 0, "all": 0, "3-1": 0, "1,": 0} {
		if got, ok := cpuCount(list); got != want || ok != (want > 0) {
			t.Errorf("cpuCount(%q) = %d, %v, want %d", list, got, ok, want)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a/b-1": "a/b-1", "": "''", "it's": `'it'\''s'`, "a b": "'a b'"} {
		if got := quote(in); got != want {
			t.Errorf("quote(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestAxisStaysInItsFrame(t *testing.T) {
	t.Parallel()
	for _, values := range [][]float64{nil, {0}, {1e-3}, {1e-3, 2e-3}, {1e-6, 1}, {math.NaN(), math.Inf(1), 3}} {
		a := timeAxis(values, 10, 110)
		ticks := a.timeTicks(5)
		if len(ticks) == 0 {
			t.Errorf("%v: no ticks", values)
		}
		for _, tick := range ticks {
			if !(tick.At >= 10 && tick.At <= 110) {
				t.Errorf("%v: tick %v outside 10..110", values, tick)
			}
		}
		if wantLog := len(values) == 2 && values[1] == 1; a.log != wantLog {
			t.Errorf("%v: log = %v, want %v", values, a.log, wantLog)
		}
	}
}

func TestForestMarksNoDifference(t *testing.T) {
	t.Parallel()
	r := quick()
	r.Verdicts[0].Low, r.Verdicts[0].High = 0.00001, 1e9
	f := plant(r)
	if f.Ticks[0].Label != "same" || f.Ticks[0].At != f.One {
		t.Errorf("first tick %+v, want the line of no difference at %v", f.Ticks[0], f.One)
	}
	for _, g := range f.Groups {
		for _, row := range g.Rows {
			if row.Drawn && !(0 <= row.Low && row.Low <= row.At && row.At <= row.High && row.High <= forestWidth) {
				t.Errorf("%s %s drawn at %v, %v, %v: not in order or outside", g.Name, row.Metric, row.Low, row.At, row.High)
			}
		}
	}
}
