package load

import (
	"time"

	"schedlab/internal/record"
)

// SumSessions sums up the sessions of a closed loop.
func SumSessions(all []Session) *record.Sessions {
	var sum record.Sessions
	h := record.NewHistogram()
	for _, s := range all {
		sum.Good += s.Good
		sum.Failed += s.Failed
		if s.Broken {
			sum.Broken++
			continue
		}
		sum.Complete++
		h.Record(time.Duration(s.Ended - s.Began))
	}
	sum.Duration = h.Quantiles()
	return &sum
}
