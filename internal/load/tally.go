package load

import (
	"cmp"
	"slices"
	"time"

	"schedlab/internal/record"
)

// refusedPause keeps clients of a dead server from dialling without end.
const refusedPause = 10 * time.Millisecond

// A tally is what one client counts of the measured time, and whether it was
// ever heard.
type tally struct {
	from, to time.Duration // the measured time, from the loop's start

	answered, failed int
	cut              record.Pending
	replies          uint32

	early int           // requests that ended before the measured time
	heard bool          // it got a reply before the measured time's end
	waits bool          // it has asked again since
	since time.Duration // the first time that it has

	asked0, first int64   // when its first request was sent, moved by 1, and how long that took to be answered
	session       Session // the present one; Began is -1 before its first request
}

// asked reports whether the client sent anything.
func (t *tally) asked() bool { return t.answered+t.failed+t.cut.Requests+t.early > 0 }

// await notes that a request sent then has not been answered.
func (t *tally) await(sent time.Duration) {
	if !t.waits {
		t.waits, t.since = true, sent
	}
}

// count takes a request that ended: it counts if that was in the measured time, which
// is told, and as cut if it was after.
func (t *tally) count(r record.Request) (measured bool) {
	done := time.Duration(r.Done)
	if done >= t.to {
		t.cutOff(time.Duration(r.Sent))
		return false
	}
	if r.Outcome == record.Answered {
		t.heard, t.waits = true, false
	} else {
		t.await(time.Duration(r.Sent))
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

// cutOff counts a request, sent at that time, that the measured time's end left
// unanswered.
func (t *tally) cutOff(sent time.Duration) {
	t.await(sent)
	t.cut.Requests++
	under := max(0, t.to-sent).Seconds()
	if sent < t.from {
		t.cut.Early++
		return
	}
	t.cut.Time += under
	t.cut.Squares += under * under
}

// saw counts a request that ended to the present session, and returns that when it
// ended with it: when it was complete, or its connection was gone.
func (t *tally) saw(r record.Request, size int, gone bool) (ended Session, over bool) {
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

// tallied counts what the clients of a closed loop that took so long did.
func tallied(log *requestLog, a *asked, o *ClosedOptions, took time.Duration) (res ClosedResult) {
	res.Elapsed = max(0, min(took, o.Warmup+o.Duration)-o.Warmup)
	clients := make([]tally, o.Connections)
	for i := range clients {
		clients[i] = tally{from: o.Warmup, to: o.Warmup + o.Duration, session: Session{Client: i, Began: -1}}
	}
	ended := make([]int32, 0, log.n)
	for i := range log.n {
		e := log.at(i)
		t := &clients[e.conn]
		if t.asked0 == 0 {
			t.asked0 = e.sent + 1
		}
		if e.done > 0 {
			ended = append(ended, int32(i))
		}
	}
	slices.SortStableFunc(ended, func(i, j int32) int { return cmp.Compare(log.at(int(i)).done, log.at(int(j)).done) })
	measured := make([]bool, log.n)
	for _, i := range ended {
		e := log.at(int(i))
		t, r := &clients[e.conn], e.request(a.stated(int(i)))
		if e.outcome == record.Answered && t.first == 0 {
			t.first = max(1, e.done-t.asked0+1)
		}
		measured[i] = t.count(r)
		if s, over := t.saw(r, o.Session, e.ends); over && measured[i] {
			res.Sessions = append(res.Sessions, s)
		}
	}
	for i := range log.n {
		e := log.at(i)
		switch {
		case e.done == 0:
			clients[e.conn].cutOff(time.Duration(e.sent))
		case measured[i]:
			res.Requests = append(res.Requests, e.request(a.stated(i)))
			res.Marks = append(res.Marks, Mark{Seq: uint64(i), Ready: e.ready, Wrote: e.wrote, First: e.first})
		}
	}
	for i := range clients {
		res.add(&clients[i])
	}
	slices.SortFunc(res.Sessions, func(a, b Session) int { return cmp.Compare(a.Began, b.Began) })
	res.starve(o.Pipeline)
	return res
}

// add counts what one client did.
func (r *ClosedResult) add(t *tally) {
	r.Answered += t.answered
	r.Failed += t.failed
	r.Cut.Add(t.cut)
	if t.answered+t.failed+t.cut.Requests > 0 {
		r.ConnAnswers = append(r.ConnAnswers, t.replies)
	}
	r.FirstReply = max(r.FirstReply, time.Duration(t.first))
	if t.asked() {
		r.Asked++
	}
	switch {
	case t.asked() && !t.heard:
		r.Starved++
	case t.replies == 0 && t.waits && t.since < t.from:
		r.silent++
	}
}
