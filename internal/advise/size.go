package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/judge"
	"schedlab/internal/mode"
	"schedlab/internal/prose"
	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
	"schedlab/internal/stats"
)

// An Answer is the size of a pool that keeps an SLO under a demand. Without an SLO, it lists the
// wait for a worker by number of workers.
//
// Size makes an Answer: it draws the requests of the demand, and gives them with a test of the SLO
// to package queueing, which searches for the smallest pool. page.go shows an Answer. From PoolTest
// on, the file has the test of an Answer with a real server.
//
// Demand and SLO are the question, and Ask holds both as package queueing takes them: the load with
// its trace, the cores, the margin and the test of the SLO.
type Answer struct {
	Demand Demand
	SLO    stats.SLO // nil: none was given
	Ask    queueing.Ask
	Advice queueing.Advice    // with an SLO; 0 workers when no number keeps it
	Waits  []queueing.Outcome // without an SLO, by ascending workers; empty when no number keeps up
	Knee   int                // index in Waits from which on waits are short
}

// Options are the inputs of Size in addition to the demand and the SLO.
type Options struct {
	Rate   float64 // requests per second
	Cores  int     // cores that the workers share
	Margin float64 // ratio by which Rate may grow before the SLO breaks, 0 or more
	Seed   uint64  // of the replayed trace
}

// Size returns the fewest workers and the shortest queue that keep slo, at the rate and at its
// margin. If slo is nil, it returns the waits by number of workers. If no number of workers will
// do, that is no error: see Hopeless. An error means that an option or the demand is impossible.
func Size(d Demand, slo stats.SLO, o Options) (a Answer, err error) {
	a = Answer{Demand: d, SLO: slo, Ask: queueing.Ask{
		Load:        d.Load(o.Rate, traceLength(slo), o.Seed),
		Exponential: d.Exponential(), Cores: o.Cores, Margin: o.Margin, Keep: keeps(slo, o.Rate),
	}}
	if slo == nil {
		a.Waits, a.Knee, err = queueing.Waits(a.Ask)
		return a, err
	}
	a.Advice, err = queueing.Size(a.Ask)
	return a, err
}

// Hopeless reports whether no number of workers keeps the SLO or, without one, keeps up.
func (a Answer) Hopeless() bool {
	if a.SLO == nil {
		return len(a.Waits) == 0
	}
	return a.Advice.Workers == 0
}

// Doubts returns the doubts about the answer: of the demand's source, of the SLO's terms for which
// the replay had too few events (fewer than 10 errors or 100 slow requests), and of theory as such.
func (a Answer) Doubts() []record.Fact {
	all := slices.Clone(a.Demand.Doubts)
	n := float64(a.Advice.Expected.Counted)
	for _, t := range a.SLO {
		switch {
		case a.Advice.Expected.Formula != "replay":
		case t.Metric == "errors" && t.Limit*n < 10:
			// The rule of three: if n requests had no error, 3/n is the upper end of a 95 % interval of the ratio.
			all = append(all, record.Fact{Code: sizeRareErrors, Names: record.Names{"term": t.String()}, Values: record.Values{"replayed": n, "most": 3 / n}})
		case t.Quantile > 0 && (1-t.Quantile)*n < 100:
			all = append(all, record.Fact{Code: sizeRareTail, Metric: quantileName(t.Quantile), Values: record.Values{"slowest": (1 - t.Quantile) * n, "replayed": n}})
		}
	}
	return append(all, record.Fact{Code: record.SizeTheory})
}

// quantiles returns the quantiles to show, 0..1, ascending: 0.5, 0.9, 0.99 and the SLO's.
func (a Answer) quantiles() []float64 {
	all := []float64{0.5, 0.9, 0.99}
	for _, t := range a.SLO {
		if t.Quantile > 0 {
			all = append(all, t.Quantile)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// quantileName returns the name of a quantile: p99.9 for 0.999. Six digits hide the rounding of
// 100*q.
func quantileName(q float64) string { return "p" + strconv.FormatFloat(100*q, 'g', 6, 64) }

// comparison returns the prediction of the mean response time by the formula for the advised pool,
// without a replay. Mean is nil if no formula fits. Without advice it is about a goroutine for each
// request.
func (a Answer) comparison() queueing.Prediction {
	st := queueing.Station{Kind: queueing.Pool, Workers: a.Advice.Workers, Cores: a.Ask.Cores, Turn: queueing.GoTurn}
	if st.Workers == 0 {
		st.Kind = queueing.Goroutines
	}
	l := a.Ask.Load
	l.Trace = nil
	return queueing.Predict(st, l)
}

// longestTrace limits the requests of a trace, and so the time that the advice takes. Terms that
// would need a longer one get a doubt.
const longestTrace = 400_000

// traceLength returns how many requests a trace needs so that the SLO's rarest events occur in it:
// about 200 beyond the highest quantile, 60 errors.
func traceLength(slo stats.SLO) int {
	n := 100_000.0
	for _, t := range slo {
		switch {
		case t.Quantile > 0:
			n = max(n, 200/(1-t.Quantile))
		case t.Metric == "errors" && t.Limit > 0:
			n = max(n, 60/t.Limit)
		}
	}
	return int(math.Round(min(n, longestTrace)))
}

// keeps returns a function that reports whether an outcome keeps slo. Goodput is scaled from the
// outcome's own rate to rate, so that an outcome at a lower rate is not worse for its fewer
// requests. The search calls it for many numbers of workers.
func keeps(slo stats.SLO, rate float64) func(queueing.Outcome) bool {
	slo = slices.Clone(slo)
	slices.SortStableFunc(slo, func(a, b stats.Term) int { return cmp.Compare(a.Quantile, b.Quantile) }) // cheap terms first: they need no quantile
	return func(o queueing.Outcome) bool {
		return !slices.ContainsFunc(slo, func(t stats.Term) bool { return !t.Holds(figureOf(t, o, rate)) })
	}
}

// figureOf returns the figure of an outcome that an SLO term limits: seconds for a quantile or the
// mean, a ratio for errors, requests per second for goodput. Goodput is scaled to rate.
func figureOf(t stats.Term, o queueing.Outcome, rate float64) float64 {
	switch {
	case t.Quantile > 0:
		return o.Response(t.Quantile)
	case t.Metric == "mean":
		return o.Mean
	case t.Metric == "errors":
		return o.Loss
	}
	return o.Throughput / o.Rate * rate
}

// Assumed is the errors term that Objective adds to an SLO without one. Without it, a server that
// refuses every request would keep the SLO, because it has no slow requests.
const Assumed = "errors<=0.1%"

// Objective parses an SLO for a rate of requests per second, and adds Assumed if it has no term
// about errors. tested means that the advice will be tested with a mix of eight values in place of
// samples; quantiles above TestedUpTo are then an error. So is a goodput above the rate, and a
// quantile above p99.99, for which no trace is long enough. Errors name the flag.
func Objective(text string, rate float64, tested bool) (stats.SLO, error) {
	slo, err := stats.ParseSLO(text)
	if err != nil {
		return nil, fmt.Errorf("--slo: %w", err)
	}
	for _, t := range slo {
		switch {
		case t.Metric == "goodput" && t.Limit > rate:
			return nil, fmt.Errorf("--slo %s asks for more than --rate %v/s brings", t, rate)
		case t.Quantile > 0.9999:
			return nil, fmt.Errorf("--slo %s is beyond p99.99, of which a trace holds too few requests", t)
		case tested && t.Quantile > TestedUpTo:
			return nil, fmt.Errorf("--verify cannot test %s: samples become a mix of a few values, of which the slowest %.3g %% are one; ask for p%g at most, or give the tail as --workload",
				t, 100*(1-TestedUpTo), 100*TestedUpTo)
		}
	}
	if slices.ContainsFunc(slo, func(t stats.Term) bool { return t.Metric == "errors" }) {
		return slo, nil
	}
	more, err := stats.ParseSLO(Assumed)
	return append(slo, more...), err
}

// Verdicts of a test of the advice.
const (
	AdviceRight     = "right"
	AdviceWrong     = "wrong"
	AdviceUndecided = "undecided"
)

// A PoolTest says how to test the advice on the size of a pool.
//
// The test has two arms with the same queue and the same load: the advised workers, and about a
// fifth fewer (see fewer). A size that is right is kept by the first and broken by the second. Scenario plans
// the comparison, windows fits its windows into the budget, and Verify judges what came out.
type PoolTest struct {
	Mode   mode.Mode     // of the servers
	Rate   string        // the rate of the advice, as in a scenario
	Budget time.Duration // 0: 75 s, or longer if the SLO's quantiles need it
}

// TestBlocks is the number of blocks of a test. It decides how long the windows of a budget are.
const TestBlocks = 12

// Durations of a test in addition to its windows, as measured with the scenario quick. The three arms
// include the baseline's copy.
const (
	// testFixed is what the run takes apart from its trials, testTrial what a trial takes apart
	// from its warm-up and window, and testRequest what each of its requests adds, to join and to
	// write it. testBudget is the default budget of a comparison. Windows grow
	// with the budget up to longestWindow, or as far as a quantile needs; warm-ups grow up to
	// longestWarmup.
	testArms      = 3
	testFixed     = 4500 * time.Millisecond
	testTrial     = 100 * time.Millisecond
	testRequest   = 25e-6 // s
	testBudget    = 75 * time.Second
	longestWindow = 30 * time.Second
	longestWarmup = 2 * time.Second
)

// TestBudget returns the budget if a test fits into it, and else the one that a test needs.
func (a Answer) TestBudget(budget time.Duration) time.Duration {
	least, steady := a.settles()
	if need := a.shortest(); budget == 0 || a.cost(least+need) > budget {
		return max(testBudget, a.cost(steady+need)+time.Second).Round(time.Second)
	}
	return budget
}

// shortest returns the shortest window that has enough requests for every quantile of the SLO.
func (a Answer) shortest() time.Duration {
	need := time.Second
	for _, term := range a.SLO {
		if term.Quantile > 0 {
			// Arrivals are random: with 15 % more, a window rarely has too few. Rounded up to 10
			// ms.
			requests := 1.15 * float64(stats.MinRequests(term.Quantile))
			need = max(need, time.Duration(math.Ceil(100*requests/a.Ask.Rate))*10*time.Millisecond)
		}
	}
	return need
}

// windows returns the durations of warm-up and window of each trial, and the budget of the test.
// They are as long as the budget allows. A window has enough requests for every quantile of the
// SLO, and the warm-up is long enough for the arms to become steady. A budget too short for the
// shortest warm-up is an error.
func (a Answer) windows(t PoolTest) (warmup, window, budget time.Duration, err error) {
	need := a.shortest()
	least, steady := a.settles()
	budget = cmp.Or(t.Budget, a.TestBudget(0))
	if a.cost(least+need) > budget {
		return 0, 0, 0, fmt.Errorf("--budget %v is too short: %s at %s needs windows of %v, and %d blocks of them %v",
			budget, a.SLO, t.Rate, need, TestBlocks, a.cost(least+need).Round(time.Second))
	}
	// The other way round: the length of a trial that fills the budget.
	each := time.Duration(float64((budget-testFixed)/(TestBlocks*testArms)-testTrial) / a.drawn())
	warmup = min(steady, each-need).Truncate(10 * time.Millisecond)
	window = min(each-warmup, max(need, longestWindow)).Truncate(10 * time.Millisecond)
	return warmup, window, budget, nil
}

// cost returns how long a test takes with trials of the length each, warm-up and window.
func (a Answer) cost(each time.Duration) time.Duration {
	return TestBlocks*testArms*(time.Duration(a.drawn()*float64(each))+testTrial) + testFixed
}

// drawn is how long a trial takes with the work that its requests add, as a ratio of its own length.
func (a Answer) drawn() float64 { return 1 + testRequest*a.Ask.Rate }

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

// fewer returns the number of workers that a test compares with the advised number: about a fifth fewer.
// Where these would break the SLO in some windows only, of which no test could tell, it is the largest
// number below them that breaks it in nearly all, if there is one above half of them. 0 if the advice is
// one worker.
func (a Answer) fewer(window time.Duration) int {
	const most, jobs = 40, 200_000.0 // windows, and their requests together
	n := queueing.Fewer(a.Advice.Workers)
	windows := max(10, int(min(most, jobs/(a.Ask.Rate*window.Seconds()))))
	for fewer := n; fewer > n/2; fewer-- {
		kept := 0
		for seed := range windows {
			kept += stats.Count(a.windowKept(fewer, window, uint64(seed)))
		}
		if kept <= windows/20 {
			return fewer
		}
	}
	return n
}

// windowKept replays one window of a test with so many workers, and reports whether it keeps the SLO.
func (a Answer) windowKept(workers int, window time.Duration, seed uint64) bool {
	ask := a.Ask
	ask.Exponential = false // Erlang's formulas know no windows
	ask.Load = a.Demand.Load(ask.Rate, int(ask.Rate*window.Seconds()), seed)
	return ask.Keep(ask.Pool(workers, a.Advice.Queue))
}

// Scenario returns the scenario that compares the advised number of workers with about a fifth
// fewer. Errors tell the user which flag to change. It needs an advice: Workers must be above 0.
func (a Answer) Scenario(t PoolTest) (s scenario.Scenario, err error) {
	warmup, window, budget, err := a.windows(t)
	if err != nil {
		return s, err
	}
	cpu, sleep := a.Demand.Workload()
	advised, fewer := a.Advice.Workers, a.fewer(window)
	if fewer < 1 {
		return s, fmt.Errorf("--verify compares with fewer workers, and the advice is one; ask for a higher --rate or a longer time held")
	}
	connections := "keepalive: false" // a kept connection would hold its worker
	if !t.Mode.Sticky {
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
// that do not fit. Where a mode has a wait instead, it is that of the advised workers, also in the arm
// with fewer, so that both lose requests by the same rule.
func (a Answer) arm(t PoolTest, name string, workers int) string {
	s := size{workers: workers, queue: a.Advice.Queue, wait: patience(a.Advice.Queue, a.Advice.Workers, a.Ask.Service+a.Ask.Block)}
	keys := append([]string{"name: " + name, "mode: " + t.Mode.Name}, s.flags(t.Mode, ": ")...)
	if t.Mode.Has("queue-depth") {
		keys = append(keys, "overflow: reject")
	}
	return "{" + strings.Join(keys, ", ") + "}"
}

// A Verification is the result of a test of the advice: a comparison of the advised number of
// workers with about a fifth fewer. Advised and Less tell how far each arm kept the SLO, Fewer is
// the number of workers of the second, and Window is in seconds. Verify makes one; the caller fills
// Dir and Window.
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
	Decides record.Fact   `json:"decides,omitzero"` // the flag that would decide it, where the blocks left it open
	sticky  bool          // of the mode
	slo     stats.SLO
}

// pool returns the mode of the servers and, in words, what a worker of it serves: a request or a
// connection.
func (v *Verification) pool() string {
	if v.sticky {
		return v.Mode + " (a worker serves a whole connection, of one request here)"
	}
	return v.Mode + " (a worker serves a request, not a whole connection)"
}

// text returns the verification in lines: the verdict, the figures of each arm, doubts, and the
// record. It returns nil without a verification.
func (v *Verification) text() []string {
	if v == nil {
		return nil
	}
	lines := []string{v.lead()}
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
		if broken := k.Breaks(v.slo); broken != nil {
			lines = append(lines, fmt.Sprintf("With %s, %s over all requests.", prose.Plural(k.workers, "worker"), strings.Join(broken, " and ")))
		}
		if k.Failed > 0 {
			lines = append(lines, fmt.Sprintf("With %s, %s of all %s requests had no good reply.",
				prose.Plural(k.workers, "worker"), prose.Grouped(strconv.Itoa(k.Failed)), prose.Grouped(strconv.Itoa(k.Requests))))
		}
	}
	for _, d := range v.Doubts {
		lines = append(lines, "Doubt of the test: "+d.String()+".")
	}
	return append(lines, "Record: "+v.Dir)
}

// lead returns what the test decided: for the advised workers, for fewer, and so for the advice.
func (v *Verification) lead() string {
	parts := []string{"The test decides nothing: no block can be trusted."}
	if a, l := v.Advised, v.Less; a.Blocks > 0 {
		broken := fmt.Sprintf("broken in %d of %d", l.Blocks-l.Kept, l.Blocks)
		if usual := queueing.Fewer(v.Workers); v.Fewer < usual {
			broken += fmt.Sprintf("; in theory %d would break it in some blocks only", usual)
		}
		parts[0] = fmt.Sprintf("%s %s (kept in %d of %d blocks); %d, %.0f %% fewer, %s (%s).",
			prose.Plural(v.Workers, "worker"), v.did(a, "the SLO"), a.Kept, a.Blocks,
			v.Fewer, 100-100*float64(v.Fewer)/float64(v.Workers), v.did(l, "it"), broken)
	}
	parts = append(parts, v.reasons()...)
	if v.Verdict != AdviceUndecided {
		parts = append(parts, "So the advice is "+v.Verdict+".")
	}
	return strings.Join(parts, " ")
}

// did tells whether an arm kept the SLO, which slo stands for.
func (v *Verification) did(k judge.Keeping, slo string) string {
	switch k.Answer {
	case record.Failed:
		return "break " + slo + v.by(k)
	case record.Passed:
		return "keep " + slo
	}
	return "may or may not keep " + slo
}

// reasons returns why the test could not judge its arms, each reason once, and what would decide it.
func (v *Verification) reasons() (all []string) {
	for _, k := range []judge.Keeping{v.Advised, v.Less} {
		why := "Why: " + k.Reason.String() + "."
		if !k.Answer.Decided() && k.Answer != record.Undecided && !k.Reason.None() && !slices.Contains(all, why) {
			all = append(all, why)
		}
	}
	if !v.Decides.None() {
		all = append(all, "What would decide: "+v.Decides.String()+".")
	}
	return all
}

// by names the terms of the SLO that an arm's medians break, where there are others.
func (v *Verification) by(k judge.Keeping) string {
	var names []string
	for _, t := range v.slo {
		if f := k.Figures[t.Metric]; f != nil && !t.Holds(f.Median) {
			names = append(names, t.Metric)
		}
	}
	if len(names) == 0 || len(names) == len(v.slo) {
		return ""
	}
	return " by " + strings.Join(names, " and ")
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
// about the advised arm, kept[1] about the arm with so many fewer workers, and t is the test that ran. An
// advice with too many workers is wrong too: the fewest that keep the SLO were asked for.
func (a Answer) Verify(t PoolTest, fewer int, kept []judge.Keeping) *Verification {
	v := &Verification{
		Verdict: AdviceWrong, Mode: t.Mode.Name, Workers: a.Advice.Workers, Fewer: fewer, Advised: kept[0], Less: kept[1],
		sticky: t.Mode.Sticky, slo: a.SLO,
	}
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
		if open.Answer == record.Undecided {
			v.Decides = a.decides(t, open, workers)
		}
	}
	return v
}

// decides names the flag that would decide a test which left the arm k with so many workers open.
//
// A figure of a window scatters around its true value, and the scatter shrinks with the square root of
// the window. A ratio p of the blocks kept the SLO, so the limit is the p-quantile of the scatter: z of
// its deviations from the true value, z = Φ⁻¹(p). In windows (sure/|z|)² as long it is sure deviations
// away, and 19 blocks of 20 agree. Where that takes too long the limit is the true value, nearly, and
// another number of workers decides: --margin makes it higher, or lower where fewer workers are open.
func (a Answer) decides(t PoolTest, k judge.Keeping, workers int) record.Fact {
	const sure, step = 1.645, 0.1
	warmup, window, budget, err := a.windows(t)
	if err != nil || k.Blocks == 0 {
		return record.Fact{}
	}
	f := record.Fact{Code: sizeDecides, Values: record.Values{"workers": float64(workers)}, Names: record.Names{}}
	if k.Blocks < TestBlocks { // the budget ended before the last block
		f.Values["blocks"], f.Names["budget"] = TestBlocks, roundUp(budget*TestBlocks/time.Duration(k.Blocks)).String()
		return f
	}
	least := 0.5 / float64(k.Blocks) // a share of 0 or 1 counts as half a block from it
	p := min(max(float64(k.Kept)/float64(k.Blocks), least), 1-least)
	z := math.Sqrt2 * math.Erfinv(2*p-1)
	longer, most := math.Ceil(max(1, math.Pow(sure/z, 2))*window.Seconds()), max(longestWindow, window).Seconds()
	if longer <= most {
		f.Values["window"], f.Names["budget"] = longer, roundUp(a.cost(warmup+time.Duration(longer)*time.Second)).String()
		return f
	}
	margin := a.Ask.Margin + step
	if workers < a.Advice.Workers {
		margin = a.Ask.Margin - step
	}
	if margin = min(max(margin, 0), 1); margin != a.Ask.Margin {
		f.Names["margin"] = strconv.FormatFloat(margin, 'g', 2, 64)
	}
	f.Values["longest"] = most
	return f
}

// roundUp rounds a budget up to ten seconds.
func roundUp(d time.Duration) time.Duration {
	return (d + 10*time.Second - 1).Truncate(10 * time.Second)
}

// patience returns how long a request may wait for a worker where a mode has no queue: as long as
// the workers, held for held seconds by each request, take for a full queue; at least 1 ms. It is
// rounded to milliseconds, as people write it.
func patience(queue, workers int, held float64) time.Duration {
	return max(time.Millisecond, time.Duration(float64(queue+1)*held/float64(workers)*1e9).Round(time.Millisecond))
}
