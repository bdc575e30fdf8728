package sizing

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// An Answer is what a pool needs to serve a demand, or without an SLO what waits each number
// of workers would have.
type Answer struct {
	Demand Demand
	SLO    stats.SLO // nil: none was given
	Ask    queueing.Ask
	Advice queueing.Advice    // with an SLO; 0 workers when no number will do
	Waits  []queueing.Outcome // without an SLO, by workers; none when no number will do
	Knee   int                // of Waits
}

// Options are what Advise must know besides the demand and the SLO.
type Options struct {
	Rate   float64 // requests per second
	Cores  int     // that the workers share
	Margin float64 // ratio of Rate by which it may grow with the SLO still kept
	Seed   uint64  // of the replayed trace
}

// Advise finds the fewest workers and the shortest queue that keep an SLO; without one it
// lists the waits.
func Advise(d Demand, slo stats.SLO, o Options) (a Answer, err error) {
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

// Hopeless reports whether no number of workers will do.
func (a Answer) Hopeless() bool {
	if a.SLO == nil {
		return len(a.Waits) == 0
	}
	return a.Advice.Workers == 0
}

// Doubts are what the demand's source, the replay and theory cannot tell.
func (a Answer) Doubts() []record.Fact {
	all := slices.Clone(a.Demand.Doubts)
	if o := a.Advice.Expected; a.SLO != nil && o.Formula == "replay" {
		all = append(all, a.rare(o.Counted)...)
	}
	return append(all, record.Fact{Code: record.SizeTheory})
}

// rare are the doubts about terms that so many replayed requests say little of.
func (a Answer) rare(replayed int) (all []record.Fact) {
	n := float64(replayed)
	for _, t := range a.SLO {
		switch {
		case t.Metric == "errors" && t.Limit*n < 10:
			// The rule of three: 3/n is the upper end of a 95 % interval for what was not seen.
			all = append(all, record.Fact{Code: sizeRareErrors, Names: record.Names{"term": t.String()}, Values: record.Values{"replayed": n, "most": 3 / n}})
		case t.Quantile > 0 && (1-t.Quantile)*n < 100:
			all = append(all, record.Fact{Code: sizeRareTail, Metric: QuantileName(t.Quantile), Values: record.Values{"slowest": (1 - t.Quantile) * n, "replayed": n}})
		}
	}
	return all
}

// Broken names the terms of the SLO that an outcome does not keep.
func (a Answer) Broken(o queueing.Outcome) (metrics []string) {
	for _, t := range a.SLO {
		if !t.Holds(figureOf(t, o, a.Ask.Rate)) {
			metrics = append(metrics, t.Metric)
		}
	}
	return metrics
}

// Quantiles are those to be shown: the usual three and the SLO's, ascending.
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

// QuantileName is that of a quantile, like p99.9.
func QuantileName(q float64) string { return "p" + strconv.FormatFloat(100*q, 'g', 6, 64) }

// Comparison is what the formula for the advised pool has for the mean.
func (a Answer) Comparison() queueing.Prediction {
	st := queueing.Station{Kind: queueing.Pool, Workers: a.Advice.Workers, Cores: a.Ask.Cores, Turn: queueing.GoTurn}
	if st.Workers == 0 {
		st.Kind = queueing.Goroutines
	}
	l := a.Ask.Load
	l.Trace = nil
	return queueing.Predict(st, l)
}

// longestTrace bounds a trace, and with it the time that the advice takes.
const longestTrace = 400_000

// traceLength is how many requests a trace needs for the SLO's rarest events.
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

// keeps says which outcomes keep an SLO. Goodput is judged as a share of what is
// asked of rate: fewer requests than that make no server worse.
func keeps(slo stats.SLO, rate float64) func(queueing.Outcome) bool {
	slo = slices.Clone(slo)
	slices.SortStableFunc(slo, func(a, b stats.Term) int { return cmp.Compare(a.Quantile, b.Quantile) }) // those that cost nothing first
	return func(o queueing.Outcome) bool {
		return !slices.ContainsFunc(slo, func(t stats.Term) bool { return !t.Holds(figureOf(t, o, rate)) })
	}
}

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
