package cluster

import (
	"cmp"
	"slices"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/load"
	"schedlab/internal/shared/request"
)

// parts deals a load out to at most n shards. Request i of an open loop goes to shard i modulo their
// number. Kept connections, clients and rates are divided evenly, so there are no more shards than
// connections. Every shard gets the targets.
func parts(o load.Options, n int) []load.Options {
	closed := o.Closed()
	if o.Connections > 0 && (closed || o.KeepAlive) {
		n = min(n, o.Connections)
	}
	if !closed {
		n = min(n, len(o.Trace.At))
	}
	n = max(n, 1)
	all := make([]load.Options, n)
	for i := range all {
		p := o
		p.Connections, p.Idle = shareOf(o.Connections, i, n), shareOf(o.Idle, i, n)
		p.OpenRate = o.OpenRate / float64(n)
		if closed {
			// Each client of a paced loop sends at rate/connections.
			p.Rate = o.Rate * float64(p.Connections) / float64(max(o.Connections, 1))
			// Not the same demands for every shard: each begins at another place in the lists.
			p.Trace, p.Seed = rotated(o.Trace, i, n), o.Seed+uint64(i)<<32
		} else {
			p.Trace = dealt(o.Trace, len(o.Targets), i, n)
		}
		all[i] = p
	}
	return all
}

// shareOf returns part i of total divided by n.
func shareOf(total, i, n int) int {
	share := total / n
	if i < total%n {
		share++
	}
	return share
}

// dealt returns every n-th arrival of t from the i-th on. Arrivals keep their targets.
func dealt(t arrivals.Trace, targets, i, n int) (part arrivals.Trace) {
	for k := i; k < len(t.At); k += n {
		part.At = append(part.At, t.At[k])
		if t.Demand != nil {
			part.Demand = append(part.Demand, t.Demand[k])
		}
		switch {
		case t.Which != nil:
			part.Which = append(part.Which, t.Which[k])
		case targets > 1: // all targets in rotation
			part.Which = append(part.Which, uint32(k%targets))
		}
	}
	return part
}

// rotated returns the lists of t rotated by i n-ths of their lengths. A closed loop uses the lists over and over.
func rotated(t arrivals.Trace, i, n int) arrivals.Trace {
	from := func(length int) int { return length * i / n }
	return arrivals.Trace{
		Which:  slices.Concat(t.Which[from(len(t.Which)):], t.Which[:from(len(t.Which))]),
		Demand: slices.Concat(t.Demand[from(len(t.Demand)):], t.Demand[:from(len(t.Demand))]),
	}
}

// An answer is a shard's reply about its part of a load: Load or Error. An open loop sets only the Result in Load.
type answer struct {
	Load  load.ClosedResult
	Error string
	Late  time.Duration // from the time agreed to the end of its preparations; 0 if it was ready
	// Seconds in the load's window on the shard.
	CPU, Steal, Throttled float64
}

// merge puts the parts of an open loop together: request i of the trace is request i of the result. A
// nil answer is of a shard that was lost: its requests count as not sent, with the outcome Cut.
func merge(o load.Options, parts []load.Options, answers []*answer) *load.Result {
	sum := &load.Result{Requests: make([]request.Request, len(o.Trace.At)), Stamps: make([]request.Stamps, len(o.Trace.At))}
	n := len(parts)
	for i, a := range answers {
		if a == nil {
			for k, at := range parts[i].Trace.At {
				sum.Requests[i+k*n] = unsent(parts[i].Trace, k, at)
			}
			continue
		}
		for k, r := range a.Load.Requests {
			sum.Requests[i+k*n], sum.Stamps[i+k*n] = r, a.Load.Stamps[k]
		}
		add(sum, &a.Load.Result)
	}
	sum.Proof.Planned = len(o.Trace.At)
	return sum
}

// unsent returns the record of request k of a lost shard's trace. It is unknown whether the shard sent
// the request.
func unsent(t arrivals.Trace, k int, at time.Duration) request.Request {
	r := request.Request{Scheduled: int64(at), Sent: -1, Done: int64(at), Outcome: request.Cut}
	if t.Demand != nil {
		r.Iters, r.Sleep = t.Demand[k].Iters, int64(t.Demand[k].Sleep)
	}
	return r
}

// mergeClosed puts the parts of a closed loop together. Its requests are in the order they were sent.
// They have no numbers any more.
func mergeClosed(answers []*answer) load.ClosedResult {
	var sum load.ClosedResult
	type sent struct {
		r request.Request
		s request.Stamps
	}
	var all []sent
	for _, a := range answers {
		c := &a.Load
		for k, r := range c.Requests {
			all = append(all, sent{r, c.Stamps[k]})
		}
		add(&sum.Result, &c.Result)
		sum.Answered, sum.Failed = sum.Answered+c.Answered, sum.Failed+c.Failed
		sum.Cut.Add(c.Cut)
		sum.Elapsed = max(sum.Elapsed, c.Elapsed)
		sum.Sessions = append(sum.Sessions, c.Sessions...)
	}
	slices.SortStableFunc(all, func(a, b sent) int { return cmp.Compare(a.r.Sent, b.r.Sent) })
	for _, one := range all {
		sum.Requests, sum.Stamps = append(sum.Requests, one.r), append(sum.Stamps, one.s)
	}
	slices.SortStableFunc(sum.Sessions, func(a, b load.Session) int { return cmp.Compare(a.Began, b.Began) })
	return sum
}

// add adds the counts of a part to sum. Of two figures about delays the worse one counts.
func add(sum, part *load.Result) {
	sum.Opened.Add(part.Opened)
	sum.Exhausted += part.Exhausted
	sum.ConnAnswers = append(sum.ConnAnswers, part.ConnAnswers...)
	sum.Asked, sum.Starved, sum.Waited = sum.Asked+part.Asked, sum.Starved+part.Starved, sum.Waited+part.Waited
	sum.FirstReply = max(sum.FirstReply, part.FirstReply)
	sum.Idle.Asked, sum.Idle.Lost = sum.Idle.Asked+part.Idle.Asked, sum.Idle.Lost+part.Idle.Lost
	p, q := &sum.Proof, part.Proof
	if q.LongestLag > p.LongestLag {
		p.LongestLag, p.LagAt = q.LongestLag, q.LagAt
	}
	p.Planned, p.Sent, p.GCs = p.Planned+q.Planned, p.Sent+q.Sent, p.GCs+q.GCs
	p.CPU, p.Elapsed = p.CPU+q.CPU, max(p.Elapsed, q.Elapsed)
	p.Busy, p.LongestPause, p.LongestGap, p.Away = max(p.Busy, q.Busy), max(p.LongestPause, q.LongestPause), max(p.LongestGap, q.LongestGap), max(p.Away, q.Away)
	p.Rest = cmp.Or(p.Rest, q.Rest)
	if late := q.ReadLate; late != nil {
		worst := *late
		if p.ReadLate != nil {
			worst.Replies += p.ReadLate.Replies
			worst.P50, worst.P99 = max(worst.P50, p.ReadLate.P50), max(worst.P99, p.ReadLate.P99)
		}
		p.ReadLate = &worst
	}
}
