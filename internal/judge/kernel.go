package judge

import (
	"math"
	"slices"

	"schedlab/internal/stats"
)

// kernel are an arm's context switches a request, the median of its valid windows,
// and the connections that found an accept queue full in all of them; nil for what
// is not known of one.
func (j *Judge) kernel(arm string) (switches, overflows *float64) {
	s, o := j.series(arm, "switches"), j.series(arm, "overflows")
	if len(s) > 0 && !slices.ContainsFunc(s, math.IsNaN) {
		switches = new(stats.Median(s))
	}
	if len(o) > 0 && !slices.ContainsFunc(o, math.IsNaN) {
		overflows = new(float64)
		for _, v := range o {
			*overflows += v
		}
	}
	return switches, overflows
}
