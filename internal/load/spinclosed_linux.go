package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"schedlab/internal/record"
)

// A closedLoop has each client send its next request when the last was answered, has
// been thought about, or is due by its pace. A client and its connection have the same
// number.
type closedLoop struct {
	*spinner
	options *ClosedOptions
	depth   int
	to      int64 // the measured time's end
	clients []spinClient
	ready   []int32 // clients that may send now, in order; a ring
	first   int
	size    int
	later   []laterTurn // a heap, the earliest first
}

// A spinClient is what the loop keeps of one client beside its connection.
type spinClient struct {
	begun   int // turns of its pace that it has had
	session int // of those, on the present connection
	last    int // the place of its last request in the log
	due     int64
	rng     *rand.Rand
	refused bool // its last request found no connection
}

type laterTurn struct {
	due    int64
	client int32
}

// begin implements spinLoop.
func (l *closedLoop) begin() {
	for i := range l.clients {
		c, k := &l.clients[i], &l.conns[i]
		start := int64(l.options.Ramp) * int64(i) / int64(len(l.clients))
		for c.due = l.paced(i); l.options.Rate > 0 && c.due < start; c.due = l.paced(i) {
			c.begun++
		}
		c.due = max(c.due, start)
		if c.due > 0 {
			l.wake(c.due, k.index)
		} else {
			l.enqueue(k.index)
		}
	}
}

// paced is when client i's next request is due; 0 without a rate.
func (l *closedLoop) paced(i int) int64 {
	o := l.options
	if o.Rate <= 0 {
		return 0
	}
	return int64((float64(i) + float64(l.clients[i].begun)*float64(o.Connections)) / o.Rate * 1e9)
}

// free implements spinLoop: it decides when the client of k sends next.
func (l *closedLoop) free(k *spinConn) {
	c := &l.clients[k.index]
	if n := l.options.Session; k.state == spinClosed || n > 0 && c.session >= n && k.count == 0 {
		if c.session > 0 { // also where the server closed while the client was thinking
			l.log.at(c.last).ends = true
		}
		l.shut(k)
		c.session = 0
	}
	if k.mark {
		return
	}
	k.mark = true
	c.due = l.paced(int(k.index))
	if l.options.Think != nil {
		c.due = l.now + int64(max(0, l.options.Think(c.rng)))
	}
	at := c.due
	if c.refused { // its request is due all the same
		at = max(at, l.now+int64(refusedPause))
	}
	if at > l.now {
		l.wake(at, k.index)
	} else {
		l.enqueue(k.index)
	}
}

func (l *closedLoop) enqueue(client int32) {
	at := l.first + l.size
	if at >= len(l.ready) {
		at -= len(l.ready)
	}
	l.ready[at] = client
	l.size++
}

// release implements spinLoop.
func (l *closedLoop) release() (next int64) {
	for range turnReleases {
		switch {
		case len(l.later) > 0 && l.later[0].due <= l.now:
			l.serve(l.sleeper())
		case l.size > 0:
			k := l.ready[l.first]
			if l.first++; l.first == len(l.ready) {
				l.first = 0
			}
			l.size--
			l.serve(k)
		case len(l.later) > 0:
			return min(l.later[0].due, l.to)
		default:
			return l.to
		}
	}
	return l.now
}

// serve sends what a client has room for.
func (l *closedLoop) serve(client int32) {
	k, c := &l.conns[client], &l.clients[client]
	k.mark = false
	l.now = l.clock()
	if l.now >= l.to || k.full && k.state == spinOpen {
		return
	}
	room := l.depth - k.count
	if n := l.options.Session; n > 0 {
		room = min(room, n-c.session)
	}
	if room <= 0 {
		return
	}
	l.watch.worked = true
	for range room {
		i, e := l.log.add()
		e.sent, e.due = l.now, l.now
		if l.options.Rate > 0 {
			e.due = min(c.due, l.now)
		}
		c.begun++
		c.session++
		c.last = i
		l.stack(k, i)
	}
	if k.state == spinClosed {
		l.connect(k)
		return
	}
	l.spinner.ready(k)
	l.flush(k)
}

// finished implements spinLoop.
func (l *closedLoop) finished(i int) {
	e := l.log.at(i)
	l.clients[e.conn].refused = e.outcome == record.Refused
}

func (l *closedLoop) expired(int) {}

func (l *closedLoop) over() bool { return l.now >= l.to }

// wake puts a client among those that send later.
func (l *closedLoop) wake(due int64, client int32) {
	l.later = append(l.later, laterTurn{due, client}) // there is room for every client
	for i := len(l.later) - 1; i > 0; {
		up := (i - 1) / 2
		if l.later[up].due <= l.later[i].due {
			return
		}
		l.later[up], l.later[i] = l.later[i], l.later[up]
		i = up
	}
}

// sleeper takes out the client that is due first.
func (l *closedLoop) sleeper() int32 {
	client, last := l.later[0].client, len(l.later)-1
	l.later[0] = l.later[last]
	l.later = l.later[:last]
	for i := 0; ; {
		least := i
		for _, down := range [2]int{2*i + 1, 2*i + 2} {
			if down < last && l.later[down].due < l.later[least].due {
				least = down
			}
		}
		if least == i {
			return client
		}
		l.later[i], l.later[least] = l.later[least], l.later[i]
		i = least
	}
}

// A closed loop sends no more than this a second on one CPU; room for so many requests
// is made beforehand, up to mostRoom.
const (
	fastestLoop = 250_000
	mostRoom    = 4 << 20
)

func (o *ClosedOptions) room() int {
	rate := float64(fastestLoop)
	if o.Rate > 0 {
		rate = min(rate, 1.1*o.Rate)
	}
	return int(min(mostRoom, rate*(o.Warmup+o.Duration).Seconds())) + o.Connections*max(1, o.Pipeline)
}

// closedSpin is Closed on the spinner.
func closedSpin(ctx context.Context, o ClosedOptions) (ClosedResult, error) {
	a, err := newAsked(o.Targets, o.KeepAlive, o.Demands, o.Which)
	if err != nil {
		return ClosedResult{}, fmt.Errorf("preparing the closed loop: %w", err)
	}
	n, depth := o.Connections, max(1, o.Pipeline)
	s := &spinner{asked: a, timeout: int64(timeout(o.Timeout)), sleeps: o.Shared, log: newRequestLog(o.room()), moments: o.Moments, moment: o.Moment}
	l := &closedLoop{
		spinner: s, options: &o, depth: depth, to: int64(o.Warmup + o.Duration),
		clients: make([]spinClient, n), ready: make([]int32, n), later: make([]laterTurn, 0, n),
	}
	for i := range l.clients {
		l.clients[i].rng = rand.New(rand.NewPCG(o.Seed, uint64(i)))
	}
	s.loop = l
	if err := s.prepare(n, depth); err != nil {
		return ClosedResult{}, fmt.Errorf("preparing the closed loop: %w", err)
	}
	defer s.close()
	defer context.AfterFunc(ctx, func() { s.stop.Store(true) })()
	rest, undo := s.settle()
	defer undo()
	if o.KeepAlive && o.Ramp == 0 {
		s.open(s.stop.Load, s.conns, o.OpenRate)
	}
	self := observeProcess()
	s.start = time.Now().Add(lead)
	if o.Started != nil {
		o.Started(s.start)
	}
	s.run()
	took, spent := time.Since(s.start), self.proof()
	if o.Closing != nil {
		o.Closing()
	}
	res := tallied(s.log, a, &o, took)
	res.Start, res.Dialled, res.Exhausted = s.start, s.dialled, s.exhausted
	spent.spun(s, rest)
	res.prove(spent, &o)
	return res, errors.Join(s.err, ctx.Err())
}
