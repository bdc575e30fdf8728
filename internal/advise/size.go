package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// An Answer is the size of a pool that keeps an SLO under a demand. Without an SLO, it lists the
// wait for a worker by number of workers.
//
// Size makes an Answer: it draws the requests of the demand, and gives them with a test of the SLO
// to package queueing, which searches for the smallest pool. page.go shows an Answer, and
// sizetest.go tests it with a real server.
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

// Doubts returns the doubts about the answer: of the demand's source, of the replay, and of theory
// as such.
func (a Answer) Doubts() []record.Fact {
	all := slices.Clone(a.Demand.Doubts)
	if o := a.Advice.Expected; a.SLO != nil && o.Formula == "replay" {
		all = append(all, a.rare(o.Counted)...)
	}
	return append(all, record.Fact{Code: record.SizeTheory})
}

// rare returns doubts about the SLO terms for which the replay had too few events: fewer than 10
// errors or 100 slow requests, of replayed requests.
func (a Answer) rare(replayed int) (all []record.Fact) {
	n := float64(replayed)
	for _, t := range a.SLO {
		switch {
		case t.Metric == "errors" && t.Limit*n < 10:
			// The rule of three: if n requests had no error, 3/n is the upper end of a 95 % interval of the ratio.
			all = append(all, record.Fact{Code: sizeRareErrors, Names: record.Names{"term": t.String()}, Values: record.Values{"replayed": n, "most": 3 / n}})
		case t.Quantile > 0 && (1-t.Quantile)*n < 100:
			all = append(all, record.Fact{Code: sizeRareTail, Metric: QuantileName(t.Quantile), Values: record.Values{"slowest": (1 - t.Quantile) * n, "replayed": n}})
		}
	}
	return all
}

// Broken returns the metrics of the SLO terms that an outcome breaks, nil if it keeps all.
func (a Answer) Broken(o queueing.Outcome) (metrics []string) {
	for _, t := range a.SLO {
		if !t.Holds(figureOf(t, o, a.Ask.Rate)) {
			metrics = append(metrics, t.Metric)
		}
	}
	return metrics
}

// Quantiles returns the quantiles to show, 0..1, ascending: 0.5, 0.9, 0.99 and the SLO's.
func (a Answer) Quantiles() []float64 {
	all := []float64{0.5, 0.9, 0.99}
	for _, t := range a.SLO {
		if t.Quantile > 0 {
			all = append(all, t.Quantile)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// QuantileName returns the name of a quantile: p99.9 for 0.999. Six digits hide the rounding of
// 100*q.
func QuantileName(q float64) string { return "p" + strconv.FormatFloat(100*q, 'g', 6, 64) }

// Comparison returns the prediction of the mean response time by the formula for the advised pool,
// without a replay. Mean is nil if no formula fits. Without advice it is about a goroutine for each
// request.
func (a Answer) Comparison() queueing.Prediction {
	st := queueing.Station{Kind: queueing.Pool, Workers: a.Advice.Workers, Cores: a.Ask.Cores, Turn: queueing.GoTurn}
	if st.Workers == 0 {
		st.Kind = queueing.Goroutines
	}
	l := a.Ask.Load
	l.Trace = nil
	return queueing.Predict(st, l)
}

// longestTrace limits the requests of a trace, and so the time that the advice takes. Terms that
// would need a longer one get a doubt (rare).
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
