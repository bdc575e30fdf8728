package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"schedlab/internal/record"
)

// disturbed says what disturbed the windows, over all arms, in a line: it is in the
// intervals. "" when nothing is known.
func disturbed(arms []record.Arm) string {
	var parts []string
	say := func(name string, of func(d *record.Disturbed) (float64, bool), write func(float64) string) {
		low, high := math.Inf(1), math.Inf(-1)
		for _, a := range arms {
			if a.Disturbed == nil {
				continue
			}
			if v, ok := of(a.Disturbed); ok {
				low, high = min(low, v), max(high, v)
			}
		}
		switch {
		case low > high:
		case write(low) == write(high):
			parts = append(parts, name+" "+write(low))
		default:
			parts = append(parts, name+" "+write(low)+" to "+write(high))
		}
	}
	for _, q := range []string{"p50", "p99"} {
		say("load late at "+q, func(d *record.Disturbed) (float64, bool) { v, ok := d.Late[q]; return v, ok }, seconds)
	}
	share := func(v float64) string { return fmt.Sprintf("%.1f%s%%", 100*v, nbsp) }
	known := func(v float64) (float64, bool) { return v, v >= 0 }
	say("other programs on the server's CPUs", func(d *record.Disturbed) (float64, bool) { return known(d.Foreign) }, share)
	say("steal", func(d *record.Disturbed) (float64, bool) { return known(d.Steal) }, share)
	say("throttled", func(d *record.Disturbed) (float64, bool) { return known(d.Throttled) }, share)
	if len(parts) == 0 {
		return ""
	}
	quiet := slices.Index(parts, "throttled 0.0"+nbsp+"%")
	if quiet >= 0 {
		parts = slices.Delete(parts, quiet, quiet+1)
	}
	return "medians of the arms, in the intervals: " + strings.Join(parts, ", ")
}
