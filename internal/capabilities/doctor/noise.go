package doctor

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// Noise tells which differences this machine can tell from chance.
//
// Its source are comparisons of a program with copies of itself (A/A). Their blocks differ by noise
// alone, so the spread of the blocks' ratios shows how wide the interval of a real comparison would
// be: NewNoise collects the ratios of each metric, HalfWidth computes the expected width, and the
// check noise warns where it exceeds a tenth. The fields Refused and Err are sentences; an empty
// one means none.
type Noise struct {
	Scenario string      `json:"scenario"`          // the scenario with the load
	Asked    string      `json:"asked,omitempty"`   // what a request does, in words
	Sleeps   bool        `json:"sleeps"`            // requests sleep, which hides noise that computing ones would see
	Rate     float64     `json:"rate"`              // requests per second; 0 in a closed loop without a pace
	Blocks   int         `json:"blocks"`            // blocks that count
	Ran      int         `json:"ran"`               // blocks that ran, including refused ones
	Refused  string      `json:"refused,omitempty"` // why the first refused block does not count
	Err      string      `json:"error,omitempty"`   // why nothing can be judged
	Judges   []judgement `json:"judges,omitempty"`  // ordered by metric, then by length

	// Refused and Err, as data.
	refused []fact.Fact // one, or none
	err     fact.Fact
}

// NoNoise returns a Noise without judgements, for a scenario that could not be compared. why is the
// reason.
func NoNoise(scenario string, why fact.Fact) *Noise {
	return &Noise{Scenario: scenario, Err: why.String(), err: why}
}

// A judgement tells how small a difference in a metric a quick or a full comparison can detect. Times are in seconds.
// Takes is the planned duration of the comparison. NeedsWindow, if it is not 0, is the reason why
// there is no HalfWidth.
//
// Comparison is one of Comparisons. Judged is false if
// there is no HalfWidth: the window is too short, or no block has a value.
type judgement struct {
	Metric     stats.Figure `json:"metric"`
	Comparison string       `json:"comparison"`
	Blocks     int          `json:"blocks"` // most of the comparison
	Window     float64      `json:"window"`
	Takes      float64      `json:"takes"`
	// halfWidth is half the width of the interval of the ratio arm / baseline that decides the
	// verdict: 0.09 is ±9 %. It is nil when the metric is not judged.
	HalfWidth *float64 `json:"half_width,omitempty"`
	Judged    bool     `json:"judged"`
	// Scaled means that HalfWidth was measured with windows of another length, and was scaled by the
	// inverse square root of the length.
	Scaled bool `json:"scaled,omitempty"`
	// NeedsWindow is the window that holds enough requests for the quantile, if it is longer than the
	// comparison's; else 0.
	NeedsWindow float64 `json:"needs_window,omitempty"`
}

// fewestBlocks is the smallest number of blocks that shows their spread. With fewer, nothing is
// judged.
const fewestBlocks = 3

// Comparisons are the rows of the table of the noise: a comparison of the default length, and one with
// the windows and the budget of scenario.Full.
var Comparisons = []string{"quick", "full"}

// NewNoise judges A/A comparisons with a scenario's load: runs of a program and its copies, with their
// results. runs has at least one element. plans holds, for each of Comparisons, a plan with one challenger; it is judged by the
// run with the nearest window length. If a run has too few blocks that count, there are no judgements, and Err tells why.
func NewNoise(scenario string, runs []record.Run, plans []record.Plan) *Noise {
	n := &Noise{Scenario: scenario, Asked: runs[0].Plan.Asked, Rate: runs[0].Plan.Rate}
	for _, run := range runs {
		r := run.Comparison()
		n.Ran, n.Blocks = n.Ran+r.Ran, n.Blocks+r.Valid
		if n.refused == nil && len(r.Refused) > 0 {
			b := r.Refused[0]
			n.refused = []fact.Fact{blockRefused.Of(blockFigure{Block: b.Block, Rule: b.Rule, Value: b.Value, Limit: b.Limit}).On(b.Arm)}
			n.Refused = n.refused[0].String()
		}
		if r.Valid < fewestBlocks {
			n.err = noiseFewBlocks.Of(blocksLost{Blocks: r.Valid, Ran: r.Ran}).Since(n.refused...)
			n.Err = n.err.String()
			return n
		}
	}
	widest := map[string]float64{} // of the quantiles so far, by comparison
	for _, m := range stats.Metrics() {
		for i, p := range plans {
			// The run with the nearest window length needs the least scaling.
			off := func(run record.Run) float64 { return math.Abs(run.Plan.Window.Seconds() - p.Window.Seconds()) }
			nearest := slices.MinFunc(runs, func(a, b record.Run) int { return cmp.Compare(off(a), off(b)) })
			j := judge(m.Figure, nearest, Comparisons[i], p)
			// No quantile looks quieter than a lower one. In a few blocks p99 may happen to lie close
			// together where p50 scatters; in forty blocks it scatters more.
			if m.Quantile > 0 && j.Judged {
				*j.HalfWidth = max(*j.HalfWidth, widest[j.Comparison])
				widest[j.Comparison] = *j.HalfWidth
			}
			n.Judges = append(n.Judges, j)
		}
	}
	return n
}

// judge returns the judgement on a metric in one of Comparisons, from an A/A comparison. Without a value
// in any block the metric is not judged.
func judge(metric stats.Figure, run record.Run, comparison string, p record.Plan) judgement {
	j := judgement{Metric: metric, Comparison: comparison, Blocks: p.Blocks, Window: p.Window.Seconds(), Takes: p.Estimate.Seconds(), Scaled: run.Plan.Window != p.Window}
	if q := metric.Row().Quantile; q > 0 && run.Plan.Rate > 0 {
		if need := stats.PlannedRequests(stats.MinRequests(q)) / run.Plan.Rate; need > j.Window {
			j.NeedsWindow = need
			return j
		}
	}
	if ratios := logRatios(run.Comparison().Arms, metric); len(ratios) > 0 {
		j.Judged = true
		// The spread of a window's figures shrinks with the square root of its length.
		j.HalfWidth = new(math.Expm1(halfWidth(ratios, p.Blocks) * math.Sqrt(run.Plan.Window.Seconds()/j.Window)))
	}
	return j
}

// logRatios returns the logarithm of the ratio of each two arms in each block, with both signs. The
// arms are the same program, so the sign means nothing. Ratios that are no numbers are left out, as
// of a metric that is 0.
func logRatios(arms []record.Arm, metric stats.Figure) (d []float64) {
	for i, arm := range arms {
		for _, other := range arms[:i] {
			own, its := arm.Blocks[metric], other.Blocks[metric]
			for block := range min(len(own), len(its)) {
				if r := math.Log(own[block] / its[block]); !math.IsNaN(r) && !math.IsInf(r, 0) {
					d = append(d, r, -r)
				}
			}
		}
	}
	return d
}

// halfWidth returns half the expected width of the interval [d_(k), d_(n+1-k)] that a comparison's
// last look at n blocks gives (see [stats.LookRank]). The width is of log-ratios: 0.09 is about ±9
// %. It assumes that the log-ratios of the blocks are drawn from the values of d, which are
// symmetric about 0. The result is exact, not simulated: with the values sorted,
//
//	P(d_(r:n) <= x_i) = P(Bin(n, i/len(d)) >= r)
//
// where r is n+1-k, the rank of the interval's upper end, and x_i the i-th value (Hutson and Ernst,
// "The exact bootstrap mean and variance of an L-estimator", 2000). 0 when d is empty, or n too few
// for an interval.
func halfWidth(d []float64, n int) float64 {
	looks := stats.Looks()
	taken, _ := slices.BinarySearch(looks, n+1) // the looks at up to n blocks
	if taken == 0 || len(d) == 0 {
		return 0
	}
	n = looks[taken-1]
	k := stats.LookRank(n, stats.Alpha/float64(stats.Primaries()))
	if k == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	// The mean of the upper end: each value, times the probability that the upper end is this one.
	// By symmetry it is half the width.
	mean, below := 0.0, 0.0
	for i, x := range sorted {
		upTo := atLeast(n+1-k, n, float64(i+1)/float64(len(d)))
		mean += x * (upTo - below)
		below = upTo
	}
	return max(0, mean)
}

// atLeast returns P(Bin(n, p) >= r): the probability of r successes or more in n trials. It adds up
// logarithms, because factorials of n would overflow.
func atLeast(r, n int, p float64) float64 {
	if p >= 1 {
		return 1
	}
	sum := 0.0
	logs := func(x int) float64 { v, _ := math.Lgamma(float64(x) + 1); return v }
	for i := r; i <= n; i++ {
		sum += math.Exp(logs(n) - logs(i) - logs(n-i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}

// timed returns the judgements on quantiles of the response times.
func (n *Noise) timed() []judgement {
	return slices.DeleteFunc(slices.Clone(n.Judges), func(j judgement) bool { return j.Metric.Row().Quantile == 0 })
}

// excess returns the half-width divided by the largest half-width that still allows the verdict SAME for identical
// programs; +Inf if the metric is not judged.
func (j judgement) excess() float64 {
	if j.HalfWidth == nil {
		return math.Inf(1)
	}
	return *j.HalfWidth / j.Metric.Row().Same
}

// noise judges whether the machine can tell differences of a tenth in the response times. It is bad
// if it can in none of them, a warning if it can in some.
func (m *Machine) noise() Finding {
	n := m.Noise
	switch {
	case n == nil:
		return Finding{}
	case !n.err.None():
		return Finding{Outcome: outcome.No, Fact: n.err}
	}
	told, still := noiseList, noiseList
	var open []string // metrics
	for _, j := range n.timed() {
		told.Because = append(told.Because, j.fact(noiseOf))
		if j.excess() > 1 { // identical programs would stay open
			still.Because = append(still.Because, j.fact(noiseOpen))
			open = append(open, j.Metric.Row().Label)
		}
	}
	var left []fact.Fact
	if n.Blocks < n.Ran {
		left = []fact.Fact{noiseBlocksLeft.Of(blocksLeft{Left: n.Ran - n.Blocks, Ran: n.Ran}).Since(n.refused...)}
	}
	if open == nil {
		return fine(noiseKnown.Of(checked{}), append([]fact.Fact{told}, left...)...)
	}
	nothing := len(open) == len(told.Because)
	v := noiseLimits{Metrics: strings.Join(slices.Compact(open), ", "), All: nothing, Window: n.enough()} // open is ordered by metric
	return fine(noiseTooHigh.Of(v), append([]fact.Fact{still}, left...)...).graded(nothing, true)
}

// enough returns the window, in seconds, with which a full comparison would detect differences of
// a tenth in every judged time. It returns 0 if even a window of a minute is too short. An interval
// shrinks with the square root of the blocks, so an interval twice too wide needs four times the
// blocks, or blocks that are four times as long.
func (n *Noise) enough() (window float64) {
	for _, j := range n.timed() {
		if j.Window < n.Judges[len(n.Judges)-1].Window {
			continue
		}
		excess := 1.
		if j.Judged {
			excess = max(1, j.excess())
		}
		needs := stats.Widened(max(j.Window, j.NeedsWindow), int(math.Ceil(float64(j.Blocks)*excess*excess)))
		if needs == 0 {
			return 0
		}
		window = max(window, needs)
	}
	return window
}

func (j judgement) fact(kind *fact.Kind[width]) fact.Fact {
	v := width{Comparison: j.Comparison, NeedsWindow: j.NeedsWindow}
	if j.Judged {
		v.Width = &Width{Judged: true, HalfWidth: *j.HalfWidth, Least: j.Metric.Row().Effect, Scaled: j.Scaled}
	}
	return kind.Of(v).At(j.Metric.String())
}
