package sizing

import (
	"fmt"
	"math"
	"time"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// Verdicts of a test of the advice.
const (
	AdviceRight     = "right"
	AdviceWrong     = "wrong"
	AdviceUndecided = "undecided"
)

// Judge returns the verdict on the advice: right if the advised workers kept the SLO and fewer broke
// it, wrong if the advised workers broke it or fewer kept it, else undecided.
func Judge(advised, fewer record.Answer) string {
	switch {
	case advised == record.Failed, fewer == record.Passed:
		return AdviceWrong
	case advised == record.Passed && fewer == record.Failed:
		return AdviceRight
	}
	return AdviceUndecided
}

// A Test says how to test the advice.
type Test struct {
	Mode   string        // of the servers
	Sticky bool          // a worker of the mode holds its connection as long as it is open
	Waits  bool          // the mode has --wait instead of a queue
	Rate   string        // the rate of the advice, as in a scenario
	Budget time.Duration // 0: 75 s, or longer if the SLO's quantiles need it
}

// TestBlocks is the number of blocks of a test.
const TestBlocks = 12

// Durations of a test in addition to its windows, as measured with the scenario quick. The three arms
// include the baseline's copy.
const (
	testArms      = 3
	testFixed     = 4500 * time.Millisecond
	testTrial     = 30 * time.Millisecond
	testBudget    = 75 * time.Second
	longestWindow = 10 * time.Second
	longestWarmup = 2 * time.Second
)

// windows returns the durations of warm-up and window of each trial, and the budget of the test.
// They are as long as the budget allows. A window has enough requests for every quantile of the SLO,
// and the warm-up is long enough for the arms to become steady.
func (a Answer) windows(t Test) (warmup, window, budget time.Duration, err error) {
	need := time.Second
	for _, term := range a.SLO {
		if term.Quantile > 0 {
			requests := 1.15 * float64(stats.MinRequests(term.Quantile))
			need = max(need, time.Duration(math.Ceil(100*requests/a.Ask.Rate))*10*time.Millisecond)
		}
	}
	cost := func(each time.Duration) time.Duration {
		return TestBlocks*testArms*(each+testTrial) + testFixed
	}
	least, steady := a.settles()
	budget = t.Budget
	if budget == 0 {
		budget = max(testBudget, cost(steady+need)+time.Second)
	}
	if cost(least+need) > budget {
		return 0, 0, 0, fmt.Errorf("--budget %v is too short: %s at %s needs windows of %v, and %d blocks of them %v",
			budget, a.SLO, t.Rate, need, TestBlocks, cost(least+need).Round(time.Second))
	}
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
	steady = least
	if excess := o.Rate - float64(queueing.Fewer(o.Workers))/o.Held; excess > 0 {
		steady = min(max(least, time.Duration(1.5*float64(o.Queue)/excess*1e9)), longestWarmup)
	}
	return least, steady
}

// Scenario returns the scenario, in YAML, that compares the advised number of workers with about a
// fifth fewer. Errors tell the user which flag to change.
func (a Answer) Scenario(t Test) (string, error) {
	warmup, window, budget, err := a.windows(t)
	if err != nil {
		return "", err
	}
	cpu, sleep := a.Demand.Workload()
	advised, fewer := a.Advice.Workers, queueing.Fewer(a.Advice.Workers)
	if fewer < 1 {
		return "", fmt.Errorf("--verify compares with fewer workers, and the advice is one; ask for a higher --rate or a longer time held")
	}
	connections := "keepalive: false" // a kept connection would hold its worker
	if !t.Sticky {
		connections = fmt.Sprintf("keepalive: true\n  connections: %d", max(64, a.Advice.Workers+a.Advice.Queue+32))
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
`, advised, a.Advice.Queue, a.SLO, fewer, cpu, sleep, t.Rate, connections, a.arm(t, "advised", advised), a.arm(t, "fewer", fewer),
		TestBlocks, warmup, window, budget), nil
}

// arm returns the YAML of an arm: a pool of workers with the advised queue, which refuses requests
// that do not fit. A mode with --wait has no queue. Its wait is as long as the advised workers would
// take for a full queue.
func (a Answer) arm(t Test, name string, workers int) string {
	if t.Waits {
		held := a.Ask.Service + a.Ask.Block
		wait := time.Duration(float64(a.Advice.Queue+1) * held / float64(a.Advice.Workers) * 1e9).Round(time.Millisecond)
		return fmt.Sprintf("{name: %s, mode: %s, workers: %d, wait: %v}", name, t.Mode, workers, max(wait, time.Millisecond))
	}
	return fmt.Sprintf("{name: %s, mode: %s, workers: %d, queue-depth: %d, overflow: reject}", name, t.Mode, workers, a.Advice.Queue)
}
