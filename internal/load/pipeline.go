package load

import (
	"context"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/timeline"
)

// A flight is one request under way in a pipeline.
type flight struct {
	seq    uint64
	sent   time.Duration
	demand Demand
}

// mark is the client's note on a request that was written as soon as it was
// sent; first is when the first byte of its answer had come.
func (f flight) mark(first int64) Mark {
	at := max(int64(f.sent), 1)
	return Mark{f.seq, at, at, first}
}

// pipeline keeps the connection full: it sends what there is room for in one
// write, waits for a reply, takes what else has come with it, and tops up.
func (cc *closedClient) pipeline(ctx context.Context, start time.Time) {
	c, k := cc.client, cc.conn
	under := make([]flight, 0, cc.options.Pipeline) // oldest first
	for ctx.Err() == nil {
		opening := time.Since(start)
		if opening >= cc.to {
			break
		}
		if k.nc == nil {
			if err := c.dial(ctx, k, start.Add(opening+c.timeout)); err != nil {
				if !cc.unopened(opening, start, c.outcome(err, record.Refused)) {
					return
				}
				pause(ctx, refusedPause)
				continue
			}
			if cc.session.Began < 0 {
				cc.session.Began = int64(opening)
			}
		}
		under = cc.topUp(under, start)
		err := k.nc.SetDeadline(start.Add(under[0].sent + c.timeout))
		if err == nil && len(k.out) > 0 {
			_, err = k.nc.Write(k.out)
		}
		for err == nil && len(under) > 0 {
			if k.br.Buffered() == 0 {
				k.heard = false
			}
			var rep reply
			if rep, err = k.readReply(c.template(under[0].seq).bodiless); err == nil {
				under = cc.land(under, start, rep)
			}
			if k.nc == nil || k.br.Buffered() == 0 {
				break
			}
		}
		if err == nil && len(under) == 0 && k.nc != nil && k.br.Buffered() > 0 {
			k.close() // bytes nobody asked for
		}
		if err != nil {
			k.close()
			if cc.fail(under, start, c.outcome(err, record.Reset)) {
				return
			}
			under = under[:0]
		}
	}
	cc.cutOffAll(under)
}

func (t *tally) cutOffAll(under []flight) {
	for _, f := range under {
		t.cutOff(f.sent)
	}
}

// unopened counts a request for which no connection could be opened, and with it
// the session. It reports whether the loop goes on.
func (cc *closedClient) unopened(opening time.Duration, start time.Time, out record.Outcome) bool {
	if out == record.Cut {
		cc.cutOff(opening)
		return false
	}
	seq, d := cc.next()
	done := time.Since(start)
	cc.saw(closedRequest(opening, opening, done, reply{}, out, d), Mark{Seq: seq})
	cc.turn(done)
	return true
}

// topUp renders into conn.out as many requests as the pipeline and the session
// have room for.
func (cc *closedClient) topUp(under []flight, start time.Time) []flight {
	o, k := cc.options, cc.conn
	room := o.Pipeline - len(under)
	if o.Session > 0 {
		room = min(room, o.Session-cc.session.Good-cc.session.Failed-len(under))
	}
	k.out = k.out[:0]
	sent := time.Since(start)
	if k.asked.IsZero() {
		k.asked = start.Add(sent)
	}
	for range room {
		seq, d := cc.next()
		k.out = cc.client.template(seq).request(k.out, seq, d)
		under = append(under, flight{seq, sent, d})
	}
	return under
}

// land counts the reply to the oldest request. Those behind a reply after which
// the server closes are lost.
func (cc *closedClient) land(under []flight, start time.Time, rep reply) []flight {
	k, f := cc.conn, under[0]
	if k.answers++; k.answers == 1 {
		k.first = time.Since(k.asked)
	}
	done := time.Since(start)
	cc.saw(closedRequest(f.sent, f.sent, done, rep, record.Answered, f.demand), f.mark(stampFrom(timeline.At(start), k.stamps.First)))
	under = append(under[:0], under[1:]...)
	if rep.keep {
		cc.turn(done)
		return under
	}
	k.close()
	cc.fail(under, start, record.Reset)
	return under[:0]
}

// fail counts requests that ended alike and without a reply, and with them the
// session. It reports whether that is the loop's end.
func (cc *closedClient) fail(under []flight, start time.Time, out record.Outcome) (over bool) {
	if out == record.Cut {
		cc.cutOffAll(under)
		return true
	}
	done := time.Since(start)
	for _, f := range under {
		cc.saw(closedRequest(f.sent, f.sent, done, reply{}, out, f.demand), f.mark(0))
	}
	cc.turn(done)
	return false
}
