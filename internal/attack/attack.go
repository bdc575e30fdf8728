// Package attack sums up what became of an attack on one server. It sends nothing, and
// compares nothing.
package attack

import (
	"slices"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
)

// The wait for a connection may be so much of the requests' time, or concern so few of
// them, that more connections would change nothing.
const (
	waitShare   = .1
	waitedShare = .01
)

// SumUpOpen fills in what became of an open loop of o over a time. leftOut is what of an access
// log was not replayed, "" for nothing.
func SumUpOpen(sum *record.Attack, o load.Options, over time.Duration, result *load.Result, leftOut string) {
	sumUp(sum, result, func(i int) load.Mark {
		s := result.Stamps[i]
		return load.Mark{Ready: s.Ready, Wrote: s.Wrote}
	})
	if leftOut != "" {
		doubt(sum, record.Fact{Code: record.LogLinesLeftOut, Names: record.Names{"said": leftOut}})
	}
	if o.Idle > 0 {
		i := result.Idle
		sum.Idle = &record.IdleConns{Asked: o.Idle, Opened: i.Opened, Answered: i.Answered, Lost: i.Lost, FirstLost: i.FirstLost.Seconds()}
	}
	noteGenerator(sum, result.Proof, float64(len(o.Trace.At))/over.Seconds())
}

// SumUpClosed fills in what became of a closed loop of o, and returns its requests as those
// of any attack.
func SumUpClosed(sum *record.Attack, o load.ClosedOptions, closed load.ClosedResult) *load.Result {
	result := &load.Result{
		Requests: closed.Requests, Start: closed.Start, Dialled: closed.Dialled, Exhausted: closed.Exhausted,
		ConnAnswers: closed.ConnAnswers, Asked: closed.Asked, Starved: closed.Starved, FirstReply: closed.FirstReply, Proof: closed.Proof,
	}
	sum.Offered, sum.Connections = o.Rate, o.Connections
	sumUp(sum, result, func(i int) load.Mark { return closed.Marks[i] })
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
		doubt(sum, record.Fact{Code: record.AttackClosedLoop})
	}
	noteGenerator(sum, closed.Proof, o.Rate)
	return result
}

// sumUp fills in what became of an attack. mark is the client's note on a
// request. What was never sent is in no figure but Scheduled, and what the
// attack's end cut off is no failure of the server's.
func sumUp(sum *record.Attack, result *load.Result, mark func(i int) load.Mark) {
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
	*sum = summarise(*sum, &sent, ended)
	sum.Scheduled, sum.Failed, sum.CutOff = len(result.Requests), ended-sum.Outcomes[record.Answered.String()], cut
	if sum.FirstError = -1; first >= 0 {
		sum.FirstError = time.Duration(first).Seconds()
	}
	sum.Connect, sum.Service = connect.Quantiles(), service.Quantiles()
	sum.Waited = result.Waited
	if cut > 0 {
		doubt(sum, record.Fact{Code: record.AttackCutOff, Values: record.Values{"requests": float64(cut)}})
	}
	if share := sum.Connect.Mean / (sum.Connect.Mean + sum.Service.Mean); float64(sum.Waited) > waitedShare*float64(sum.Sent) && share > waitShare {
		doubt(sum, record.Fact{Code: record.AttackCrowded, Values: record.Values{
			"waited": float64(sum.Waited), "sent": float64(sum.Sent), "share": share,
		}})
	}
}
