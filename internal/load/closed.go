package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"schedlab/internal/record"
)

// A ClosedResult holds the requests that ended in the measured time. Dialled, Exhausted,
// Asked, FirstReply and Proof include the warm-up; Idle and Waited are 0.
//
// Requests are in the order they were sent. Without a Rate a closed loop has no schedule:
// Scheduled equals Sent, so response times taken from them suffer coordinated omission.
// ConnAnswers leaves out the clients that sent nothing in the measured time.
//
// Starved counts the clients that never got a reply. It also counts a client that got no
// reply in the measured time, if the others had ten turns each on average. (With fewer
// turns, the client may just not have had its turn yet.)
type ClosedResult struct {
	Result
	// Seqs are the numbers of Requests, as sent in X-Vegeta-Seq, ascending.
	Seqs []uint64

	Answered int // good replies, status 2xx or 3xx
	Failed   int // any other end
	// Cut describes the requests in flight at the end. They are counted nowhere else.
	Cut     record.Pending
	Elapsed time.Duration // the measured time
	// Sessions holds the sessions that ended in the measured time, in the order they began.
	Sessions []Session
}

// A Session is a client's use of one connection. Times are nanoseconds from the
// result's Start.
// Began is the sending of its first request, Ended the end of its last.
type Session struct {
	Client       int // index of the client, from 0
	Began, Ended int64
	Good, Failed int  // numbers of requests
	Broken       bool // the connection ended before the last answer, or never opened
}

// Rate returns good replies per second; 0 when nothing was measured.
// Failed requests do not count.
func (r ClosedResult) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Answered) / r.Elapsed.Seconds()
}

// checkClosed returns an error for options that a closed loop cannot carry out. The form !(rate >= 0)
// refuses NaN too.
func (o *Options) checkClosed() error {
	kept := o.KeepAlive
	switch {
	case o.Connections < 1:
		return fmt.Errorf("%d connections; give at least 1", o.Connections)
	case o.Duration <= 0 || o.Warmup < 0 || o.Ramp < 0:
		return errors.New("give a positive duration, and a warm-up and ramp that are not negative")
	case o.Session < 0 || o.Pipeline < 0 || !(o.Rate >= 0) || !(o.OpenRate >= 0):
		return errors.New("give a session, a pipeline and rates that are not negative")
	case o.Pipeline > maxPipeline:
		return fmt.Errorf("a pipeline of %d requests; give at most %d", o.Pipeline, maxPipeline)
	case !kept && (o.Session > 0 || o.Pipeline > 1):
		return errors.New("session and pipeline need connections that are kept; set keep-alive")
	case o.Pipeline > 1 && (o.Pause != nil || o.Rate > 0):
		return errors.New("a pipeline is always full, so it excludes think times and a rate; drop one of them")
	case o.Pause != nil && o.Rate > 0:
		return errors.New("think times and a rate both say when to send; drop one of them")
	}
	return CheckConnections(o.Connections)
}

// maxPipeline bounds the requests in flight on one connection.
// With MaxConnections their queues (spinConn's rings) then take 64 MiB.
const maxPipeline = 1024

// Closed runs clients that each send their next request when the last is answered, and
// counts the replies. Requests in flight at the end are cut off. When ctx ends early, Closed
// returns the result so far and ctx's error.
//
// The loop itself is in spinclosed_linux.go. It only logs requests; tallied counts them when the
// load is over, so that counting costs the load no time.
func Closed(ctx context.Context, o Options) (ClosedResult, error) {
	a, err := o.prepare(true)
	if err != nil {
		return ClosedResult{}, err
	}
	return closedSpin(ctx, o, a)
}

// SumSessions counts the sessions of a closed loop and takes the quantiles of their durations.
// Broken sessions count, but their durations are left out.
// The result is never nil; it is all zero without sessions.
func SumSessions(all []Session) *record.Sessions {
	var sum record.Sessions
	h := record.NewHistogram()
	for _, s := range all {
		sum.Good += s.Good
		sum.Failed += s.Failed
		if s.Broken {
			sum.Broken++
			// A session that was cut short would count as a fast one.
			continue
		}
		sum.Complete++
		h.Record(time.Duration(s.Ended - s.Began))
	}
	sum.Duration = h.Quantiles()
	return &sum
}
