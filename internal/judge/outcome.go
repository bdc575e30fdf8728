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

// Outcome is what a comparison comes to on a map of the metric, or of the winner
// over the primary metrics if that is "". Where times are refused and goodput is
// sure of a loser, as when one arm is overloaded, goodput decides.
func Outcome(r *record.Result, metric string) record.CellVerdict {
	v := overall(r)
	switch {
	case metric != "":
		v = duel(r, metric)
	case len(r.LoadsDiffer) > 0:
		return record.CellVerdict{Decision: record.Rejected, Reason: record.Fact{Code: record.LoadsDiffer}}
	}
	if v.Decision == record.Rejected && metric != goodput {
		g := duel(r, goodput)
		if g.Decision == record.Wins || g.Decision == record.Ties && len(g.Among) < len(r.Arms)-1 {
			return g // sure of a loser; of the arms one is the baseline's copy
		}
	}
	return v
}

// overall applies compare's rule: the winner wins at one primary metric at least,
// loses at none, and starves nobody. The ratio is the widest that made it so.
func overall(r *record.Result) record.CellVerdict {
	var judged []record.CellVerdict
	refused := record.CellVerdict{Decision: record.Rejected, Reason: record.Fact{Code: record.NothingCompared}}
	for _, m := range stats.Metrics() {
		if !m.Primary {
			continue
		}
		if v := duel(r, m.Name); v.Decision != record.Rejected {
			judged = append(judged, v)
		} else if len(r.Verdicts) > 0 {
			refused = v
		}
	}
	if len(judged) == 0 {
		return refused
	}
	widest := slices.MaxFunc(judged, func(a, b record.CellVerdict) int {
		won := stats.Count(a.Decision == record.Wins) - stats.Count(b.Decision == record.Wins)
		return cmp.Or(won, cmp.Compare(width(a.Ratio), width(b.Ratio)))
	})
	every := func(f func(v record.CellVerdict) bool) bool {
		return !slices.ContainsFunc(judged, func(v record.CellVerdict) bool { return !f(v) })
	}
	winner := widest.Winner
	switch {
	case winner != "" && !every(func(v record.CellVerdict) bool { return v.Winner == "" || v.Winner == winner }):
		widest.Decision, widest.Winner = record.Trades, ""
	case winner != "" && starves(r, winner),
		winner != "" && !every(func(v record.CellVerdict) bool { return v.Decision != record.Ties || slices.Contains(v.Among, winner) }):
		widest.Decision, widest.Winner = record.InDoubt, ""
	case winner == "" && !every(func(v record.CellVerdict) bool {
		return v.Decision == record.Ties && slices.Equal(v.Among, widest.Among)
	}):
		widest.Decision, widest.Among = record.InDoubt, nil
	}
	return widest
}

// starves reports whether connections of the arm were never answered: its times are
// those of the others.
func starves(r *record.Result, arm string) bool {
	return slices.ContainsFunc(r.Arms, func(a record.Arm) bool { return a.Name == arm && a.StarvedConnections > 0 })
}

// width is how far a ratio is from no difference.
func width(ratio float64) float64 { return math.Abs(math.Log(ratio)) }

// duel judges the arms by one metric: the winner beats every other.
func duel(r *record.Result, metric string) record.CellVerdict {
	c := record.CellVerdict{Decision: record.InDoubt, Metric: metric}
	var mine []record.Verdict
	for _, v := range r.Verdicts {
		if v.Metric != metric {
			continue
		}
		if v.Verdict == string(stats.Refused) {
			c.Decision, c.Reason = record.Rejected, v.Reason
			return c
		}
		mine = append(mine, v)
	}
	if len(mine) == 0 {
		return record.CellVerdict{Decision: record.Rejected, Metric: metric, Reason: record.Fact{Code: record.NoVerdictOn, Metric: metric}}
	}
	d := duels(r, mine)
	if !d.refused.None() {
		c.Decision, c.Reason = record.Rejected, d.refused
		return c
	}
	shown := slices.MaxFunc(mine, func(a, b record.Verdict) int { return cmp.Compare(width(a.Ratio), width(b.Ratio)) })
	switch leaders := d.leaders(); {
	case len(leaders) == 1 && d.beatsAll(leaders[0]):
		c.Decision, c.Winner = record.Wins, d.arms[leaders[0]]
		if k := slices.IndexFunc(mine, func(v record.Verdict) bool { return v.Arm == c.Winner }); k >= 0 {
			shown = mine[k]
		}
	case d.allSame(leaders):
		c.Decision = record.Ties
		for _, i := range leaders {
			c.Among = append(c.Among, d.arms[i])
		}
	}
	c.Arm, c.Ratio, c.Low, c.High = shown.Arm, shown.Ratio, shown.Low, shown.High
	return c
}

// A tournament holds the verdict of every arm on every other, from the side of
// the first.
type tournament struct {
	arms    []string // the baseline first
	verdict [][]stats.Decision
	refused record.Fact // why two of them cannot be compared, if so
}

// onMap is how many verdicts share the probability of error in a cell of so many arms:
// each primary metric of every two.
func onMap(arms int) int { return Primaries() * arms * (arms - 1) / 2 }

// MapBlocks is the fewest blocks that can tell so many arms apart on a map; 0 when no
// number of looks can.
func MapBlocks(arms int) int { return stats.FirstLook(onMap(arms)) }

// duels takes the verdicts of one challenger as they are. Among more, every two arms
// are compared by their blocks, and all pairs share the probability of error that in
// the cell's own verdicts those with the baseline have for themselves: the intervals
// of mine become that much wider.
func duels(r *record.Result, mine []record.Verdict) tournament {
	d := tournament{arms: []string{mine[0].Baseline}}
	for _, v := range mine {
		d.arms = append(d.arms, v.Arm)
	}
	d.verdict = make([][]stats.Decision, len(d.arms))
	for i := range d.arms {
		d.verdict[i] = make([]stats.Decision, len(d.arms))
	}
	put := func(i, j int, v stats.Decision) { // v is of i against j
		d.verdict[i][j], d.verdict[j][i] = v, v
		switch v {
		case stats.Faster:
			d.verdict[j][i] = stats.Slower
		case stats.Slower:
			d.verdict[j][i] = stats.Faster
		}
	}
	if len(mine) == 1 {
		put(1, 0, decisionOf(mine[0]))
		return d
	}
	metric := stats.MetricOf(mine[0].Metric)
	comparisons := onMap(len(d.arms))
	for i, arm := range d.arms {
		for j, reference := range d.arms[:i] {
			c := stats.Compare(metric, blocksOf(r, reference, metric.Name), blocksOf(r, arm, metric.Name), comparisons)
			put(i, j, c.Decision)
			switch {
			case c.Decision == stats.Refused:
				d.refused = unfitFor(c)
			case j == 0:
				mine[i-1].Ratio, mine[i-1].Low, mine[i-1].High = c.Ratio, c.Low, c.High
			}
		}
	}
	return d
}

func blocksOf(r *record.Result, arm, metric string) []float64 {
	for _, a := range r.Arms {
		if a.Name == arm {
			return a.Blocks[metric]
		}
	}
	return nil
}

func (d tournament) beaten(i int) bool { return slices.Contains(d.verdict[i], stats.Slower) }

func (d tournament) beatsAll(i int) bool {
	for j, v := range d.verdict[i] {
		if j != i && v != stats.Faster {
			return false
		}
	}
	return true
}

// leaders are beaten by none.
func (d tournament) leaders() (all []int) {
	for i := range d.arms {
		if !d.beaten(i) {
			all = append(all, i)
		}
	}
	return all
}

func (d tournament) allSame(arms []int) bool {
	for _, i := range arms {
		for _, j := range arms {
			if i != j && d.verdict[i][j] != stats.Same {
				return false
			}
		}
	}
	return len(arms) > 1 // one alone leads by verdicts that are not all sure
}
