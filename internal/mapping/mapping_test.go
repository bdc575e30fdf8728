package mapping

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/experiment"
	"schedlab/internal/mode"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
	"schedlab/loadtests"
)

// A fakeLab answers comparisons as Little's law has it, in virtual time.
type fakeLab struct {
	takes time.Duration
	stop  func()                              // called in the comparison after runs
	runs  int                                 // before stop; 0 never stops
	wrong func(c *experiment.Comparison) bool // whose server dies
	open  string                              // name of the cell that stays undecided
	done  int
}

var (
	errDied        = errors.New("the server died")
	errInterrupted = errors.New("interrupted")
)

// modes are what the scenario's arms need of the modes.
var modes = map[string]mode.Mode{
	"nethttp": {Station: "goroutines"},
	"pool":    {Flags: []string{"workers", "queue-depth", "overflow"}, Station: "pool", Sticky: true, Overflow: "block"},
}

func (l *fakeLab) compare(ctx context.Context, c *experiment.Comparison, root string, tell experiment.Progress) (*record.Dir, record.Run, error) {
	tell("block 1 of 10", 0, 30, l.takes)
	dir, err := record.Create(root, "fake", time.Now(), func() uint32 { return 0 })
	if err != nil {
		return nil, record.Run{}, err
	}
	if l.done++; l.done == l.runs {
		l.stop()
		return dir, record.Run{}, context.Cause(ctx)
	}
	time.Sleep(l.takes)
	v := record.Verdict{Metric: "goodput", Baseline: "nethttp", Arm: "pool", Verdict: stats.Same, Ratio: 1, Low: 0.99, High: 1.01, Blocks: 10}
	if short, _ := c.Short(); len(short) > 0 {
		v.Verdict, v.Ratio, v.Low, v.High = stats.Lower, 0.6, 0.58, 0.62
	}
	if l.open != "" && strings.Contains(c.Planned().Note, l.open) {
		v.Verdict = stats.Open
	}
	run := record.Run{Trials: 30, Plan: c.Planned(), Result: &record.Result{
		Verdicts: []record.Verdict{v}, Arms: []record.Arm{{Name: "nethttp", Role: record.Baseline}, {Name: "nethttp'", Role: record.Copy}, {Name: "pool", Role: record.Challenger}},
	}}
	if l.wrong != nil && l.wrong(c) {
		err = errDied
	}
	return dir, run, err
}

// newFake is a map of the crossover scenario in the lab; m is one to go on with, or
// fresh.
func newFake(t *testing.T, l *fakeLab, root string, budget time.Duration, m record.Map) *Run {
	t.Helper()
	text, err := loadtests.Scenarios.ReadFile("crossover.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Parse("crossover.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	var axes []record.Factor
	for _, text := range []string{"sleep-share=0.01,0.08,0.18,0.36,0.72", "workers=1,2,4,8,16"} {
		f, err := scenario.ParseFactor(text)
		if err != nil {
			t.Fatal(err)
		}
		axes = append(axes, f)
	}
	m.Plan.Scenario, m.Plan.X, m.Plan.Y, m.Plan.Metric = s.Name, axes[0], axes[1], "goodput"
	o := experiment.Options{Self: "schedlab", Seed: 3, Blocks: 10, Budget: budget, CPUs: experiment.FreeCPUs, Modes: modes}
	r, err := Plan(s, o, m)
	if err != nil {
		t.Fatal(err)
	}
	r.compare = l.compare
	if r.dir, err = record.CreateMap(root, s.Name, time.Now(), func() uint32 { return 0 }); err != nil {
		t.Fatal(err)
	}
	return r
}

func count(m *record.Map, state record.CellState) (n int) {
	for _, c := range m.Cells {
		if c.State == state {
			n++
		}
	}
	return n
}

func TestMapFindsTheBorder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newFake(t, &fakeLab{takes: 17 * time.Second}, t.TempDir(), time.Hour, record.Map{})
		if err := a.Explore(t.Context(), a.dir, 1, Calls{}); err != nil {
			t.Fatal(err)
		}
		_, m, err := record.OpenMap(a.dir.Path(), "")
		if err != nil {
			t.Fatal(err)
		}
		if m.Status != record.Complete || count(&m, record.Unreached) > 0 || count(&m, record.Inferred) < 5 {
			t.Errorf("got a map that is %s, with %d cells unreached and %d inferred, want a whole one with 5 inferred or more", m.Status, count(&m, record.Unreached), count(&m, record.Inferred))
		}
		for _, c := range m.Cells {
			if lost := c.Winner == "nethttp"; lost != (len(c.Short) > 0) || !c.Decided() || (c.State == record.Sampled) != (len(c.Runs) == 1) {
				t.Errorf("cell %d, %d: %+v", c.X, c.Y, c)
			}
		}
		if m.Theory == nil || slices.ContainsFunc(m.Theory.Lines, func(l record.BorderLine) bool { return !l.Within1 || l.From != l.Law || l.To != l.Law }) {
			t.Errorf("got the border %+v, want the law's", m.Theory)
		}
	})
}

func TestMapKeepsItsBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		a := newFake(t, &fakeLab{takes: 20 * time.Second}, t.TempDir(), 2*time.Minute, record.Map{})
		if err := a.Explore(t.Context(), a.dir, 1, Calls{}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 2*time.Minute || took < time.Minute {
			t.Errorf("took %v of a budget of 2m", took)
		}
		if a.Map.Status != record.Partial || count(&a.Map, record.Unreached) == 0 {
			t.Errorf("got a map that is %s with %d cells unreached, want a partial one", a.Map.Status, count(&a.Map, record.Unreached))
		}
	})
}

// When twice the blocks for an undecided cell no longer fit, a refused one, which
// takes as many as before, is still measured again.
func TestMapSpendsWhatIsLeft(t *testing.T) {
	t.Parallel()
	const takes = 40 * time.Second
	draw := func(t *testing.T, budget time.Duration) *Run {
		t.Helper()
		lab := &fakeLab{takes: takes, open: "sleep-share=0.18, workers=4", wrong: func(c *experiment.Comparison) bool {
			return strings.Contains(c.Planned().Note, "sleep-share=0.72, workers=16")
		}}
		a := newFake(t, lab, t.TempDir(), budget, record.Map{})
		if err := a.Explore(t.Context(), a.dir, 1, Calls{}); err != nil {
			t.Fatal(err)
		}
		return a
	}
	synctest.Test(t, func(t *testing.T) {
		first := 0
		for _, c := range draw(t, time.Hour).Map.Cells {
			first += min(c.Visits, 1)
		}
		a := draw(t, time.Duration(first+1)*takes+takes/2)
		if refused, open := a.Map.At(4, 4), a.Map.At(2, 2); refused.Visits != 2 || open.Visits != 1 || a.Map.Status != record.Complete {
			t.Errorf("the refused cell was measured %d times, the undecided one %d times, and the map is %s; want 2, 1 and complete", refused.Visits, open.Visits, a.Map.Status)
		}
	})
}

func TestAResumedMapIsTheWholeOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		whole := newFake(t, &fakeLab{takes: time.Second}, t.TempDir(), time.Hour, record.Map{})
		if err := whole.Explore(t.Context(), whole.dir, 1, Calls{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cut := newFake(t, &fakeLab{takes: time.Second, runs: 7, stop: func() { cancel(errInterrupted) }}, t.TempDir(), time.Hour, record.Map{})
		if err := cut.Explore(ctx, cut.dir, 1, Calls{}); !errors.Is(err, errInterrupted) {
			t.Fatalf("got %v, want the interruption", err)
		}
		_, m, err := record.OpenMap(cut.dir.Path(), "")
		if err != nil {
			t.Fatal(err)
		}
		if n := count(&m, record.Sampled); m.Status != record.Interrupted || n != 6 {
			t.Errorf("kept a map that is %s with %d cells measured, want the 6 whole ones", m.Status, n)
		}
		resumed := newFake(t, &fakeLab{takes: time.Second}, t.TempDir(), time.Hour, m)
		if err := resumed.Explore(t.Context(), resumed.dir, 1, Calls{}); err != nil {
			t.Fatal(err)
		}
		for i, want := range whole.Map.Cells {
			if got := resumed.Map.Cells[i]; got.State != want.State || got.Decision != want.Decision || got.Winner != want.Winner || got.Order != want.Order {
				t.Errorf("cell %d, %d: got %s %s %q as number %d, want %s %s %q as number %d", want.X, want.Y,
					got.State, got.Decision, got.Winner, got.Order, want.State, want.Decision, want.Winner, want.Order)
			}
		}
	})
}

func TestADeadServerRefusesItsCellAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		died := 0
		once := func(*experiment.Comparison) bool { died++; return died == 3 }
		a := newFake(t, &fakeLab{takes: time.Second, wrong: once}, t.TempDir(), time.Hour, record.Map{})
		if err := a.Explore(t.Context(), a.dir, 1, Calls{}); err != nil || a.Map.Status != record.Complete {
			t.Errorf("one death: got %v and a map that is %s", err, a.Map.Status)
		}
		always := func(*experiment.Comparison) bool { return true }
		a = newFake(t, &fakeLab{takes: time.Second, wrong: always}, t.TempDir(), time.Hour, record.Map{})
		if err := a.Explore(t.Context(), a.dir, 1, Calls{}); !errors.Is(err, errDied) {
			t.Errorf("all die: got %v, want the reason", err)
		}
		if n := count(&a.Map, record.Voided); n != 1 || a.Map.Status != record.Partial {
			t.Errorf("all die: %d cells refused in a map that is %s, want one before the second death ended it", n, a.Map.Status)
		}
	})
}

// A planted fault is told beside the map.
func TestPlantedFaultIsTold(t *testing.T) {
	t.Parallel()
	r := newFake(t, &fakeLab{}, t.TempDir(), time.Hour, record.Map{})
	r.scenario.Arms[0].Flags = map[string]string{"plant": "accept=1ms"}
	c, err := r.plan(0, 0, 10, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if r.describe(c); len(r.Map.Doubts) == 0 || r.Map.Doubts[0].Code != "fault-planted" {
		t.Errorf("got %v, want the planted fault first", r.Map.Doubts)
	}
}
