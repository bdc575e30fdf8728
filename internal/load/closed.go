package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"schedlab/internal/arrivals"
	"schedlab/internal/record"
)

// ClosedOptions say what a closed loop sends, with how many clients and for how long.
type ClosedOptions struct {
	// Targets are used in rotation, as in Options. When Which is set it gives the order
	// instead: indices into Targets, used over and over.
	Targets []Target
	Which   []uint32
	// Demands are the requests' demands, used in turn, over and over; nil: no demand.
	Demands []arrivals.Demand
	// Connections is the number of clients, each with one connection, opened
	// beforehand when KeepAlive is set and Ramp is not. 1 to MaxConnections.
	Connections int
	KeepAlive   bool
	// OpenRate is as in Options.
	OpenRate float64
	// Ramp spreads the clients' starts evenly over its length, from the loop's start. A
	// client opens its connection when it starts. 0: all start at once.
	Ramp time.Duration
	// Duration is the length of the measured time, which follows the Warmup.
	Duration, Warmup time.Duration
	// Timeout bounds one request and its dialling; 0: DefaultTimeout.
	Timeout time.Duration
	// Think returns how long a client waits between a reply and its next request; nil:
	// it does not wait. Think is called for one client at a time, with that client's
	// random generator, which is seeded from Seed. It should not allocate.
	Think func(rng *rand.Rand) time.Duration
	Seed  uint64
	// Rate is the total rate of all clients, in requests per second: request k of
	// client i of N is Scheduled (i + kN)/Rate seconds after the loop's start. Requests
	// scheduled before a ramp starts their client are left out. A client that still
	// waits for a reply is late, and catches up. 0: each sends as soon as it can.
	Rate float64
	// Session is the number of requests that a client sends before it closes its
	// connection and opens another. A failure or a close by the server ends a session
	// early. 0: the client keeps its connection. Needs KeepAlive.
	Session int
	// Pipeline is the number of requests that a client has in flight on its connection,
	// answered in order; 0 or 1: one. When the connection breaks, all of them fail and
	// none is repeated. Needs KeepAlive; excludes Think and Rate.
	Pipeline int
	// Shared is as in Options.
	Shared bool
	// Started, if not nil, is called once with the loop's start, when connections have
	// been opened and before any request is sent. The time carries a monotonic reading.
	// The clients wait until Started returns.
	Started func(time.Time)
	// Moments, Moment and Closing are as in Options.
	Moments []time.Duration
	Moment  func(i int)
	Closing func()
}

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
type Session struct {
	Client       int // index of the client, from 0
	Began, Ended int64
	Good, Failed int  // numbers of requests
	Broken       bool // the connection ended before the last answer, or never opened
}

// Rate returns good replies per second; 0 when nothing was measured.
func (r ClosedResult) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Answered) / r.Elapsed.Seconds()
}

// Check returns an error if o cannot be carried out. It opens nothing. Closed calls it
// first.
func (o *ClosedOptions) Check() error {
	_, err := o.prepare()
	return err
}

// prepare checks o and renders its requests.
func (o *ClosedOptions) prepare() (a *script, err error) {
	if err = o.check(); err == nil {
		a, err = newScript(o.Targets, o.KeepAlive, o.Demands, o.Which)
	}
	if err == nil {
		err = a.refuseTLS()
	}
	if err != nil {
		return nil, fmt.Errorf("preparing the closed loop: %w", err)
	}
	return a, nil
}

func (o *ClosedOptions) check() error {
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
	case o.Pipeline > 1 && (o.Think != nil || o.Rate > 0):
		return errors.New("a pipeline is always full, so it excludes think times and a rate; drop one of them")
	case o.Think != nil && o.Rate > 0:
		return errors.New("think times and a rate both say when to send; drop one of them")
	}
	return CheckConnections(o.Connections)
}

// maxPipeline bounds the requests in flight on one connection.
const maxPipeline = 1024

// Closed runs clients that each send their next request when the last is answered, and
// counts the replies. Requests in flight at the end are cut off. When ctx ends early, Closed
// returns the result so far and ctx's error.
func Closed(ctx context.Context, o ClosedOptions) (ClosedResult, error) {
	a, err := o.prepare()
	if err != nil {
		return ClosedResult{}, err
	}
	return closedSpin(ctx, o, a)
}

// SumSessions counts the sessions of a closed loop and takes the quantiles of their durations.
// Broken sessions count, but their durations are left out.
func SumSessions(all []Session) *record.Sessions {
	var sum record.Sessions
	h := record.NewHistogram()
	for _, s := range all {
		sum.Good += s.Good
		sum.Failed += s.Failed
		if s.Broken {
			sum.Broken++
			continue
		}
		sum.Complete++
		h.Record(time.Duration(s.Ended - s.Began))
	}
	sum.Duration = h.Quantiles()
	return &sum
}
