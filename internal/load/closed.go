package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"schedlab/internal/record"
)

// ClosedOptions say what a closed loop asks and for how long.
type ClosedOptions struct {
	// Targets are asked in rotation, as in Options.
	Targets []Target
	// Demands are used in turn, over and over; nil asks for none.
	Demands []Demand
	// Connections is the number of clients, each with one connection, opened
	// beforehand when KeepAlive is set. At least 1.
	Connections int
	KeepAlive   bool
	// Duration is the measured time, after Warmup, which is not measured.
	Duration, Warmup time.Duration
	// Timeout bounds one request with its dialling; 0: DefaultTimeout.
	Timeout time.Duration
	// Dial is as in Options.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Record keeps every measured request in the result.
	Record bool
}

// A ClosedResult counts the requests that ended in the measured time.
type ClosedResult struct {
	Answered int           // good replies, status 2xx or 3xx
	Failed   int           // any other end
	Elapsed  time.Duration // the measured time
	// Exhausted counts dials, warm-up included, that failed for want of a local
	// port or file descriptor: the generator's fault, not the server's.
	Exhausted uint64
	// Requests are those counted, in the order they were sent, when asked for.
	// A closed loop has no schedule: Scheduled equals Sent, so response times
	// taken from them suffer coordinated omission.
	Requests []record.Request
}

// Rate returns good replies per second; 0 when nothing was measured.
func (r ClosedResult) Rate() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Answered) / r.Elapsed.Seconds()
}

// refusedPause keeps clients of a dead server from dialling without end.
const refusedPause = 10 * time.Millisecond

// Closed runs clients that send the next request as soon as the last is
// answered, and counts replies. What is under way at the end is cut off and not
// counted. When ctx ends early, the result so far and ctx's error are returned.
func Closed(ctx context.Context, o ClosedOptions) (ClosedResult, error) {
	switch {
	case o.Connections < 1:
		return ClosedResult{}, fmt.Errorf("preparing the closed loop: %d connections; give at least 1", o.Connections)
	case o.Duration <= 0 || o.Warmup < 0:
		return ClosedResult{}, errors.New("preparing the closed loop: give a positive duration and a warm-up that is not negative")
	}
	c, err := newClient(o.Targets, o.KeepAlive, o.Demands != nil, o.Timeout, o.Dial)
	if err != nil {
		return ClosedResult{}, fmt.Errorf("preparing the closed loop: %w", err)
	}
	loop, cancel := context.WithCancel(ctx)
	defer cancel()
	end := c.hangUpWith(loop)
	defer end()

	clients := make([]closedClient, o.Connections)
	var seq atomic.Uint64
	for i := range clients {
		clients[i] = closedClient{client: c, conn: c.place(), demands: o.Demands, seq: &seq, keep: o.Record, from: o.Warmup, to: o.Warmup + o.Duration}
	}
	if o.KeepAlive {
		c.open(loop)
	}
	start := time.Now()
	timer := time.AfterFunc(o.Warmup+o.Duration, cancel)
	defer timer.Stop()
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() { clients[i].run(loop, start) })
	}
	running.Wait()

	res := ClosedResult{
		Elapsed:   max(0, min(time.Since(start), o.Warmup+o.Duration)-o.Warmup),
		Exhausted: c.exhausted.Load(),
	}
	for i := range clients {
		res.Answered += clients[i].answered
		res.Failed += clients[i].failed
		res.Requests = append(res.Requests, clients[i].requests...)
	}
	slices.SortFunc(res.Requests, func(a, b record.Request) int { return cmp.Compare(a.Sent, b.Sent) })
	return res, ctx.Err()
}

// A closedClient is one client and its own counts.
type closedClient struct {
	client   *client
	conn     *conn
	demands  []Demand
	seq      *atomic.Uint64 // shared
	from, to time.Duration  // the measured time
	keep     bool           // requests

	answered, failed int
	requests         []record.Request
}

func (cc *closedClient) run(ctx context.Context, start time.Time) {
	for ctx.Err() == nil {
		seq := cc.seq.Add(1) - 1
		var d Demand
		if len(cc.demands) > 0 {
			d = cc.demands[seq%uint64(len(cc.demands))]
		}
		sent := time.Since(start)
		rep, out := cc.client.do(ctx, cc.conn, seq, d, start.Add(sent+cc.client.timeout))
		done := time.Since(start)
		if out == record.Cut {
			return
		}
		if done >= cc.from && done < cc.to {
			cc.count(record.Request{
				Scheduled: int64(sent), Sent: int64(sent), Done: int64(done),
				Bytes: bodyBytes(rep.bytes), Status: rep.status, Outcome: out,
				Iters: d.Iters, Sleep: int64(d.Sleep),
			})
		}
		if out == record.Refused {
			pause(ctx, refusedPause)
		}
	}
}

func (cc *closedClient) count(r record.Request) {
	if r.Good() {
		cc.answered++
	} else {
		cc.failed++
	}
	if cc.keep {
		cc.requests = append(cc.requests, r)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
