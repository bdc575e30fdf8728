package load

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/timeline"
)

// A transport carries vegeta's hits over the pool's connections and stamps
// them. What vegeta hands it, but for the sequence number, and what it hands
// back is ignored: the request is rendered from the template, the outcome is
// in requests.
type transport struct {
	ctx      context.Context
	client   *client
	conns    *pool
	pacer    *pacer // start is set before the first hit
	requests []record.Request
	stamps   []record.Stamps
	demand   []Demand
	seen     *http.Response // what vegeta sees of every reply; only read
}

// unread is a reply as vegeta should see it: nothing left to read, nowhere to
// be redirected to.
func unread() *http.Response {
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Body: http.NoBody}
}

// RoundTrip implements http.RoundTripper. Distinct requests have distinct
// sequence numbers, so no two calls touch one entry of requests.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	values := req.Header["X-Vegeta-Seq"]
	if len(values) != 1 {
		return nil, errUnsequenced
	}
	seq, err := strconv.ParseUint(values[0], 10, 64)
	if err != nil {
		return nil, errUnsequenced
	}
	r := &t.requests[seq]
	sent := time.Since(t.pacer.start)
	r.Sent = int64(sent)
	var rep reply
	rep, r.Outcome = t.carry(seq, t.pacer.start.Add(sent+t.client.timeout))
	r.Done = int64(time.Since(t.pacer.start))
	r.Status, r.Bytes = rep.status, bodyBytes(rep.bytes)
	return t.seen, nil
}

func (t *transport) carry(seq uint64, deadline time.Time) (reply, record.Outcome) {
	k, out := t.conns.get(deadline)
	if k == nil {
		return reply{}, out
	}
	var d Demand
	if t.demand != nil {
		d = t.demand[seq]
	}
	rep, out := t.client.do(t.ctx, k, seq, d, deadline)
	t.stamp(&t.stamps[seq], k.stamps)
	t.conns.put(k)
	return rep, out
}

// stamp writes down what the connection stamped, from the attack's start.
func (t *transport) stamp(s *record.Stamps, c timeline.Client) {
	zero := t.pacer.zero
	s.Ready, s.Wrote, s.First = stampFrom(zero, c.Ready), stampFrom(zero, c.Wrote), stampFrom(zero, c.First)
}
