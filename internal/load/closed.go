package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"schedlab/internal/record"
)

// ClosedOptions say what a closed loop asks and for how long.
type ClosedOptions struct {
	// Targets are asked in rotation, as in Options, or as Which says, used in turn
	// over and over.
	Targets []Target
	Which   []uint32
	// Demands are used in turn, over and over; nil asks for none.
	Demands []Demand
	// Connections is the number of clients, each with one connection, opened
	// beforehand when KeepAlive is set and Ramp is not. 1 to MaxConnections.
	Connections int
	KeepAlive   bool
	// OpenRate is as in Options.
	OpenRate float64
	// Ramp spreads the clients' starts evenly over its length, from the loop's
	// start, each opening its connection then. 0: all start at once.
	Ramp time.Duration
	// Duration is the measured time, after Warmup, which is not measured.
	Duration, Warmup time.Duration
	// Timeout bounds one request with its dialling; 0: DefaultTimeout.
	Timeout time.Duration
	// Think is how long a client waits between a reply and its next request; nil:
	// not at all. It is called from many goroutines, each with a generator of its
	// own, which follow from Seed. The runtime ends a pause up to 1 ms late.
	Think func(rng *rand.Rand) time.Duration
	Seed  uint64
	// Rate paces the clients to so many requests a second in all: request k of
	// client i of N is due (i + kN)/Rate seconds after the loop's start, which is
	// its Scheduled time. A client still waiting for a reply then is late, and
	// catches up. 0: each sends as soon as it can.
	Rate float64
	// Session is how many requests a client sends before it closes its connection
	// and opens another; a failure or the server's close ends one early. 0: it
	// keeps its connection. Needs KeepAlive.
	Session int
	// Pipeline is how many requests a client has under way on its connection,
	// answered in order; 0 or 1: one. When the connection breaks, all of them fail
	// and none is repeated. Needs KeepAlive; excludes Think and Rate.
	Pipeline int
	// Spin drives all connections from one thread that never sleeps, so that no
	// reply waits for the generator to wake. Linux only. Needs KeepAlive and plain
	// TCP; excludes Think, Rate, Session, Ramp and Dial. Replies must have a
	// Content-Length. Give it a CPU of its own.
	Spin bool
	// Dial is as in Options.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Started, if not nil, is called once with the loop's start (it carries a
	// monotonic reading), when connections have been opened and before any request
	// is sent. It delays the clients for as long as it takes.
	Started func(time.Time)
	// Record keeps every measured request, and session, in the result.
	Record bool
}

// A ClosedResult counts the requests that ended in the measured time.
type ClosedResult struct {
	Answered int // good replies, status 2xx or 3xx
	Failed   int // any other end
	// Cut are those under way at the end, counted nowhere else.
	Cut     record.Pending
	Elapsed time.Duration // the measured time
	// Start is the zero of every stamp: the loop's start, before the warm-up.
	Start time.Time
	// Dialled counts connections opened, and Exhausted dials that failed for want
	// of a local port or file descriptor: the generator's fault, not the server's.
	// Both include the warm-up.
	Dialled, Exhausted uint64
	// ConnAnswers holds the replies, whatever their status, that each client got
	// in the measured time. A client that asked nothing then is not among them.
	ConnAnswers []uint32
	// Asked counts the clients that had sent a request when the measured time
	// ended, and Starved those of them that waited in vain: for a first reply, or
	// through a measured time in which the others had ten turns each on average.
	// (Where they had fewer, a client's own may just not have come.)
	Asked, Starved int
	// FirstReply is the longest time from a client's first request to its first
	// reply, warm-up included, among those that got any.
	FirstReply time.Duration
	// Requests are those counted, in the order they were sent, when asked for.
	// Without a Rate a closed loop has no schedule: Scheduled equals Sent, so
	// response times taken from them suffer coordinated omission.
	Requests []record.Request
	// Marks are the clients' own notes on Requests, one each.
	Marks []Mark
	// Sessions are those that ended in the measured time, in the order they began,
	// when asked for.
	Sessions []Session
	// Proof is what the generator did, warm-up included. What it says of requests
	// is of the measured ones, and LongestLag only when they are recorded.
	Proof Proof

	silent int // clients that had replies, and none while they waited all the measured time
}

// A Session is a client's use of one connection. Times are nanoseconds from the
// result's Start.
type Session struct {
	Client       int // from 0
	Began, Ended int64
	Good, Failed int  // requests
	Broken       bool // its connection ended before the last answer, or never opened
}

// A Mark is what a client of a closed loop noted on one request: its number, as
// sent in X-Vegeta-Seq, and its stamps as record.Stamps have them. In a pipeline
// a request is ready when it is sent, and with Spin its first byte has come when
// all have.
type Mark struct {
	Seq                 uint64
	Ready, Wrote, First int64
}

// Rate returns good replies per second; 0 when nothing was measured.
func (r ClosedResult) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Answered) / r.Elapsed.Seconds()
}

// Check tells what of o cannot be done, before anything is opened. Closed does
// too.
func (o *ClosedOptions) Check() error {
	err := o.check()
	if err == nil {
		err = checkWhich(o.Which, len(o.Targets))
	}
	if err == nil {
		tps, _, bad := templates(o.Targets, o.KeepAlive, o.Demands != nil)
		if err = bad; err == nil {
			err = refuseTLS(tps)
		}
	}
	if err != nil {
		return fmt.Errorf("preparing the closed loop: %w", err)
	}
	return nil
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
	case !kept && (o.Session > 0 || o.Pipeline > 1 || o.Spin):
		return errors.New("session, pipeline and spin need connections that are kept; set keep-alive")
	case o.Pipeline > 1 && (o.Think != nil || o.Rate > 0):
		return errors.New("a pipeline is always full, so it excludes think times and a rate; drop one of them")
	case o.Think != nil && o.Rate > 0:
		return errors.New("think times and a rate both say when to send; drop one of them")
	case o.Spin && (o.Think != nil || o.Rate > 0 || o.Session > 0 || o.Ramp > 0 || o.Dial != nil):
		return errors.New("spin never waits and opens its own sockets, so it excludes think times, rates, sessions, ramps and dialling; drop one of them")
	}
	return checkConnections(o.Connections, o.Dial == nil)
}

// maxPipeline bounds the requests under way on one connection.
const maxPipeline = 1024

// Closed runs clients that send the next request as soon as the last is
// answered, and counts replies. What is under way at the end is cut off and not
// counted. When ctx ends early, the result so far and ctx's error are returned.
func Closed(ctx context.Context, o ClosedOptions) (ClosedResult, error) {
	if err := o.Check(); err != nil {
		return ClosedResult{}, err
	}
	c, err := newClient(o.Targets, o.KeepAlive, o.Demands != nil, o.Timeout, o.Dial)
	if err != nil {
		return ClosedResult{}, fmt.Errorf("preparing the closed loop: %w", err)
	}
	c.which = o.Which
	if o.Spin {
		return spin(ctx, c, &o)
	}
	loop, cancel := context.WithCancel(ctx)
	defer cancel()
	end := c.hangUpWith(loop)
	defer end()

	clients := make([]closedClient, o.Connections)
	var seq atomic.Uint64
	for i := range clients {
		clients[i] = closedClient{
			number: i, client: c, conn: c.place(), options: &o, seq: &seq,
			tally: tally{from: o.Warmup, to: o.Warmup + o.Duration, keep: o.Record},
			rng:   rand.New(rand.NewPCG(o.Seed, uint64(i))),
		}
	}
	if o.KeepAlive && o.Ramp == 0 {
		c.open(loop, o.OpenRate)
	}
	self := observeProcess()
	start := time.Now()
	if o.Started != nil {
		o.Started(start)
	}
	timer := time.AfterFunc(o.Warmup+o.Duration, cancel)
	defer timer.Stop()
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() { clients[i].run(loop, start) })
	}
	running.Wait()

	res := ClosedResult{Start: start, Dialled: c.dialled.Load(), Exhausted: c.exhausted.Load(), Proof: self.proof()}
	for i := range clients {
		res.add(&clients[i].tally, clients[i].conn.first)
	}
	res.finish(time.Since(start), &o)
	return res, ctx.Err()
}

// add counts what one client did.
func (r *ClosedResult) add(t *tally, first time.Duration) {
	r.Answered += t.answered
	r.Failed += t.failed
	r.Cut.Add(t.cut)
	r.Requests = append(r.Requests, t.requests...)
	r.Marks = append(r.Marks, t.marks...)
	r.Sessions = append(r.Sessions, t.sessions...)
	if t.answered+t.failed+t.cut.Requests > 0 {
		r.ConnAnswers = append(r.ConnAnswers, t.replies)
	}
	r.FirstReply = max(r.FirstReply, first)
	if t.asked() {
		r.Asked++
	}
	switch {
	case t.asked() && !t.heard:
		r.Starved++
	case t.replies == 0 && t.waits && t.since < t.from:
		r.silent++
	}
}

// fullTurns is how many turns clients must have had on average before one without
// any is not one whose turn is to come: of a server that picks the next client by
// chance, one in e^10 would be.
const fullTurns = 10

// starve counts those that waited all through the measured time, if it was long
// enough to tell. A pipeline of that depth gets all its replies in one turn.
func (r *ClosedResult) starve(depth int) {
	live, replies := 0, 0
	for _, n := range r.ConnAnswers {
		if n > 0 {
			live++
		}
		replies += int(n)
	}
	if live > 0 && replies >= fullTurns*max(1, depth)*live {
		r.Starved += r.silent
	}
}

// finish puts in order what the clients did in a loop that took so long.
func (r *ClosedResult) finish(took time.Duration, o *ClosedOptions) {
	r.Elapsed = max(0, min(took, o.Warmup+o.Duration)-o.Warmup)
	r.starve(o.Pipeline)
	sort.Sort(bySent{r.Requests, r.Marks})
	slices.SortFunc(r.Sessions, func(a, b Session) int { return cmp.Compare(a.Began, b.Began) })
	r.Proof.tell(r.Requests)
	r.Proof.Sent = r.Answered + r.Failed
	r.Proof.Planned = int(o.Rate * r.Elapsed.Seconds())
}

// bySent sorts requests with their marks.
type bySent struct {
	requests []record.Request
	marks    []Mark
}

func (b bySent) Len() int           { return len(b.requests) }
func (b bySent) Less(i, j int) bool { return b.requests[i].Sent < b.requests[j].Sent }
func (b bySent) Swap(i, j int) {
	b.requests[i], b.requests[j] = b.requests[j], b.requests[i]
	b.marks[i], b.marks[j] = b.marks[j], b.marks[i]
}
