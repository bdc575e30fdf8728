package judge

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"schedlab/internal/capacity"
	"schedlab/internal/record"
)

// What was cut short is called so, and no fault of the windows.
func TestASearchThatWasCutSaysSo(t *testing.T) {
	t.Parallel()
	steady := func(int) time.Duration { return 5 * time.Millisecond }
	var trials []record.TrialRecord
	add := func(purpose string, rate float64) {
		trials = append(trials, searchedTrial(len(trials)+1, "a", purpose, rate, steady, 200))
	}
	add("curve", 600)
	for status, want := range map[record.Status]string{
		record.Interrupted: "a is undecided for p99<=10ms: interrupted after 1 window, before a rate was verified or refuted",
		record.Running:     "a is undecided for p99<=10ms: cut off after 1 window, before a rate was verified or refuted",
		record.Complete:    "a is undecided for p99<=10ms: no rate is verified or refuted in 1 window; windows of one rate differ too much, or the budget is too small: lengthen --window or raise --budget",
	} {
		if r := recordSearchAs(t, status, "p99<=10ms", trials...); r.Capacity.Arms[0].Text != want {
			t.Errorf("%s: says %q, want %q", status, r.Capacity.Arms[0].Text, want)
		}
	}
	for range 3 {
		add("verify", 600)
	}
	want := "a keeps p99<=10ms at 600/s, and nothing up to 600/s broke it; interrupted after 4 windows"
	if r := recordSearchAs(t, record.Interrupted, "p99<=10ms", trials...); r.Capacity.Arms[0].Text != want {
		t.Errorf("says %q, want %q", r.Capacity.Arms[0].Text, want)
	}
}

// An overloaded server of which one window of two kept the objective again is told of.
func TestAnOpenRecoveryIsSaid(t *testing.T) {
	t.Parallel()
	window := func(why capacity.Purpose, rate, p99 float64) capacity.Window {
		return capacity.Window{Purpose: why, Rate: rate, Values: []float64{p99}}
	}
	windows := slices.Concat(slices.Repeat([]capacity.Window{window(capacity.Verify, 1000, .005)}, 3), slices.Repeat([]capacity.Window{window(capacity.Refute, 1100, .05)}, 2),
		[]capacity.Window{window(capacity.Overload, 1300, 1), window(capacity.Again, 1000, .05), window(capacity.Again, 1000, .005)})
	for budget, why := range map[int]string{8: "the budget ended", 24: "no more could be used"} {
		a := searched{plan: record.PlanArm{Name: "a"}, windows: windows, window: 3, options: SearchOptions(record.Plan{Window: 3, Warmup: .5, Windows: budget}, objective(t, "p99<=10ms"))}
		want := "a keeps p99<=10ms up to between 1,000/s and 1,100/s; recovery undecided: after the overload 1 of 2 windows at 1,000/s kept it, and " + why
		if got := a.sentence(a.find(1200), 1200); got != want {
			t.Errorf("with %d windows: says %q, want %q", budget, got, want)
		}
	}
}

// Refusals of a generator that is busy itself name it; of one that idles, other programs.
func TestTheGeneratorIsNamedAsTheLimit(t *testing.T) {
	t.Parallel()
	late := capacity.Window{Purpose: capacity.Curve, Rate: 41000, Values: []float64{.001}, Refused: "sent late: the p99 is 11 ms from its time"}
	wrong := late
	wrong.Refused = "stamps out of order: 2, limit 0"
	busy := "; the generator is the limit: from 41,000/s on it cannot keep its schedule, its CPUs up to 62 % busy, and so cannot overload this arm; give it more of them with --load-cpus, or ask for what costs the server more"
	for _, c := range []struct {
		windows   []capacity.Window
		generator float64
		want      string
	}{
		{[]capacity.Window{late, late, wrong}, .62, "stamps out of order: 2, limit 0" + busy},
		{[]capacity.Window{late, late}, .1, late.Refused + calmer},
		{[]capacity.Window{late, wrong, wrong}, .62, wrong.Refused + calmer},
	} {
		a := searched{plan: record.PlanArm{Name: "a"}, windows: c.windows, window: 3, options: SearchOptions(record.Plan{Window: 3, Warmup: .5, Windows: 24}, objective(t, "p99<=10ms"))}
		for range c.windows {
			a.beside = append(a.beside, beside{generator: c.generator})
		}
		want := fmt.Sprintf("a is undecided for p99<=10ms: all %d windows are refused, the last for %s", len(c.windows), c.want)
		if got := a.sentence(a.find(50000), 50000); got != want {
			t.Errorf("says %q, want %q", got, want)
		}
	}
}
