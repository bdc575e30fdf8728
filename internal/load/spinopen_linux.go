package load

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
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
	// (inTurn) the connection unused longest comes first; otherwise the one used last does.
	unused ring
	inTurn bool
}

// release implements spinLoop.
func (l *openLoop) release() (next int64) {
	for range turnReleases {
		// A request that waits goes before one that is due now.
		if l.head < l.next && l.unused.n > 0 {
			l.sendNext()
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
		if l.unused.n == 0 {
			l.waited++
			continue
		}
		l.sendNext()
		l.now = l.clock() // requests due together are sent at their own times
	}
	return l.now
}

// sendNext sends the request at head on a free connection. There must be one.
func (l *openLoop) sendNext() {
	l.watch.worked = true
	var i int32
	if l.inTurn {
		i = l.unused.popOldest()
	} else {
		i = l.unused.popNewest()
	}
	k := &l.conns[i]
	k.queued = false
	l.render(k, l.head)
	l.send(k)
	l.head++
}

// free implements spinLoop.
func (l *openLoop) free(k *spinConn) {
	// The server closed it while it was unused. It stays in its place and is opened when it is needed.
	if k.queued {
		return
	}
	k.queued = true
	l.unused.push(k.index)
}

// finished implements spinLoop.
func (l *openLoop) finished(i int) {
	if i >= l.from {
		l.left--
	}
	if l.log.at(i).conn < 0 { // it timed out while it waited, which only the first that waits can
		l.head++
	}
}

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
	s := &spinner{script: a, options: &o, timeout: int64(timeout(o.Timeout)), log: newRequestLog(len(o.Trace.At))}
	// The log grows no more, so that finished requests can be read by index while the load runs.
	s.log.n = len(o.Trace.At)
	for i, at := range o.Trace.At {
		s.log.at(i).due = int64(at)
	}
	from, _ := slices.BinarySearch(o.Trace.At, o.Warmup)
	l := &openLoop{spinner: s, at: o.Trace.At, from: from, left: len(o.Trace.At) - from, inTurn: o.Connections > 0}
	l.unused.places = make([]int32, n)
	s.loop = l
	if err := s.prepare(n+o.Idle, 1); err != nil {
		return nil, fmt.Errorf("preparing the attack: %w", err)
	}
	defer s.close()
	for i := range n {
		if !l.inTurn { // the first connection is used first, so it is added last
			i = n - 1 - i
		}
		l.unused.push(int32(i))
	}
	// Only connections that are kept and limited are opened beforehand. Idle ones come after them.
	told := s.reportEnded(o.Ended)
	proof := s.measured(ctx, func() {
		if o.KeepAlive && o.Connections > 0 {
			s.auditReplies(s.conns[:n])
			s.open(s.conns[:n], o.OpenRate)
		}
		s.openIdle(s.conns[n:])
	})
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
	stop := make(chan struct{})
	var reporter sync.WaitGroup
	reporter.Go(func() {
		for told, last := int64(0), false; !last; {
			select {
			case <-time.After(reportEvery):
			case <-stop:
				last = true
			}
			// Entries before ended do not change any more, so they can be read without a lock.
			for n := s.ended.Load(); told < n; told++ {
				i := int(s.endOrder[told])
				ended(i, s.log.at(i).request(s.script.recordedDemand(i)))
			}
		}
	})
	return func() {
		close(stop)
		reporter.Wait()
	}
}

// reportEvery is the time between two reports of the requests that have ended.
const reportEvery = 50 * time.Millisecond
