package model

import (
	"maps"
	"slices"
	"sync"
	"time"

	"schedlab/internal/timeline"
)

// A Reason tells why a connection was turned away. The set is closed, because a Reason is a
// metric label. The same reasons count requests that were not run ([RequestCounts.Shed]).
type Reason uint8

// The reasons a connection is rejected (answered, then closed) or dropped
// (closed without an answer).
const (
	QueueFull    Reason = iota // no place in the queue
	ShedBusy                   // no place in the queue, and too many refusals in progress to answer
	ProcessDied                // its process ended without a drain
	Unanswered                 // no place in the queue, and the policy is to give no answer
	Evicted                    // it had waited longest in a full queue
	Stale                      // it had waited too long in the queue
	DrainTimeout               // a drain cut it with a request in flight
	numReasons
)

// Reasons returns every reason, in the order of [Counts.Rejected].
func Reasons() []Reason {
	return []Reason{QueueFull, ShedBusy, ProcessDied, Unanswered, Evicted, Stale, DrainTimeout}
}

// String returns the value of the label reason.
func (r Reason) String() string {
	return [...]string{"queue_full", "shed_busy", "process_died", "dropped", "evicted", "stale", "drain_timeout"}[r]
}

// Counts is one consistent reading of a server's connections:
//
//	Accepted == Done + ΣRejected + ΣDropped + Open
//
// This holds in every reading, because connection events change a [Ledger] under one lock.
//
// The arrays are indexed by [Reason]. All numbers but Open only grow.
type Counts struct {
	Accepted uint64             // connections the kernel handed over
	Done     uint64             // served and closed
	Rejected [numReasons]uint64 // answered with a refusal and closed, by reason
	Dropped  [numReasons]uint64 // closed without an answer, by reason
	Open     uint64             // accepted and not yet closed, counted independently
	// GaveUp is the part of Done that the client had closed, or closed for sending, by the
	// time that a worker took it.
	GaveUp uint64
}

// Plus returns the sum of two readings of different servers.
func (c Counts) Plus(d Counts) Counts {
	c.Accepted += d.Accepted
	c.Done += d.Done
	c.GaveUp += d.GaveUp
	for i := range c.Rejected {
		c.Rejected[i] += d.Rejected[i]
		c.Dropped[i] += d.Dropped[i]
	}
	c.Open += d.Open
	return c
}

// A Ledger counts connections: each once when it is accepted and once when its socket is
// closed, whatever the model does between. It is safe for concurrent use. An event costs one
// short lock; there are two events per connection and none per request. The zero value is
// empty and ready to use.
type Ledger struct {
	mu     sync.Mutex
	open   map[openConn]struct{}
	counts Counts // without Open, which is the length of the map
}

// Counts returns one consistent reading.
func (l *Ledger) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts
	c.Open = uint64(len(l.open))
	return c
}

// conns returns the connections open now, in no order.
func (l *Ledger) conns() []openConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.open))
}

// accept adds an open connection. The socket's own counts change under the same lock.
func (l *Ledger) accept(c openConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = make(map[openConn]struct{})
	}
	l.open[c] = struct{}{}
	l.counts.Accepted++
	s := c.ledgerEntry().socket
	s.counts.Accepted++
	s.counts.Open++
}

// close takes a connection out and counts it by its fate. The caller sees to it that this happens
// once for each connection.
func (l *Ledger) close(c openConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.open, c)
	e := c.ledgerEntry()
	e.socket.counts.Open--
	fate := e.fate.Load()
	reason := fate >> reasonShift
	switch fate & (1<<reasonShift - 1) {
	case rejected:
		l.counts.Rejected[reason]++
	case dropped:
		l.counts.Dropped[reason]++
	default:
		l.counts.Done++
		if e.gaveUp.Load() {
			l.counts.GaveUp++
		}
	}
}

// SocketCounts counts the connections of one listening socket: those accepted so far and
// those open now.
type SocketCounts struct{ Accepted, Open uint64 }

// SocketCounts returns one consistent reading of the connections of every socket, in the
// order of [Listener.AcceptQueue].
func (l *Listener) SocketCounts() []SocketCounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := make([]SocketCounts, len(l.sockets))
	for i, s := range l.sockets {
		counts[i] = s.counts
	}
	return counts
}

// startWait notes that the connection, or a request on it, has been waiting for a worker since
// at, by the timeline's clock. endWait notes the end of the wait.
func (e *entry) startWait(at int64) { e.waiting.Store(at) }
func (e *entry) endWait()           { e.waiting.Store(0) }

// OldestWait returns the age of the longest present wait of a connection, or its request, for
// a worker; 0 when none waits. It looks at every open connection, so call it once per scrape
// and not for each request.
func (l *Ledger) OldestWait() time.Duration {
	now := timeline.Now()
	oldest := now
	// conns copies the list, so that the lock is not held while all connections are looked at.
	for _, c := range l.conns() {
		if at := c.ledgerEntry().waiting.Load(); at != 0 {
			oldest = min(oldest, at)
		}
	}
	return time.Duration(now - oldest)
}

// minGaveUpWait is the shortest wait after which the server asks the kernel whether the client
// has given up. The question costs a system call.
const minGaveUpWait = 10 * time.Millisecond

// tookConn ends the wait of a connection when a worker takes it. It notes whether the client
// has given up meanwhile.
func tookConn[C openConn](c C, wait time.Duration) {
	e := c.ledgerEntry()
	e.endWait()
	if wait >= minGaveUpWait && isGone(c) {
		e.gaveUp.Store(true)
	}
}

// tookRequest ends the wait of a request on c when a worker takes it. It counts the request if
// the client has given up meanwhile.
func (r *requests) tookRequest(c openConn, wait time.Duration) {
	c.ledgerEntry().endWait()
	if wait >= minGaveUpWait && isGone(c) {
		r.gaveUp.Add(1)
	}
}
