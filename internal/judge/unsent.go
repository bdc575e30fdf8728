package judge

import (
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// unsentShare is the share of its paced requests that an arm never sent, its median over the
// valid blocks. Not the load's fault, which would be in its CPU time: a client that
// waits for a reply cannot send. But requests that were not sent have no times.
func (j *Judge) unsentShare(arm string) float64 {
	if unsent := stats.Median(j.series(arm, "unsent")); unsent > unsentLimit {
		return unsent
	}
	return 0
}

// doubtUnsent says of which arms requests are missing so.
func (j *Judge) doubtUnsent() {
	for _, a := range j.run.Plan.Arms {
		if unsent := j.unsentShare(a.Name); unsent > 0 && a.Role != record.Copy {
			j.doubt(record.Fact{Code: record.UnsentRequests, Arm: a.Name, Values: record.Values{"share": unsent, "rate": a.Clients.Rate}})
		}
	}
}
