package report

import (
	"fmt"
	"strings"
	"testing"

	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
)

func TestLaws(t *testing.T) {
	t.Parallel()
	got := plainText(fmt.Sprint(laws([]record.Law{
		{Name: "Little's law", Unit: "ratio", Windows: 4, Value: .34, Limit: .43},
		{Name: "interactive law", Unit: "ratio", Windows: 2, Value: .0041, Limit: .05},
		{Name: "utilisation law", Unit: "ratio of CPU time", Windows: 4, Value: .388, Limit: 1.02},
		{Name: "flow law", Unit: "connections", Windows: 4},
	})))
	want := "[Little's law 34 % 43 % 4] [interactive law 0.41 % 5.0 % 2] [utilisation law, ratio of CPU time 39 % 102 % 4] [flow law, connections 0 none 4]"
	if !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The figures of a calibration in which the load itself was late are no part of every time.
func TestDisturbedFloorHasNoFigures(t *testing.T) {
	t.Parallel()
	for lag, want := range map[float64]string{
		30e-6: "with a server that does nothing it measures p50 100 µs and p99 44.3 ms at 10,000/s: that much of every time is the load's and the kernel's",
		38e-3: "how much of every time is the load's and the kernel's is not known: their measurement, with a server that does nothing, was disturbed (sends 38.0 ms late at p99)",
	} {
		if got := plainText(floor(&record.Floor{Rate: 10_000, P50: 1e-4, P99: 44.3e-3, LagP99: lag})); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Where the load shares a CPU with the servers, each arm's share is told, and whether the
// load went first.
func TestSharedCPUIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ load, rest, want string }{
		{"1", record.RestFirst, "the load shares CPU 1 with the servers, asleep while nothing is due, with real-time priority (SCHED_RR)"},
		{"1", record.RestWaits, "the load shares CPU 1 with the servers, asleep while nothing is due, without real-time priority, which is not permitted here"},
		{"2", record.RestSpins, ""},
	} {
		arm := func(name string, role record.Role, share float64) record.Arm {
			return record.Arm{Contestant: record.Contestant{Name: name, Role: role}, Details: record.Details{Disturbed: &record.Disturbed{Load: share}, Generator: &record.Proofs{Rest: c.rest}}}
		}
		r := &record.Comparison{
			Common: record.Common{Env: record.Env{ServerCPUs: "0-1", LoadCPUs: c.load}},
			Arms:   []record.Arm{arm("a", record.Baseline, .061), arm("a'", record.Copy, .062), arm("b", record.Challenger, .123)},
		}
		if got := strings.ReplaceAll(visiting(r), say.NBSP, " "); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
		if got := plainText(askedBriefly(r)); strings.Contains(got, "servers on CPU 0-1, load shares CPU 1") != (c.want != "") {
			t.Errorf("load on %s: the brief says %q", c.load, got)
		}
		if got := plainText(fmt.Sprint(disturbed(r.Arms))); !strings.Contains(got, "[a 6.1 %] [a' 6.2 %] [b 12.3 %]") {
			t.Errorf("the table is %s", got)
		}
	}
}

// The offered share of X_max is an upper bound where others disturbed the slowest arm's probe.
func TestShareOfADisturbedProbe(t *testing.T) {
	t.Parallel()
	r := &record.Comparison{Rate: 560, Arms: []record.Arm{{Contestant: record.Contestant{Name: "a"}, Figures: record.Figures{XMax: new(3000.)}}, {Contestant: record.Contestant{Name: "b"}, Figures: record.Figures{XMax: new(800.)}}}}
	for arm, want := range map[string]string{"a": "70 % of the slowest", "b": "70 % or less of the slowest"} {
		r.Doubts = []fact.Fact{doubt.DisturbedProbe.Of(doubt.Probe{}).On(arm)}
		if got := strings.ReplaceAll(askedBriefly(r), say.NBSP, " "); !strings.Contains(got, want) {
			t.Errorf("disturbed probe of %s: %q", arm, got)
		}
	}
}
