package model

import (
	"time"

	"schedlab/internal/timeline"
)

// startWait says that the connection, or a request of it, waits for a worker since at, by the
// timeline's clock; endWait, that the wait is over.
func (e *entry) startWait(at int64) { e.waiting.Store(at) }
func (e *entry) endWait()           { e.waiting.Store(0) }

// OldestWait is the longest time that a connection, or its request, has been waiting for a
// worker by now; 0 when none waits. It looks at every open connection, so it is for a scrape
// and not for each request.
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

// minGaveUpWait is the shortest wait after which the kernel is asked whether the client has
// given up, which costs a system call.
const minGaveUpWait = 10 * time.Millisecond

// tookConn ends the wait of a connection that a worker takes, and notes whether its client has
// given up meanwhile.
func tookConn[C openConn](c C, wait time.Duration) {
	e := c.ledgerEntry()
	e.endWait()
	if wait >= minGaveUpWait && c.clientGone() {
		e.gaveUp.Store(true)
	}
}

// tookRequest ends the wait of a request of c that a worker takes, and counts it if its client
// has given up meanwhile.
func (r *requests) tookRequest(c openConn, wait time.Duration) {
	c.ledgerEntry().endWait()
	if wait >= minGaveUpWait && c.clientGone() {
		r.gaveUp.Add(1)
	}
}
