package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"schedlab/internal/experiment"
	"schedlab/internal/judge"
	"schedlab/internal/model"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/sizing"
	"schedlab/internal/stats"
	"schedlab/internal/workload"
)

// What a verification comes to.
const (
	adviceRight     = "right"
	adviceWrong     = "wrong"
	adviceUndecided = "undecided"
)

// A verification is what the comparison of the advice with about a fifth fewer
// workers found.
type verification struct {
	Verdict string        `json:"verdict"` // right, wrong or undecided
	Why     string        `json:"why,omitempty"`
	Workers int           `json:"workers"`
	Fewer   int           `json:"fewer"`
	Advised judge.Keeping `json:"advised"`
	Less    judge.Keeping `json:"less"`
	Dir     string        `json:"dir"` // of the run's record
	Window  float64       `json:"window"`
	Doubts  []string      `json:"doubts,omitempty"` // sentences without a full stop
	slo     stats.SLO
}

func (v *verification) text() []string {
	lead := fmt.Sprintf("Advice %s: kept in %d of %d blocks at %d workers; broken in %d of %d at %d (%.0f %% fewer).",
		v.Verdict, v.Advised.Kept, v.Advised.Blocks, v.Workers, v.Less.Blocks-v.Less.Kept, v.Less.Blocks, v.Fewer, 100-100*float64(v.Fewer)/float64(v.Workers))
	if v.Advised.Blocks == 0 {
		lead = "Advice undecided: no block can be trusted."
	}
	if v.Why != "" {
		lead += " " + v.Why + "."
	}
	lines := []string{lead}
	for _, k := range []struct {
		workers int
		judge.Keeping
	}{{v.Workers, v.Advised}, {v.Fewer, v.Less}} {
		var figures []string
		for _, t := range v.slo {
			if m, ok := k.Median[t.Metric]; ok {
				figures = append(figures, t.Metric+" "+termText(t, m))
			}
		}
		if figures == nil {
			continue
		}
		lines = append(lines, fmt.Sprintf("Measured with %s, medians of blocks of %g s: %s.", counted(k.workers, "worker"), v.Window, strings.Join(figures, ", ")))
	}
	for _, d := range v.Doubts {
		lines = append(lines, "Doubt of the test: "+d+".")
	}
	return append(lines, "Record: "+v.Dir)
}

func termText(t stats.Term, v float64) string {
	switch t.Metric {
	case "errors":
		return percentText(v)
	case "goodput":
		return digits(v) + "/s"
	}
	return timeText(v)
}

// compare runs the advised workers against fewer, and says whether the SLO is kept by
// the first and broken by the second.
func (s *sized) compare(ctx context.Context, show *progress) (*verification, error) {
	var c compareFlags
	planned, err := s.plan(&c, show)
	if err != nil {
		return nil, err
	}
	planned.Until(s.slo)
	dir, run, err := planned.Run(ctx, c.out, show.update)
	show.done()
	if err != nil {
		return nil, c.failure(err, dir, run)
	}
	if err := writeReports(dir, run.Result); err != nil {
		return nil, err
	}
	kept, err := judge.Keep(dir, run, s.slo)
	if err != nil {
		return nil, err
	}
	v := s.judge(kept)
	v.Dir, v.Window = dir.Path(), run.Plan.Window
	return v, nil
}

// plan lays that comparison out, with the flags that c is filled with.
func (s *sized) plan(c *compareFlags, show *progress) (*experiment.Comparison, error) {
	f := s.flags
	here, err := experiment.ServerCPUs(f.options)
	if err != nil {
		return nil, usage(err)
	}
	if s.ask.Service > 0 && here != s.ask.Cores {
		return nil, usagef("--verify would run on the %d CPUs that servers get here, and the advice is for --cores %d; leave --cores out, or give --server-cpus as many", here, s.ask.Cores)
	}
	text, err := s.scenario()
	if err != nil {
		return nil, err
	}
	scenario, err := scenario.Parse("size", []byte(text))
	if err != nil {
		return nil, fmt.Errorf("writing the scenario of --verify: %w", err)
	}
	c.Options, c.out = f.options, f.out
	c.OnTrouble, c.OnCannot = show.trouble, show.cannot
	c.Asks = s.asks()
	if err := knowSelf(&c.Options); err != nil {
		return nil, err
	}
	c.Note = "tests the advice of: " + s.test
	c.Iters = workload.Calibrate()
	return c.plan(scenario)
}

// asks are the objective's quantiles that a comparison judges as well; windows sees to
// the others.
func (s *sized) asks() []string {
	names := []string{}
	for _, t := range s.slo {
		if slices.Contains(experiment.Quantiles(), t.Metric) {
			names = append(names, t.Metric)
		}
	}
	return names
}

// judge is the verdict on the advice from what the arms kept, the advised one first.
func (s *sized) judge(kept []judge.Keeping) *verification {
	v := &verification{
		Verdict: adviceUndecided, Workers: s.advice.Workers, Fewer: queueing.Fewer(s.advice.Workers),
		Advised: kept[0], Less: kept[1], slo: s.slo,
	}
	if len(s.demand.Samples) > 0 {
		v.Doubts = []string{fmt.Sprintf("it asked a mix of constants with the samples' mean, and the advice is for the samples: of the slowest %.3g %% it had the mean", 100*(1-sizing.TestedUpTo))}
	}
	switch {
	case kept[0].Answer == record.Failed:
		v.Verdict, v.Why = adviceWrong, fmt.Sprintf("%d workers are too few", v.Workers)
	case kept[1].Answer == record.Passed:
		v.Verdict, v.Why = adviceWrong, fmt.Sprintf("%d would have done", v.Fewer)
	case kept[0].Answer == record.Passed && kept[1].Answer == record.Failed:
		v.Verdict = adviceRight
	default:
		workers, open := v.Workers, kept[0]
		if open.Answer != record.Undecided {
			workers, open = v.Fewer, kept[1]
		}
		v.Why = fmt.Sprintf("With %s, %s", counted(workers, "worker"), open.Reason)
	}
	return v
}

// What a comparison takes beside its windows, and how it is cut into blocks: quick's,
// with three arms, the baseline's copy among them.
const (
	verifyBlocks  = 12
	verifyArms    = 3
	verifyFixed   = 4500 * time.Millisecond
	verifyTrial   = 30 * time.Millisecond
	verifyBudget  = 75 * time.Second
	longestWindow = 10 * time.Second
	longestWarmup = 2 * time.Second
)

// windows are the warm-up and window of each trial: as long as the budget allows, with
// requests enough for every quantile of the SLO, and a warm-up that leaves the arms
// steady.
func (s *sized) windows() (warmup, window, budget time.Duration, err error) {
	need := time.Second
	for _, t := range s.slo {
		if t.Quantile > 0 {
			requests := 1.15 * float64(stats.MinRequests(t.Quantile))
			need = max(need, time.Duration(math.Ceil(100*requests/s.ask.Rate))*10*time.Millisecond)
		}
	}
	cost := func(each time.Duration) time.Duration {
		return verifyBlocks*verifyArms*(each+verifyTrial) + verifyFixed
	}
	least, steady := s.settles()
	budget = s.flags.options.Budget
	if budget == 0 {
		budget = max(verifyBudget, cost(steady+need)+time.Second)
	}
	if cost(least+need) > budget {
		return 0, 0, 0, usagef("--budget %v is too short: %s at %s needs windows of %v, and %d blocks of them %v",
			budget, s.slo, s.flags.rate.String(), need, verifyBlocks, cost(least+need).Round(time.Second))
	}
	each := (budget-verifyFixed)/(verifyBlocks*verifyArms) - verifyTrial
	warmup = min(steady, each-need).Truncate(10 * time.Millisecond)
	window = min(each-warmup, max(need, longestWindow)).Truncate(10 * time.Millisecond)
	return warmup, window, budget, nil
}

// settles is how long the arms take from empty to steady: ten times the time held at
// least, better as long as too few workers take to let the queue fill.
func (s *sized) settles() (least, steady time.Duration) {
	o := s.advice.Expected
	least = min(max(200*time.Millisecond, time.Duration(10*o.Held*1e9)), longestWarmup)
	steady = least
	if excess := o.Rate - float64(queueing.Fewer(o.Workers))/o.Held; excess > 0 {
		steady = min(max(least, time.Duration(1.5*float64(o.Queue)/excess*1e9)), longestWarmup)
	}
	return least, steady
}

// scenario is the comparison's, in YAML.
func (s *sized) scenario() (string, error) {
	warmup, window, budget, err := s.windows()
	if err != nil {
		return "", err
	}
	cpu, sleep := s.demand.Workload()
	advised, fewer := s.advice.Workers, queueing.Fewer(s.advice.Workers)
	if fewer < 1 {
		return "", usagef("--verify compares with fewer workers, and the advice is one; ask for a higher --rate or a longer time held")
	}
	mode, err := model.Lookup(s.flags.mode)
	if err != nil {
		return "", err
	}
	keep := "keepalive: false" // where a worker is held as long as its connection
	if !mode.Sticky {
		keep = fmt.Sprintf("keepalive: true\n  connections: %d", max(64, s.advice.Workers+s.advice.Queue+32))
	}
	return fmt.Sprintf(`name: size
question: "Do %d workers and a queue of %d keep %s, and do %d not?"
workload:
  cpu: %q
  sleep: %q
load:
  rate: %s
  %s
arms:
  - %s
  - %s
protocol: {blocks: %d, warmup: %v, window: %v, budget: %v}
predict: [fit, twin]
`, advised, s.advice.Queue, s.slo, fewer, cpu, sleep, s.flags.rate.String(), keep, s.arm(mode, "advised", advised), s.arm(mode, "fewer", fewer),
		verifyBlocks, warmup, window, budget), nil
}

// arm is a pool of so many workers with the advised queue, which refuses what does not
// fit. A mode with --wait has no queue: it waits as long as the queue's requests would
// take.
func (s *sized) arm(mode model.Mode, name string, workers int) string {
	if mode.Has("wait") {
		held := s.ask.Service + s.ask.Block
		wait := time.Duration(float64(s.advice.Queue+1) * held / float64(s.advice.Workers) * 1e9).Round(time.Millisecond)
		return fmt.Sprintf("{name: %s, mode: %s, workers: %d, wait: %v}", name, mode.Name, workers, max(wait, time.Millisecond))
	}
	return fmt.Sprintf("{name: %s, mode: %s, workers: %d, queue-depth: %d, overflow: reject}", name, mode.Name, workers, s.advice.Queue)
}
