package attack

import (
	"fmt"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/prose"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// Limits past which a summary carries a doubt.
const (
	lagDoubt   = time.Millisecond
	unanswered = .001
)

// summarise fills in what became of the requests that were sent. a has what was
// asked for; result what happened.
func summarise(a record.Attack, result *load.Result, scheduled int) record.Attack {
	a.Schema, a.Started = record.Schema, result.Start.UTC()
	a.Scheduled, a.Dialled = scheduled, result.Dialled
	a.Outcomes, a.Statuses, a.FirstError, a.Doubts = map[string]int{}, map[uint16]int{}, -1, []record.Doubt{}
	response, good, service, lag := record.NewHistogram(), record.NewHistogram(), record.NewHistogram(), record.NewHistogram()
	var lastGood, lastSent int64
	for _, r := range result.Requests {
		a.Outcomes[r.Outcome.String()]++
		a.Bytes += uint64(r.Bytes)
		if r.Outcome == record.Answered {
			a.Statuses[r.Status]++
		}
		a.Good += stats.Count(r.Good())
		if !r.Good() && (a.FirstError < 0 || time.Duration(r.Done).Seconds() < a.FirstError) {
			a.FirstError = time.Duration(r.Done).Seconds()
		}
		if r.Sent < 0 {
			continue // the attack was stopped before its time
		}
		a.Sent++
		lastSent = max(lastSent, r.Sent)
		took := time.Duration(r.Done - r.Scheduled)
		switch {
		case r.Good():
			good.Record(took)
			lastGood = max(lastGood, r.Done)
		case r.Outcome != record.Answered && r.Outcome != record.Cut:
			took = max(took, record.Duration(a.Timeout))
		}
		response.Record(took)
		service.Record(time.Duration(r.Done - r.Sent))
		if a.Paced() { // else it sends when it is answered, and has no time to be late for
			lag.Record(time.Duration(r.Sent - r.Scheduled))
		}
	}
	a.Response, a.GoodResponse, a.Service, a.Lag = response.Quantiles(), good.Quantiles(), service.Quantiles(), lag.Quantiles()
	if a.Sent > 0 {
		until := time.Duration(lastSent).Seconds()
		if a.Status != record.Interrupted {
			until = max(until, a.Duration)
		}
		a.SentRate = float64(a.Sent) / until
		a.Goodput = float64(a.Good) / max(until, time.Duration(lastGood).Seconds())
	}
	answers := make([]float64, len(result.ConnAnswers))
	for i, n := range result.ConnAnswers {
		answers[i] = float64(n)
	}
	a.Asked, a.Starved = result.Asked, result.Starved
	a.Jain, a.FirstReply = stats.Jain(answers), result.FirstReply.Seconds()
	a.Doubts = append(a.Doubts, attackDoubts(a, result)...)
	return a
}

func attackDoubts(a record.Attack, result *load.Result) (doubts []record.Doubt) {
	add := func(format string, args ...any) {
		doubts = append(doubts, record.Doubt{Text: fmt.Sprintf(format, args...)})
	}
	if a.Starved > 0 {
		add("%d of %d connections starved: they waited for an answer in vain", a.Starved, a.Asked)
	}
	if lost := a.Scheduled - a.Outcomes[record.Answered.String()]; float64(lost) > unanswered*float64(a.Scheduled) {
		add("%d of %d requests got no reply; each counts as the timeout, %v, at least", lost, a.Scheduled, record.Duration(a.Timeout))
	}
	if bad := a.Outcomes[record.Answered.String()] - a.Good; float64(bad) > unanswered*float64(a.Scheduled) {
		add("%d replies were no success; they are in the response times with the time they took, and the good ones stand apart", bad)
	}
	if p99 := record.Duration(a.Lag.P99); p99 > lagDoubt {
		add("the generator was late: lag p99 %v; it is in every response time, so give the load a CPU of its own", p99.Round(10*time.Microsecond))
	}
	if result.Exhausted > 0 {
		add("%s could not be opened for want of local ports or descriptors: the generator's limit, not the server's", prose.Plural(int(result.Exhausted), "connection"))
	}
	if a.Sent < stats.MinRequests(.99) {
		add("too few requests for p99: %d sent, of %d that it needs", a.Sent, stats.MinRequests(.99))
	}
	return doubts
}
