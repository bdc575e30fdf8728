// Package attack plans the requests of an attack on one server and their times, writes the
// attack's files, and sums up its results. It sends no requests and compares no servers.
//
// An attack takes this way: Asked or Logged make its targets and a Timetable draws its arrivals (plan.go),
// OpenFiles makes its output files before the load starts (files.go), and a Tally reduces the
// results to a record.Attack with its doubts. The load itself is internal/load.
package attack

import (
	"fmt"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// A Tally sums up the requests of an attack as they end, so that they need not be kept. Make one with
// NewTally, add every request that was sent, and end with EndOpen or EndClosed. It is not safe for
// concurrent use.
type Tally struct {
	sum                                   *record.Attack
	response, good, lag, connect, service *record.Histogram
	lastGood, lastSent                    int64         // nanoseconds from the attack's start
	next                                  time.Duration // when the next line of SoFar is due, from the attack's start
}

// NewTally returns an empty tally that fills sum. The caller has set the fields that tell what was
// asked: Loop, Status, Offered, Timeout, Duration and the like.
func NewTally(sum *record.Attack) *Tally {
	sum.Outcomes, sum.Statuses, sum.FirstError, sum.Doubts = map[string]int{}, map[uint16]int{}, -1, []record.Fact{}
	h := record.NewHistogram
	return &Tally{sum: sum, response: h(), good: h(), lag: h(), connect: h(), service: h()}
}

// Add counts a request that was sent, with the client's stamps. A request that the end of the attack
// cut off is not counted as a failure of the server.
func (t *Tally) Add(r record.Request, s record.Stamps) {
	a := t.sum
	a.Sent++
	t.lastSent = max(t.lastSent, r.Sent)
	a.Outcomes[r.Outcome.String()]++
	a.Bytes += uint64(r.Bytes)
	took, cut := time.Duration(r.Done-r.Scheduled), r.Outcome == record.Cut
	switch {
	case r.Good():
		a.Good++
		t.good.Record(took)
		t.lastGood = max(t.lastGood, r.Done)
	case cut:
		a.CutOff++
	case r.Outcome != record.Answered:
		// A refusal is over in microseconds. Counted as such, a server could look fast by refusing.
		took = max(took, record.Duration(a.Timeout))
	}
	if r.Outcome == record.Answered {
		a.Statuses[r.Status]++
	}
	// The first error by time is not the first that was sent: a later request may fail earlier.
	if failed := time.Duration(r.Done).Seconds(); !r.Good() && !cut && (a.FirstError < 0 || failed < a.FirstError) {
		a.FirstError = failed
	}
	t.response.Record(took)
	if a.Paced() { // a client of an unpaced loop sends after its reply: it has no schedule to be late for
		t.lag.Record(time.Duration(r.Sent - r.Scheduled))
	}
	// All its time passed in waiting for a connection, or in opening one.
	if s.Ready == 0 { // the request never got a connection
		s.Ready = r.Done
	}
	t.connect.Record(time.Duration(s.Ready - r.Sent))
	// A request that was never written has no service time.
	if s.Wrote > 0 {
		t.service.Record(time.Duration(r.Done - s.Wrote))
	}
}

// Response returns the distribution of the response times, as the summary has them.
func (t *Tally) Response() *record.Histogram { return t.response }

// soFarEvery is how often SoFar tells how far an attack is.
const soFarEvery = 10 * time.Second

// SoFar returns a line about an attack under way if one is due, else "". It counts the requests that have
// ended, of those that due returns for the time at since the attack's start, which may be an estimate.
// over is how long the attack sends. From a second after that on, the line tells how many replies are
// awaited.
func (t *Tally) SoFar(at, over time.Duration, due func(at time.Duration) (n int, estimate bool)) string {
	if t.next == 0 {
		t.next = lineAfter(0, over)
	}
	if at < t.next {
		return ""
	}
	t.next = lineAfter(at, over)
	ended := t.sum.Sent
	asked, estimate := due(at)
	asked = max(asked, ended)
	lost := ended - t.sum.CutOff - t.sum.Outcomes[record.Answered.String()]
	count := func(n int) string { return prose.Digits(float64(n)) }
	where := fmt.Sprintf("after %v of %v", min(at.Round(time.Second), over), over)
	if at >= over {
		waiting := prose.Plural(asked-ended, "request")
		if estimate {
			waiting = "about " + waiting
		}
		where = fmt.Sprintf("the %v are over, waiting for replies to %s", over, waiting)
	}
	return fmt.Sprintf("%s: %s of %s requests ended, %s without a reply, %s not good; of those that ended p50 %s, p99 %s", where, count(ended), count(asked),
		count(lost), count(ended-lost-t.sum.CutOff-t.sum.Good), prose.Seconds(t.response.Quantile(.5).Seconds()), prose.Seconds(t.response.Quantile(.99).Seconds()))
}

// lineAfter returns when SoFar's next line is due after one at a time, of an attack that sends for over.
func lineAfter(at, over time.Duration) time.Duration {
	next := at.Truncate(soFarEvery) + soFarEvery
	if at < over && next >= over {
		return over + time.Second
	}
	return next
}

// EndOpen completes the sum of an open loop that ran with the options o as the timetable drew it. Doubts
// are in the order in which they are found.
func (t *Tally) EndOpen(o load.Options, drawn *Timetable, result *load.Result) {
	t.sum.Scheduled = result.Proof.Planned
	t.end(result)
	if drawn.Log != nil {
		leftOut := drawn.Log.LeftOut()
		raise(t.sum, doubt{leftOut != "", record.Fact{Code: record.LogLinesLeftOut, Names: record.Names{"said": leftOut}}})
	}
	if o.Idle > 0 {
		t.sum.Idle = &result.Idle
	}
	// The rate to be sent is the schedule over the planned duration. Of a stream that was
	// interrupted, not all of the schedule was drawn.
	wanted := float64(result.Proof.Planned) / drawn.Duration.Seconds()
	if o.Times != nil && t.sum.Status == record.Interrupted {
		wanted = t.sum.Offered
	}
	noteGenerator(t.sum, result.Proof, wanted)
}

// EndClosed completes the sum of a closed loop that ran with the options o. It raises a doubt if the
// loop had no rate (o.Rate is 0).
func (t *Tally) EndClosed(o load.Options, closed *load.ClosedResult) {
	sum := t.sum
	sum.Offered, sum.Connections = o.Rate, o.Connections
	sum.Scheduled = len(closed.Requests)
	t.end(&closed.Result)
	// The requests in flight at the end are not in closed.Requests, so they are not counted yet.
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
	raise(sum, doubt{o.Rate == 0, record.Fact{Code: attackClosedLoop}})
	noteGenerator(sum, closed.Proof, o.Rate)
}

// end fills in the figures that need all requests.
func (t *Tally) end(result *load.Result) {
	a := t.sum
	a.Schema, a.Started = record.Schema, result.Start.UTC()
	a.Dialled, a.Waited = result.Dialled, result.Waited
	a.Failed = a.Sent - a.CutOff - a.Outcomes[record.Answered.String()]
	a.Response, a.GoodResponse, a.Lag = t.response.Quantiles(), t.good.Quantiles(), t.lag.Quantiles()
	a.Connect, a.Service = t.connect.Quantiles(), t.service.Quantiles()
	if a.Sent > 0 {
		// A complete attack has sent until its planned end, even if the last request came earlier. One
		// that was interrupted has sent until its last request.
		until := time.Duration(t.lastSent).Seconds()
		if a.Status != record.Interrupted {
			until = max(until, a.Duration)
		}
		a.SentRate = float64(a.Sent) / until
		a.Goodput = float64(a.Good) / max(until, time.Duration(t.lastGood).Seconds())
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

// Beyond these limits noteFate raises a doubt about the results.
const (
	lagDoubt   = time.Millisecond // p99 of the generator's lag
	unanswered = .001             // ratio of requests without a reply, or with an error reply

	// Waiting for a free connection is doubted only when both limits are passed. Below either,
	// more connections would change nothing.
	waitShare   = .1  // ratio of the requests' time that passed in that wait
	waitedShare = .01 // ratio of requests that waited
)

// noteFate adds the doubts that follow from the outcomes of the requests.
//
// Each doubt has a limit, so that a few odd requests among thousands raise none.
func noteFate(a *record.Attack, result *load.Result) {
	// Requests that were cut off had no chance to end, so ratios are of the others.
	ended, answered := float64(a.Sent-a.CutOff), a.Outcomes[record.Answered.String()]
	lost, bad, p99 := float64(a.Failed), float64(answered-a.Good), record.Duration(a.Lag.P99)
	needed := stats.MinRequests(.99) // with fewer requests p99 rests on a handful of them
	share := a.Connect.Mean / (a.Connect.Mean + a.Service.Mean)
	raise(a,
		doubt{a.Starved > 0, fact(attackStarved, record.Values{"starved": float64(a.Starved), "asked": float64(a.Asked), "served": float64(a.Asked - a.Starved)})},
		doubt{lost > unanswered*ended, fact(attackLost, record.Values{"lost": lost, "scheduled": ended, "timeout": a.Timeout})},
		doubt{bad > unanswered*ended, fact(attackFailed, record.Values{"failed": bad})},
		doubt{p99 > lagDoubt, fact(attackLate, record.Values{"lag": p99.Round(10 * time.Microsecond).Seconds()})},
		doubt{result.Exhausted > 0, fact(attackExhausted, record.Values{"connections": float64(result.Exhausted)})},
		doubt{a.Sent < needed, fact(attackShort, record.Values{"sent": float64(a.Sent), "needed": float64(needed)})},
		doubt{a.CutOff > 0, fact(attackCutOff, record.Values{"requests": float64(a.CutOff)})},
		doubt{float64(a.Waited) > waitedShare*float64(a.Sent) && share > waitShare,
			fact(attackCrowded, record.Values{"waited": float64(a.Waited), "sent": float64(a.Sent), "share": share})},
	)
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
	idle := record.IdleConns{}
	if sum.Idle != nil {
		idle = *sum.Idle
	}
	away := p.Away / max(p.Elapsed, 1e-9)
	raise(sum,
		// An interrupted attack has naturally sent less.
		doubt{sum.SentRate < wanted*(1-missedRate) && sum.Status == record.Complete, record.Fact{Code: attackRateMissed,
			Values: record.Values{"wanted": wanted, "sent": sum.SentRate}, Names: record.Names{"loop": sum.Loop}}},
		// In a closed loop with a rate, lag is also the wait of a client for its last reply.
		doubt{p.LongestLag > stoodStill && sum.Loop == "open", fact(attackStoodStill, record.Values{
			"at": record.Duration(p.LagAt).Round(time.Millisecond).Seconds(), "late": record.Duration(p.LongestLag).Round(time.Millisecond).Seconds(),
		})},
		doubt{away > awayMost, fact(attackKeptAway, record.Values{"share": away})},
		// Only the engine spin has a Rest. The Busy of vegeta is CPU time, and means something else.
		doubt{p.Rest != "" && p.Busy > fullFrom, fact(attackAtLimit, record.Values{"share": p.Busy})},
		doubt{idle.Lost > 0 || idle.Answered < idle.Asked, fact(attackIdleLost, record.Values{
			"asked": float64(idle.Asked), "answered": float64(idle.Answered), "lost": float64(idle.Lost),
		})},
	)
}

// A doubt is a fact that holds if raised is true.
type doubt struct {
	raised bool
	record.Fact
}

func fact(code record.Code, values record.Values) record.Fact {
	return record.Fact{Code: code, Values: values}
}

// raise adds the doubts that are raised to the attack's, in their order.
func raise(sum *record.Attack, doubts ...doubt) {
	for _, d := range doubts {
		if d.raised {
			sum.Doubts = append(sum.Doubts, d.Fact)
		}
	}
}

// Doubts about an attack.
var (
	attackStarved    = record.Sentence("attack-starved", `{{count .Values.starved}} of {{count .Values.asked}} connections starved: they waited for an answer in vain. If a worker of the server keeps its connection (mode pool), start it with --workers {{count .Values.asked}} or --mode pool-requeue, or send over {{count .Values.served}} (-c)`)
	attackLost       = record.Sentence("attack-lost", `{{count .Values.lost}} of {{count .Values.scheduled}} requests got no reply; each counts as the timeout, {{time .Values.timeout}}, at least`)
	attackFailed     = record.Sentence("attack-failed", `{{count .Values.failed}} replies were errors; the response times include them, and the good replies are also listed alone`)
	attackLate       = record.Sentence("attack-late", `the generator was late: lag p99 {{time .Values.lag}}; it is in every response time, so give the load a CPU of its own`)
	attackExhausted  = record.Sentence("attack-exhausted", `{{plural .Values.connections "connection"}} could not be opened for want of local ports or descriptors: the generator's limit, not the server's`)
	attackShort      = record.Sentence("attack-short", `too few requests for p99: {{count .Values.sent}} sent, of {{count .Values.needed}} that it needs`)
	attackCrowded    = record.Sentence("attack-crowded", `{{count .Values.waited}} of {{count .Values.sent}} requests waited for a free connection: {{percent .Values.share}} of their time passed in the client's own queue, which the service times leave out; raise --connections (-c) to have them wait at the server`)
	attackRateMissed = record.Sentence("attack-rate-missed", `{{count .Values.wanted}} requests per second were wanted and {{count .Values.sent}} were sent: {{if eq .Names.loop "closed"}}its clients waited for answers, so there are too few of them or the server is too slow{{else}}the generator fell behind or was stopped{{end}}`)
	attackStoodStill = record.Sentence("attack-stood-still", `the generator stood still: a request due at {{time .Values.at}} was sent {{time .Values.late}} late; that is in its response time and is not the server's`)
	attackKeptAway   = record.Sentence("attack-kept-away", `other programs, or the hypervisor, kept the load from its CPU for {{percent .Values.share}} of the time`)
	attackAtLimit    = record.Sentence("attack-at-limit", `the load was at its limit: it had something to do for {{percent .Values.share}} of the time`)
	attackIdleLost   = record.Sentence("attack-idle-lost", `of {{count .Values.asked}} idle connections {{count .Values.answered}} were answered and {{count .Values.lost}} lost, so not all of them were open during the load`)
	attackCutOff     = record.Sentence("attack-cut-off", `{{count .Values.requests}} requests were under way when the attack was stopped; each counts with the time it had had by then, at least`)
	attackClosedLoop = record.Sentence("attack-closed-loop", `a closed loop asks less of a slow server: these times leave out what the waiting clients did not send, so no limit should rest on them`)
)
