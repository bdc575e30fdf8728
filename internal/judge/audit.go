package judge

import (
	"math"

	"schedlab/internal/record"
)

// audit returns, for each queueing law, the valid window that came nearest to breaking it, and the
// number of windows checked. The laws are in the order in which they were first found.
//
// A window that broke a law is not valid (see validate), so this list shows how close the others
// came.
func (b blocks) audit() (laws []record.Law) {
	type place struct {
		at   int // index in laws
		near float64
	}
	found := map[string]place{} // by rule
	for _, block := range b.valid {
		for _, a := range b.run.Plan.Arms {
			w := b.windows[block][a.Name]
			for _, l := range w.Laws(serverCPUs(b.run.Env)) {
				worst, known := found[l.Rule()]
				if !known {
					worst = place{len(laws), -1}
					laws = append(laws, record.Law{Name: l.Name, Unit: l.Unit})
				}
				sum := &laws[worst.at]
				sum.Windows++
				// A law with limit 0 is kept exactly, so any value above 0 would be far from it.
				if near := l.Value / max(l.Limit, math.SmallestNonzeroFloat32); near > worst.near {
					worst.near = near
					sum.Arm, sum.Block, sum.Value, sum.Limit = a.Name, block, l.Value, l.Limit
				}
				found[l.Rule()] = worst
			}
		}
	}
	return laws
}
