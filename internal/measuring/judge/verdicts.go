package judge

import (
	"cmp"
	"math"
	"slices"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// verdicts holds all verdicts of a run, each on every metric: of the baseline's copy, of the challengers in plan order, and
// of each challenger against each one before it.
type verdicts struct{ aa, all, duels []record.Verdict }

// compare judges every challenger against its reference and against every other, and the baseline against its copy.
//
// The verdicts on p50, p90 and p99, where requests have a deadline also on goodput, duels included, are all true with probability
// 1 - [stats.Alpha]. Let k be the number of challengers and u = Alpha/3k:
//
//   - a challenger's verdict against its reference has error u;
//   - a duel has error u/(k-1) (see [duelShares]), and may call a difference only if one of its
//     two arms already differs from its reference;
//   - any other duel may call a difference with the part of Alpha that whole-numbered ranks
//     leave unspent (see [spareShares]).
//
// Proof: let d of the k truly differ from the baseline at a metric. Verdicts on the k-d equal
// ones err with u, on the d others with u/2, since only one side is wrong. Duels between two
// that differ, d(d-1)/2, may be between equals: u/(k-1) each. Duels between one that differs and
// one that does not, d(k-d), err on one side: u/2(k-1) each. Duels between two that equal the
// baseline need a wrong verdict first. The sum is at most (k-d)u + du/2 + du/2 = ku for each metric.
func (b blocks) compare(arms []record.Arm) verdicts {
	v := verdicts{aa: []record.Verdict{}, all: []record.Verdict{}}
	if len(arms) < 2 {
		return v
	}
	base, twin := arms[0], arms[1]
	challengers, family := len(arms)-2, stats.Primaries()+stats.Count(base.Clients.Impatient())
	// First the A/A control, because it is the ruler for everything else.
	rulers := map[stats.Figure]ruler{}
	for _, m := range stats.Metrics() {
		c := b.compared(m, base.Name, twin.Name, family*challengers)
		why := b.refuseCopy(c, base, twin)
		v.aa = append(v.aa, verdict(c, base, twin, why))
		rulers[m.Figure] = newRuler(c, base.Name, why)
	}
	differs := func(metric stats.Figure, arm string) bool { // surely, from its reference
		return slices.ContainsFunc(v.all, func(v record.Verdict) bool {
			return v.Metric == metric && v.Arm == arm && (v.Low > 1 || v.High > 0 && v.High < 1)
		})
	}
	judged := func(c stats.Comparison, base, arm record.Arm) record.Verdict {
		return verdict(c, base, arm, b.against(c, base, arm, b.refusePair(c.Metric, base, arm), rulers[c.Metric.Figure]))
	}
	for i, a := range arms[2:] {
		against := arms[Reference(b.run.Plan.Arms, i+2)]
		for _, m := range stats.Metrics() {
			v.all = append(v.all, judged(b.compared(m, against.Name, a.Name, family*challengers), against, a))
		}
		for _, other := range arms[2 : i+2] {
			for _, m := range stats.Metrics() {
				c := b.compared(m, other.Name, a.Name, duelShares(family, challengers))
				// Two arms that both may equal the baseline: compare them again, with the smaller
				// error that is left.
				if c.Decision.Rank.Differs() && !differs(m.Figure, a.Name) && !differs(m.Figure, other.Name) {
					c = b.compared(m, other.Name, a.Name, spareShares(family, challengers))
				}
				v.duels = append(v.duels, judged(c, other, a))
			}
		}
	}
	return v
}

// duelShares returns the number of equal shares into which Alpha is divided for duels. A duel gets
// one share.
func duelShares(family, challengers int) int {
	return family * challengers * max(challengers-1, 1)
}

// spareShares returns the same for a duel between two arms that do not differ from the baseline.
// There must be two challengers or more.
func spareShares(family, challengers int) int {
	duels := family * challengers * (challengers - 1) / 2
	return int(math.Ceil(float64(duels) * stats.Alpha / stats.Unspent(family*challengers)))
}

// against returns the first reason why the comparison of two arms gives no verdict; no fact if it gives one. why is a reason that
// does not depend on the compared values, or no fact. An open comparison claims nothing and is not checked.
func (b blocks) against(c stats.Comparison, base, arm record.Arm, why fact.Fact, r ruler) fact.Fact {
	switch why = firstOf(why, r.broken); {
	case !why.None() || c.Decision.Outcome == outcome.Open:
		return why
	case c.Decision.Outcome == outcome.Refused:
		return b.unfit(c, base.Name, arm.Name)
	case !r.resolves(c):
		return r.reason
	}
	return b.check(c, base.Name, arm.Name)
}

// A ruler is the smallest difference at one metric that a run can resolve. If the A/A interval excludes 1, the run finds a
// difference between identical programs, and any other difference must be larger than the far end of that interval. SAME stands
// unless the copy itself is FASTER or SLOWER. The zero ruler resolves every difference.
type ruler struct {
	gap     float64   // far end of the A/A interval as |ln ratio|; 0 if the interval holds 1
	differs bool      // the copy is FASTER or SLOWER
	reason  fact.Fact // for refusing a verdict within the gap
	broken  fact.Fact // for refusing every verdict, if A/A itself is refused; else no fact
}

// newRuler returns the ruler from the A/A comparison of a metric. why is the reason if that is refused.
func newRuler(aa stats.Comparison, base string, why fact.Fact) (r ruler) {
	if !why.None() {
		r.broken = causeAA.Of(resolution{}).Since(why)
		return r
	}
	if low, high := math.Log(aa.Low), math.Log(aa.High); aa.Low > 0 && low*high > 0 {
		r.gap = max(math.Abs(low), math.Abs(high))
	}
	r.differs = aa.Decision.Rank.Differs()
	r.reason = causeAA.Of(resolution{stats.Known(aa.Ratio), stats.Known(aa.Low), stats.Known(aa.High)}).Against(base).At(aa.Metric.Name)
	return r
}

// refuseCopy returns the reason against the comparison of an arm with its copy; no fact if there is none.
func (b blocks) refuseCopy(c stats.Comparison, base, twin record.Arm) fact.Fact {
	m := c.Metric
	why := firstOf(b.refuseRun(), b.refuseArm(m, twin, base), b.refuseMetric(m, base), b.refuseMetric(m, twin), b.refuseSilent(m, base.Name, twin.Name))
	if why.None() && c.Decision.Outcome == outcome.Refused {
		why = b.unfit(c, base.Name, twin.Name)
	}
	return why
}

// resolves reports whether a verdict is not explained by the gap: the whole interval must be beyond it.
func (r ruler) resolves(c stats.Comparison) bool {
	if c.Decision.Rank == stats.Same {
		return !r.differs
	}
	return r.exceeded(c)
}

// exceeded reports whether the whole interval is beyond the gap.
func (r ruler) exceeded(c stats.Comparison) bool {
	return math.Log(c.Low) > r.gap || math.Log(c.High) < -r.gap
}

// values returns a figure of two arms over the valid blocks, one value a block in the figure's unit.
func (b blocks) values(base, arm string, f stats.Figure) (x, y []float64) {
	x, y = b.series(base, f), b.series(arm, f)
	if f == stats.Goodput {
		// A goodput of 0 has no logarithm. Half a reply in the window stands for it, which is more.
		for _, v := range [][]float64{x, y} {
			for i := range v {
				v[i] = cmp.Or(v[i], .5/b.run.Plan.Window.Seconds())
			}
		}
	}
	return x, y
}

// compared compares two arms at a metric. shares is the number of equal shares of Alpha; the
// comparison gets one.
func (b blocks) compared(m stats.Metric, base, arm string, shares int) stats.Comparison {
	x, y := b.values(base, arm, m.Figure)
	return stats.Compare(m, x, y, shares)
}

const (
	// mostTaken is the ratio of the servers' CPU time beyond which other programs may decide which arm is faster.
	mostTaken = .5
	// lessCPU is the ratio of two arms' CPU time for a request below which one needs clearly less.
	lessCPU = .9
)

// takenAway returns the share of the servers' CPU time that other programs used in the median window, if these programs may have
// made the difference of two arms' times; else 0. They may have if they used more than half, and the quicker arm needs clearly
// less CPU time: servers then wait for a CPU more than they run, and the one that needs less CPU time waits less. (In a default
// run on a machine that also compiled a program, the pool came out faster than net/http.) It returns 0 for builds of one
// program, because more CPU time is then a part of the answer.
func (b blocks) takenAway(c stats.Comparison, base, arm string) float64 {
	quicker, slower := base, arm
	if c.Decision.Rank == stats.Faster {
		quicker, slower = arm, base
	}
	foreign := func(arm string) float64 { return stats.Median(b.each(arm, foreignLoad.of)) }
	cost := func(arm string) float64 { return stats.Median(b.series(arm, stats.CPUPerRequest)) }
	taken := min(foreign(base), foreign(arm))
	less := cost(quicker) < lessCPU*cost(slower)
	if c.Metric.Quantile > 0 && c.Decision.Rank.Differs() && !b.aim.ofBuilds() && taken > mostTaken && less {
		return taken
	}
	return 0
}

// check returns the first reason against a decided verdict; no fact if the verdict stands. It checks whether other programs took
// the CPUs, then drift and imbalance, and then whether the verdict is the same for times from the sending, for the blocks
// without failures, and for the half of the blocks that was disturbed least.
func (b blocks) check(c stats.Comparison, base, arm string) (why fact.Fact) {
	baseTimes, armTimes := b.values(base, arm, c.Metric.Figure)
	said := toCheck(c, baseTimes, armTimes)
	if _, gate := b.aim.(Gate); gate { // which says no more than that a build is not worse
		said.worse = 1
		if c.Metric.HigherIsBetter {
			said.worse = -1
		}
	}
	against := func(f fact.Fact) fact.Fact { return f.On(arm).Against(base).At(c.Metric.Name) }
	of := func(s disturbs) disturbance { return disturbance{s.name, b.each(base, s.of), b.each(arm, s.of)} }
	if taken := b.takenAway(c, base, arm); taken > 0 {
		return against(causeTaken.Of(share{taken}))
	}
	if first, last, p, drifts := said.drifts(); drifts {
		return against(causeDrift.Of(drifting{math.Exp(first), math.Exp(last), p}))
	}
	checked := []disturbance{of(foreignLoad), of(stealing), of(throttling), of(loadShare)}
	checked = slices.DeleteFunc(checked, disturbance.unknown)
	for _, d := range checked {
		if more, made := said.shareImbalance(d); made {
			return against(causeImbalance.Of(unequal{More: more, Share: d.name}))
		}
	}
	if c.Metric.Quantile > 0 {
		late := of(disturbs{"lateness of the load", func(w *modelled) stats.Opt { return w.Late[c.Metric.Figure] }})
		if more, made := said.lateImbalance(late, baseTimes, armTimes); !late.unknown() && made {
			return against(causeImbalance.Of(unequal{More: more}))
		}
		if !late.unknown() {
			checked = append(checked, late)
		}
		fromSent := func(w *modelled) stats.Opt { return w.FromSent[c.Metric.Figure] }
		// Times from the sending leave out the load's lateness. The verdict must not depend on it.
		if sent := toCheck(c, b.each(base, fromSent), b.each(arm, fromSent)); said.contradicts(stats.Median(sent.x)) {
			return against(causeSensitivity.Of(sensitive{Ratio: math.Exp(stats.Median(sent.x))}))
		}
	}
	// Failed requests count with their time, so the blocks without any must not say the opposite.
	// Goodput counts good replies only.
	if clean, failing := b.without(said, base, arm); c.Metric.Proof < stats.InOverload && said.contradicts(stats.Median(clean)) {
		return against(causeSensitivity.Of(sensitive{Ratio: math.Exp(stats.Median(clean)), Failing: failing}))
	}
	for _, d := range checked {
		if calm, ok := said.calm(d); ok && said.contradicts(calm) {
			return against(causeSensitivity.Of(sensitive{Ratio: math.Exp(calm), Calm: d.name}))
		}
	}
	return why
}

// without returns the log ratios of the blocks in which neither arm failed more than ErrorLimit of its requests. failing is
// the number of the other blocks.
func (b blocks) without(said checkedVerdict, base, arm string) (clean []float64, failing int) {
	baseErrors, armErrors := b.series(base, stats.Errors), b.series(arm, stats.Errors)
	for i, x := range said.x {
		if max(baseErrors[i], armErrors[i]) > ErrorLimit {
			failing++
		} else {
			clean = append(clean, x)
		}
	}
	return clean, failing
}

// unfit returns the reason why a comparison was refused because of its values. It names the first block in which an arm has no
// value above 0, if there is one.
func (b blocks) unfit(c stats.Comparison, arms ...string) fact.Fact {
	for _, block := range b.valid {
		for _, arm := range arms {
			w := b.windows[block][arm]
			switch {
			case w.Values[c.Metric.Figure].Float() > 0:
			case c.Metric.Figure == stats.Goodput && answeredLate(w):
				return causeNoGoodput.Of(silence{Block: block, Late: !answeredNone(w)}).On(arm).At(c.Metric.Name)
			default:
				return causeUnfit.Of(unusable{Error: c.Reason, Block: block}).On(arm).At(c.Metric.Name)
			}
		}
	}
	return causeUnfit.Of(unusable{Error: c.Reason})
}

// disturbed returns the medians of an arm's disturbances over the valid blocks, -1 if unknown; nil if no block is valid.
func (b blocks) disturbed(arm string) *record.Disturbed {
	if len(b.valid) == 0 {
		return nil
	}
	share := func(s disturbs) float64 { return stats.Known(stats.Median(b.each(arm, s.of))).Or(-1) }
	d := &record.Disturbed{Foreign: share(foreignLoad), Steal: share(stealing), Throttled: share(throttling), Load: max(0, share(loadShare))}
	for _, m := range stats.Quantiles() {
		d.Late[m.Figure] = stats.Known(stats.Median(b.each(arm, func(w *modelled) stats.Opt { return w.Late[m.Figure] })))
	}
	return d
}

// verdict returns the verdict of a comparison, or a refused one without figures if why is a fact. If more blocks may lift the
// refusal, Least is the next block.
func verdict(c stats.Comparison, base, arm record.Arm, why fact.Fact) record.Verdict {
	v := record.Verdict{Metric: c.Metric.Figure, Primary: c.Metric.Primary, Baseline: base.Name, Arm: arm.Name, Blocks: c.Blocks}
	if !why.None() {
		v.Verdict, v.Reason = stats.Decision{Outcome: outcome.Refused}, why
		if !final(why) {
			v.Least = c.Blocks + 1
		}
		return v
	}
	v.Verdict, v.Ratio, v.Low, v.High, v.Look = c.Decision, c.Ratio, c.Low, c.High, c.Look
	v.Won, v.Lost, v.Lean, v.Needed, v.Least = c.Won, c.Lost, c.Lean, c.Needed, c.Least
	return v
}

// Disturbances leave no block out. Where they slow both arms alike they are noise, and the intervals allow for noise. Two checks
// can refuse a verdict: imbalance (the arms were disturbed differently, by enough to make the difference) and sensitivity (the
// verdict is another one without the disturbance).

const (
	disturbedAlpha = .05 // error of the interval that decides whether two arms were disturbed differently, which can only refuse
	madeShare      = .5  // of a difference, that a disturbance must account for to count as its cause
	followsLimit   = .01 // below this p, the ratios count as following a disturbance, or the time
)

// A disturbs is something that disturbs a window: its name in reports, and by how much it did.
type disturbs struct {
	name string
	of   func(*modelled) stats.Opt
}

// What takes CPU time from a server. Each is a share.
var (
	foreignLoad = disturbs{"foreign load", func(w *modelled) stats.Opt { return w.Foreign }}
	stealing    = disturbs{"steal", func(w *modelled) stats.Opt { return w.Stolen }}
	throttling  = disturbs{"throttling", func(w *modelled) stats.Opt { return w.Throttled }}
	loadShare   = disturbs{"CPU time of the load", func(w *modelled) stats.Opt { return w.LoadShare }}
)

// A disturbance holds how much each of two arms was disturbed, one value per block: lateness in seconds, or a ratio of CPU
// time.
type disturbance struct {
	name      string
	base, arm []float64
}

// unknown reports whether a value is not known, which is NaN.
func (d disturbance) unknown() bool {
	return len(d.base) == 0 || slices.ContainsFunc(slices.Concat(d.base, d.arm), math.IsNaN)
}

// difference returns how much more the arm was disturbed than the baseline, per block.
func (d disturbance) difference() []float64 {
	return paired(d.base, d.arm, func(b, a float64) float64 { return a - b })
}

// paired returns a figure of each pair of a baseline's and an arm's value.
func paired(base, arm []float64, figure func(base, arm float64) float64) []float64 {
	all := make([]float64, len(base))
	for i := range all {
		all[i] = figure(base[i], arm[i])
	}
	return all
}

// differs returns the median of diff. sure reports whether the exact confidence interval of the median ([stats.IntervalRank])
// excludes 0.
func differs(diff []float64) (median float64, sure bool) {
	sorted := slices.Sorted(slices.Values(diff))
	k := stats.IntervalRank(len(sorted), disturbedAlpha)
	return stats.Median(sorted), k > 0 && (sorted[k-1] > 0 || sorted[len(sorted)-k] < 0)
}

// A checkedVerdict is a verdict to be checked. Its methods ask, each in another way, whether the disturbances and not the
// servers made it.
type checkedVerdict struct {
	rank  stats.Rank // Faster, Slower or Same
	x     []float64  // ln(arm/baseline) per block
	same  float64    // ln(1+Same) of the metric
	worse float64    // the sign of an x that is worse, if only that contradicts Same, as in a gate; 0 for both signs
}

// toCheck returns the verdict of a comparison for the checks. base and arm are the compared values, one per block, all
// above 0.
func toCheck(c stats.Comparison, base, arm []float64) checkedVerdict {
	return checkedVerdict{rank: c.Decision.Rank, x: paired(base, arm, func(b, a float64) float64 { return math.Log(a / b) }), same: math.Log1p(c.Metric.Same)}
}

// contradicts reports whether a median says the opposite of the verdict: the other direction, or a difference for SAME.
func (c checkedVerdict) contradicts(median float64) bool {
	switch {
	case c.rank == stats.Same && c.worse != 0:
		return median*c.worse > c.same
	case c.rank == stats.Same:
		return math.Abs(median) > c.same
	}
	return median*stats.Median(c.x) < 0
}

// madeBy reports whether a disturbance that adds this much to the median of x makes the verdict. It makes a difference if it adds
// half of it or more, and it makes SAME if there would be a difference without it.
func (c checkedVerdict) madeBy(added float64) bool {
	median := stats.Median(c.x)
	if c.rank == stats.Same {
		return c.contradicts(median - added)
	}
	return added*median > 0 && math.Abs(added) >= madeShare*math.Abs(median)
}

// lateImbalance reports whether the requests of the two arms were sent late by different times, by enough to make a verdict
// on the response times base and arm, all in seconds. more is the median of how much later the arm's were sent.
func (c checkedVerdict) lateImbalance(late disturbance, base, arm []float64) (more float64, made bool) {
	more, sure := differs(late.difference())
	if !sure {
		return more, false
	}
	// Lateness adds to a response time, so compare it with the difference of the times in seconds.
	if c.rank != stats.Same {
		gap, _ := differs(disturbance{base: base, arm: arm}.difference())
		return more, gap*more > 0 && math.Abs(more) >= madeShare*math.Abs(gap)
	}
	clean := make([]float64, len(base)) // as if no request had been late
	for i := range clean {
		clean[i] = math.Log((arm[i] - late.arm[i]) / (base[i] - late.base[i]))
	}
	// A time shorter than its lateness has no logarithm, so such blocks cannot tell.
	return more, !slices.ContainsFunc(clean, math.IsNaN) && c.contradicts(stats.Median(clean))
}

// shareImbalance reports the same for a disturbance that takes a share of CPU time. The effect of the share is the slope of the
// ratios on it. If the ratios do not follow the share from block to block, it has no effect.
func (c checkedVerdict) shareImbalance(share disturbance) (more float64, made bool) {
	diff := share.difference()
	more, sure := differs(diff)
	if !sure {
		return more, false
	}
	// How much a share of CPU time slows a server is not known in advance, so the blocks have to show it.
	if _, p := stats.RankCorrelation(diff, c.x); p >= followsLimit {
		return more, false
	}
	return more, c.madeBy(stats.TheilSen(diff, c.x, 0) * more)
}

// calm returns the median of x over the half of the blocks that was disturbed least. ok is false if all were alike.
func (c checkedVerdict) calm(d disturbance) (median float64, ok bool) {
	sum := paired(d.base, d.arm, func(b, a float64) float64 { return a + b })
	if len(sum) == 0 || slices.Max(sum) == slices.Min(sum) {
		return 0, false
	}
	half := ascending(sum)[:(len(sum)+1)/2]
	return medianOf(half, func(i int) float64 { return c.x[i] }), true
}

// ascending returns the indices of x in the order of its values. Equal values keep their order.
func ascending(x []float64) []int {
	places := make([]int, len(x))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(x[a], x[b]) })
	return places
}

// drifts reports whether the ratios drift during the run so far that its two halves contradict each other. first and last are
// the median log ratios of the halves, p the significance of Spearman's rank correlation with the order of the blocks.
func (c checkedVerdict) drifts() (first, last, p float64, drifts bool) {
	n := len(c.x)
	_, p = stats.Spearman(c.x)
	// With an odd number of blocks, the middle one is in both halves.
	first, last = stats.Median(c.x[:(n+1)/2]), stats.Median(c.x[n/2:])
	opposite := first*last < 0
	if c.rank == stats.Same {
		opposite = c.contradicts(first) || c.contradicts(last)
	}
	return first, last, p, p < followsLimit && opposite
}
