package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// A closedLoop sends each client's next request when its last was answered and its think
// time is over, or, with a rate, when the next one is due. A client and its connection have
// the same index.
//
// A client that may send now is in ready; one that has to wait for a time is in sleeping. While it is
// in either, its connection is queued. All other clients wait for replies. In a pipeline a client can
// be queued and wait for replies too.
type closedLoop struct {
	*spinner
	to       int64 // the measured time's end
	clients  []spinClient
	ready    ring        // clients that may send now; there is room for all
	sleeping []dueClient // a heap, the earliest first
}

// A spinClient is one client; its connection is in the spinner.
type spinClient struct {
	turns       int // requests of its schedule that were sent, or left out because they came before its start
	session     int // requests sent on the present connection
	last        int // index of its last request in the log
	due         int64
	rng         *rand.Rand
	unconnected bool // its last request got no connection
}

// A dueClient is a sleeping client, and the time at which it sends again.
type dueClient struct {
	due    int64
	client int32
}

// begin puts every client into ready or sleeping, for its first request.
func (l *closedLoop) begin() {
	ramp := int64(l.options.Ramp.Duration)
	for i := range l.clients {
		c, k := &l.clients[i], &l.conns[i]
		start := ramp * int64(i) / int64(len(l.clients))
		// Turns before the client's start are left out: it would have to send all of them at once.
		for c.due = l.pacedDue(i); l.options.Rate > 0 && c.due < start; c.due = l.pacedDue(i) {
			c.turns++
		}
		c.due = max(c.due, start)
		if c.due > 0 {
			l.sleepUntil(c.due, k.index)
		} else {
			l.ready.push(k.index)
		}
	}
}

// pacedDue returns the time at which client i's next request is due, by the formula at Options.Rate;
// 0 without a rate.
func (l *closedLoop) pacedDue(i int) int64 {
	o := l.options
	if o.Rate <= 0 {
		return 0
	}
	return int64((float64(i) + float64(l.clients[i].turns)*float64(o.Connections)) / o.Rate * 1e9)
}

// free implements spinLoop: it decides when the client of k sends next.
func (l *closedLoop) free(k *spinConn) {
	c := &l.clients[k.index]
	// The session is over, or the connection is gone. The next request opens a new connection.
	if n := l.options.Session; k.state == spinClosed || n > 0 && c.session >= n && k.inFlight.n == 0 {
		if c.session > 0 { // the server may have closed it while the client was thinking
			l.log.at(c.last).ends = true
		}
		l.closeConn(k)
		c.session = 0
	}
	// The server closed the connection of a client that already waits for its turn.
	if k.queued {
		return
	}
	k.queued = true
	c.due = l.pacedDue(int(k.index))
	if l.options.Pause != nil {
		c.due = l.now + int64(max(0, l.options.Pause(c.rng)))
	}
	at := c.due
	if c.unconnected { // the pause does not change when the request is due
		at = max(at, l.now+int64(dialPause))
	}
	if at > l.now {
		l.sleepUntil(at, k.index)
	} else {
		l.ready.push(k.index)
	}
}

// release implements spinLoop. Clients with a due time go first, since that time has already passed. The
// time that release returns is never after the end of the loop.
func (l *closedLoop) release() (next int64) {
	for range turnReleases {
		switch {
		case len(l.sleeping) > 0 && l.sleeping[0].due <= l.now:
			l.sendFor(l.nextDue())
		case l.ready.n > 0:
			l.sendFor(l.ready.popOldest())
		case len(l.sleeping) > 0:
			return min(l.sleeping[0].due, l.to)
		default:
			return l.to
		}
	}
	return l.now
}

// sendFor fills the client's pipeline: it sends requests until the pipeline is full, or until the last
// of the session is sent.
func (l *closedLoop) sendFor(client int32) {
	k, c := &l.conns[client], &l.clients[client]
	k.queued = false
	l.now = l.clock()
	// After the end nothing is sent. While the socket is full there are requests in flight, and their
	// replies bring the client back.
	if l.now >= l.to || k.full && k.state == spinOpen {
		return
	}
	room := len(k.inFlight.places) - k.inFlight.n
	if n := l.options.Session; n > 0 {
		room = min(room, n-c.session)
	}
	if room <= 0 {
		return
	}
	l.watch.worked = true
	// All requests are rendered before one of them is written, so that one system call can send them.
	for range room {
		i, e := l.log.add()
		e.sent, e.due = l.now, l.now
		if l.options.Rate > 0 {
			// A client that is late keeps the time of its schedule: its wait counts as response time.
			e.due = min(c.due, l.now)
		}
		c.turns++
		c.session++
		c.last = i
		l.render(k, i)
	}
	l.send(k)
}

// finished implements spinLoop. It notes for free whether the client must pause before it connects again.
func (l *closedLoop) finished(i int) {
	e := l.log.at(i)
	l.clients[e.conn].unconnected = e.ready == 0
}

// over implements spinLoop. Requests in flight at the end stay without an outcome: see tallied.
func (l *closedLoop) over() bool { return l.now >= l.to }

// sleepUntil adds a client to the heap of sleeping clients, to send at due.
func (l *closedLoop) sleepUntil(due int64, client int32) {
	l.sleeping = append(l.sleeping, dueClient{due, client}) // there is room for every client
	for i := len(l.sleeping) - 1; i > 0; {
		up := (i - 1) / 2
		if l.sleeping[up].due <= l.sleeping[i].due {
			return
		}
		l.sleeping[up], l.sleeping[i] = l.sleeping[i], l.sleeping[up]
		i = up
	}
}

// nextDue removes the client that is due first from the heap and returns it.
func (l *closedLoop) nextDue() int32 {
	client, last := l.sleeping[0].client, len(l.sleeping)-1
	l.sleeping[0] = l.sleeping[last]
	l.sleeping = l.sleeping[:last]
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < last && l.sleeping[down].due < l.sleeping[least].due {
				least = down
			}
		}
		if least == i {
			return client
		}
		l.sleeping[i], l.sleeping[least] = l.sleeping[least], l.sleeping[i]
		i = least
	}
}

// The log is allocated in advance for fastestLoop requests per second, more than a closed
// loop sends on one CPU, but for at most mostRoom requests.
const (
	fastestLoop = 250_000
	mostRoom    = 4 << 20
)

// room returns the number of log entries to allocate beforehand: one for each request that the loop is
// expected to send, and for each that can be in flight at its end.
func (o *Options) room() int {
	rate := float64(fastestLoop)
	if o.Rate > 0 {
		rate = min(rate, 1.1*o.Rate)
	}
	return int(min(mostRoom, rate*(o.Warmup+o.Duration).Seconds())) + o.Connections*max(1, o.Pipeline)
}

// closedSpin runs Closed on the spinner.
func closedSpin(ctx context.Context, o Options, a *script) (ClosedResult, error) {
	n, depth := o.Connections, max(1, o.Pipeline)
	s := &spinner{script: a, options: &o, timeout: int64(timeout(o.Timeout)), log: newRequestLog(o.room())}
	l := &closedLoop{
		spinner: s, to: int64(o.Warmup + o.Duration),
		clients: make([]spinClient, n), ready: ring{places: make([]int32, n)}, sleeping: make([]dueClient, 0, n),
	}
	for i := range l.clients {
		// The think times depend on the seed and the client only, and not on the order of replies.
		l.clients[i].rng = rand.New(rand.NewPCG(o.Seed, uint64(i)))
	}
	s.loop = l
	if err := s.prepare(n, depth); err != nil {
		return ClosedResult{}, fmt.Errorf("preparing the closed loop: %w", err)
	}
	defer s.close()
	l.begin()
	// With a ramp, a client's connection opens when the client starts.
	proof := s.measured(ctx, func() {
		if o.KeepAlive && o.Ramp.Duration == 0 {
			s.open(s.conns, o.OpenRate)
		}
	})
	took := time.Since(s.start)
	if o.Closing != nil {
		o.Closing()
	}
	res := tallied(s.log, a, &o, took)
	res.Start, res.Opened, res.Exhausted = s.start, s.counts, s.exhausted
	for _, r := range res.Requests {
		proof.count(r)
	}
	proof.Planned = int(o.Rate * res.Elapsed.Seconds())
	res.Proof = proof
	return res, errors.Join(s.err, ctx.Err())
}
