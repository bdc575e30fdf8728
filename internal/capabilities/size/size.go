package size

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"schedlab/internal/measuring/expect"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/stats"
)

// An Answer is the size of a pool that keeps an SLO under a demand. Without an SLO, it lists the
// wait for a worker by number of workers.
//
// Find makes an Answer: it draws the requests of the demand, and gives them with a test of the SLO
// to package queueing, which searches for the smallest pool. page.go shows an Answer, and Test is the
// comparison that tests it.
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

// Options are the inputs of Find in addition to the demand and the SLO.
type Options struct {
	Rate   float64 // requests per second
	Cores  int     // cores that the workers share
	Margin float64 // ratio by which Rate may grow before the SLO breaks, 0 or more
	Seed   uint64  // of the replayed trace
}

// Find returns the fewest workers and the shortest queue that keep slo, at the rate and at its
// margin. If slo is nil, it returns the waits by number of workers. If no number of workers will
// do, that is no error: see Outcome. An error means that an option or the demand is impossible.
func Find(d Demand, slo stats.SLO, o Options) (a Answer, err error) {
	a = Answer{Demand: d, SLO: slo, Ask: queueing.Ask{
		Load:        d.Load(o.Rate, traceLength(slo), o.Seed),
		Exponential: d.exponential(), Cores: o.Cores, Margin: o.Margin, Keep: keeps(slo, o.Rate),
	}}
	if slo == nil {
		a.Waits, a.Knee, err = queueing.Waits(a.Ask)
		return a, err
	}
	a.Advice, err = queueing.Size(a.Ask)
	return a, err
}

// Outcome is Yes if a number of workers keeps the SLO or, without one, keeps up, else No.
func (a Answer) Outcome() outcome.Outcome {
	if a.Advice.Workers > 0 || a.SLO == nil && len(a.Waits) > 0 {
		return outcome.Yes
	}
	return outcome.No
}

// Doubts returns the doubts about the answer: of the demand's source, of the SLO's terms for which
// the replay had too few events (fewer than 10 errors or 100 slow requests), and of theory as such.
func (a Answer) Doubts() []fact.Fact {
	all := slices.Clone(a.Demand.Doubts)
	counted := a.Advice.Expected.Counted
	n := float64(counted)
	for _, t := range a.SLO {
		switch {
		case a.Advice.Expected.Formula != "replay":
		case t.Metric.Figure == stats.Errors && t.Limit*n < 10:
			// The rule of three: if n requests had no error, 3/n is the upper end of a 95 % interval of the ratio.
			all = append(all, sizeRareErrors.Of(rareErrors{Term: t.String(), Replayed: counted, Most: 3 / n}))
		case t.Metric.Quantile > 0 && (1-t.Metric.Quantile)*n < 100:
			all = append(all, sizeRareTail.Of(rareTail{Slowest: (1 - t.Metric.Quantile) * n, Replayed: counted}).At(quantileName(t.Metric.Quantile)))
		}
	}
	return append(all, sizeTheory)
}

// quantiles returns the quantiles to show, 0..1, ascending: 0.5, 0.9, 0.99 and the SLO's.
func (a Answer) quantiles() []float64 {
	all := []float64{0.5, 0.9, 0.99}
	for _, t := range a.SLO {
		if t.Metric.Quantile > 0 {
			all = append(all, t.Metric.Quantile)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// quantileName returns the name of a quantile: p99.9 for 0.999. Six digits hide the rounding of
// 100*q.
func quantileName(q float64) string { return "p" + strconv.FormatFloat(100*q, 'g', 6, 64) }

// longestTrace limits the requests of a trace, and so the time that the advice takes. Terms that
// would need a longer one get a doubt.
const longestTrace = 400_000

// traceLength returns how many requests a trace needs so that the SLO's rarest events occur in it:
// about 200 beyond the highest quantile, 60 errors.
func traceLength(slo stats.SLO) int {
	n := 100_000.0
	for _, t := range slo {
		switch {
		case t.Metric.Quantile > 0:
			n = max(n, 200/(1-t.Metric.Quantile))
		case t.Metric.Figure == stats.Errors && t.Limit > 0:
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
	slices.SortStableFunc(slo, func(a, b stats.Term) int { return cmp.Compare(a.Metric.Quantile, b.Metric.Quantile) }) // cheap terms first: they need no quantile
	return func(o queueing.Outcome) bool {
		return !slices.ContainsFunc(slo, func(t stats.Term) bool { return !t.Holds(figureOf(t, o, rate)) })
	}
}

// figureOf returns the figure of an outcome that an SLO term limits: seconds for a quantile or the
// mean, a ratio for errors, requests per second for goodput. Goodput is scaled to rate.
func figureOf(t stats.Term, o queueing.Outcome, rate float64) float64 {
	switch {
	case t.Metric.Quantile > 0:
		return o.Response(t.Metric.Quantile)
	case t.Metric.Figure == stats.Mean:
		return o.Mean
	case t.Metric.Figure == stats.Errors:
		return o.Loss
	}
	return o.Throughput / o.Rate * rate
}

// assumedTerm is the errors term that Objective adds to an SLO without one. Without it, a server that
// refuses every request would keep the SLO, because it has no slow requests.
const assumedTerm = "errors<=0.1%"

// Objective parses an SLO for a rate of requests per second, and adds assumedTerm if it has no term
// about errors: assumed is that term, "" if the text has one. A goodput above the rate is an error, and so is a quantile
// above p99.99, for which no trace is long enough. Errors name the flag.
func Objective(text string, rate float64) (slo stats.SLO, assumed string, err error) {
	if slo, err = stats.ParseSLO(text); err != nil {
		return nil, "", fmt.Errorf("--slo: %w", err)
	}
	for _, t := range slo {
		switch {
		case t.Metric.Figure == stats.Goodput && t.Limit > rate:
			return nil, "", fmt.Errorf("--slo %s asks for more than --rate %v/s brings", t, rate)
		case t.Metric.Quantile > 0.9999:
			return nil, "", fmt.Errorf("--slo %s is beyond p99.99, of which a trace holds too few requests", t)
		}
	}
	if slices.ContainsFunc(slo, func(t stats.Term) bool { return t.Metric.Figure == stats.Errors }) {
		return slo, "", nil
	}
	more, err := stats.ParseSLO(assumedTerm)
	return append(slo, more...), assumedTerm, err
}

// Blocks of a test, and the time that the run and each trial take in addition to warm-ups and windows.
const (
	testBlocks = 12
	testFixed  = 5 * time.Second
	testTrial  = 600 * time.Millisecond
	testWindow = 4 * time.Second
)

// Test returns the arguments of schedlab for a comparison that tests the advice, and the longest that it may take. The comparison
// expects that the advised workers keep the SLO, and that about a fifth fewer break it. An error is the reason why there is no test, in
// words for the page. rate is as the user wrote it. It needs an advice: Workers must be above 0.
func (a Answer) Test(rate string) (args []string, takes time.Duration, err error) {
	if len(a.Demand.Samples) > 0 {
		return nil, 0, fmt.Errorf("a comparison cannot draw the times of a histogram; ask again with two quantiles of them, %s, for a distribution that it can", a.Demand.quantiles())
	}
	advised, fewer := a.arm(a.Advice.Workers), a.arm(queueing.Fewer(a.Advice.Workers))
	keeps, err := expect.Keeps(a.SLO, advised)
	if err != nil {
		return nil, 0, err
	}
	args = []string{"compare", "--workload", a.Demand.workload(), "--rate", rate, "--close", "--arm", advised}
	if queueing.Fewer(a.Advice.Workers) < 1 { // one worker is the fewest, and compare needs another arm
		args = append(args, "--arm", "nethttp", "--expect", keeps.String())
	} else {
		breaks, _ := expect.Keeps(a.SLO, fewer) // of the same terms
		args = append(args, "--arm", fewer, "--expect", keeps.String(), "--expect", "not ("+breaks.String()+")")
	}
	window := a.shortest()
	takes = (testFixed + testBlocks*3*(window+testTrial)).Round(time.Second)
	return append(args, "--window", window.String(), "--budget", takes.String()), takes, nil
}

// arm returns compare's --arm for the advised queue with the given number of workers.
func (a Answer) arm(workers int) string {
	return fmt.Sprintf("pool-request,workers=%d,queue-depth=%d,overflow=reject", workers, a.Advice.Queue)
}

// shortest returns a window that has enough requests for every quantile of the SLO.
func (a Answer) shortest() time.Duration {
	need := testWindow
	for _, term := range a.SLO {
		if term.Metric.Quantile > 0 {
			requests := stats.PlannedRequests(stats.MinRequests(term.Metric.Quantile))
			need = max(need, time.Duration(math.Ceil(10*requests/a.Ask.Rate))*100*time.Millisecond)
		}
	}
	return need
}
