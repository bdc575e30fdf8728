package report

import (
	"fmt"
	"strings"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// control says how one metric of the baseline differs from its own copy.
func control(v record.Verdict) string {
	label := find(v.Metric).label
	if !judgedControl(v) {
		return fmt.Sprintf("%s not judged: %s", label, reason(v))
	}
	if v.Low == 0 {
		return fmt.Sprintf("%s %s (no interval yet)", label, change(v.Ratio))
	}
	return fmt.Sprintf("%s %s (%s)", label, change(v.Ratio), between(v))
}

// judgedControl reports whether an A/A comparison found anything, clean or not.
func judgedControl(v record.Verdict) bool { return stats.Decision(v.Verdict) != stats.Refused }

// clean reports whether an A/A comparison shows no difference that matters.
func clean(v record.Verdict) bool {
	d := find(v.Metric).Decision(v.Verdict)
	return d != stats.Faster && d != stats.Slower
}

// controls says the A/A comparison in one sentence.
func controls(aa []record.Verdict) string {
	if len(aa) == 0 {
		return "no A/A control was run"
	}
	if why := oneReason(aa); why != "" {
		return fmt.Sprintf("%s against its own copy: not judged: %s", aa[0].Baseline, why)
	}
	var parts, bad []string
	for _, v := range aa {
		parts = append(parts, control(v))
		if judgedControl(v) && !clean(v) {
			bad = append(bad, find(v.Metric).label)
		}
	}
	finding := "none differs by what a verdict needs, as it must"
	if len(bad) > 0 {
		finding = fmt.Sprintf("NOT CLEAN for %s, and only a difference beyond that stands", strings.Join(bad, ", "))
	}
	return fmt.Sprintf("%s against its own copy: %s; %s", aa[0].Baseline, strings.Join(parts, ", "), finding)
}
