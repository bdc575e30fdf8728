package expect

import (
	"slices"

	"schedlab/internal/record"
	"schedlab/internal/timeline"
)

// PhaseNames returns the phases that an expectation may ask the mean time of: the parts of a
// response time, the shares of service, and the stretches of both that the report shows. Each name
// is there once.
func PhaseNames() (names []string) {
	for part := range timeline.NumParts {
		names = append(names, part.String())
	}
	names = append(names, record.PhaseCPU, record.PhaseSleep, record.PhaseRest, record.PhaseHandler)
	for _, st := range record.Stretches() {
		if !slices.Contains(names, st.Name) {
			names = append(names, st.Name)
		}
	}
	return names
}
