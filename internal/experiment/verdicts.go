package experiment

import (
	"cmp"
	"fmt"
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// rival is the index of the arm that arm i is compared with: the baseline, or,
// when i is loaded otherwise and one of the baseline's family is loaded like it,
// that one.
func (j *judge) rival(i int) int {
	arms := j.run.Plan.Arms
	own, base := arms[i], arms[0]
	if own.Clients == base.Clients {
		return 0
	}
	family := cmp.Or(base.Family, base.Name)
	return max(0, slices.IndexFunc(arms, func(a record.PlanArm) bool {
		return a.Role == record.Challenger && a.Family == family && a.Name != own.Name && a.Clients == own.Clients
	}))
}

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
		if reason := firstOf(runwide, j.refuseArm(twin, base), j.refuseMetric(m, base), j.refuseMetric(m, twin)); reason != "" {
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
		rival := arms[j.rival(i+2)]
		for _, m := range stats.Metrics() {
			c := stats.Compare(m, j.series(rival.Name, m.Name), j.series(a.Name, m.Name), comparisons)
			reason := firstOf(runwide, j.refuseArm(a, rival), j.refuseMetric(m, a), j.refuseMetric(m, rival), j.drift(m, rival), broken[m.Name])
			if reason != "" {
				c = c.Refuse(reason)
			}
			j.result.Verdicts = append(j.result.Verdicts, verdict(c, rival, a))
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

func firstOf(reasons ...string) string {
	for _, r := range reasons {
		if r != "" {
			return r
		}
	}
	return ""
}

func verdict(c stats.Comparison, base, arm record.Arm) record.Verdict {
	return record.Verdict{
		Metric: c.Metric.Name, Primary: c.Metric.Primary, Baseline: base.Name, Arm: arm.Name, Verdict: string(c.Decision),
		Ratio: c.Ratio, Low: c.Low, High: c.High, Blocks: c.Blocks, Won: c.Won, Lost: c.Lost, Needed: c.Needed, Reason: c.Reason,
	}
}
