package sizing

import (
	"fmt"
	"slices"

	"schedlab/internal/stats"
)

// Assumed is the errors term that Objective adds to an SLO without one. Without it, a server that
// refuses every request would keep the SLO, because it has no slow requests.
const Assumed = "errors<=0.1%"

// Objective parses an SLO for a rate of requests per second, and adds Assumed if it has no term
// about errors. tested means that the advice will be tested with a mix of eight values in place of
// samples; quantiles above TestedUpTo are then an error. Errors name the flag.
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
