package load

import (
	"time"

	"schedlab/internal/arrivals"
)

// askIdle sends the one request of an idle connection. It reports whether k is still open.
func (s *spinner) askIdle(k *spinConn) bool {
	s.idleConns.Opened++
	seq := uint64(s.log.n) + uint64(k.index)
	k.out = s.script.template(seq).request(k.out[:0], seq, arrivals.Demand{})
	return s.flush(k)
}

// idleReply handles the bytes that an idle connection receives: the reply to its one request.
// Anything else closes the connection.
func (s *spinner) idleReply(k *spinConn, b []byte) {
	seq := uint64(s.log.n) + uint64(k.index)
	rest, rep, whole, err := k.reader.next(b, &s.heads, s.script.template(seq).bodiless)
	if err == nil && !whole && k.fresh {
		return
	}
	if whole && k.fresh {
		k.fresh = false
		s.idleConns.Answered++
	}
	if err != nil || len(rest) > 0 || !rep.keep {
		s.idleLost(k)
	}
}

// idleLost counts an idle connection that was lost before the load ended.
func (s *spinner) idleLost(k *spinConn) {
	s.closeConn(k)
	if s.idleConns.Lost++; s.idleConns.Lost == 1 {
		s.firstLost = time.Now()
	}
}

// openIdle opens the idle connections and waits until each has its reply or has failed.
//
// Idle connections (Options.Idle) cost the server memory and places in its tables while the load runs.
// Each asks once, so that the server has accepted it and begun to serve it.
func (s *spinner) openIdle(stopped func() bool, conns []spinConn) {
	for i := range conns {
		conns[i].idle = true
	}
	// open returns when all are open; the replies to their requests may still be on the way.
	s.open(stopped, conns, 0)
	settled := func() bool {
		for i := range conns {
			if k := &conns[i]; k.state == spinOpen && k.fresh {
				return false
			}
		}
		return true
	}
	for end := time.Now().Add(time.Duration(s.timeout)); !settled() && !stopped() && s.err == nil && time.Now().Before(end); {
		s.pump(time.Millisecond)
	}
}
