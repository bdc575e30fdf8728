package experiment

import (
	"math"

	"schedlab/internal/record"
)

// audit notes of each law the valid window that came nearest to breaking it.
func (j *judge) audit() {
	type place struct {
		at   int // in the result
		near float64
	}
	found := map[string]place{} // by rule
	for _, block := range j.valid {
		for _, a := range j.run.Plan.Arms {
			w := j.windows[block][a.Name]
			for _, l := range w.laws(serverCPUs(j.run.Env)) {
				worst, known := found[l.rule()]
				if !known {
					worst = place{len(j.result.Laws), -1}
					j.result.Laws = append(j.result.Laws, record.Law{Name: l.name, Unit: l.unit})
				}
				sum := &j.result.Laws[worst.at]
				sum.Windows++
				if near := l.value / max(l.limit, math.SmallestNonzeroFloat32); near > worst.near {
					worst.near = near
					sum.Arm, sum.Block, sum.Value, sum.Limit = a.Name, block, l.value, l.limit
				}
				found[l.rule()] = worst
			}
		}
	}
}
