package capacity

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/process/stub"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/workload"
)

func TestASearchIsPlannedWithoutACopyOfTheBaseline(t *testing.T) {
	t.Parallel()
	s, err := scenario.Parse("demo", []byte(demo.Text))
	if err != nil {
		t.Fatal(err)
	}
	s.Arms = s.Arms[:1]
	c, err := runner.Plan(s, runner.Options{Search: Objective{objective(t, "p99<=10ms")}, Self: "schedlab", CPUs: runner.FreeCPUs, Modes: map[string]mode.Mode{"nethttp": {Station: "goroutines"}}})
	if err != nil {
		t.Fatal(err)
	}
	p := c.Planned()
	if len(p.Arms) != 1 || p.Arms[0].Role != record.Baseline || p.Windows != 24 || p.Estimate.Seconds() != 93 || p.SLO != "p99<=10ms" || p.Stamps != "off" {
		t.Errorf("planned %+v, want one arm of 24 windows without stamps in 93 s", p)
	}
	if got := p.Arms[0].Clients; got.Timeout.Seconds() != 1 || got.Rate != 0 {
		t.Errorf("its clients are %+v, want a timeout of 100 limits and no rate", got)
	}
}

// All faults of a search's times are told at once, with flags that do together.
func TestFaultsOfASearchAreToldTogether(t *testing.T) {
	t.Parallel()
	s, err := scenario.Parse("demo", []byte(strings.Replace(demo.Text, "load:\n  rate: 300/s", "load:\n  rate: 300/s\n  keepalive: true", 1)))
	if err != nil {
		t.Fatal(err)
	}
	s.Arms = []scenario.Arm{{Name: "few", Mode: "pool-request", Flags: map[string]string{"workers": "2"}}}
	s.Workload.Sleep, err = workload.ParseDist("20ms")
	if err != nil {
		t.Fatal(err)
	}
	held := .02 + s.Workload.CPU.Mean().Seconds() // so that two workers do 2/held at most
	plan := func(slo string, window, warmup, budget time.Duration) error {
		o := runner.Options{Self: "schedlab", CPUs: runner.FreeCPUs, Window: window, Warmup: warmup, Budget: budget, Modes: map[string]mode.Mode{"pool-request": {Name: "pool-request", Flags: []string{"workers"}, Station: "pool"}}}
		o.Search = Objective{objective(t, slo)}
		_, err := runner.Plan(s, o)
		return err
	}
	longer := longerWindow(100*time.Millisecond, 11_000, 2/held)
	least := leastBudget(500*time.Millisecond, longer)
	for _, c := range []struct {
		slo                    string
		window, warmup, budget time.Duration
		want                   string
	}{
		{"p50<=1s", 0, 0, 0, ""},
		{"p50<=1s", time.Second, 0, 10 * time.Second, "a budget of 10s for each arm holds 4 windows of 1.6s, and a search needs 15; this would do: --budget 26.2s"},
		{"mean<=1s", 10 * time.Millisecond, 0, 10 * time.Second, "--window 10ms is outside 100ms to 24h0m0s; a budget of 10s for each arm holds 11 windows of 700ms, and a search needs 15; this would do: --window 100ms --budget 12.7s"},
		{"p50<=1s,errors<=0.1%", 10 * time.Millisecond, -time.Second, 10 * time.Second, fmt.Sprintf("--window 10ms is outside 100ms to 24h0m0s; --warmup -1s is outside 0 to 24h0m0s; "+
			"errors<=0.1%% needs 11,000/s in windows of 100ms, and no arm does more than %s; a budget of 10s for each arm holds 0 windows of %v, and a search needs 15; "+
			"this would do: --window %v --warmup 500ms --budget %v", prose.PerSecond(2/held), longer+600*time.Millisecond, longer, least)},
	} {
		err := plan(c.slo, c.window, c.warmup, c.budget)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s, %v + %v in %v:\ngot  %v\nwant %s", c.slo, c.warmup, c.window, c.budget, err, c.want)
		}
	}
	if err := plan("p50<=1s,errors<=0.1%", longer, 500*time.Millisecond, least); err != nil {
		t.Errorf("the flags that do together are refused: %v", err)
	}
}

// searching plans a search of stubs with the shortest windows there are.
func searching(t *testing.T, slo string, arms ...scenario.Arm) *runner.Comparison {
	t.Helper()
	s, err := scenario.Parse("f.yaml", []byte(demo.Swap("cpu: 100us", "path: /")))
	if err != nil {
		t.Fatal(err)
	}
	s.Arms = arms
	o := runner.Options{Self: "schedlab", Seed: 7, CPUs: runner.FreeCPUs, Iters: 2, Window: 100 * time.Millisecond, Warmup: 20 * time.Millisecond, Budget: 6 * time.Second}
	o.Search = Objective{objective(t, slo)}
	c, err := runner.Plan(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// readable opens the record again, and holds its result to what its trials give again.
func readable(t *testing.T, dir *record.Dir) record.Run {
	t.Helper()
	opened, run, err := record.Open("latest", filepath.Dir(dir.Path()))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Objective{}.Judge(opened, run)
	if err != nil {
		t.Fatal(err)
	}
	asJSON := func(r record.Result) string {
		text, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if diff := cmp.Diff(asJSON(run.Result), asJSON(again)); diff != "" {
		t.Errorf("the result in run.json and the one judged from the trials differ (-run +again):\n%s", diff)
	}
	return run
}

func TestAServerThatDiesEndsItsOwnSearchAlone(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	c := searching(t, "p50<=1s",
		scenario.Arm{Name: "weak", Command: stub.Command("mortal=" + starts)},
		scenario.Arm{Name: "gone", Command: stub.Command("fails")},
		scenario.Arm{Name: "sound", Command: stub.Command("good")})
	dir, _, err := c.Run(t.Context(), t.TempDir(), nil)
	if err == nil || !strings.Contains(err.Error(), `arm "weak": the server ended at `) {
		t.Errorf("the run ended with %v, want how weak died", err)
	}
	run := readable(t, dir)
	if run.Status != record.Partial || len(run.Ends) != 2 || !run.Ends["weak"].Died || run.Ends["weak"].Rate <= 0 {
		t.Errorf("the run is %s and says %+v of its ends, want those of weak and gone", run.Status, run.Ends)
	}
	weak, gone, sound := run.Result.(*Search).Arms[0], run.Result.(*Search).Arms[1], run.Result.(*Search).Arms[2]
	if weak.Outcome != outcome.Refused || !strings.Contains(weak.Fact.String(), "weak died at ") || !strings.Contains(weak.Fact.String(), "out of requests") || len(weak.Windows) != 3 {
		t.Errorf("weak, which dies in its fourth window: %+v", weak)
	}
	if gone.Outcome != outcome.Refused || len(gone.Windows) > 0 || !strings.Contains(gone.Fact.String(), "no configuration") {
		t.Errorf("gone, which does not start: %+v", gone)
	}
	if len(sound.Windows) < 8 || sound.End != nil {
		t.Errorf("sound has %d windows and the end %+v, want its search done", len(sound.Windows), sound.End)
	}
	numbers := map[int]bool{}
	for trial, err := range dir.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		numbers[trial.Number] = true
	}
	if len(numbers) != run.Trials || run.Trials != len(weak.Windows)+1+len(sound.Windows) {
		t.Errorf("%d trials are recorded and %d told, of %d + 1 and %d windows", len(numbers), run.Trials, len(weak.Windows), len(sound.Windows))
	}
}

func TestAnArmTooSlowToJudgeEndsNoOther(t *testing.T) {
	c := searching(t, "p50<=1s", scenario.Arm{Name: "slow", Command: stub.Command("slow")}, scenario.Arm{Name: "sound", Command: stub.Command("good")})
	dir, _, err := c.Run(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	run := readable(t, dir)
	slow, sound := run.Result.(*Search).Arms[0], run.Result.(*Search).Arms[1]
	if run.Status != record.Complete || slow.Outcome != outcome.Refused || !strings.HasPrefix(slow.Fact.String(), "slow is too slow to judge: it does ") || slow.XMax <= 0 || len(sound.Windows) < 8 {
		t.Errorf("the run is %s; slow %+v, sound has %d windows", run.Status, slow, len(sound.Windows))
	}

	c = searching(t, "p50<=1s", scenario.Arm{Name: "slow", Command: stub.Command("slow")})
	if _, run, err = c.Run(t.Context(), t.TempDir(), nil); err == nil || !strings.HasPrefix(err.Error(), `arm "slow" does `) || run.Trials != 0 {
		t.Errorf("alone it ends with %v after %d trials, want that no window can judge it", err, run.Trials)
	}
}
