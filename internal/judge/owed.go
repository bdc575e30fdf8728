package judge

import (
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// owed is the share of its paced requests that an arm never sent, its median over the
// valid blocks. Not the load's fault, which would be in its CPU time: a client that
// waits for a reply cannot send. But requests that were not sent have no times.
func (j *Judge) owed(arm string) float64 {
	if owed := stats.Median(j.series(arm, "owed")); owed > owedLimit {
		return owed
	}
	return 0
}

// doubtOwed says of which arms requests are missing so.
func (j *Judge) doubtOwed() {
	for _, a := range j.run.Plan.Arms {
		if owed := j.owed(a.Name); owed > 0 && a.Role != record.Copy {
			j.doubt(record.Fact{Code: record.UnsentRequests, Arm: a.Name, Values: record.Values{"share": owed, "rate": a.Clients.Rate}})
		}
	}
}
