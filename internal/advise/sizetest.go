package advise

import (
	"fmt"
	"math"
	"strings"
	"time"

	"schedlab/internal/judge"
	"schedlab/internal/prose"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
)

// Verdicts of a test of the advice.
const (
	AdviceRight     = "right"
	AdviceWrong     = "wrong"
	AdviceUndecided = "undecided"
)

// A PoolTest says how to test the advice on the size of a pool.
//
// The test has two arms with the same queue and the same load: the advised workers, and about a
// fifth fewer. A size that is right is kept by the first and broken by the second. Scenario plans
// the comparison, windows fits its windows into the budget, and Verify judges what came out.
type PoolTest struct {
	Mode   string        // of the servers
	Sticky bool          // a worker of the mode holds its connection as long as it is open
	Waits  bool          // the mode has --wait instead of a queue
	Rate   string        // the rate of the advice, as in a scenario
	Budget time.Duration // 0: 75 s, or longer if the SLO's quantiles need it
}

// TestBlocks is the number of blocks of a test. It decides how long the windows of a budget are.
const TestBlocks = 12

// Durations of a test in addition to its windows, as measured with the scenario quick. The three arms
// include the baseline's copy.
const (
	// testFixed is what the run takes apart from its trials, testTrial what a trial takes apart
	// from its warm-up and window. testBudget is the budget of the protocol quick. Windows grow
	// with the budget up to longestWindow, or as far as a quantile needs; warm-ups grow up to
	// longestWarmup.
	testArms      = 3
	testFixed     = 4500 * time.Millisecond
	testTrial     = 30 * time.Millisecond
	testBudget    = 75 * time.Second
	longestWindow = 10 * time.Second
	longestWarmup = 2 * time.Second
)

// A ShortBudgetError says that a test does not fit into its budget.
type ShortBudgetError struct {
	Needs time.Duration // the budget that the test needs
	msg   string
}

// Error returns a sentence that names --budget and the windows that the SLO needs.
func (e *ShortBudgetError) Error() string { return e.msg }

// windows returns the durations of warm-up and window of each trial, and the budget of the test.
// They are as long as the budget allows. A window has enough requests for every quantile of the
// SLO, and the warm-up is long enough for the arms to become steady. If the budget is too short for
// the shortest warm-up, the error is a *ShortBudgetError with the budget for the better one.
func (a Answer) windows(t PoolTest) (warmup, window, budget time.Duration, err error) {
	need := time.Second
	for _, term := range a.SLO {
		if term.Quantile > 0 {
			// Arrivals are random: with 15 % more, a window rarely has too few. Rounded up to 10
			// ms.
			requests := 1.15 * float64(stats.MinRequests(term.Quantile))
			need = max(need, time.Duration(math.Ceil(100*requests/a.Ask.Rate))*10*time.Millisecond)
		}
	}
	// The duration of the test with trials of this length.
	cost := func(each time.Duration) time.Duration {
		return TestBlocks*testArms*(each+testTrial) + testFixed
	}
	least, steady := a.settles()
	budget = t.Budget
	if budget == 0 {
		budget = max(testBudget, cost(steady+need)+time.Second)
	}
	if cost(least+need) > budget {
		return 0, 0, 0, &ShortBudgetError{
			Needs: max(testBudget, cost(steady+need)+time.Second).Round(time.Second),
			msg: fmt.Sprintf("--budget %v is too short: %s at %s needs windows of %v, and %d blocks of them %v",
				budget, a.SLO, t.Rate, need, TestBlocks, cost(least+need).Round(time.Second)),
		}
	}
	// The other way round: the length of a trial that fills the budget.
	each := (budget-testFixed)/(TestBlocks*testArms) - testTrial
	warmup = min(steady, each-need).Truncate(10 * time.Millisecond)
	window = min(each-warmup, max(need, longestWindow)).Truncate(10 * time.Millisecond)
	return warmup, window, budget, nil
}

// settles returns how long the arms take from empty to steady. least is ten times the time held.
// steady, the better choice, also covers the time in which the queue of the arm with too few
// workers fills.
func (a Answer) settles() (least, steady time.Duration) {
	o := a.Advice.Expected
	least = min(max(200*time.Millisecond, time.Duration(10*o.Held*1e9)), longestWarmup)
	// With too few workers the queue grows by the requests per second that they cannot serve. Half
	// as long again as it takes to fill is taken as steady.
	steady = least
	if excess := o.Rate - float64(queueing.Fewer(o.Workers))/o.Held; excess > 0 {
		steady = min(max(least, time.Duration(1.5*float64(o.Queue)/excess*1e9)), longestWarmup)
	}
	return least, steady
}

// Scenario returns the scenario that compares the advised number of workers with about a fifth
// fewer. Errors tell the user which flag to change. It needs an advice: Workers must be above 0.
func (a Answer) Scenario(t PoolTest) (s scenario.Scenario, err error) {
	warmup, window, budget, err := a.windows(t)
	if err != nil {
		return s, err
	}
	cpu, sleep := a.Demand.Workload()
	advised, fewer := a.Advice.Workers, queueing.Fewer(a.Advice.Workers)
	if fewer < 1 {
		return s, fmt.Errorf("--verify compares with fewer workers, and the advice is one; ask for a higher --rate or a longer time held")
	}
	connections := "keepalive: false" // a kept connection would hold its worker
	if !t.Sticky {
		// Enough connections for all that are served and all that wait, and some to spare, so that
		// the connections limit nothing.
		connections = fmt.Sprintf("keepalive: true\n  connections: %d", max(64, a.Advice.Workers+a.Advice.Queue+32))
	}
	return scenario.Parse("size", fmt.Appendf(nil, `name: size
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
`, advised, a.Advice.Queue, a.SLO, fewer, cpu, sleep, t.Rate, connections, a.arm(t, "advised", advised), a.arm(t, "fewer", fewer),
		TestBlocks, warmup, window, budget))
}

// arm returns the YAML of an arm: a pool of workers with the advised queue, which refuses requests
// that do not fit. A mode with --wait has no queue. Its wait is as long as the advised workers
// would take for a full queue, also in the arm with fewer, so that both lose requests by the same
// rule.
func (a Answer) arm(t PoolTest, name string, workers int) string {
	if t.Waits {
		wait := patience(a.Advice.Queue, a.Advice.Workers, a.Ask.Service+a.Ask.Block)
		return fmt.Sprintf("{name: %s, mode: %s, workers: %d, wait: %v}", name, t.Mode, workers, wait)
	}
	return fmt.Sprintf("{name: %s, mode: %s, workers: %d, queue-depth: %d, overflow: reject}", name, t.Mode, workers, a.Advice.Queue)
}

// A Verification is the result of a test of the advice: a comparison of the advised number of
// workers with about a fifth fewer. Advised and Less tell how far each arm kept the SLO, Fewer is
// the number of workers of the second, and Window is in seconds. Verify makes one; the caller fills
// Dir and Window, and calls On.
//
// Why is the reason if the verdict is not AdviceRight; it is no fact otherwise. Doubts are limits
// of the test itself: samples that were replaced by a mix.
type Verification struct {
	Verdict string        `json:"verdict"` // AdviceRight, AdviceWrong or AdviceUndecided
	Why     record.Fact   `json:"why,omitzero"`
	Mode    string        `json:"mode"` // of the servers
	Workers int           `json:"workers"`
	Fewer   int           `json:"fewer"`
	Advised judge.Keeping `json:"advised"`
	Less    judge.Keeping `json:"less"`
	Dir     string        `json:"dir"` // directory of the run's record
	Window  float64       `json:"window"`
	Doubts  []record.Fact `json:"doubts,omitempty"`
	sticky  bool          // of the mode
	slo     stats.SLO
}

// On notes on which servers the test ran.
func (v *Verification) On(t PoolTest) { v.Mode, v.sticky = t.Mode, t.Sticky }

// pool returns the mode of the servers and, in words, what a worker of it serves: a request or a
// connection.
func (v *Verification) pool() string {
	if v.sticky {
		return v.Mode + " (a worker serves a whole connection, of one request here)"
	}
	return v.Mode + " (a worker serves a request, not a whole connection)"
}

// text returns the verification in lines: the verdict, the figures of each arm, doubts, and the record.
func (v *Verification) text() []string {
	lead := fmt.Sprintf("Advice %s: kept in %d of %d blocks at %d workers; broken in %d of %d at %d (%.0f %% fewer).",
		v.Verdict, v.Advised.Kept, v.Advised.Blocks, v.Workers, v.Less.Blocks-v.Less.Kept, v.Less.Blocks, v.Fewer, 100-100*float64(v.Fewer)/float64(v.Workers))
	if v.Advised.Blocks == 0 {
		lead = "Advice undecided: no block can be trusted."
	}
	if !v.Why.None() {
		lead += " " + v.Why.String() + "."
	}
	lines := []string{lead}
	for _, k := range []struct {
		workers int
		judge.Keeping
	}{{v.Workers, v.Advised}, {v.Fewer, v.Less}} {
		var figures []string
		for _, t := range v.slo {
			if f := k.Figures[t.Metric]; f != nil {
				figures = append(figures, fmt.Sprintf("%s %s (%s to %s)", t.Metric, termText(t, f.Median), termText(t, f.Low), termText(t, f.High)))
			}
		}
		if figures == nil {
			continue
		}
		// With too few blocks for an interval the low and high ends are the extremes.
		spread := "95 % intervals"
		if stats.IntervalRank(k.Blocks, stats.Alpha) == 0 {
			spread = "extremes"
		}
		lines = append(lines, fmt.Sprintf("Measured with %s of %s, medians over %s of %g s and their %s: %s.", prose.Plural(k.workers, "worker"), v.pool(), prose.Plural(k.Blocks, "block"), v.Window, spread, strings.Join(figures, ", ")))
	}
	for _, d := range v.Doubts {
		lines = append(lines, "Doubt of the test: "+d.String()+".")
	}
	return append(lines, "Record: "+v.Dir)
}

// termText formats a figure in the unit of its term.
func termText(t stats.Term, v float64) string {
	switch t.Metric {
	case "errors":
		return percentText(v)
	case "goodput":
		return prose.Digits(v) + "/s"
	}
	return timeText(v)
}

// Verify returns the verdict on the advice: right if the advised workers kept the SLO and fewer
// broke it, wrong if the advised workers broke it or fewer kept it, else undecided. kept[0] is
// about the advised arm, kept[1] about the arm with fewer workers. An advice with too many workers
// is wrong too: the fewest that keep the SLO were asked for.
func (a Answer) Verify(kept []judge.Keeping) *Verification {
	v := &Verification{Verdict: AdviceWrong, Workers: a.Advice.Workers, Fewer: queueing.Fewer(a.Advice.Workers), Advised: kept[0], Less: kept[1], slo: a.SLO}
	if len(a.Demand.Samples) > 0 {
		v.Doubts = []record.Fact{{Code: sizeMix, Values: record.Values{"share": 1 - TestedUpTo}}}
	}
	switch {
	case kept[0].Answer == record.Failed:
		v.Why = record.Fact{Code: sizeTooFew, Values: record.Values{"workers": float64(v.Workers)}}
	case kept[1].Answer == record.Passed:
		v.Why = record.Fact{Code: sizeFewerDo, Values: record.Values{"workers": float64(v.Fewer)}}
	case kept[0].Answer == record.Passed && kept[1].Answer == record.Failed:
		v.Verdict = AdviceRight
	default:
		// Name the arm that is not decided; if neither is, the advised one.
		workers, open := v.Workers, kept[0]
		if open.Answer.Decided() {
			workers, open = v.Fewer, kept[1]
		}
		v.Verdict = AdviceUndecided
		v.Why = record.Fact{Code: sizeOpen, Values: record.Values{"workers": float64(workers)}, Because: []record.Fact{open.Reason}}
	}
	return v
}

// patience returns how long a request may wait for a worker where a mode has no queue: as long as
// the workers, held for held seconds by each request, take for a full queue; at least 1 ms. It is
// rounded to milliseconds, as people write it.
func patience(queue, workers int, held float64) time.Duration {
	return max(time.Millisecond, time.Duration(float64(queue+1)*held/float64(workers)*1e9).Round(time.Millisecond))
}
