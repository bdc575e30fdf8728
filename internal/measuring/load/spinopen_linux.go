package load

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"schedlab/internal/shared/request"
)

// An openLoop sends the requests of a trace when they are due, whether or not earlier ones
// have been answered. A request that finds no connection free waits its turn.
//
// Requests before head have had a connection or timed out, those from head on wait for one, and those
// from next on are not due yet. The log has their due times: from the start of all requests, or with
// a stream of some that are due next.
type openLoop struct {
	*spinner
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
		// A request that waits goes before one that is due now, and one that is sent again before both.
		if l.unused.n > 0 && len(l.retries.ready) > 0 {
			l.sendAgain()
			continue
		}
		if l.head < l.next && l.unused.n > 0 {
			l.sendNext()
			continue
		}
		if l.next == l.log.n && !l.scheduled() {
			return math.MaxInt64
		}
		e := l.log.at(l.next)
		if l.now < e.due {
			return e.due
		}
		// Sent is stamped even if no connection is free: the wait for one is response time and not lag.
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

// scheduled takes the next part of a stream's schedule into the log. It returns false at its end, and
// without a stream.
func (l *openLoop) scheduled() bool {
	if l.stream == nil || l.stream.over {
		return false
	}
	part, ok := <-l.stream.drawn // it is there already, since the stream is ahead
	if l.stream.over = !ok; !ok {
		return false
	}
	l.log.slabs = append(l.log.slabs, part.slab)
	l.log.n += part.n
	l.left += part.n
	return true
}

// sendNext sends the request at head on a free connection. There must be one.
func (l *openLoop) sendNext() {
	l.sendOn(l.take(), l.head)
	l.head++
}

// sendAgain sends a request that failed once more, on a free connection. There must be one.
func (l *openLoop) sendAgain() {
	i, ok := l.nextAgain()
	if !ok {
		return
	}
	l.log.at(i).again = underWay
	l.sendOn(l.take(), i)
}

// take takes a free connection. There must be one.
func (l *openLoop) take() *spinConn {
	var i int32
	if l.inTurn {
		i = l.unused.popOldest()
	} else {
		i = l.unused.popNewest()
	}
	l.conns[i].queued = false
	return &l.conns[i]
}

// sendOn sends request i on a connection.
func (l *openLoop) sendOn(k *spinConn, i int) {
	l.watch.worked = true
	l.render(k, i)
	l.send(k)
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

// over implements spinLoop. An open loop is over when every request after the warm-up has its outcome.
func (l *openLoop) over() bool { return l.left == 0 && l.next == l.log.n && !l.scheduled() }

// attackSpin runs Attack on the spinner.
func attackSpin(ctx context.Context, o Options, a *script) (*Result, error) {
	n := o.Connections
	if n <= 0 {
		// Without a limit there is room for a connection per request, up to the limit of descriptors. The stack
		// of unused connections keeps the number that is really opened small.
		n = int(min(descriptorLimit(), MaxConnections+spareDescriptors)) - spareDescriptors - o.Idle
		if o.Times == nil {
			n = min(len(o.Trace.At), n)
		}
		n = max(1, n)
	}
	s := &spinner{script: a, options: &o, timeout: int64(timeout(o.Timeout)), log: newRequestLog(len(o.Trace.At))}
	s.patience, s.retries.most, s.retries.backoff = int64(o.Patience.Deadline.Duration), uint8(o.Patience.Retries), int64(o.Patience.Backoff.Duration)
	s.log.n = len(o.Trace.At)
	for i, at := range o.Trace.At {
		s.log.at(i).due = int64(at)
	}
	from, _ := slices.BinarySearch(o.Trace.At, o.Warmup)
	l := &openLoop{spinner: s, from: from, left: len(o.Trace.At) - from, inTurn: o.Connections > 0}
	if o.Times != nil {
		s.stream = newStream(o.Times)
		defer s.stream.close()
		l.scheduled()
	}
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
	counts := connCounts{answers: make([]uint32, n), asked: make([]int64, n), waits: make([]wait, n)}
	var sent Proof // counts the requests of a stream, which are not kept
	told := s.reportEnded(func(i int, e *entry) {
		r := e.request(a.planned(i))
		if o.Times != nil {
			counts.add(e)
			sent.count(r)
		}
		if o.Ended != nil {
			o.Ended(i, r, e.stamps())
		}
	})
	proof := s.measured(ctx, func() {
		if o.KeepAlive && o.Connections > 0 {
			s.auditReplies(s.conns[:n])
			s.open(s.conns[:n], o.OpenRate)
		}
		s.openIdle(s.conns[n:])
	})
	// Requests without an outcome get one before they are copied and reported.
	cut, ahead := s.cutOff()
	res := &Result{Start: s.start, Opened: s.counts, Exhausted: s.exhausted, Waited: l.waited, Proof: proof}
	if o.Closing != nil {
		o.Closing()
	}
	// Ended may be slow, so it is waited for only after Closing, which may read clocks.
	told()

	res.Idle = s.idleConns
	res.Idle.Asked = o.Idle
	res.Proof.Planned = s.log.n
	if o.Times != nil {
		res.Proof.Planned -= ahead
		res.Proof.Sent, res.Proof.LongestLag, res.Proof.LagAt = sent.Sent, sent.LongestLag, sent.LagAt
	} else {
		res.Requests, res.Stamps = make([]request.Request, s.log.n), make([]request.Stamps, s.log.n)
		for i := range res.Requests {
			e := s.log.at(i)
			res.Requests[i], res.Stamps[i] = e.request(a.planned(i)), e.stamps()
			res.Proof.count(res.Requests[i])
			counts.add(e)
		}
	}
	if o.KeepAlive && o.Connections > 0 {
		counts.into(res)
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
// number. ahead counts those among them that were not due yet.
func (s *spinner) cutOff() (cut, ahead int) {
	s.now = s.clock()
	for i := s.oldest; i < s.log.n; i++ {
		switch e := s.log.at(i); {
		case e.done > 0:
			continue
		case e.sent < 0:
			if e.due > s.now {
				ahead++
			}
			// It was never sent. finish would report it to Ended, which is for sent requests only.
			e.done, e.outcome = max(s.now, e.due, 1), request.Cut
		default:
			s.finish(i, request.Cut)
		}
		cut++
	}
	return cut, ahead
}

// connCounts are counts for each connection, by index.
type connCounts struct {
	answers    []uint32
	asked      []int64 // when it wrote its first request; 0: never
	waits      []wait
	firstReply time.Duration
}

// add counts a request that has ended. The requests of one connection must come in order.
func (c *connCounts) add(e *entry) {
	if e.conn < 0 || e.wrote == 0 {
		return
	}
	if c.asked[e.conn] == 0 {
		c.asked[e.conn] = e.wrote
	}
	c.waits[e.conn].add(e.outcome)
	if e.outcome == request.Answered {
		if c.answers[e.conn]++; c.answers[e.conn] == 1 {
			c.firstReply = max(c.firstReply, time.Duration(e.done-c.asked[e.conn]))
		}
	}
}

// into sets the fields of res about connections.
func (c *connCounts) into(res *Result) {
	res.FirstReply, res.ConnAnswers = c.firstReply, []uint32{}
	for k, asked := range c.asked {
		if asked == 0 {
			continue
		}
		res.ConnAnswers = append(res.ConnAnswers, c.answers[k])
		res.Asked++
		if c.answers[k] == 0 && c.waits[k].inVain() {
			res.Starved++
		}
	}
}

// reportEnded starts a goroutine that calls ended for each request that has ended. wait
// returns when all have been reported and the goroutine is gone. Without a stream and
// without Ended it starts none.
func (s *spinner) reportEnded(ended func(i int, e *entry)) (wait func()) {
	if s.options.Ended == nil && s.stream == nil {
		return func() {}
	}
	s.ends = newEndings()
	reports := s.ends.reader()
	stop := make(chan struct{})
	var reporter sync.WaitGroup
	reporter.Go(func() {
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for last := false; !last; {
			select {
			case <-tick.C:
			case <-stop:
				last = true
			}
			for x := range reports {
				if x.slab != nil {
					s.stream.reuse(x.slab)
				} else {
					ended(x.i, x.e)
				}
			}
		}
	})
	return func() {
		close(stop)
		reporter.Wait()
	}
}

// reportEvery is the time between two reports of the requests that have ended. It is short, because
// the reports may share the spinner's CPU: many at a time would keep it from its work for long.
const reportEvery = time.Millisecond
