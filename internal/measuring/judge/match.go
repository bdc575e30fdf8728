package judge

import (
	"slices"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A Match is what the blocks that two arms both ran tell of them, where not every block has all arms.
type Match struct {
	record.Standing                  // of the arm against the other
	Verdicts        []record.Verdict // of the arm against the other: on the metrics that were asked for, and last on goodput
	// Likely are the plain 90 % intervals of the same ratios, which hold one by one and not together; zero where a verdict is refused.
	Likely []Interval
}

// An Interval is of a ratio.
type Interval struct{ Low, High float64 }

// Match compares an arm with another at these metrics, by the rules of a comparison: on the blocks in which both were measured, if
// the data of both are right there. It gets one of shares equal shares of [stats.Alpha] for each metric. Goodput is no metric of
// its own: it ranks the arms where there are no times to rank them by.
func (j *Judge) Match(base, arm string, metrics []stats.Figure, shares int) Match {
	b := j.only(base, arm)
	of, against := b.outline(arm), b.outline(base)
	likely := []Interval{}
	p := pair{arm: of, against: against, load: incomparable(of.Clients, against.Clients)}
	for _, f := range append(slices.Clone(metrics), stats.Goodput) {
		c := b.compared(f.Row(), base, arm, shares)
		v := verdict(c, against, of, b.against(c, against, of, b.refusePair(c.Metric, against, of), ruler{}))
		p.verdicts, likely = append(p.verdicts, v), append(likely, Interval{})
		if v.Verdict.Outcome != outcome.Refused {
			likely[len(likely)-1] = Likely(b.values(base, arm, f))
		}
	}
	standing, _ := p.stand()
	return Match{standing, p.verdicts, likely}
}

// A Lone is what an arm's own windows tell of it.
type Lone struct {
	Blocks  int           // windows that count
	Medians stats.Figures // over these windows, but quantiles only where windows have enough requests for them
	// Fault is why its times are not judged, if the arm itself is the reason: it is overloaded, fails requests or starves clients. It is
	// no fact if there is no such reason.
	Fault  fact.Fact
	Always bool // each of its windows has a fault
}

// Lone returns what an arm's own windows tell.
func (j *Judge) Lone(arm string) (l Lone) {
	b := j.only(arm)
	l.Blocks, l.Fault = len(b.valid), b.fault(b.outline(arm))
	for _, m := range stats.Metrics() {
		if m.Quantile == 0 || b.judged[m.Figure] {
			l.Medians[m.Figure] = b.median(arm, m.Figure)
		}
	}
	sound := func(w *modelled) bool { return w.Values[stats.Errors].Float() <= ErrorLimit && w.Starved == 0 }
	l.Always = !l.Fault.None() && (b.behind[arm] || !slices.ContainsFunc(b.of(arm), sound))
	return l
}

// fault returns why an arm has no times to judge by what it did itself, or its load; no fact if it has, or if it did nothing.
func (b blocks) fault(a record.Arm) (none fact.Fact) {
	m := stats.P50.Row()
	why := firstOf(b.overloaded(m, a), b.failed(a), b.refuseMetric(m, a))
	if why.RestsOn(causeOverload.Code, causeGenerator.Code) || atFault(record.Verdict{Reason: why}) {
		return why
	}
	return none
}

// Drop leaves out the windows of a block that was cut off.
func (j *Judge) Drop(block int) { delete(j.windows, block) }

// only returns the blocks in which these arms were measured, as those of a run of these arms alone.
func (j *Judge) only(arms ...string) blocks {
	run, taken := j.run, windows{}
	run.Plan.Arms = nil
	for _, name := range arms {
		run.Plan.Arms = append(run.Plan.Arms, *planned(j.run.Plan, name))
	}
	for block, all := range j.windows {
		of := map[string]*modelled{}
		for _, name := range arms {
			if w := all[name]; w != nil {
				of[name] = w
			}
		}
		if len(of) > 0 {
			taken[block] = of
		}
	}
	return validate(run, j.aim, taken)
}

// outline returns what the reasons against a verdict need to know of an arm.
func (b blocks) outline(name string) (a record.Arm) {
	pa := planned(b.run.Plan, name)
	a.Contestant = record.Contestant{Name: name, Mode: pa.Mode, Role: pa.Role, Clients: pa.Clients}
	a.Failures = map[string]int{}
	for _, w := range b.of(name) {
		a.Requests += w.Requests
		a.Errors += w.Requests - w.Good
		a.StarvedConnections = max(a.StarvedConnections, w.Starved)
		for end, n := range w.Failures {
			a.Failures[end] += n
		}
	}
	a.Disturbed = b.disturbed(name)
	return a
}

// likelyAlpha is the error of a plain interval.
const likelyAlpha = .1

// Likely returns the plain interval of the median of the ratios arm/base, one of each block.
func Likely(base, arm []float64) (in Interval) {
	ratios := slices.Sorted(slices.Values(paired(base, arm, func(b, a float64) float64 { return a / b })))
	if k := stats.IntervalRank(len(ratios), likelyAlpha); k > 0 {
		in = Interval{ratios[k-1], ratios[len(ratios)-k]}
	}
	return in
}
