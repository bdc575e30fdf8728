package judge

import (
	"math"

	"schedlab/internal/record"
	"schedlab/internal/window"
)

// audit returns, for each queueing law, the valid window that came nearest to breaking it, and the
// number of windows checked. The laws are in the order in which they were first found.
//
// A window that broke a law is not valid (see validate), so this list shows how close the others
// came.
func (b blocks) audit() (laws []record.Law) {
	places := map[string]int{} // in laws, by rule
	// A law with limit 0 is kept exactly, so any value above 0 would be far from it.
	near := func(l record.Law) float64 { return l.Value / max(l.Limit, math.SmallestNonzeroFloat32) }
	for _, block := range b.valid {
		for _, a := range b.run.Plan.Arms {
			w := b.windows[block][a.Name]
			for _, l := range w.Laws(serverCPUs(b.run.Env)) {
				at, known := places[window.RuleOf(l)]
				if !known {
					at, laws = len(laws), append(laws, record.Law{})
					places[window.RuleOf(l)] = at
				}
				windows := laws[at].Windows + l.Windows
				if !known || near(l) > near(laws[at]) {
					laws[at] = l
				}
				laws[at].Windows = windows
			}
		}
	}
	return laws
}
