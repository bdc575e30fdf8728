// Package attack sums up what became of an attack on one server. It sends nothing, and
// compares nothing.
package attack

import (
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
)

// SumUpOpen fills in what became of an open loop of o over a time. leftOut is what of an access
// log was not replayed, "" for nothing.
func SumUpOpen(sum *record.Attack, o load.Options, over time.Duration, result *load.Result, leftOut string) {
	sumUp(sum, result)
	if leftOut != "" {
		doubt(sum, record.Fact{Code: record.LogLinesLeftOut, Names: record.Names{"said": leftOut}})
	}
	if o.Idle > 0 {
		i := result.Idle
		sum.Idle = &record.IdleConns{Asked: o.Idle, Opened: i.Opened, Answered: i.Answered, Lost: i.Lost, FirstLost: i.FirstLost.Seconds()}
	}
	noteGenerator(sum, result.Proof, float64(len(o.Trace.At))/over.Seconds())
}

// SumUpClosed fills in what became of a closed loop of o.
func SumUpClosed(sum *record.Attack, o load.ClosedOptions, closed *load.ClosedResult) {
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
