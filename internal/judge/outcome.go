package judge

import (
	"cmp"
	"math"
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// goodput is the metric that decides where times cannot: an arm with a growing backlog has no
// times to compare.
const goodput = "goodput"

// MapBlocks returns the fewest blocks that can tell this number of arms apart on a map; 0 if no
// number of looks can. arms counts the baseline, and not its copy.
func MapBlocks(arms int) int { return stats.FirstLook(max(stats.Primaries(), duelShares(arms-1))) }

// Outcome returns what a cell of a map shows for a metric, or for the winner over the primary
// metrics if metric is "". Its ratio is the widest one among the verdicts that decided the cell.
//
// A map has one cell per load. The cell shows one word and one ratio, so this file picks them from
// the verdicts of the cell's run, by the same field that names the winner of a comparison.
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
	// A refusal is shown only if an arm has no verdict at all because of it.
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

// widest returns the verdict with the ratio farthest from 1 among those that count. If there is a
// winner, verdicts that say so come first. It is the zero Verdict if none counts.
func (f field) widest(verdicts []record.Verdict, asked func(record.Verdict) bool, winner string) (found record.Verdict) {
	says := func(v record.Verdict) bool {
		return v.Arm == winner && v.Better() || v.Baseline == winner && v.Worse()
	}
	for _, v := range verdicts {
		rank := f.ranks[slices.IndexFunc(f.arms, func(a record.Arm) bool { return a.Name == v.Arm })][0]
		counts := asked(v) || v.Metric == goodput && (rank == record.KeepsUp || rank == record.FallsBehind)
		if !counts || v.Verdict == stats.Refused {
			continue
		}
		if found.Arm == "" || cmp.Or(stats.Count(says(v))-stats.Count(says(found)), cmp.Compare(width(v.Ratio), width(found.Ratio))) > 0 {
			found = v
		}
	}
	return found
}

// width returns how far a ratio is from 1, in the logarithm. So half and double are equally wide.
func width(ratio float64) float64 { return math.Abs(math.Log(ratio)) }
