package model

import (
	"time"

	"schedlab/internal/timeline"
)

// enter says that the connection, or a request of it, waits for a worker since
// then, by the timeline's clock. A wait ends with leave.
func (e *entry) enter(at int64) { e.waiting.Store(at) }
func (e *entry) leave()         { e.waiting.Store(0) }

// OldestWait is how long the connection has waited that waits longest now for a
// worker, for itself or for its request; 0 when none waits. It looks at every open
// connection, so it is for a scrape and not for each request.
func (l *Ledger) OldestWait() time.Duration {
	now := timeline.Now()
	oldest := now
	for _, c := range l.conns() {
		if at := c.ledgerEntry().waiting.Load(); at != 0 {
			oldest = min(oldest, at)
		}
	}
	return time.Duration(now - oldest)
}

// patient is the shortest wait after which a client that has gone is said to have
// given up. After shorter ones the kernel is not asked, which costs a system call.
const patient = 10 * time.Millisecond

// tookConn ends the wait of a connection that a worker takes, and takes note if
// its client gave up meanwhile.
func tookConn[C openConn](c C, wait time.Duration) {
	e := c.ledgerEntry()
	e.leave()
	if wait >= patient && c.clientGone() {
		e.gaveUp.Store(true)
	}
}

// tookRequest ends the wait of a request of c that a worker takes, and counts it if
// its client gave up meanwhile.
func (r *requests) tookRequest(c openConn, wait time.Duration) {
	c.ledgerEntry().leave()
	if wait >= patient && c.clientGone() {
		r.gaveUp.Add(1)
	}
}
