package attack

import (
	"time"

	"schedlab/internal/load"
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
	a.Outcomes, a.Statuses, a.FirstError, a.Doubts = map[string]int{}, map[uint16]int{}, -1, []record.Fact{}
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

func attackDoubts(a record.Attack, result *load.Result) (doubts []record.Fact) {
	add := func(code record.Code, values record.Values) {
		doubts = append(doubts, record.Fact{Code: code, Values: values})
	}
	if a.Starved > 0 {
		add(record.AttackStarved, record.Values{"starved": float64(a.Starved), "asked": float64(a.Asked)})
	}
	if lost := a.Scheduled - a.Outcomes[record.Answered.String()]; float64(lost) > unanswered*float64(a.Scheduled) {
		add(record.AttackLost, record.Values{"lost": float64(lost), "scheduled": float64(a.Scheduled), "timeout": a.Timeout})
	}
	if bad := a.Outcomes[record.Answered.String()] - a.Good; float64(bad) > unanswered*float64(a.Scheduled) {
		add(record.AttackFailed, record.Values{"failed": float64(bad)})
	}
	if p99 := record.Duration(a.Lag.P99); p99 > lagDoubt {
		add(record.AttackLate, record.Values{"lag": p99.Round(10 * time.Microsecond).Seconds()})
	}
	if result.Exhausted > 0 {
		add(record.AttackExhausted, record.Values{"connections": float64(result.Exhausted)})
	}
	if a.Sent < stats.MinRequests(.99) {
		add(record.AttackShort, record.Values{"sent": float64(a.Sent), "needed": float64(stats.MinRequests(.99))})
	}
	return doubts
}
