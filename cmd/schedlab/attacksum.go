package main

import (
	"slices"
	"time"

	"schedlab/internal/experiment"
	"schedlab/internal/load"
	"schedlab/internal/record"
)

// The wait for a connection may be so much of the requests' time, or concern so few of
// them, that more connections would change nothing.
const (
	waitShare   = .1
	waitedShare = .01
)

// summarise fills in what became of an attack. mark is the client's note on a
// request. What was never sent is in no figure but Scheduled, and what the
// attack's end cut off is no failure of the server's.
func summarise(sum *record.Attack, result *load.Result, mark func(i int) load.Mark) {
	sent := *result
	if i := slices.IndexFunc(result.Requests, func(r record.Request) bool { return r.Sent < 0 }); i >= 0 {
		sent.Requests = result.Requests[:i] // requests are sent in order
	}
	cut, first := 0, int64(-1)
	connect, service := record.NewHistogram(), record.NewHistogram()
	for i, r := range sent.Requests {
		switch {
		case r.Outcome == record.Cut:
			cut++
		case !r.Good() && (first < 0 || r.Done < first):
			first = r.Done
		}
		m := mark(i)
		if m.Ready == 0 { // it never had one
			m.Ready = r.Done
		}
		connect.Record(time.Duration(m.Ready - r.Sent))
		if m.Wrote > 0 {
			service.Record(time.Duration(r.Done - m.Wrote))
		}
	}
	ended := len(sent.Requests) - cut
	*sum = experiment.Summarise(*sum, &sent, ended)
	sum.Scheduled, sum.Failed, sum.CutOff = len(result.Requests), ended-sum.Outcomes[record.Answered.String()], cut
	if sum.FirstError = -1; first >= 0 {
		sum.FirstError = time.Duration(first).Seconds()
	}
	sum.Connect, sum.Service = connect.Quantiles(), service.Quantiles()
	sum.Waited = result.Waited
	if cut > 0 {
		doubt(sum, "%d requests were under way when the attack was stopped; each counts with the time it had had by then, at least", cut)
	}
	if share := sum.Connect.Mean / (sum.Connect.Mean + sum.Service.Mean); float64(sum.Waited) > waitedShare*float64(sum.Sent) && share > waitShare {
		doubt(sum, "%d of %d requests waited for a free connection: %.0f %% of their time passed in the client's own queue, which the service times leave out; raise --connections (-c) to have them wait at the server",
			sum.Waited, sum.Sent, 100*share)
	}
}
