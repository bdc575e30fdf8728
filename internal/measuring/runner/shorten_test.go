package runner

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// lagging returns a trial of an arm that serves at most the given requests a second, and how long it takes with the drain of
// its queue.
func lagging(p probed, number, block int, a arm, most float64) (record.TrialRecord, time.Duration) {
	t := record.TrialRecord{Trial: record.Trial{Number: number, Block: block + 1, Arm: a.Name, Warmup: p.Warmup, Window: p.Window, Server: record.UnknownServer()}}
	span, free := p.Warmup.Seconds()+p.Window.Seconds(), 0. // free is when the server has time for the next one, in seconds
	for i := range int(span * a.Clients.Rate) {
		at := float64(i) / a.Clients.Rate
		free = max(free, at) + 1/most
		done := free + .01
		t.Requests = append(t.Requests, request.Request{Scheduled: int64(1e9 * at), Sent: int64(1e9 * at), Done: int64(1e9 * done), Status: 200})
	}
	return t, time.Duration(1e9*max(span, free)) + 300*time.Millisecond
}

// Windows that grew for p99 leave no room for ten blocks where an arm's queue takes long to drain: the run goes on with shorter
// ones, says so, and its goodput is decided within the budget. The blocks before do not count, in the record as in the run. Where
// the windows are somebody's own, they stay.
func TestAnArmThatLagsShortensTheWindows(t *testing.T) {
	t.Parallel()
	const text = "name: lags\nquestion: Which one lags?\nworkload: {path: /work}\nload: {rate: 600/s}\narms: [nethttp, fasthttp]\n"
	for name, c := range map[string]struct {
		change   func(o *Options)
		capacity float64 // of fasthttp; nethttp has 5000/s
		shorter  bool
	}{
		"one lags":            {nil, 330, true},
		"none lags":           {nil, 5000, false},
		"a window of its own": {func(o *Options) { o.Window = 2500 * time.Millisecond; o.Budget = 90 * time.Second }, 330, false},
		"p99 must be judged": {func(o *Options) {
			o.Aim = judge.Expectations{Asked: asserted(t, `not slower("p99", "fasthttp")`)}
			o.Budget = 75 * time.Second
		}, 330, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var told []string
				p := planned(t, text, func(o *Options) {
					o.Observer = observer{doubt: func(f fact.Fact) { told = append(told, report.Doubt(f)) }}
					if c.change != nil {
						c.change(o)
					}
				})
				long := p.Window
				soFar, err := judge.New("", "", record.Run{Plan: p.recorded()}, judge.Winner{})
				if err != nil {
					t.Fatal(err)
				}
				var trials []record.TrialRecord
				var kept []record.Plan
				r := &running{lab: lab{began: time.Now()}, plan: probed{plan: p}, judge: soFar, keep: func(changed record.Plan) error {
					kept = append(kept, changed)
					return nil
				}}
				r.trial = func(ctx context.Context, p probed, number, block int, a arm) (record.TrialRecord, error) {
					most := 5000.
					if a.Name == "fasthttp" {
						most = c.capacity
					}
					trial, takes := lagging(p, number, block, a, most)
					select {
					case <-time.After(takes):
						trials = append(trials, trial)
						return trial, nil
					case <-ctx.Done():
						return record.TrialRecord{}, ctx.Err()
					}
				}
				ended, err := r.run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(r.began); took > p.budget {
					t.Errorf("took %v of a budget of %v", took, p.budget)
				}
				plan := r.plan.recorded()
				if said := strings.Contains(strings.Join(told, "\n"), "before do not count"); plan.Window.Duration < long.Duration != c.shorter || said != c.shorter {
					t.Fatalf("windows of %v s, then of %v s; told %q, ended %v", long, plan.Window, told, ended)
				}
				if !c.shorter {
					return
				}
				// The record has it from then on, for a run that is killed later.
				if len(kept) != 1 || kept[0].Window != plan.Window || kept[0].Before == nil {
					t.Errorf("kept %+v", kept)
				}
				// From the record alone, with the trials of long windows in it, the result is the same.
				again, err := judge.New("", "", record.Run{Plan: plan}, judge.Winner{})
				if err != nil {
					t.Fatal(err)
				}
				for _, trial := range trials {
					again.Take(trial, nil)
				}
				result, _ := again.Look(0)
				if result == nil || result.Valid != len(trials)/len(p.Arms)-plan.Before.Blocks || result.Valid < 10 || len(result.Refused) > 0 {
					t.Fatalf("judged again, after %d trials: %+v", len(trials), result)
				}
				for _, v := range result.Verdicts {
					if v.Metric == stats.Goodput && (v.Verdict.Rank != stats.Lower || v.Ratio > .7) {
						t.Errorf("goodput: %+v", v)
					}
				}
			})
		})
	}
}

// A run that ended because its answer depends on no open verdict says so, and advises no budget: there was room. Where it waits for
// all verdicts, a budget that ends before they are decided is advised to be larger.
func TestOpenVerdictsThatDoNotMatter(t *testing.T) {
	t.Parallel()
	const text = "name: open\nquestion: Which one?\nworkload: {path: /work}\nload: {rate: 2400/s}\narms: [nethttp, fasthttp]\n"
	for name, c := range map[string]struct {
		aim    judge.Winner
		budget time.Duration
		want   string
	}{
		"standings": {judge.Winner{Standings: true}, 75 * time.Second, "fasthttp at p50 is open after 10 blocks: the answer does not depend on it"},
		"verdicts":  {judge.Winner{WholeBudget: true}, 60 * time.Second, "fasthttp at p50 is open after 19 blocks: --budget 1m4s has room for 20, which may be enough"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := planned(t, text, func(o *Options) { o.Aim, o.Budget = c.aim, c.budget })
				soFar, err := judge.New("", "", record.Run{Plan: p.recorded()}, c.aim)
				if err != nil {
					t.Fatal(err)
				}
				r := &running{lab: lab{began: time.Now()}, plan: probed{plan: p}, judge: soFar}
				r.trial = func(_ context.Context, p probed, number, block int, a arm) (record.TrialRecord, error) {
					trial, takes := lagging(p, number, block, a, 5000)
					if a.Name == "fasthttp" { // now faster, now slower at p50; always slower above it
						for i := range trial.Requests {
							q, by := &trial.Requests[i], []float64{.98, 1.13}[block%2]
							if i%4 == 0 {
								by = 2
							}
							q.Done = q.Scheduled + int64(by*float64(q.Done-q.Scheduled))
						}
					}
					time.Sleep(takes)
					return trial, nil
				}
				ended, err := r.run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if len(ended) != 1 || !strings.Contains(ended[0].String(), c.want) {
					t.Errorf("after %d blocks: got %q, want %q", r.trials/3, ended, c.want)
				}
			})
		})
	}
}

// Where other programs took the CPUs, no larger budget is advised for blocks that there is no room for.
func TestShortBudgetBesideOthers(t *testing.T) {
	t.Parallel()
	short := shortBudget{Budget: 40 * time.Second, Needed: 70 * time.Second, First: 10, Block: 5 * time.Second, Planned: 4 * time.Second}
	if got, want := budgetTooShort.Of(short).String(), "the budget of 40s has no room for the 10 blocks that the first look needs, and --budget 1m10s has: a block takes 5s, planned were 4s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	short.Needed, short.Busy = 0, "cc1 took 60 % of the servers' CPU"
	if got, want := budgetTooShort.Of(short).String(), "the budget of 40s has no room for the 10 blocks that the first look needs: cc1 took 60 % of the servers' CPU, which makes blocks longer and a rate that is found lower; a block takes 5s, planned were 4s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
