package judge

import (
	"cmp"
	"math"
	"slices"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// Each block draws its own arrivals, and some draws make longer queues than others. An arm's ideal
// twin replays the same arrivals, so it tells how lucky the arm was in a block. Luck is the
// logarithm of the twin's quantile minus the logarithm of its geometric mean over many draws. Luck
// does not depend on what was measured, so it may be taken out of the measured ratios (decision
// 25).

// luckOf is the prefix of the names of luck among the values of a window; the name of the quantile
// follows.
const luckOf = "luck_"

// corrected lists the quantiles from which luck is taken out. Without any, nothing is replayed for it.
var corrected = []string{"p50", "p90", "p99"}

const (
	// The draws share no arrivals with the blocks of the run.
	mostDraws    = 2000      // of a window's arrivals, to compute the mean
	leastDraws   = 200       // windows that allow fewer draws are so long that luck matters little
	mostReplayed = 5_000_000 // requests in all draws, some two seconds
	meanErrors   = 3         // standard errors of that mean by which intervals are widened
)

// Expected returns the mean quantiles of an arm's ideal twin over many draws of the plan's
// arrivals. draw returns the requests of draw i as they are scheduled, each with its demand. It is
// nil for an arm without a twin, for a closed loop, for requests without a demand, for a twin that
// loses requests, and where the draws would take too long. An error is draw's. Times are seconds:
// the geometric means over the draws.
func Expected(p record.Plan, arm record.PlanArm, env record.Env, draw func(i int) ([]record.Request, error)) (*record.Expected, error) {
	st, _, why := TwinOf(arm)
	draws := int(min(mostDraws, mostReplayed/(arm.Clients.Rate*(p.Warmup+p.Window))))
	if !why.None() || arm.Clients.Closed() || draws < leastDraws || len(corrected) == 0 {
		return nil, nil
	}
	var p50, p90, p99 float64
	for i := range draws {
		requests, err := draw(i)
		if err != nil {
			return nil, err
		}
		// The twin gets the demands alone, without any overhead, as it does for the luck of a
		// block.
		t := record.TrialRecord{Trial: record.Trial{Seed: uint64(i), Warmup: p.Warmup, Window: p.Window}, Requests: requests}
		q := play(st, arm.Clients, t, window.PerIter(env), 0)
		if !slices.ContainsFunc(requests, demanding) || !lossless(q) {
			return nil, nil
		}
		p50, p90, p99 = p50+math.Log(*q.P50), p90+math.Log(*q.P90), p99+math.Log(*q.P99)
	}
	mean := func(sum float64) float64 { return math.Exp(sum / float64(draws)) }
	return &record.Expected{Draws: draws, P50: mean(p50), P90: mean(p90), P99: mean(p99)}, nil
}

// lossless reports whether a replay has quantiles of all its requests, above 0.
func lossless(p queueing.Prediction) bool { return p.P50 != nil && *p.P50 > 0 && *p.Loss == 0 }

// noteLuck adds to a window how lucky its arrivals were; NaN where a replay cannot tell. alone is
// the replay of the window with the demands alone. e is nil for an arm without expected quantiles,
// and then no luck is noted.
func noteLuck(w *modelled, alone queueing.Prediction, e *record.Expected) {
	if e == nil {
		return
	}
	for name, q := range map[string][2]*float64{"p50": {alone.P50, &e.P50}, "p90": {alone.P90, &e.P90}, "p99": {alone.P99, &e.P99}} {
		if !slices.Contains(corrected, name) {
			continue
		}
		w.Values[luckOf+name] = math.NaN()
		if lossless(alone) {
			w.Values[luckOf+name] = math.Log(*q[0] / *q[1])
		}
	}
}

// times returns a metric of two arms over the valid blocks. suffix is "" or [window.FromSent],
// which selects quantiles counted from the time of sending. From the arm's quantiles it takes out
// the luck that the arm had more than the baseline. The mean over the draws has an error, so all
// log ratios may be off by the same amount, at most off. x, y are seconds, one value per valid
// block, or the unit of the metric.
func (b blocks) times(base, arm, metric, suffix string) (x, y []float64, off float64) {
	x, y = b.series(base, metric+suffix), b.series(arm, metric+suffix)
	if metric == goodput {
		// A goodput of 0 has no logarithm. Half a reply in the window stands for it, which is more.
		for _, v := range [][]float64{x, y} {
			for i := range v {
				v[i] = cmp.Or(v[i], .5/b.run.Plan.Window)
			}
		}
	}
	// Arms with the same load get the same arrivals in a block, so only the difference of their
	// luck changes the ratio.
	luck := paired(b.series(base, luckOf+metric), b.series(arm, luckOf+metric), func(b, a float64) float64 { return a - b })
	y, effect := stats.WithoutLuck(x, y, luck)
	if effect > 0 {
		off = meanErrors * effect / math.Sqrt(b.draws(arm, base))
	}
	return x, y, off
}

// draws returns the fewest draws behind the expected quantiles of these arms. Fewer draws make the
// mean less certain.
func (b blocks) draws(arms ...string) float64 {
	fewest := math.MaxInt
	for _, name := range arms {
		if e := planned(b.run.Plan, name).Expected; e != nil {
			fewest = min(fewest, max(e.Draws, 1))
		}
	}
	return float64(fewest)
}

// compared compares two arms at a metric. shares is the number of equal shares of Alpha; the
// comparison gets one.
func (b blocks) compared(m stats.Metric, base, arm string, shares int) stats.Comparison {
	x, y, off := b.times(base, arm, m.Name, "")
	return stats.CompareOff(m, x, y, shares, off)
}

// withLuck returns the ratio of a comparison with the luck left in. It returns nil if no luck was
// taken out, or if there is no interval. It shows a reader how much the correction did.
func (b blocks) withLuck(c stats.Comparison, base, arm string, shares int) *record.Spread {
	all := stats.Compare(c.Metric, b.series(base, c.Metric.Name), b.series(arm, c.Metric.Name), shares)
	if all.Low == c.Low && all.High == c.High || all.Low == 0 {
		return nil
	}
	return &record.Spread{Median: all.Ratio, Low: all.Low, High: all.High}
}
