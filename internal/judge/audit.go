package judge

import (
	"math"

	"schedlab/internal/record"
)

// audit notes of each law the valid window that came nearest to breaking it.
func (j *Judge) audit() {
	type place struct {
		at   int // in the result
		near float64
	}
	found := map[string]place{} // by rule
	for _, block := range j.valid {
		for _, a := range j.run.Plan.Arms {
			w := j.windows[block][a.Name]
			for _, l := range w.Laws(serverCPUs(j.run.Env)) {
				worst, known := found[l.Rule()]
				if !known {
					worst = place{len(j.result.Laws), -1}
					j.result.Laws = append(j.result.Laws, record.Law{Name: l.Name, Unit: l.Unit})
				}
				sum := &j.result.Laws[worst.at]
				sum.Windows++
				if near := l.Value / max(l.Limit, math.SmallestNonzeroFloat32); near > worst.near {
					worst.near = near
					sum.Arm, sum.Block, sum.Value, sum.Limit = a.Name, block, l.Value, l.Limit
				}
				found[l.Rule()] = worst
			}
		}
	}
}
