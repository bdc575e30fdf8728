package report

import (
	"testing"

	"schedlab/internal/record"
)

// A trade names what is gained and what it costs, goodput where times alone tell one of the two.
func TestHeadlineOfATrade(t *testing.T) {
	t.Parallel()
	verdict := func(metric, verdict string, ratio float64) record.Verdict {
		return record.Verdict{Metric: metric, Primary: metric != "goodput", Arm: "b", Baseline: "a", Verdict: verdict, Ratio: ratio}
	}
	for want, verdicts := range map[string][]record.Verdict{
		"A trade: b trades with a: better at p50 -60 %, worse at p99 +40 %.":      {verdict("p50", "FASTER", .4), verdict("p99", "SLOWER", 1.4), verdict("goodput", "LOWER", .9)},
		"A trade: b trades with a: better at p50 -60 %, worse at goodput -70 %.":  {verdict("p50", "FASTER", .4), verdict("p99", "INCONCLUSIVE", 1), verdict("goodput", "LOWER", .3)},
		"A trade: b trades with a: better at goodput +150 %, worse at p99 +40 %.": {verdict("p99", "SLOWER", 1.4), verdict("goodput", "HIGHER", 2.5)},
	} {
		r := &record.Result{Verdicts: verdicts, Answer: record.Conclusion{Outcome: record.ATrade, Standings: []record.Standing{{Arm: "b", Baseline: "a", Rank: record.RankTrade}}}}
		if got := Headline(r); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
