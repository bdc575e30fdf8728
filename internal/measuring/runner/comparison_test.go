package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/expect"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/process/stub"
	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// comparison plans one of two stubs with the shortest windows there are.
func comparison(t *testing.T, baseline, challenger string, change func(*scenario.Scenario, *Options)) *Comparison {
	t.Helper()
	s := parsed(t, demo.Swap("cpu: 100us", "path: /"))
	s.Arms = []scenario.Arm{{Name: "one", Command: stub.Command(baseline)}, {Name: "two", Command: stub.Command(challenger)}}
	o := options()
	o.Blocks, o.Window, o.Warmup, o.Budget = 10, 100*time.Millisecond, 20*time.Millisecond, 2*time.Minute
	if change != nil {
		change(&s, &o)
	}
	c, err := Plan(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// readable opens the run again and checks that its result is what Judge makes
// of its trials.
func readable(t *testing.T, dir *record.Dir) record.Run {
	t.Helper()
	opened, run, err := record.Open("latest", filepath.Dir(dir.Path()))
	if err != nil {
		t.Fatal(err)
	}
	again, err := judge.FromRecord(opened, run)
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

func TestRun(t *testing.T) {
	var told []string
	var measured []string // by the observer
	c := comparison(t, "good", "good", func(_ *scenario.Scenario, o *Options) {
		o.CPUs = ""
		o.Observer = observer{window: func(p record.Plan, w window.Window) {
			if len(p.Arms) == 3 && w.Requests > 0 && w.Values[stats.Goodput].Float() > 0 {
				measured = append(measured, fmt.Sprintf("block %d: %s", w.Trial.Block, w.Trial.Arm))
			}
		}}
	})
	dir, _, err := c.Run(t.Context(), t.TempDir(), func(doing string, done, total int, _ time.Duration) {
		told = append(told, fmt.Sprintf("%s %d/%d", doing, done, total))
	})
	if err != nil {
		t.Fatal(err)
	}
	run := readable(t, dir)
	if run.Status != record.Complete || run.Ended.Before(run.Started) || len(run.XMax) != 0 {
		t.Errorf("got the status %s, ended %v, throughput %v, which a fixed rate does not need", run.Status, run.Ended, run.XMax)
	}
	if !strings.HasPrefix(told[1], "block 1: ") || !slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, "block 10: ") && strings.HasSuffix(s, "/30") }) {
		t.Errorf("progress: got %q", told)
	}
	// Each window follows the step that announced it.
	if n := len(told) - len(measured); len(measured) != 30 || !slices.EqualFunc(told[n:], measured, strings.HasPrefix) {
		t.Errorf("windows: got %q after %q", measured, told)
	}
	blocks := map[int][]record.TrialRecord{}
	for trial, err := range dir.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		trial.Requests = slices.Clone(trial.Requests) // the next trial takes their place
		blocks[trial.Block] = append(blocks[trial.Block], trial)
	}
	if len(blocks) != 10 || run.Comparison().Valid != 10 {
		t.Errorf("%d blocks, %d count, refused %v; want all 10 however noisy", len(blocks), run.Comparison().Valid, run.Comparison().Refused)
	}
	arrivals := map[string]int{}
	for block, trials := range blocks {
		var order []string
		for _, trial := range trials {
			order = append(order, trial.Arm)
			if got, want := schedule(trial), schedule(trials[0]); got != want {
				t.Errorf("block %d: %s and %s met different arrivals", block, trial.Arm, trials[0].Arm)
			}
			if trial.Server.PID == 0 || trial.Client.Dialled == 0 || trial.Server.Accepted != -1 {
				t.Errorf("trial %d: got %+v, %+v", trial.Number, trial.Server, trial.Client)
			}
			if !slices.ContainsFunc(trial.Requests, request.Request.Good) {
				t.Errorf("trial %d has no good reply", trial.Number)
			}
		}
		arrivals[schedule(trials[0])]++
		if want := run.Comparison().Order[block-1]; !slices.Equal(order, want) {
			t.Errorf("block %d ran %v, planned %v", block, order, want)
		}
	}
	if len(arrivals) != len(blocks) {
		t.Errorf("%d blocks met %d lists of arrivals, want one each", len(blocks), len(arrivals))
	}
}

func schedule(t record.TrialRecord) string {
	var b strings.Builder
	for _, r := range t.Requests {
		fmt.Fprintln(&b, r.Scheduled)
	}
	return b.String()
}

func TestRunInterrupted(t *testing.T) {
	stopped := errors.New("stopped by hand")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	began := time.Time{}
	c := comparison(t, "good", "good", nil)
	dir, run, err := c.Run(ctx, t.TempDir(), func(doing string, done, _ int, _ time.Duration) {
		if strings.HasPrefix(doing, "block") && done == 4 {
			began = time.Now()
			cancel(stopped)
		}
	})
	if !errors.Is(err, stopped) || run.Status != record.Interrupted {
		t.Fatalf("got %v, status %s", err, run.Status)
	}
	if took := time.Since(began); took > tooLong {
		t.Errorf("it took %v to stop", took)
	}
	run = readable(t, dir)
	if run.Status != record.Interrupted || run.Comparison().Valid != 1 || report.Headline(run.Result) != "No single winner: two against one is open after 1 block." {
		t.Errorf("got %s of %d blocks, %q", run.Status, run.Comparison().Valid, report.Headline(run.Result))
	}
	trials := 0
	for range dir.Trials() {
		trials++
	}
	if trials != 4 {
		t.Errorf("%d trials are kept, want the 4 that were whole", trials)
	}
}

func TestServerDiesInTrial(t *testing.T) {
	starts := filepath.Join(t.TempDir(), "starts")
	c := comparison(t, "good", "mortal="+starts, nil)
	dir, _, err := c.Run(t.Context(), t.TempDir(), nil)
	want := `arm "two", block 5: the server ended during its trial (exit status 7); its log ends with: out of requests`
	if err == nil || err.Error() != want {
		t.Fatalf("got  %v\nwant %s", err, want)
	}
	run := readable(t, dir)
	if run.Status != record.Partial || !slices.ContainsFunc(run.Comparison().Doubts, func(d fact.Fact) bool {
		return d.Arm == "two" && strings.HasSuffix(d.String(), "its log ends with: out of requests")
	}) {
		t.Errorf("got %s, doubts %v", run.Status, run.Comparison().Doubts)
	}
	logs, err := filepath.Glob(filepath.Join(dir.Path(), "trials", "*-two", "server.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("server logs: %v, %v", logs, err)
	}
	if text, err := os.ReadFile(logs[len(logs)-1]); err != nil || !strings.Contains(string(text), "out of requests") {
		t.Errorf("the dead server's log: got %q, %v", text, err)
	}
}

// A server that has served its window and then does not end costs time, not the
// comparison. No block is begun that does not fit the budget, and it is said why there are
// so few; on a busy machine the other programs are a cause, too.
func TestServerLingersAfterItsTrial(t *testing.T) {
	c := comparison(t, "good", "stubborn="+filepath.Join(t.TempDir(), "starts"), nil)
	c = c.Within(10 * time.Second) // as if the plan had been too good; a busy machine takes 2.4 s for the first block
	dir, run, err := c.Run(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(resultDoubts(run.Comparison()), "\n"); !strings.Contains(said, "the budget of 10s ended after ") || !regexp.MustCompile(`of the 10 that the first look needs(, and --budget \d+s has:|: .* which makes blocks longer .*;) a block takes `).MatchString(said) ||
		!strings.Contains(said, "and the server of two lingers when it is to end") {
		t.Errorf("the doubts: got\n%s\nwant that the budget ended, and the cause", said)
	}
	readable(t, dir)
	if run.Status != record.Complete || !slices.ContainsFunc(run.Comparison().Doubts, func(d fact.Fact) bool {
		return report.Doubt(d) == "two: the server did not end within 3s of SIGTERM and was killed"
	}) {
		t.Errorf("got %s, doubts %v", run.Status, run.Comparison().Doubts)
	}
}

// A run ends at the first look at which every primary verdict and expectation is decided,
// and goes on where one is open. On a busy machine that look may be a later one, or none, and a verdict may be refused for
// what other programs took of the servers' CPU.
func TestRunEndsWhenItKnows(t *testing.T) {
	for name, asked := range map[string][]expect.Expectation{"decided": nil, "an open expectation": asserted(t, `phase("two", "queue") < 1`)} {
		comparison := comparison(t, "good", "tardy", func(s *scenario.Scenario, o *Options) {
			s.Expect, s.Load.Rate = asked, scenario.Rate{PerSecond: 500}
			o.Blocks, o.Warmup = 12, 80*time.Millisecond
		})
		_, run, err := comparison.Run(t.Context(), t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		v := verdictIn(t, run.Comparison().Verdicts, "two", "p50")
		want := 12
		if v.Look > 0 && asked == nil {
			want = v.Look
		}
		if run.Comparison().Ran != want || len(run.Comparison().Order) != want || v.Lost < 8 && v.Reason.Code != "cpu-taken" {
			t.Errorf("%s: %d blocks, refused %v, %+v; want %d", name, run.Comparison().Ran, run.Comparison().Refused, v, want)
		}
	}
}

// A run whose record cannot be judged says how it ended all the same.
func TestRunThatCannotBeJudged(t *testing.T) {
	root := t.TempDir()
	c := comparison(t, "good", "good", nil)
	dir, _, err := c.Run(t.Context(), root, func(doing string, done, _ int, _ time.Duration) {
		if strings.HasPrefix(doing, "block") && done == 1 {
			if err := os.RemoveAll(filepath.Join(root, "latest", "trials")); err != nil {
				t.Error(err)
			}
		}
	})
	if err == nil || !strings.Contains(err.Error(), "recording trial 2") || !strings.Contains(err.Error(), "listing trials") {
		t.Fatalf("got %v, want that the trial cannot be written, and the trials not be read", err)
	}
	_, run, err := record.Open("latest", filepath.Dir(dir.Path()))
	if err != nil {
		t.Fatal(err)
	}
	if run.Status != record.Partial || run.Ended.IsZero() || !strings.Contains(run.Failure, "recording trial 2") {
		t.Errorf("run.json says %s, ended %v, failure %q", run.Status, run.Ended, run.Failure)
	}
}

// What else went wrong when a run was interrupted is not lost, and what the
// interruption itself did is not said twice.
func TestInterruption(t *testing.T) {
	t.Parallel()
	stopped, full := errors.New("stopped by hand"), errors.New("no space left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	for _, err := range []error{ctx.Err(), stopped, fmt.Errorf("arm: %w", context.Canceled)} {
		if got := interruption(ctx, err); got != stopped {
			t.Errorf("%v: got %v, want the cause alone", err, got)
		}
	}
	if got := interruption(ctx, full); !errors.Is(got, stopped) || !errors.Is(got, full) {
		t.Errorf("got %v, want both", got)
	}
}

func TestRunImpossible(t *testing.T) {
	for _, c := range []struct {
		name, challenger, want string
		change                 func(*scenario.Scenario, *Options)
	}{
		{"above what an arm can do", "good", " of what arm ", func(s *scenario.Scenario, _ *Options) {
			s.Load.Rate, s.Load.MinRate = scenario.Rate{OfSlowest: .7}, scenario.Rate{PerSecond: 1e6}
		}},
		{"not one good reply", "refusing", `arm "two": not one good reply to / in its first window (`, nil},
		{"the cause", "refusing", "failed: status 404 (Not Found)); try it with curl first", nil},
		{"a server that fails", "fails", `arm "two": the server ended before it answered (exit status 3); its log ends with: no configuration`, nil},
	} {
		dir, run, err := comparison(t, "good", c.challenger, c.change).Run(t.Context(), t.TempDir(), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || run.Status != record.Partial {
			t.Errorf("%s: got %v, status %s, want %q", c.name, err, run.Status, c.want)
		}
		readable(t, dir)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if dir, run, err := comparison(t, "good", "good", nil).Run(t.Context(), file, nil); err == nil || dir != nil || run.Result != nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", file)) {
		t.Errorf("a file for a directory: got %v, %v", dir, err)
	}
}

func resultDoubts(r *record.Comparison) (texts []string) {
	for _, d := range r.Doubts {
		texts = append(texts, report.Doubt(d))
	}
	return texts
}

func verdictIn(t *testing.T, vs []record.Verdict, arm, metric string) record.Verdict {
	t.Helper()
	for _, v := range vs {
		if v.Arm == arm && v.Metric.String() == metric {
			return v
		}
	}
	t.Fatalf("no verdict on %s of %s", metric, arm)
	return record.Verdict{}
}

// A run takes no longer than it was said to, whatever its trials take; when they take what
// was planned, it comes to its end within the estimate.
func TestPlannedTimeIsABound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		takes  func(p plan, number int) time.Duration
		blocks int // that are run
		done   bool
	}{
		"as planned":          {func(p plan, _ int) time.Duration { return p.blockCost(p.Window.Duration) / 3 }, 12, true},
		"twice that":          {func(p plan, _ int) time.Duration { return p.blockCost(p.Window.Duration) / 3 * 2 }, 2, false}, // ten would take 51 s
		"timeouts":            {func(plan, int) time.Duration { return 10 * time.Second }, 1, false},
		"a server that hangs": {func(_ plan, n int) time.Duration { return time.Second + time.Duration(n/15)*time.Hour }, 4, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := planned(t, demo.Text, func(o *Options) { o.Blocks, o.Budget = 12, 50*time.Second })
				soFar, err := judge.New("", "", record.Run{Plan: p.recorded()}, judge.Winner{})
				if err != nil {
					t.Fatal(err)
				}
				r := &running{lab: lab{began: time.Now()}, plan: probed{plan: p}, judge: soFar}
				r.trial = func(ctx context.Context, _ probed, number, block int, a arm) (record.TrialRecord, error) {
					select {
					case <-time.After(c.takes(p, number)):
						return record.TrialRecord{Trial: record.Trial{Number: number, Block: block + 1, Arm: a.Name, Warmup: p.Warmup, Window: p.Window}}, nil
					case <-ctx.Done():
						return record.TrialRecord{}, ctx.Err()
					}
				}
				time.Sleep(fixedCost - closing) // what comes before the blocks
				ended, err := r.run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(after(r.trials))
				took := time.Since(r.began)
				if r.trials/3 != c.blocks || took > p.budget || c.done && took > p.Estimate.Duration || c.done == slices.ContainsFunc(ended, budgetTooShort.Code.Is) {
					t.Errorf("%d blocks took %v, about %v were said and %v at most; doubts %q", r.trials/3, took, p.Estimate, p.budget, ended)
				}
			})
		})
	}
}

// What breaks the answer is known and told before anything is measured; a comparison without two
// arms that serve all clients is refused, unless its expectations ask for that.
func TestHopelessIsToldFirst(t *testing.T) {
	t.Parallel()
	const kept, closed = "rate: 300/s\n  keepalive: true", "rate: 300/s"
	arms := func(load, first, second string) string {
		return strings.NewReplacer("rate: 300/s", load, "- nethttp", "- "+first, "- fasthttp", "- "+second).Replace(demo.Text)
	}
	const four, enough = "{mode: pool, workers: 4}", "{mode: pool, workers: 64}"
	for _, c := range []struct {
		name, text string
		told       []string // who starves
		refused    bool
	}{
		{"a sweep of starving pools", arms(kept, four, "{mode: pool, vary: {workers: [8, 16]}}"), []string{"pool,workers=4"}, true},
		{"a starving baseline", arms(kept, four, enough), []string{"pool,workers=4"}, true},
		{"a starving baseline of three", arms(kept, four, enough) + "  - fasthttp\n", []string{"pool,workers=4"}, true},
		{"starving challengers", arms(kept, "nethttp", four), []string{"pool,workers=4"}, true},
		{"one that does not starve", arms(kept, enough, "nethttp"), nil, false},
		{"one of two starves", arms(kept, "nethttp", four) + "  - fasthttp\n", []string{"pool,workers=4"}, false},
		{"a connection for each request", arms(closed, four, "{mode: pool, vary: {workers: [8, 16]}}"), nil, false},
		{"asked for", arms(kept, "nethttp", four) + "expect:\n  - served(\"pool,workers=4\") == 4\n", []string{"pool,workers=4"}, false},
	} {
		var told []string
		run := &Comparison{planned(t, c.text, func(o *Options) {
			o.Observer = observer{doubt: func(d fact.Fact) {
				if doubt.StickyPool.Code.Is(d) {
					told = append(told, d.Arm)
				}
			}}
		})}
		run.plan.tellFirst()
		if err := run.CanAnswer(); (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "pool,workers=4 starves 60 of 64 kept connections, and the baseline and a challenger must serve all of theirs; give them workers=64") || !slices.Equal(told, c.told) {
			t.Errorf("%s: told of %q, %v", c.name, told, err)
		}
	}
}

// What the first arm would be offered is a share of the slowest one's throughput,
// which 64 clients of a server that takes 50 ms bound; an absolute rate needs no
// server to be started.
func TestOffered(t *testing.T) {
	t.Parallel()
	offered := func(rate scenario.Rate, how string) (float64, error) {
		c := comparison(t, "good", how, func(s *scenario.Scenario, _ *Options) { s.Load.Rate, s.Load.MinRate = rate, scenario.Rate{} })
		return c.Offered(t.Context(), nil)
	}
	if got, err := offered(scenario.Rate{OfSlowest: 0.5}, "tardy"); err != nil || !(got > 0 && got <= 0.5*probeClients/0.05) {
		t.Errorf("half of the slowest: got %g/s, error %v, want up to %g/s", got, err, 0.5*probeClients/0.05)
	}
	if got, err := offered(scenario.Rate{PerSecond: 100}, "fails"); err != nil || got != 0 {
		t.Errorf("an absolute rate: got %g/s, error %v, want neither", got, err)
	}
	if got, err := offered(scenario.Rate{OfSlowest: 0.5}, "fails"); err == nil {
		t.Errorf("a server that fails: got %g/s, want an error", got)
	}
}

// A shortened comparison has the first blocks of the whole one, and their time.
func TestShorten(t *testing.T) {
	t.Parallel()
	s, err := scenario.Parse("x", []byte("name: x\nquestion: q?\nworkload: {path: /plaintext}\nload: {rate: 2000/s}\narms: [nethttp, {name: again, mode: nethttp}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	plan := func() *Comparison {
		c, err := Plan(s, Options{Self: "schedlab", Seed: 7, Modes: map[string]mode.Mode{"nethttp": {Station: "goroutines"}}, Machine: doubt.MachineVerdict.Of(doubt.Fitness{Verdict: "unfit"})})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	whole, short := plan().Planned(), plan()
	got := short.Shortened(4).Planned()
	if got.Blocks != 4 || !slices.EqualFunc(got.Order, whole.Order[:4], slices.Equal) {
		t.Errorf("got %d blocks, order %v, want the first 4 of %v", got.Blocks, got.Order, whole.Order)
	}
	if want := (4*3*(whole.Warmup.Duration+whole.Window.Duration+trialCost+judging) + fixedCost).Seconds(); math.Abs(got.Estimate.Seconds()-want) > .3 {
		t.Errorf("got %g s instead of %g, want %g", got.Estimate.Seconds(), whole.Estimate.Seconds(), want)
	}
	if !slices.ContainsFunc(whole.Doubts, machineUnfit.Code.Is) {
		t.Errorf("got the doubts %v, want the one about the machine among them", whole.Doubts)
	}
}

// An observer hears of doubts and windows, as far as it asks for them.
type observer struct {
	unobserved
	doubt  func(fact.Fact)
	window func(record.Plan, window.Window)
}

func (o observer) Doubt(f fact.Fact) {
	if o.doubt != nil {
		o.doubt(f)
	}
}

func (o observer) Window(p record.Plan, w window.Window) {
	if o.window != nil {
		o.window(p, w)
	}
}

// A server that speaks TLS answers 400 to plain HTTP: then the advice names the setting, and not otherwise.
func TestAdviceWhereNothingWasGood(t *testing.T) {
	t.Parallel()
	secure := record.PlanArm{Clients: record.Clients{Speaks: record.Speaks{TLS: record.TrustAny}}}
	for _, c := range []struct {
		of   record.PlanArm
		ends map[string]int
		tls  bool
	}{
		{record.PlanArm{}, map[string]int{"status 400": 9}, true},
		{record.PlanArm{}, map[string]int{"status 404": 9}, false},
		{record.PlanArm{Mode: "pool"}, map[string]int{"status 400": 9}, false},
		{secure, map[string]int{"status 400": 9}, false},
	} {
		if got := (arm{PlanArm: c.of}).tryFirst(c.ends); strings.Contains(got, "tls=insecure") != c.tls || !strings.HasPrefix(got, "try it with curl first") {
			t.Errorf("%v of %v: got %q", c.ends, c.of, got)
		}
	}
}
