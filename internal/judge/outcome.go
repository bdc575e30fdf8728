package judge

import (
	"cmp"
	"math"
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// goodput is the metric that decides where times cannot: an arm whose backlog
// grows has none to compare.
const goodput = "goodput"

// MapMetrics are what a map may be drawn of, beside "" for the winner over the
// primary ones.
func MapMetrics() (names []string) {
	for _, m := range stats.Metrics() {
		names = append(names, m.Name)
	}
	return names
}

// MapBlocks is the fewest blocks that can tell so many arms apart on a map; 0 when no
// number of looks can.
func MapBlocks(arms int) int { return stats.FirstLook(max(Primaries(), duelShares(arms-1))) }

// Outcome is what a comparison comes to on a map of the metric, or of the winner
// over the primary metrics if that is "". The ratio is the widest that made it so.
func Outcome(r *record.Result, metric string) record.CellVerdict {
	asked := func(v record.Verdict) bool { return v.Primary && metric == "" || v.Metric == metric }
	if metric == "" && len(r.LoadsDiffer) > 0 {
		return record.CellVerdict{Decision: record.Rejected, Reason: record.Fact{Code: loadsDiffer}}
	}
	if !slices.ContainsFunc(r.Verdicts, asked) {
		why := record.Fact{Code: nothingCompared}
		if metric != "" {
			why = record.Fact{Code: noVerdictOn, Metric: metric}
		}
		return record.CellVerdict{Decision: record.Rejected, Metric: metric, Reason: why}
	}
	f := newField(r, asked, metric == "")
	kind, best := f.decide()
	c := record.CellVerdict{Decision: record.InDoubt}
	switch kind {
	case record.OneWins:
		c.Decision, c.Winner = record.Wins, best[0]
	case record.ATie, record.TieForBest:
		c.Decision, c.Among = record.Ties, best
	case record.ATrade:
		c.Decision = record.Trades
	default:
		for _, v := range r.Verdicts {
			if i := slices.IndexFunc(f.standings, func(s record.Standing) bool { return s.Arm == v.Arm }); asked(v) && !v.Reason.None() && !f.judged[i] {
				return record.CellVerdict{Decision: record.Rejected, Metric: v.Metric, Reason: v.Reason}
			}
		}
	}
	v := f.widest(r.Verdicts, asked, c.Winner)
	c.Metric, c.Arm, c.Ratio, c.Low, c.High = v.Metric, v.Arm, v.Ratio, v.Low, v.High
	return c
}

// widest is the verdict with the widest ratio of those that count: where there is a winner,
// of those that say so.
func (f field) widest(verdicts []record.Verdict, asked func(record.Verdict) bool, winner string) (found record.Verdict) {
	says := func(v record.Verdict) bool {
		d := decisionOf(v)
		return v.Arm == winner && d == stats.Faster || v.Baseline == winner && d == stats.Slower
	}
	for _, v := range verdicts {
		rank := f.ranks[slices.IndexFunc(f.arms, func(a record.Arm) bool { return a.Name == v.Arm })][0]
		counts := asked(v) || v.Metric == goodput && (rank == record.KeepsUp || rank == record.FallsBehind)
		if !counts || v.Verdict == string(stats.Refused) {
			continue
		}
		if found.Arm == "" || cmp.Or(stats.Count(says(v))-stats.Count(says(found)), cmp.Compare(width(v.Ratio), width(found.Ratio))) > 0 {
			found = v
		}
	}
	return found
}

// width is how far a ratio is from no difference.
func width(ratio float64) float64 { return math.Abs(math.Log(ratio)) }
