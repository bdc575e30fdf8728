// Package attack plans the requests of an attack on one server and their times, writes the
// attack's files, and sums up its results. It sends no requests and compares no servers.
package attack

import (
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
)

// SumUpOpen fills sum with the results of an open loop that ran with the options o. over is the
// planned duration. leftOut names the lines of an access log that were not replayed, "" for none.
func SumUpOpen(sum *record.Attack, o load.Options, over time.Duration, result *load.Result, leftOut string) {
	sumUp(sum, result)
	if leftOut != "" {
		doubt(sum, record.Fact{Code: record.LogLinesLeftOut, Names: record.Names{"said": leftOut}})
	}
	if o.Idle > 0 {
		sum.Idle = &result.Idle
	}
	noteGenerator(sum, result.Proof, float64(len(o.Trace.At))/over.Seconds())
}

// SumUpClosed fills sum with the results of a closed loop that ran with the options o. It
// raises a doubt if the loop had no rate (o.Rate is 0).
func SumUpClosed(sum *record.Attack, o load.Options, closed *load.ClosedResult) {
	sum.Offered, sum.Connections = o.Rate, o.Connections
	sumUp(sum, &closed.Result)
	if sum.CutOff = closed.Cut.Requests; sum.CutOff > 0 {
		sum.Scheduled += sum.CutOff
		sum.Sent += sum.CutOff
		sum.Outcomes[record.Cut.String()] = sum.CutOff
	}
	sum.Goodput, sum.SentRate = closed.Rate(), 0
	if closed.Elapsed > 0 {
		sum.SentRate = float64(closed.Answered+closed.Failed) / closed.Elapsed.Seconds()
	}
	if o.Session > 0 {
		sum.Sessions = load.SumSessions(closed.Sessions)
	}
	if o.Rate == 0 {
		doubt(sum, record.Fact{Code: attackClosedLoop})
	}
	noteGenerator(sum, closed.Proof, o.Rate)
}
