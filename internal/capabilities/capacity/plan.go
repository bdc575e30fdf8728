package capacity

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// The defaults of a search (docs/guide/capacity.md).
const (
	usualWarmup = 500 * time.Millisecond
	usualWindow = 3 * time.Second
	usualBudget = 90 * time.Second
	patience    = 100 // a request times out after this many times the objective's largest limit
)

// An Objective is the question which highest rate of each arm keeps it. It is the [runner.Search] of a run.
type Objective struct{ stats.SLO }

// Record notes the objective.
func (o Objective) Record(p *record.Plan) { p.SLO = o.String() }

// Times returns the times of a search. Its error tells all faults of the times asked for at once, and the flags that do
// together: a longer window also needs a larger budget.
func (o Objective) Times(asked runner.SearchTimes, most float64) (runner.SearchTimes, error) {
	asked.Warmup, asked.Window, asked.Budget = cmp.Or(asked.Warmup, usualWarmup), cmp.Or(asked.Window, usualWindow), cmp.Or(asked.Budget, usualBudget)
	asked.Timeout = o.timeout()
	var faults, flags []string
	do := asked // times with which a search is possible
	if err := runner.CheckSpan(usualWarmup, asked.Window); err != nil {
		do.Window, faults = min(max(asked.Window, runner.ShortestWindow), scenario.Longest), append(faults, err.Error())
	}
	if err := runner.CheckSpan(asked.Warmup, usualWindow); err != nil {
		do.Warmup, faults = usualWarmup, append(faults, err.Error())
	}
	if floor := o.floor(do.Window); floor > mostSlack*most {
		faults = append(faults, fmt.Sprintf("%s needs %s in windows of %v, and no arm does more than %s",
			o.hardest(), prose.PerSecond(floor), do.Window, prose.PerSecond(most)))
		do.Window = longerWindow(do.Window, floor, most)
	}
	step, needs := do.Warmup+do.Window+runner.StepCost, leastBudget(do.Warmup, do.Window)
	switch {
	case asked.Budget < 0 || asked.Budget > scenario.Longest:
		do.Budget, faults = needs, append(faults, fmt.Sprintf("--budget %v is outside 0 to %v", asked.Budget, scenario.Longest))
	case asked.Budget < needs:
		do.Budget = needs
		faults = append(faults, fmt.Sprintf("a budget of %v for each arm holds %d windows of %v, and a search needs %d",
			asked.Budget, max(0, int((asked.Budget-runner.ProbeCost)/step)), step, leastWindows))
	}
	if len(faults) == 0 {
		return asked, nil
	}
	for _, f := range []struct {
		name      string
		asked, do time.Duration
	}{{"--window", asked.Window, do.Window}, {"--warmup", asked.Warmup, do.Warmup}, {"--budget", asked.Budget, do.Budget}} {
		if f.do != f.asked {
			flags = append(flags, fmt.Sprintf("%s %v", f.name, f.do))
		}
	}
	return asked, fmt.Errorf("%s; this would do: %s", strings.Join(faults, "; "), strings.Join(flags, " "))
}

// timeout returns the timeout of a request; 0 for an objective without a time. A request that took a hundred times its limit
// has broken the objective. Longer timeouts would only delay the end of an overloaded window; shorter than a second they
// might cut off a pause.
func (o Objective) timeout() (timeout time.Duration) {
	for _, t := range o.SLO {
		if t.Timed() {
			timeout = max(timeout, time.Second, patience*time.Duration(math.Round(t.Limit*float64(time.Second))))
		}
	}
	return timeout
}

// mostSlack is how far, as a factor, a server may exceed the rate that its demands allow.
const mostSlack = 1.1

// leastBudget returns the shortest budget of an arm's search with such windows, rounded up.
func leastBudget(warmup, window time.Duration) time.Duration {
	const unit = 100 * time.Millisecond
	return (leastWindows*(warmup+window+runner.StepCost) + runner.ProbeCost + unit - 1).Truncate(unit)
}

// longerWindow returns a window of whole seconds that is long enough to judge an arm that does most
// requests per second, where one of length window can judge from floor requests per second on; at
// most a day. It holds twice the requests needed, to leave room for rates below.
func longerWindow(window time.Duration, floor, most float64) time.Duration {
	longer := float64(window)*2*floor/most + float64(time.Second)
	return time.Duration(min(longer, float64(24*time.Hour))).Round(time.Second)
}

// options returns the options of a plan's search. Floor is the lowest rate that its windows can judge, Ceiling the highest
// rate that [runner.MostRequests] allows.
func (o Objective) options(p record.Plan) options {
	return options{
		SLO: o.SLO, Seed: p.Seed, Windows: p.Windows, Floor: o.floor(p.Window.Duration), Ceiling: runner.MostRequests / (p.Warmup.Seconds() + p.Window.Seconds()),
	}
}

// floor returns the lowest rate that a window of this length can judge.
func (o Objective) floor(window time.Duration) float64 {
	return judge.RunMargin * float64(o.hardest().Requests()) / window.Seconds()
}

// hardest returns the term that needs the most requests in a window.
func (o Objective) hardest() stats.Term {
	return slices.MaxFunc(o.SLO, func(a, b stats.Term) int { return cmp.Compare(a.Requests(), b.Requests()) })
}

// TooSlow explains, for an error or an answer, why an arm with this X_max cannot be searched in windows of this plan, and
// which window would do, with the budget that it takes if that is above the plan's; "" for an arm that is fast enough.
func (o Objective) TooSlow(p record.Plan, xmax float64) string {
	floor, term, other, with := o.floor(p.Window.Duration), o.hardest(), "promise less", ""
	if xmax >= floor {
		return ""
	}
	if term.Metric.Quantile > 0 {
		other = "ask for a lower quantile"
	}
	longer := longerWindow(p.Window.Duration, floor, xmax)
	if needs := leastBudget(p.Warmup.Duration, longer); needs > p.Budget.Duration {
		with = fmt.Sprintf(" with --budget %v", needs)
	}
	return fmt.Sprintf("does %s at most, and a window of %g s needs %s to judge %s; lengthen --window to %.0fs%s or %s",
		prose.PerSecond(xmax), p.Window.Seconds(), prose.PerSecond(floor), term, longer.Seconds(), with, other)
}

// Lead searches the capacities of the arms.
func (o Objective) Lead(ctx context.Context, run record.Run, arms []record.PlanArm, measure runner.Bench) error {
	xmax := make([]float64, len(arms))
	for i, a := range arms {
		xmax[i] = run.XMax[a.Name]
	}
	return searchAll(ctx, func(ctx context.Context, arm int, step runner.Step, took func(RateWindow) (runner.Step, bool)) error {
		return measure(ctx, arm, step, func(t record.TrialRecord) (runner.Step, bool) {
			return took(reduced(t, run.Env, arms[arm].Clients, o.SLO))
		})
	}, xmax, o.options(run.Plan))
}
