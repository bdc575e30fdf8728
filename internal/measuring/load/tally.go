package load

import (
	"cmp"
	"slices"
	"time"

	"schedlab/internal/shared/request"
)

// An entry holds what the spinner knows about one request. Times are nanoseconds from the
// load's start, at least 1; 0: it has not happened. due and sent may be 0 themselves.
// ready, wrote and first are the stamps of the same names in request.Stamps.
type entry struct {
	due     int64 // may be 0
	sent    int64 // may be 0; negative: not sent yet
	ready   int64
	wrote   int64
	first   int64
	done    int64 // 0: no outcome yet
	bytes   uint32
	conn    int32 // index of its connection; -1 before it has one
	status  uint16
	outcome request.End
	ends    bool // it was the last request on its connection
	retries uint8
	again   uint8 // what it waits for, if it is sent again: see impatience
}

// A requestLog holds an entry for every request, in the order they were sent. The entries lie
// in slabs, so that the log can grow without copying. Of a load with a stream it holds only the
// slabs in use.
type requestLog struct {
	slabs []*slab // nil: its requests are over, and it is used again
	n     int
}

// A slab holds 65,536 entries of 64 bytes, 4 MiB. Its length is a power of two, so that at needs no
// division.
type slab [slabSize]entry

const (
	slabBits = 16
	slabSize = 1 << slabBits
)

// clear makes all entries unsent. It writes to all of them, which brings the pages into memory.
func (s *slab) clear() {
	for i := range s {
		s[i] = entry{sent: -1, conn: -1}
	}
}

// newRequestLog makes room for n entries and writes to that memory, so that no page fault
// comes while a load runs.
func newRequestLog(n int) *requestLog {
	l := &requestLog{}
	for range (n + slabSize - 1) / slabSize {
		l.grow()
	}
	return l
}

// grow adds an empty slab.
func (l *requestLog) grow() {
	s := new(slab)
	s.clear()
	l.slabs = append(l.slabs, s)
}

// at returns entry i. The pointer stays valid when the log grows.
func (l *requestLog) at(i int) *entry { return &l.slabs[i>>slabBits][i&(slabSize-1)] }

// add appends an entry that has not been sent.
func (l *requestLog) add() (i int, e *entry) {
	if l.n == len(l.slabs)*slabSize {
		l.grow()
	}
	i = l.n
	l.n++
	return i, l.at(i)
}

// stamps returns the client's stamps of the request.
func (e *entry) stamps() request.Stamps {
	return request.Stamps{Ready: e.ready, Wrote: e.wrote, First: e.first}
}

// request returns the entry as a record. r is what was planned.
func (e *entry) request(r request.Request) request.Request {
	r.Scheduled, r.Sent, r.Done, r.Bytes, r.Status, r.Outcome = e.due, e.sent, e.done, e.bytes, e.status, e.outcome
	r.Retries = e.retries
	return r
}

// attemptBits is where the number of an attempt begins in X-Vegeta-Seq, above the number of the request.
const attemptBits = 40

// number returns the X-Vegeta-Seq of the present attempt of request i. Each attempt has its own, so that the stamps of the server
// can be told apart.
func (e *entry) number(i int) uint64 { return uint64(e.retries)<<attemptBits | uint64(i) }

// Attempt returns the request and the attempt, 0 for the first, of an X-Vegeta-Seq.
func Attempt(seq uint64) (i uint64, retry uint8) {
	return seq & (1<<attemptBits - 1), uint8(seq >> attemptBits)
}

// A wait tells how the requests of a connection without any reply ended.
type wait struct{ timedOut, cut, failed bool }

// add counts a request.
func (w *wait) add(out request.End) {
	switch out {
	case request.Answered:
	case request.TimedOut:
		w.timedOut = true
	case request.Cut:
		w.cut = true
	default:
		w.failed = true
	}
}

// inVain reports whether the connection waited for a reply that never came. A connection on which all
// requests failed at once, such as by resets, did not wait, although another request may be under way at the end.
func (w *wait) inVain() bool { return w.timedOut || w.cut && !w.failed }

// A tally counts the requests of one client of a closed loop. Times are nanoseconds from the
// loop's start.
type tally struct {
	asked   bool // it sent a request
	active  bool // one of its requests ended in the measured time, or was cut off
	replied bool // it got a reply before the measured time ended
	wait    wait
	waiting bool   // it has sent another request since, which has not failed
	since   int64  // when it sent that request
	replies uint32 // in the measured time

	firstSent, firstReply int64   // when it sent its first request, and how long the first reply took
	session               Session // the present one; Began is -1 before its first request
}

// add counts the client's next request: in replied, if it was answered, and in waiting, if not.
func (t *tally) add(e *entry, answered bool) {
	if !t.asked {
		t.asked, t.firstSent, t.session = true, e.sent, Session{Client: int(e.conn), Began: -1}
	}
	out := e.outcome
	if !answered && (e.done == 0 || out == request.Answered) { // in flight at the end
		out = request.Cut
	}
	t.wait.add(out)
	switch {
	case answered:
		if !t.replied {
			t.replied, t.firstReply = true, e.done-t.firstSent
		}
		t.waiting = false
	case !out.Waited(): // a failure such as a reset is no wait
		t.waiting = false
	case !t.waiting: // without a reply it waits from the time of sending
		t.waiting, t.since = true, e.sent
	}
}

// addToSession counts a request that ended in the client's session. It returns the session
// and over true when this request ended the session: it was the last of size, which is
// Options.Session, or the connection is gone. With size 0 a session never ends here.
func (t *tally) addToSession(r request.Request, size int, gone bool) (ended Session, over bool) {
	s := &t.session
	if s.Began < 0 {
		s.Began = r.Sent
	}
	if r.Good() {
		s.Good++
	} else {
		s.Failed++
	}
	s.Broken = s.Broken || r.Outcome != request.Answered
	if size == 0 || s.Good+s.Failed < size && !gone {
		return ended, false
	}
	s.Ended, s.Broken = r.Done, s.Broken || s.Good+s.Failed < size
	ended = *s
	*s = Session{Client: s.Client, Began: -1}
	return ended, true
}

// tallied builds the result of a closed loop that ran for took, from its log. The requests of a
// client end in the order in which it sent them, so one pass over the log sees each client's
// sessions and waits in their order.
func tallied(log *requestLog, a *script, o *Options, took time.Duration) (res ClosedResult) {
	from, to := int64(o.Warmup), int64(o.Warmup+o.Duration)
	// A loop that was stopped early has measured for a shorter time.
	res.Elapsed = max(0, min(took, o.Warmup+o.Duration)-o.Warmup)
	clients := make([]tally, o.Connections)
	for i := range log.n {
		e := log.at(i)
		t, ended := &clients[e.conn], e.done > 0 && e.done < to
		answered := ended && e.outcome == request.Answered
		t.add(e, answered)
		if !ended { // in flight when the measured time ended
			t.active = true
			res.cutOff(e.sent, from, to)
			continue
		}
		r, measured := e.request(a.planned(i)), e.done >= from
		// Sessions that began in the warm-up count if they ended in the measured time.
		if s, over := t.addToSession(r, o.Session, e.ends); over && measured {
			res.Sessions = append(res.Sessions, s)
		}
		if !measured {
			continue
		}
		t.active = true
		if r.Good() {
			res.Answered++
		} else {
			res.Failed++
		}
		if answered {
			t.replies++
		}
		res.Requests, res.Stamps, res.Seqs = append(res.Requests, r), append(res.Stamps, e.stamps()), append(res.Seqs, uint64(i))
	}
	slices.SortStableFunc(res.Sessions, func(a, b Session) int { return cmp.Compare(a.Ended, b.Ended) })
	res.connections(clients, from, o.Pipeline)
	return res
}

// cutOff counts a request that was sent at time sent and was in flight when the measured time,
// from until to, ended. The sums of times leave out a request that was sent in the warm-up.
func (r *ClosedResult) cutOff(sent, from, to int64) {
	r.Cut.Requests++
	if sent < from {
		r.Cut.Early++
		return
	}
	under := time.Duration(max(0, to-sent)).Seconds()
	r.Cut.Time += under
	r.Cut.Squares += under * under
}

// fullTurns is the average number of turns per client from which on a client without any
// counts as starved. If a server picks the next client at random, one client in e^10 has had
// no turn by chance.
const fullTurns = 10

// connections counts the replies per client, and the clients that starved. A client with a
// pipeline gets depth replies in one turn. from is the start of the measured time.
func (r *ClosedResult) connections(clients []tally, from int64, depth int) {
	live, replies, silent := 0, 0, 0
	for _, t := range clients {
		if t.active {
			r.ConnAnswers = append(r.ConnAnswers, t.replies)
		}
		r.FirstReply = max(r.FirstReply, time.Duration(t.firstReply))
		if t.asked {
			r.Asked++
		}
		if replies += int(t.replies); t.replies > 0 {
			live++
		}
		switch {
		case t.asked && !t.replied && t.wait.inVain():
			r.Starved++
		case t.replies == 0 && t.waiting && t.since < from: // it waited all through the measured time
			silent++
		}
	}
	// With fewer turns a silent client may just not have had its turn yet.
	if live > 0 && replies >= fullTurns*max(1, depth)*live {
		r.Starved += silent
	}
}
