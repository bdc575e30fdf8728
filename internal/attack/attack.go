// Package attack plans the requests of an attack on one server and their times, writes the
// attack's files, and sums up its results. It sends no requests and compares no servers.
//
// An attack takes this way: Asked or Logged make its targets (asked.go), a Timetable draws its arrivals
// (timetable.go), OpenFiles makes its output files before the load starts (files.go), and SumUpOpen or
// SumUpClosed reduce the results to a record.Attack with its doubts. The load itself is internal/load.
package attack

import (
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// SumUpOpen fills sum with the results of an open loop that ran with the options o. over is the
// planned duration. leftOut names the lines of an access log that were not replayed, "" for none.
//
// The caller has set the fields that tell what was asked: Loop, Status, Offered, Timeout, Duration and
// the like. SumUpOpen overwrites Doubts. Doubts are in the order in which they are found.
func SumUpOpen(sum *record.Attack, o load.Options, over time.Duration, result *load.Result, leftOut string) {
	sumUp(sum, result)
	if leftOut != "" {
		doubt(sum, record.Fact{Code: record.LogLinesLeftOut, Names: record.Names{"said": leftOut}})
	}
	if o.Idle > 0 {
		sum.Idle = &result.Idle
	}
	// The rate to be sent is the schedule over the planned duration.
	noteGenerator(sum, result.Proof, float64(len(o.Trace.At))/over.Seconds())
}

// SumUpClosed fills sum with the results of a closed loop that ran with the options o. It
// raises a doubt if the loop had no rate (o.Rate is 0).
func SumUpClosed(sum *record.Attack, o load.Options, closed *load.ClosedResult) {
	sum.Offered, sum.Connections = o.Rate, o.Connections
	sumUp(sum, &closed.Result)
	// The requests in flight at the end are not in closed.Requests, so sumUp has not counted them.
	if sum.CutOff = closed.Cut.Requests; sum.CutOff > 0 {
		sum.Scheduled += sum.CutOff
		sum.Sent += sum.CutOff
		sum.Outcomes[record.Cut.String()] = sum.CutOff
	}
	// In a closed loop both rates are over the measured time only, without the warm-up.
	sum.Goodput, sum.SentRate = closed.Rate(), 0
	if closed.Elapsed > 0 {
		sum.SentRate = float64(closed.Answered+closed.Failed) / closed.Elapsed.Seconds()
	}
	if o.Session > 0 {
		sum.Sessions = load.SumSessions(closed.Sessions)
	}
	// Without a rate a slow server is sent less (coordinated omission), so the times flatter it.
	if o.Rate == 0 {
		doubt(sum, record.Fact{Code: attackClosedLoop})
	}
	noteGenerator(sum, closed.Proof, o.Rate)
}

// Beyond these limits noteFate raises a doubt about the results.
const (
	lagDoubt   = time.Millisecond // p99 of the generator's lag
	unanswered = .001             // ratio of requests without a reply, or with an error reply

	// Waiting for a free connection is doubted only when both limits are passed. Below either,
	// more connections would change nothing.
	waitShare   = .1  // ratio of the requests' time that passed in that wait
	waitedShare = .01 // ratio of requests that waited
)

// sumUp fills a with the results of an attack. Requests that were never sent count in Scheduled
// only. Requests that the end of the attack cut off are not counted as failures of the server.
func sumUp(a *record.Attack, result *load.Result) {
	a.Schema, a.Started = record.Schema, result.Start.UTC()
	a.Scheduled, a.Dialled, a.Waited = len(result.Requests), result.Dialled, result.Waited
	a.Outcomes, a.Statuses, a.FirstError, a.Doubts = map[string]int{}, map[uint16]int{}, -1, []record.Fact{}
	response, good, lag := record.NewHistogram(), record.NewHistogram(), record.NewHistogram()
	connect, service := record.NewHistogram(), record.NewHistogram()
	var lastGood, lastSent int64
	for i, r := range result.Requests {
		if r.Sent < 0 {
			break // requests are sent in order, and the attack was stopped before this one
		}
		a.Sent++
		lastSent = max(lastSent, r.Sent)
		a.Outcomes[r.Outcome.String()]++
		a.Bytes += uint64(r.Bytes)
		took, cut := time.Duration(r.Done-r.Scheduled), r.Outcome == record.Cut
		switch {
		case r.Good():
			a.Good++
			good.Record(took)
			lastGood = max(lastGood, r.Done)
		case cut:
			a.CutOff++
		case r.Outcome != record.Answered:
			// A refusal is over in microseconds. Counted as such, a server could look fast by refusing.
			took = max(took, record.Duration(a.Timeout))
		}
		if r.Outcome == record.Answered {
			a.Statuses[r.Status]++
		}
		// The first error by time is not the first by index: a later request may fail earlier.
		if failed := time.Duration(r.Done).Seconds(); !r.Good() && !cut && (a.FirstError < 0 || failed < a.FirstError) {
			a.FirstError = failed
		}
		response.Record(took)
		if a.Paced() { // a client of an unpaced loop sends after its reply: it has no schedule to be late for
			lag.Record(time.Duration(r.Sent - r.Scheduled))
		}
		s := result.Stamps[i]
		// All its time passed in waiting for a connection, or in opening one.
		if s.Ready == 0 { // the request never got a connection
			s.Ready = r.Done
		}
		connect.Record(time.Duration(s.Ready - r.Sent))
		// A request that was never written has no service time.
		if s.Wrote > 0 {
			service.Record(time.Duration(r.Done - s.Wrote))
		}
	}
	a.Failed = a.Sent - a.CutOff - a.Outcomes[record.Answered.String()]
	a.Response, a.GoodResponse, a.Lag = response.Quantiles(), good.Quantiles(), lag.Quantiles()
	a.Connect, a.Service = connect.Quantiles(), service.Quantiles()
	if a.Sent > 0 {
		// A complete attack has sent until its planned end, even if the last request came earlier. One
		// that was interrupted has sent until its last request.
		until := time.Duration(lastSent).Seconds()
		if a.Status != record.Interrupted {
			until = max(until, a.Duration)
		}
		a.SentRate = float64(a.Sent) / until
		a.Goodput = float64(a.Good) / max(until, time.Duration(lastGood).Seconds())
	}
	// Jain's index is (Σx)² / (n Σx²): 1 if all connections got the same number of replies.
	answers := make([]float64, len(result.ConnAnswers))
	for i, n := range result.ConnAnswers {
		answers[i] = float64(n)
	}
	a.Asked, a.Starved = result.Asked, result.Starved
	a.Jain, a.FirstReply = stats.Jain(answers), result.FirstReply.Seconds()
	noteFate(a, result)
}

// noteFate adds the doubts that follow from the outcomes of the requests.
//
// Each doubt has a limit, so that a few odd requests among thousands raise none.
func noteFate(a *record.Attack, result *load.Result) {
	add := func(code record.Code, values record.Values) { doubt(a, record.Fact{Code: code, Values: values}) }
	// Requests that were cut off had no chance to end, so ratios are of the others.
	ended, answered := a.Sent-a.CutOff, a.Outcomes[record.Answered.String()]
	if a.Starved > 0 {
		add(attackStarved, record.Values{"starved": float64(a.Starved), "asked": float64(a.Asked)})
	}
	if float64(a.Failed) > unanswered*float64(ended) {
		add(attackLost, record.Values{"lost": float64(a.Failed), "scheduled": float64(ended), "timeout": a.Timeout})
	}
	if bad := answered - a.Good; float64(bad) > unanswered*float64(ended) {
		add(attackFailed, record.Values{"failed": float64(bad)})
	}
	if p99 := record.Duration(a.Lag.P99); p99 > lagDoubt {
		add(attackLate, record.Values{"lag": p99.Round(10 * time.Microsecond).Seconds()})
	}
	if result.Exhausted > 0 {
		add(attackExhausted, record.Values{"connections": float64(result.Exhausted)})
	}
	// With fewer requests p99 rests on a handful of them.
	if a.Sent < stats.MinRequests(.99) {
		add(attackShort, record.Values{"sent": float64(a.Sent), "needed": float64(stats.MinRequests(.99))})
	}
	if a.CutOff > 0 {
		add(attackCutOff, record.Values{"requests": float64(a.CutOff)})
	}
	if share := a.Connect.Mean / (a.Connect.Mean + a.Service.Mean); float64(a.Waited) > waitedShare*float64(a.Sent) && share > waitShare {
		add(attackCrowded, record.Values{"waited": float64(a.Waited), "sent": float64(a.Sent), "share": share})
	}
}

// Beyond these limits noteGenerator raises a doubt about the generator.
const (
	missedRate = .01 // ratio of the wanted rate that was not sent
	stoodStill = .01 // lag of a single request, seconds
	awayMost   = .05 // ratio of the time in which others kept a spinning engine from its CPU
	fullFrom   = .95 // ratio of the time in which the engine was busy: above it, the engine is at its limit
)

// noteGenerator adds the generator's figures to sum, and the doubts that follow from them. wanted
// is the rate to be sent, in requests per second; 0 when no rate was set.
//
// All these doubts are about the load's side: they say how far the times can be trusted, and nothing
// about the server.
func noteGenerator(sum *record.Attack, p load.Proof, wanted float64) {
	sum.Generator = &record.Generator{
		Planned: p.Planned, Rest: p.Rest, CPU: p.CPU, Busy: p.Busy, GCs: p.GCs, Paused: p.Paused,
		LongestPause: p.LongestPause, LongestLag: p.LongestLag, LagAt: p.LagAt,
		LongestGap: p.LongestGap, Away: p.Away, ReadLate: p.ReadLate,
	}
	// An interrupted attack has naturally sent less.
	if sum.SentRate < wanted*(1-missedRate) && sum.Status == record.Complete {
		doubt(sum, record.Fact{Code: attackRateMissed, Values: record.Values{"wanted": wanted, "sent": sum.SentRate}, Names: record.Names{"loop": sum.Loop}})
	}
	// In a closed loop with a rate, lag is also the wait of a client for its last reply.
	if p.LongestLag > stoodStill && sum.Loop == "open" {
		doubt(sum, record.Fact{Code: attackStoodStill, Values: record.Values{
			"at": record.Duration(p.LagAt).Round(time.Millisecond).Seconds(), "late": record.Duration(p.LongestLag).Round(time.Millisecond).Seconds(),
		}})
	}
	if share := p.Away / max(p.Elapsed, 1e-9); share > awayMost {
		doubt(sum, record.Fact{Code: attackKeptAway, Values: record.Values{"share": share}})
	}
	// Only the engine spin has a Rest. The Busy of vegeta is CPU time, and means something else.
	if p.Rest != "" && p.Busy > fullFrom {
		doubt(sum, record.Fact{Code: attackAtLimit, Values: record.Values{"share": p.Busy}})
	}
	if i := sum.Idle; i != nil && (i.Lost > 0 || i.Answered < i.Asked) {
		doubt(sum, record.Fact{Code: attackIdleLost, Values: record.Values{
			"asked": float64(i.Asked), "answered": float64(i.Answered), "lost": float64(i.Lost),
		}})
	}
}

// doubt adds a fact to the attack's doubts.
func doubt(sum *record.Attack, f record.Fact) { sum.Doubts = append(sum.Doubts, f) }
