package judge

import (
	"cmp"
	"math"

	"schedlab/internal/record"
	"schedlab/internal/stats"
	"schedlab/internal/timeline"
)

// RequestsFor returns how many requests a window must expect so that it rarely has too few for
// quantile q. q is in 0..1. The result is runMargin times [stats.MinRequests].
func RequestsFor(q float64) float64 {
	const slack = 1e-9 // 1.1 x 100 is above 110 in binary
	return runMargin * float64(stats.MinRequests(q)) * (1 - slack)
}

// lowestRate returns the lowest rate of all open loops, in requests per second. It is +Inf if all
// arms are closed loops: their rate is not known in advance.
func lowestRate(p record.Plan) float64 {
	lowest := math.Inf(1)
	for _, a := range p.Arms {
		if !a.Clients.Closed() {
			lowest = min(lowest, a.Clients.Rate)
		}
	}
	return lowest
}

// JudgedQuantiles tells for each quantile, by metric name, whether the plan's windows should hold
// enough requests to judge it. The plan tells it before anything runs. For closed loops see
// carried.
func JudgedQuantiles(p record.Plan) map[string]bool {
	judged := map[string]bool{}
	for _, m := range stats.Quantiles() {
		judged[m.Name] = lowestRate(p)*p.Window >= RequestsFor(m.Quantile)
	}
	return judged
}

// Accounts reports whether an arm's server stamps the requests of its clients. Only our own
// servers stamp. With a deep pipeline a server has no room for the stamps.
func Accounts(p record.Plan, arm string) bool {
	a := planned(p, arm)
	if a == nil || a.Mode == "" || a.Clients.Pipeline > timeline.MaxPending {
		return false
	}
	stamps := cmp.Or(a.Stamps, p.Stamps)
	return stamps != "" && stamps != record.StampsOff
}
