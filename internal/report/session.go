package report

import (
	"fmt"
	"strings"

	"schedlab/internal/record"
)

// sessions says how long they took, a line for each arm that had any.
func sessions(arms []record.Arm) (lines []string) {
	for _, a := range arms {
		s := a.Sessions
		if s == nil {
			continue
		}
		parts := []string{fmt.Sprintf("%s: %s complete, %s broken", a.Name, count(s.Complete), count(s.Broken))}
		few := "p50"
		if s.P50 != nil {
			took := "first request to last answer p50 " + seconds(*s.P50)
			if few = "p90"; s.P90 != nil {
				took += ", p90 " + seconds(*s.P90)
			}
			parts = append(parts, took)
		}
		if s.P90 == nil {
			parts = append(parts, fmt.Sprintf("too few for %s (%s in a window)", few, count(s.PerWindow)))
		}
		lines = append(lines, strings.Join(parts, "; "))
	}
	return lines
}
