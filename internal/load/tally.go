package load

import (
	"cmp"
	"slices"
	"time"

	"schedlab/internal/record"
)

// refusedPause is how long a client waits after a refused connection, so that clients of a
// dead server do not dial all the time.
const refusedPause = 10 * time.Millisecond

// A tally is what one client of a closed loop counts of the measured time, and whether it
// ever got a reply.
type tally struct {
	from, to time.Duration // the measured time, from the loop's start

	answered, failed int
	cut              record.Pending
	replies          uint32

	early        int           // requests that ended before the measured time
	replied      bool          // it got a reply before the end of the measured time
	waiting      bool          // it has sent another request since
	waitingSince time.Duration // when it did so first

	firstSent, firstReply int64   // when it sent its first request, plus 1, and how long the first reply took
	session               Session // the present one; Began is -1 before its first request
}

// sentAny reports whether the client sent a request.
func (t *tally) sentAny() bool { return t.answered+t.failed+t.cut.Requests+t.early > 0 }

// startWaiting notes a request sent at that time that has no reply yet.
func (t *tally) startWaiting(sent time.Duration) {
	if !t.waiting {
		t.waiting, t.waitingSince = true, sent
	}
}

// count takes a request that ended, and reports whether that was in the measured time.
// One that ended later counts as cut off.
func (t *tally) count(r record.Request) (measured bool) {
	done := time.Duration(r.Done)
	if done >= t.to {
		t.cutOff(time.Duration(r.Sent))
		return false
	}
	if r.Outcome == record.Answered {
		t.replied, t.waiting = true, false
	} else {
		t.startWaiting(time.Duration(r.Sent))
	}
	if done < t.from {
		t.early++
		return false
	}
	if r.Good() {
		t.answered++
	} else {
		t.failed++
	}
	if r.Outcome == record.Answered {
		t.replies++
	}
	return true
}

// cutOff counts a request, sent at that time, that was in flight when the measured time
// ended.
func (t *tally) cutOff(sent time.Duration) {
	t.startWaiting(sent)
	t.cut.Requests++
	under := max(0, t.to-sent).Seconds()
	if sent < t.from {
		t.cut.Early++
		return
	}
	t.cut.Time += under
	t.cut.Squares += under * under
}

// addToSession counts a request that ended in the client's session. When the session ended
// with it, complete or because the connection is gone, it is returned.
func (t *tally) addToSession(r record.Request, size int, gone bool) (ended Session, over bool) {
	s := &t.session
	if s.Began < 0 {
		s.Began = r.Sent
	}
	if r.Good() {
		s.Good++
	} else {
		s.Failed++
	}
	s.Broken = s.Broken || r.Outcome != record.Answered
	if size == 0 || s.Good+s.Failed < size && !gone {
		return ended, false
	}
	s.Ended, s.Broken = r.Done, s.Broken || s.Good+s.Failed < size
	ended = *s
	*s = Session{Client: s.Client, Began: -1}
	return ended, true
}

// tallied counts the requests of a closed loop that ran for took.
func tallied(log *requestLog, a *script, o *ClosedOptions, took time.Duration) (res ClosedResult) {
	res.Elapsed = max(0, min(took, o.Warmup+o.Duration)-o.Warmup)
	clients := make([]tally, o.Connections)
	for i := range clients {
		clients[i] = tally{from: o.Warmup, to: o.Warmup + o.Duration, session: Session{Client: i, Began: -1}}
	}
	ended := make([]int32, 0, log.n)
	for i := range log.n {
		e := log.at(i)
		t := &clients[e.conn]
		if t.firstSent == 0 {
			t.firstSent = e.sent + 1
		}
		if e.done > 0 {
			ended = append(ended, int32(i))
		}
	}
	slices.SortStableFunc(ended, func(i, j int32) int { return cmp.Compare(log.at(int(i)).done, log.at(int(j)).done) })
	measured := make([]bool, log.n)
	for _, i := range ended {
		e := log.at(int(i))
		t, r := &clients[e.conn], e.request(a.recordedDemand(int(i)))
		if e.outcome == record.Answered && t.firstReply == 0 {
			t.firstReply = max(1, e.done-t.firstSent+1)
		}
		measured[i] = t.count(r)
		if s, over := t.addToSession(r, o.Session, e.ends); over && measured[i] {
			res.Sessions = append(res.Sessions, s)
		}
	}
	for i := range log.n {
		e := log.at(i)
		switch {
		case e.done == 0:
			clients[e.conn].cutOff(time.Duration(e.sent))
		case measured[i]:
			res.Requests = append(res.Requests, e.request(a.recordedDemand(i)))
			res.Stamps = append(res.Stamps, e.stamps())
			res.Seqs = append(res.Seqs, uint64(i))
		}
	}
	for i := range clients {
		res.add(&clients[i])
	}
	slices.SortFunc(res.Sessions, func(a, b Session) int { return cmp.Compare(a.Began, b.Began) })
	res.countStarved(o.Pipeline)
	return res
}

// add adds one client's tally.
func (r *ClosedResult) add(t *tally) {
	r.Answered += t.answered
	r.Failed += t.failed
	r.Cut.Add(t.cut)
	if t.answered+t.failed+t.cut.Requests > 0 {
		r.ConnAnswers = append(r.ConnAnswers, t.replies)
	}
	r.FirstReply = max(r.FirstReply, time.Duration(t.firstReply))
	if t.sentAny() {
		r.Asked++
	}
	switch {
	case t.sentAny() && !t.replied:
		r.Starved++
	case t.replies == 0 && t.waiting && t.waitingSince < t.from:
		r.silent++
	}
}
