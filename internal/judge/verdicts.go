package judge

import (
	"cmp"
	"math"

	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/window"
)

// verdicts are a run's.
type verdicts struct {
	aa, all []record.Verdict
	final   map[finality]bool // those that are refused whatever comes
	refusal *refusal          // why every one is refused, nil if not
}

// compare judges every challenger against its reference, and the baseline against its copy.
func (b blocks) compare(arms []record.Arm) verdicts {
	v := verdicts{aa: []record.Verdict{}, all: []record.Verdict{}, final: map[finality]bool{}, refusal: b.refuseRun()}
	if len(arms) < 2 {
		return v
	}
	base, twin := arms[0], arms[1]
	comparisons := Primaries() * (len(arms) - 2)
	broken := map[string]*refusal{}
	for _, m := range stats.Metrics() {
		c := stats.Compare(m, b.series(base.Name, m.Name), b.series(twin.Name, m.Name), comparisons)
		why := cmp.Or(v.refusal, b.refuseArm(twin, base), b.refuseMetric(m, base), b.refuseMetric(m, twin))
		if why == nil && c.Decision == stats.Refused {
			why = refused(unfitFor(c))
		}
		v.aa = append(v.aa, verdict(c, base, twin, why))
		switch {
		case why != nil:
			broken[m.Name] = &refusal{record.Fact{Code: record.CauseAA, Because: []record.Fact{why.Fact}}, why.final}
		case c.Decision == stats.Faster || c.Decision == stats.Slower:
			broken[m.Name] = refused(record.Fact{Code: record.CauseAA, Baseline: base.Name, Metric: m.Name, Values: record.Values{"ratio": c.Ratio}})
		}
	}
	for i, a := range arms[2:] {
		against := arms[reference(b.run.Plan.Arms, i+2)]
		for _, m := range stats.Metrics() {
			c := stats.Compare(m, b.series(against.Name, m.Name), b.series(a.Name, m.Name), comparisons)
			why := cmp.Or(v.refusal, b.refuseArm(a, against), b.refuseMetric(m, a), b.refuseMetric(m, against), broken[m.Name])
			switch {
			case why != nil:
			case c.Decision == stats.Refused:
				why = refused(unfitFor(c))
			case c.Decision != stats.Inconclusive:
				why = b.check(c, against.Name, a.Name)
			}
			if why != nil && why.final {
				v.final[finality{m.Name, a.Name}] = true
			}
			v.all = append(v.all, verdict(c, against, a, why))
		}
	}
	return v
}

// check is a reason against a verdict that the blocks are sure of.
func (b blocks) check(c stats.Comparison, base, arm string) *refusal {
	metric := c.Metric.Name
	baseTimes, armTimes := b.series(base, metric), b.series(arm, metric)
	said := newCall(c, baseTimes, armTimes)
	against := func(code record.Code, values record.Values, names record.Names) *refusal {
		return refused(record.Fact{Code: code, Arm: arm, Baseline: base, Metric: metric, Values: values, Names: names})
	}
	of := func(name string) disturbance { return disturbance{name, b.series(base, name), b.series(arm, name)} }
	if first, last, p, drifts := said.drifts(); drifts {
		return against(record.CauseDrift, record.Values{"first": math.Exp(first), "last": math.Exp(last), "p": p}, nil)
	}
	checked := []disturbance{of(window.ForeignLoad), of(window.Stealing), of(window.Throttling), of(window.LoadShare)}
	for _, d := range checked {
		if !d.known() {
			continue
		}
		if more, made := said.shareImbalance(d); made {
			return against(record.CauseImbalance, record.Values{"more": more}, record.Names{"share": d.name})
		}
	}
	if _, timed := window.Quantiles[metric]; timed {
		late := of(window.Lateness + metric)
		if more, made := said.lateImbalance(late, baseTimes, armTimes); late.known() && made {
			return against(record.CauseImbalance, record.Values{"more": more}, nil)
		}
		checked = append(checked, late)
		if sent := newCall(c, b.series(base, metric+window.FromSent), b.series(arm, metric+window.FromSent)); said.contradicts(stats.Median(sent.x)) {
			return against(record.CauseSensitivity, record.Values{"ratio": math.Exp(stats.Median(sent.x))}, nil)
		}
	}
	if clean, failing := b.without(said, base, arm); said.contradicts(stats.Median(clean)) {
		return against(record.CauseSensitivity, record.Values{"ratio": math.Exp(stats.Median(clean)), "failing": float64(failing)}, nil)
	}
	for _, d := range checked {
		if !d.known() {
			continue
		}
		if calm, ok := said.calm(d); ok && said.contradicts(calm) {
			return against(record.CauseSensitivity, record.Values{"ratio": math.Exp(calm)}, record.Names{"calm": noun(d.name)})
		}
	}
	return nil
}

// without are the ratios of the blocks in which neither arm failed too many requests, and
// how many others there are.
func (b blocks) without(said call, base, arm string) (clean []float64, failing int) {
	baseErrors, armErrors := b.series(base, "errors"), b.series(arm, "errors")
	for i, x := range said.x {
		if max(baseErrors[i], armErrors[i]) > errorLimit {
			failing++
		} else {
			clean = append(clean, x)
		}
	}
	return clean, failing
}

// unfitFor says why the figures of a comparison cannot be compared.
func unfitFor(c stats.Comparison) record.Fact {
	return record.Fact{Code: record.CauseUnfit, Names: record.Names{"error": c.Reason}}
}

// noun is a disturbance, those of the several quantiles as one.
func noun(name string) string {
	for q := range window.Quantiles {
		if name == window.Lateness+q {
			return "lateness of the load"
		}
	}
	return name
}

// A finality names a verdict.
type finality struct{ metric, arm string }

// disturbed are an arm's disturbances over the valid blocks; nil without any.
func (b blocks) disturbed(arm string) *record.Disturbed {
	if len(b.valid) == 0 {
		return nil
	}
	known := func(name string) float64 {
		if v := stats.Median(b.series(arm, name)); !math.IsNaN(v) {
			return v
		}
		return -1
	}
	d := &record.Disturbed{Late: map[string]float64{}, Foreign: known(window.ForeignLoad), Steal: known(window.Stealing), Throttled: known(window.Throttling)}
	if v := stats.Median(b.series(arm, window.LoadShare)); v > 0 { // not NaN
		d.Load = v
	}
	for name := range window.Quantiles {
		if v := stats.Median(b.series(arm, window.Lateness+name)); !math.IsNaN(v) {
			d.Late[name] = v
		}
	}
	return d
}

// Primaries is how many metrics share the probability of error.
func Primaries() (n int) {
	for _, m := range stats.Metrics() {
		n += stats.Count(m.Primary)
	}
	return n
}

// verdict is a comparison's, unless something refuses it.
func verdict(c stats.Comparison, base, arm record.Arm, why *refusal) record.Verdict {
	v := record.Verdict{Metric: c.Metric.Name, Primary: c.Metric.Primary, Baseline: base.Name, Arm: arm.Name, Blocks: c.Blocks}
	if why != nil {
		v.Verdict, v.Reason = string(stats.Refused), why.Fact
		return v
	}
	v.Verdict, v.Ratio, v.Low, v.High, v.Look = c.Metric.Word(c.Decision), c.Ratio, c.Low, c.High, c.Look
	v.Won, v.Lost, v.Needed = c.Won, c.Lost, c.Needed
	if c.Lean != "" {
		v.Lean = c.Metric.Word(c.Lean)
	}
	return v
}
