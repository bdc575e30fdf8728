package load

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"schedlab/internal/record"
)

// An openLoop sends the requests of a trace when they are due, whether or not earlier ones
// have been answered. A request that finds no connection free waits its turn.
//
// Requests before head have had a connection or timed out, those from head on wait for one, and those
// from next on are not due yet. All entries of the log exist from the start, with their due times.
type openLoop struct {
	*spinner
	at         []time.Duration
	next, head int // the request that is due next; the first that waits for a connection
	waited     int // requests that found no connection free
	from, left int // the first request that has to have an outcome, and how many from there on have none yet

	// unused holds the connections that may take a request. When their number is limited
	// (inTurn) it is a ring and the connection unused longest comes first; otherwise it is
	// a stack and the one used last comes first.
	unused      []int32
	first, size int
	inTurn      bool
}

// begin implements spinLoop. There is nothing to do: release compares the clock with the trace.
func (l *openLoop) begin() {}

// release implements spinLoop.
func (l *openLoop) release() (next int64) {
	for range turnReleases {
		// A request that waits goes before one that is due now.
		if l.head < l.next && l.size > 0 {
			l.send(l.head)
			l.head++
			continue
		}
		if l.next == len(l.at) {
			return math.MaxInt64
		}
		due := int64(l.at[l.next])
		if l.now < due {
			return due
		}
		// Sent is stamped even if no connection is free: the wait for one is response time and not lag.
		e := l.log.at(l.next)
		e.sent = l.now
		l.next++
		if l.size == 0 {
			l.waited++
			continue
		}
		l.send(l.head)
		l.head++
		l.now = l.clock() // requests due together are sent at their own times
	}
	return l.now
}

// send sends request i on a free connection. There must be one.
func (l *openLoop) send(i int) {
	l.watch.worked = true
	l.sendOn(l.takeConn(), i)
}

// takeConn removes the next connection from unused.
func (l *openLoop) takeConn() *spinConn {
	at := l.first
	if l.inTurn {
		if l.first++; l.first == len(l.unused) {
			l.first = 0
		}
	} else {
		at = l.size - 1
	}
	l.size--
	k := &l.conns[l.unused[at]]
	k.queued = false
	return k
}

// free implements spinLoop.
func (l *openLoop) free(k *spinConn) {
	// The server closed it while it was unused. It stays in its place and is opened when it is needed.
	if k.queued {
		return
	}
	k.queued = true
	at := l.size
	if l.inTurn {
		if at += l.first; at >= len(l.unused) {
			at -= len(l.unused)
		}
	}
	l.unused[at] = k.index
	l.size++
}

// finished implements spinLoop.
func (l *openLoop) finished(i int) {
	if i >= l.from {
		l.left--
	}
}

// expired implements spinLoop: only the first waiting request can expire.
func (l *openLoop) expired(int) { l.head++ }

// over implements spinLoop. In an open loop every request gets an outcome; those of the warm-up need
// not have it from the server.
func (l *openLoop) over() bool { return l.left == 0 && l.next == len(l.at) }

// attackSpin runs Attack on the spinner.
func attackSpin(ctx context.Context, o Options, a *script) (*Result, error) {
	n := o.Connections
	if n <= 0 {
		// Without a limit there is a place for a connection per request, as far as descriptors go. The stack
		// keeps the number that is really opened small.
		n = max(1, min(len(o.Trace.At), maxOpenConns()-o.Idle))
	}
	s := &spinner{script: a, timeout: int64(timeout(o.Timeout)), sleeps: o.Shared, log: newRequestLog(len(o.Trace.At)), moments: o.Moments, moment: o.Moment}
	// The log grows no more, so that finished requests can be read by index while the load runs.
	s.log.n = len(o.Trace.At)
	for i, at := range o.Trace.At {
		s.log.at(i).due = int64(at)
	}
	from, _ := slices.BinarySearch(o.Trace.At, o.Warmup)
	l := &openLoop{spinner: s, at: o.Trace.At, from: from, left: len(o.Trace.At) - from, unused: make([]int32, n), size: n, inTurn: o.Connections > 0}
	s.loop = l
	if err := s.prepare(n+o.Idle, 1); err != nil {
		return nil, fmt.Errorf("preparing the attack: %w", err)
	}
	defer s.close()
	for i := range l.unused {
		l.unused[i] = int32(i)
		if !l.inTurn { // the first connection is on top of the stack
			l.unused[i] = int32(n - 1 - i)
		}
	}
	// Only connections that are kept and limited are opened beforehand. Idle ones come after them.
	told := s.reportEnded(o.Ended)
	proof := s.measured(ctx, func() {
		if o.KeepAlive && o.Connections > 0 {
			s.auditReplies(s.conns[:n])
			s.open(s.stop.Load, s.conns[:n], o.OpenRate)
		}
		s.openIdle(s.stop.Load, s.conns[n:])
	}, o.Started)
	// The load is over. Requests without an outcome get one before they are copied and reported.
	cut := s.cutOff()
	res := &Result{
		Requests: make([]record.Request, len(o.Trace.At)), Stamps: make([]record.Stamps, len(o.Trace.At)),
		Start: s.start, Dialled: s.dialled, Exhausted: s.exhausted, Waited: l.waited, Proof: proof,
	}
	if o.Closing != nil {
		o.Closing()
	}
	// Ended may be slow, so it is waited for only after Closing, which may read clocks.
	told()

	res.Idle = s.idleConns
	if res.Idle.Asked = o.Idle; res.Idle.Lost > 0 {
		res.Idle.FirstLost = s.firstLost.Sub(s.start).Seconds()
	}
	for i := range res.Requests {
		e := s.log.at(i)
		res.Requests[i] = e.request(a.recordedDemand(i))
		res.Stamps[i] = e.stamps()
	}
	res.Proof.Planned = len(o.Trace.At)
	res.Proof.countRequests(res.Requests)
	if o.KeepAlive && o.Connections > 0 {
		res.connections(s.log, n)
	}
	switch {
	case s.err != nil:
		return res, fmt.Errorf("attacking: %w", s.err)
	case cut > 0:
		return res, ctx.Err()
	}
	return res, nil
}

// cutOff ends the requests that have no outcome when the load is stopped, and returns their
// number.
func (s *spinner) cutOff() (cut int) {
	s.now = s.clock()
	for i := range s.log.n {
		switch e := s.log.at(i); {
		case e.done > 0:
			continue
		case e.sent < 0:
			// It was never sent. finish would report it to Ended, which is for sent requests only.
			e.done, e.outcome = max(s.now, e.due, 1), record.Cut
		default:
			s.finish(i, record.Cut)
		}
		cut++
	}
	return cut
}

// connections counts the replies per connection, for the first n connections.
func (res *Result) connections(log *requestLog, n int) {
	// Entries are in the order of sending, so the first of a connection has its first request.
	answers, asked := make([]uint32, n), make([]int64, n) // asked: when each wrote its first request; 0: never
	for i := range log.n {
		e := log.at(i)
		if e.conn < 0 || e.wrote == 0 {
			continue
		}
		if asked[e.conn] == 0 {
			asked[e.conn] = e.wrote
		}
		if e.outcome == record.Answered {
			if answers[e.conn]++; answers[e.conn] == 1 {
				res.FirstReply = max(res.FirstReply, time.Duration(e.done-asked[e.conn]))
			}
		}
	}
	res.ConnAnswers = []uint32{}
	for k := range n {
		if asked[k] == 0 {
			continue
		}
		res.ConnAnswers = append(res.ConnAnswers, answers[k])
		res.Asked++
		if answers[k] == 0 {
			res.Starved++
		}
	}
}

// reportEnded starts a goroutine that calls ended for each request that has ended. wait
// returns when all have been reported and the goroutine is gone.
func (s *spinner) reportEnded(ended func(seq int, r record.Request)) (wait func()) {
	if ended == nil {
		return func() {}
	}
	s.endOrder = make([]int32, s.log.n)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		told := int64(0)
		// Entries before ended do not change any more, so they can be read without a lock.
		tell := func() {
			for n := s.ended.Load(); told < n; told++ {
				i := int(s.endOrder[told])
				ended(i, s.log.at(i).request(s.script.recordedDemand(i)))
			}
		}
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tell()
			case <-stop:
				tell()
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-done
	}
}

// reportEvery is the time between two reports of the requests that have ended.
const reportEvery = 50 * time.Millisecond
