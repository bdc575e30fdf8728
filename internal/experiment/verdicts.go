package experiment

import (
	"cmp"
	"fmt"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// verdicts compares every challenger with its rival, and the baseline with its
// copy.
func (j *judge) verdicts() {
	arms := j.result.Arms
	if len(arms) < 2 {
		return
	}
	base, twin := arms[0], arms[1]
	comparisons := primaries() * (len(arms) - 2)
	runwide := j.refuseRun()
	j.refusal = runwide
	broken := map[string]string{}
	for _, m := range stats.Metrics() {
		c, clean := stats.AAClean(m, j.series(base.Name, m.Name), j.series(twin.Name, m.Name))
		if reason := cmp.Or(runwide, j.refuseArm(twin, base), j.refuseMetric(m, base), j.refuseMetric(m, twin)); reason != "" {
			c = c.Refuse(reason)
		}
		j.result.AA = append(j.result.AA, verdict(c, base, twin))
		switch {
		case c.Decision == stats.Refused:
			broken[m.Name] = "A/A: " + c.Reason
		case !clean:
			broken[m.Name] = fmt.Sprintf("A/A: %s differs from its own copy at %s by %+.1f %%, so the set-up tells identical programs apart", base.Name, m.Name, 100*(c.Ratio-1))
		}
	}
	for i, a := range arms[2:] {
		against := arms[rival(j.run.Plan.Arms, i+2)]
		for _, m := range stats.Metrics() {
			c := stats.Compare(m, j.series(against.Name, m.Name), j.series(a.Name, m.Name), comparisons)
			reason := cmp.Or(runwide, j.refuseArm(a, against), j.refuseMetric(m, a), j.refuseMetric(m, against), j.drift(m, against), broken[m.Name])
			if reason != "" {
				c = c.Refuse(reason)
			}
			j.result.Verdicts = append(j.result.Verdicts, verdict(c, against, a))
		}
	}
}

// primaries is how many metrics share the probability of error.
func primaries() (n int) {
	for _, m := range stats.Metrics() {
		n += count(m.Primary)
	}
	return n
}

func verdict(c stats.Comparison, base, arm record.Arm) record.Verdict {
	return record.Verdict{
		Metric: c.Metric.Name, Primary: c.Metric.Primary, Baseline: base.Name, Arm: arm.Name, Verdict: c.Metric.Word(c.Decision),
		Ratio: c.Ratio, Low: c.Low, High: c.High, Blocks: c.Blocks, Won: c.Won, Lost: c.Lost, Needed: c.Needed, Reason: c.Reason,
	}
}
