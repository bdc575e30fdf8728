package capacity

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
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
		record.Interrupted: "a for p99<=10ms: open, no rate is verified or refuted in 1 window; interrupted after 1 window",
		record.Running:     "a for p99<=10ms: open, no rate is verified or refuted in 1 window; cut off after 1 window",
		record.Complete:    "a for p99<=10ms: open, no rate is verified or refuted in 1 window; windows of one rate differ too much, or the budget is too small: twice as much of both, --window 6s --budget 3m0s, may tell",
	} {
		if r := recordSearchAs(t, status, "p99<=10ms", trials...); words(r.Arms[0].Fact) != want {
			t.Errorf("%s: says %q, want %q", status, words(r.Arms[0].Fact), want)
		}
	}
	for range 3 {
		add("verify", 600)
	}
	want := "a keeps p99<=10ms at 600/s, and nothing up to 600/s broke it; interrupted after 4 windows"
	if r := recordSearchAs(t, record.Interrupted, "p99<=10ms", trials...); words(r.Arms[0].Fact) != want {
		t.Errorf("says %q, want %q", words(r.Arms[0].Fact), want)
	}
}

// A server is said not to recover only if all three windows after the overload break the objective; it is
// open, with the reason, if fewer were measured or one kept it.
func TestAnOpenRecoveryIsSaid(t *testing.T) {
	t.Parallel()
	window := func(why string, rate, p99 float64) RateWindow {
		return RateWindow{Purpose: why, Rate: rate, Values: map[stats.Measure]float64{{Quantile: .99}: p99}}
	}
	first := slices.Concat(slices.Repeat([]RateWindow{window(purposeVerify, 1000, .005)}, 3), slices.Repeat([]RateWindow{window(purposeRefute, 1100, .05)}, 2),
		[]RateWindow{window(purposeOverload, 1300, 1)})
	broken, kept := window(purposeAgain, 1000, .05), window(purposeAgain, 1000, .005)
	for _, c := range []struct {
		again  []RateWindow
		budget int // windows
		want   string
	}{
		{[]RateWindow{broken, kept}, 8, "recovery open: after the overload 1 of 2 windows at 1,000/s kept it; the budget ended there: raise --budget"},
		{[]RateWindow{broken, kept}, 24, "recovery open: after the overload 1 of 2 windows at 1,000/s kept it; the search ended there"},
		{[]RateWindow{broken, broken}, 8, "recovery open: after the overload 0 of 2 windows at 1,000/s kept it; the budget ended there: raise --budget"},
		{[]RateWindow{broken, broken, kept}, 24, "recovery open: after the overload 1 of 3 windows at 1,000/s kept it, and noise alone may break it so near its limit"},
		{[]RateWindow{broken, broken, broken}, 24, "it does not recover: overloaded once, it breaks it at 1,000/s, too"},
	} {
		a := arm(t, slices.Concat(first, c.again)...)
		a.options.Windows = c.budget
		want := "a keeps p99<=10ms up to between 1,000/s and 1,100/s; " + c.want
		if a.find(); words(a.conclusion()) != want {
			t.Errorf("with %d windows: says %q, want %q", c.budget, words(a.conclusion()), want)
		}
	}
}

// others is what helps where a generator is not the limit.
const others = " (stop other programs, or choose CPUs with --cpus)"

// Refusals of a generator that is busy itself name it; of one that idles, other programs.
func TestTheGeneratorIsNamedAsTheLimit(t *testing.T) {
	t.Parallel()
	late := sentLate.Of(lateness{.011, .002}).At("p99")
	wrong := ruleBroken.Of(broken{Rule: "stamps out of order", Value: 2})
	busy := "; the generator is the limit: from 41,000/s on it cannot keep its schedule, its CPUs up to 62 % busy, and so cannot overload this arm; give it more of them with --cpus, or ask for what costs the server more"
	for _, c := range []struct {
		refused   []fact.Fact // a window each
		generator float64
		want      string
	}{
		{[]fact.Fact{late, late, wrong}, .62, "stamps out of order: 2, limit 0" + busy},
		{[]fact.Fact{late, late}, .1, words(late) + others},
		{[]fact.Fact{late, wrong, wrong}, .62, words(wrong) + others},
	} {
		a := arm(t)
		for _, why := range c.refused {
			a.Windows = append(a.Windows, RateWindow{Purpose: purposeCurve, Rate: 41000, Values: map[stats.Measure]float64{{Quantile: .99}: .001}, Refused: why, Busy: c.generator})
		}
		n := len(c.refused)
		want := fmt.Sprintf("a for p99<=10ms: open, no rate is verified or refuted in %[1]d windows; %[1]d of %[1]d windows are refused, the last for %[2]s", n, c.want)
		if a.find(); words(a.conclusion()) != want {
			t.Errorf("says %q, want %q", words(a.conclusion()), want)
		}
	}
}
