package load

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/timeline"
)

// refusedPause keeps clients of a dead server from dialling without end.
const refusedPause = 10 * time.Millisecond

// A tally is what one client counts of the measured time, and whether it was
// ever heard.
type tally struct {
	from, to time.Duration // the measured time, from the loop's start
	keep     bool

	answered, failed int
	cut              record.Pending
	replies          uint32
	requests         []record.Request
	marks            []Mark
	sessions         []Session

	early int           // requests that ended before the measured time
	heard bool          // it got a reply before the measured time's end
	waits bool          // it has asked again since
	since time.Duration // the first time that it has
}

// asked reports whether the client sent anything.
func (t *tally) asked() bool { return t.answered+t.failed+t.cut.Requests+t.early > 0 }

// await notes that a request sent then has not been answered.
func (t *tally) await(sent time.Duration) {
	if !t.waits {
		t.waits, t.since = true, sent
	}
}

// count takes a request that ended: it counts if that was in the measured time,
// and as cut if it was after.
func (t *tally) count(r record.Request, m Mark) {
	done := time.Duration(r.Done)
	if done >= t.to {
		t.cutOff(time.Duration(r.Sent))
		return
	}
	if r.Outcome == record.Answered {
		t.heard, t.waits = true, false
	} else {
		t.await(time.Duration(r.Sent))
	}
	if done < t.from {
		t.early++
		return
	}
	if r.Good() {
		t.answered++
	} else {
		t.failed++
	}
	if r.Outcome == record.Answered {
		t.replies++
	}
	if t.keep {
		t.requests, t.marks = append(t.requests, r), append(t.marks, m)
	}
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

// A closedClient is one client, its connection and its own counts.
type closedClient struct {
	tally
	number  int
	client  *client
	conn    *conn
	options *ClosedOptions
	seq     *atomic.Uint64 // shared
	rng     *rand.Rand
	session Session // the present one; Began is -1 before its first request
}

// run is a client's life, from its start in the ramp to the loop's end.
func (cc *closedClient) run(ctx context.Context, start time.Time) {
	cc.session = Session{Client: cc.number, Began: -1}
	if o := cc.options; o.Ramp > 0 {
		pause(ctx, time.Until(start.Add(o.Ramp*time.Duration(cc.number)/time.Duration(o.Connections))))
	}
	if cc.options.Pipeline > 1 {
		cc.pipeline(ctx, start)
		return
	}
	zero := timeline.At(start)
	for n := 0; ctx.Err() == nil; n++ {
		due := cc.wait(ctx, start, n)
		sent := time.Since(start)
		if ctx.Err() != nil || max(due, sent) >= cc.to {
			return
		}
		seq, d := cc.next()
		rep, out := cc.client.do(ctx, cc.conn, seq, d, start.Add(sent+cc.client.timeout))
		done := time.Since(start)
		if out == record.Cut {
			cc.cutOff(sent)
			return
		}
		if due < 0 {
			due = sent
		}
		st := cc.conn.stamps
		cc.saw(closedRequest(due, sent, done, rep, out, d), Mark{seq, stampFrom(zero, st.Ready), stampFrom(zero, st.Wrote), stampFrom(zero, st.First)})
		cc.turn(done)
		if out == record.Refused {
			pause(ctx, refusedPause)
		}
	}
}

// wait returns when the client may send its request n: the time that was
// scheduled, or -1 without a schedule.
func (cc *closedClient) wait(ctx context.Context, start time.Time, n int) (due time.Duration) {
	o := cc.options
	switch {
	case o.Rate > 0:
		due = time.Duration((float64(cc.number) + float64(n)*float64(o.Connections)) / o.Rate * 1e9)
		pause(ctx, time.Until(start.Add(due)))
		return due
	case o.Think != nil && n > 0:
		pause(ctx, o.Think(cc.rng))
	}
	return -1
}

// next is the next request's number and demand.
func (cc *closedClient) next() (seq uint64, d Demand) {
	seq = cc.seq.Add(1) - 1
	return seq, cc.options.demand(seq)
}

func (o *ClosedOptions) demand(seq uint64) (d Demand) {
	if len(o.Demands) > 0 {
		d = o.Demands[seq%uint64(len(o.Demands))]
	}
	return d
}

func closedRequest(due, sent, done time.Duration, rep reply, out record.Outcome, d Demand) record.Request {
	return record.Request{
		Scheduled: int64(due), Sent: int64(sent), Done: int64(done),
		Bytes: bodyBytes(rep.bytes), Status: rep.status, Outcome: out,
		Iters: d.Iters, Sleep: int64(d.Sleep),
	}
}

// saw counts a request that ended, to the present session too.
func (cc *closedClient) saw(r record.Request, m Mark) {
	cc.count(r, m)
	s := &cc.session
	if s.Began < 0 {
		s.Began = r.Sent
	}
	if r.Good() {
		s.Good++
	} else {
		s.Failed++
	}
	s.Broken = s.Broken || r.Outcome != record.Answered
}

// turn ends the session, if there are any, when it is complete or its connection
// is gone.
func (cc *closedClient) turn(done time.Duration) {
	s, size := &cc.session, cc.options.Session
	if size == 0 || s.Began < 0 || s.Good+s.Failed < size && cc.conn.nc != nil {
		return
	}
	cc.conn.close()
	s.Ended, s.Broken = int64(done), s.Broken || s.Good+s.Failed < size
	if cc.keep && done >= cc.from && done < cc.to {
		cc.sessions = append(cc.sessions, *s)
	}
	*s = Session{Client: cc.number, Began: -1}
}
