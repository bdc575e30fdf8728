package report

import (
	"fmt"

	"schedlab/internal/record"
)

// sessions says how long they took, a line for each arm that had any.
func sessions(arms []record.Arm) (lines []string) {
	for _, a := range arms {
		s := a.Sessions
		if s == nil {
			continue
		}
		text := fmt.Sprintf("%s: %s complete, %s broken", a.Name, count(s.Complete), count(s.Broken))
		if s.P50 != nil {
			text += "; first request to last answer"
		}
		for i, q := range []struct {
			name  string
			value *float64
		}{{"p50", s.P50}, {"p90", s.P90}} {
			if q.value == nil {
				text += fmt.Sprintf("; too few for %s (%s in a window)", q.name, count(s.PerWindow))
				break
			}
			text += [...]string{" ", ", "}[i] + q.name + " " + seconds(*q.value)
		}
		lines = append(lines, text)
	}
	return lines
}
