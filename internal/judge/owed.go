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
			j.doubt(a.Name, "its paced clients did not send %.0f %% of the %.0f requests/s planned, while they waited for replies: its goodput is of what was sent, and those never sent are in no figure", 100*owed, a.Clients.Rate)
		}
	}
}
