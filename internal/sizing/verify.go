package sizing

import (
	"fmt"
	"math"
	"time"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// What a test of the advice comes to.
const (
	AdviceRight     = "right"
	AdviceWrong     = "wrong"
	AdviceUndecided = "undecided"
)

// Judge is the verdict on the advice: whether the advised workers kept the SLO, and fewer
// broke it.
func Judge(advised, fewer record.Answer) string {
	switch {
	case advised == record.Failed, fewer == record.Passed:
		return AdviceWrong
	case advised == record.Passed && fewer == record.Failed:
		return AdviceRight
	}
	return AdviceUndecided
}

// A Test is how the advice is to be tested.
type Test struct {
	Mode   string        // of the servers
	Sticky bool          // its workers keep their connections
	Waits  bool          // it has --wait instead of a queue
	Rate   string        // the rate of the advice, as scenarios write it
	Budget time.Duration // 0: 75 s, or what the SLO's quantiles need
}

// TestBlocks is how many blocks a test has.
const TestBlocks = 12

// What a comparison takes besides its windows: quick's, with three arms, the baseline's copy
// among them.
const (
	testArms      = 3
	testFixed     = 4500 * time.Millisecond
	testTrial     = 30 * time.Millisecond
	testBudget    = 75 * time.Second
	longestWindow = 10 * time.Second
	longestWarmup = 2 * time.Second
)

// windows are the warm-up and window of each trial: as long as the budget allows, with
// requests enough for every quantile of the SLO, and a warm-up that leaves the arms
// steady.
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

// settles is how long the arms take from empty to steady: ten times the time held at
// least, better as long as too few workers take to let the queue fill.
func (a Answer) settles() (least, steady time.Duration) {
	o := a.Advice.Expected
	least = min(max(200*time.Millisecond, time.Duration(10*o.Held*1e9)), longestWarmup)
	steady = least
	if excess := o.Rate - float64(queueing.Fewer(o.Workers))/o.Held; excess > 0 {
		steady = min(max(least, time.Duration(1.5*float64(o.Queue)/excess*1e9)), longestWarmup)
	}
	return least, steady
}

// Scenario is the comparison of the advised workers with about a fifth fewer, in YAML. Its
// error says what to change.
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
	connections := "keepalive: false" // where a worker is held as long as its connection
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

// arm is a pool of so many workers with the advised queue, which refuses what does not
// fit. A mode with --wait has no queue: it waits as long as the queue's requests would
// take.
func (a Answer) arm(t Test, name string, workers int) string {
	if t.Waits {
		held := a.Ask.Service + a.Ask.Block
		wait := time.Duration(float64(a.Advice.Queue+1) * held / float64(a.Advice.Workers) * 1e9).Round(time.Millisecond)
		return fmt.Sprintf("{name: %s, mode: %s, workers: %d, wait: %v}", name, t.Mode, workers, max(wait, time.Millisecond))
	}
	return fmt.Sprintf("{name: %s, mode: %s, workers: %d, queue-depth: %d, overflow: reject}", name, t.Mode, workers, a.Advice.Queue)
}
