package load

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"schedlab/internal/arrivals"
	"schedlab/internal/record"
)

// workers is how many goroutines vegeta starts with. It adds more whenever all are
// busy, without limit, so the loop stays open.
const workers = 64

// attackVegeta sends the trace with vegeta's attacker over net/http's Transport.
// o has been checked.
func attackVegeta(ctx context.Context, o Options) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t, err := newTransport(ctx, &o)
	if err != nil {
		return nil, err
	}
	return t.attack(&o, cancel)
}

func (t *transport) attack(o *Options, cancel context.CancelFunc) (*Result, error) {
	defer t.conns.close()
	defer cancel() // before the connections are closed
	if o.KeepAlive {
		t.conns.open(o.OpenRate)
	}
	attacker := vegeta.NewAttacker(vegeta.Workers(workers), vegeta.MaxBody(0), vegeta.Client(&http.Client{Transport: t}))
	self := startProcessMeter()
	tell, told := reporter(o, t.requests)
	passed := t.pacer.callMoments(o)
	for hit := range attacker.Attack(placeholderTarget, cancellingPacer{t.pacer, cancel}, 0, "") {
		tell(hit.Seq)
	}
	res := &Result{Requests: t.requests, Stamps: t.stamps, Start: t.pacer.start, Proof: self.proof()}
	res.Proof.Planned = len(o.Trace.At)
	res.Proof.countRequests(res.Requests)
	res.Dialled, res.Exhausted, res.Waited = t.conns.dialled.Load(), t.conns.exhausted.Load(), int(t.conns.waited.Load())
	if o.KeepAlive {
		t.conns.addTo(res)
	}
	passed()
	if o.Closing != nil {
		o.Closing()
	}
	cut := res.finish()
	told()
	if cut > 0 && t.pacer.err == nil {
		return res, t.ctx.Err() // it ended after the last request was sent
	}
	return res, t.pacer.err
}

// callMoments calls o.Moment at its times, from a goroutine that begins with the attack.
// passed waits for the last call, or for the end of the attack's context.
func (p *pacer) callMoments(o *Options) (passed func()) {
	if len(o.Moments) == 0 {
		return func() {}
	}
	started, done := p.started, make(chan struct{})
	p.started = func(start time.Time) {
		if started != nil {
			started(start)
		}
		go func() {
			defer close(done)
			for i, at := range o.Moments {
				pause(p.ctx, time.Until(start.Add(at)))
				if p.ctx.Err() != nil {
					return
				}
				o.Moment(i)
			}
		}()
	}
	return func() {
		if !p.start.IsZero() {
			<-done
		}
	}
}

// finish gives requests that were never sent an end, and counts those cut off.
func (res *Result) finish() (cut int) {
	end := int64(time.Since(res.Start))
	for i := range res.Requests {
		r := &res.Requests[i]
		if r.Sent < 0 {
			r.Done = max(end, r.Scheduled)
		}
		if r.Outcome == record.Cut {
			cut++
		}
	}
	return cut
}

// reporter calls o.Ended from a goroutine of its own, so that a slow callback keeps no
// request in flight. wait waits until all calls have returned.
func reporter(o *Options, requests []record.Request) (report func(seq uint64), wait func()) {
	if o.Ended == nil {
		return func(uint64) {}, func() {}
	}
	ended := make(chan uint64, len(requests)) // room for every one
	var calls sync.WaitGroup
	calls.Go(func() {
		for seq := range ended {
			o.Ended(int(seq), requests[seq])
		}
	})
	return func(seq uint64) { ended <- seq }, func() { close(ended); calls.Wait() }
}

// A cancellingPacer cuts off the requests in flight when its pacer gives up.
type cancellingPacer struct {
	*pacer
	cancel context.CancelFunc
}

// Pace implements vegeta.Pacer.
func (s cancellingPacer) Pace(elapsed time.Duration, hits uint64) (time.Duration, bool) {
	wait, stop := s.pacer.Pace(elapsed, hits)
	if s.err != nil {
		s.cancel()
	}
	return wait, stop
}

// placeholderTarget is the vegeta.Targeter. The transport chooses the real target by
// sequence number: targeters run concurrently and would hand them out in any order.
func placeholderTarget(t *vegeta.Target) error {
	t.Method, t.URL = http.MethodGet, "/"
	return nil
}

// A transport is the http.RoundTripper of vegeta's client. Of the request that vegeta
// hands over it takes the sequence number only: it sends the trace's request of that
// number, and keeps its outcome, times and stamps.
type transport struct {
	ctx        context.Context // ends with the attack
	targets    []preparedTarget
	trace      arrivals.Trace
	timeout    time.Duration
	pacer      *pacer // start is set before the first hit
	conns      *connSlots
	requests   []record.Request
	stamps     []record.Stamps
	emptyReply *http.Response // what vegeta sees of every reply: no body, no redirect
}

// A preparedTarget holds the parts of a target's requests.
type preparedTarget struct {
	method, url, host string
	header            http.Header
	body              []byte
	template          template // says how a demand is put into the URL
}

func newTransport(ctx context.Context, o *Options) (*transport, error) {
	tps, addr, err := templates(o.Targets, o.KeepAlive, o.Trace.Demand != nil)
	if err != nil {
		return nil, err
	}
	t := &transport{
		ctx: ctx, trace: o.Trace, timeout: timeout(o.Timeout),
		pacer:    &pacer{ctx: ctx, at: o.Trace.At, sleep: o.Sleep, started: o.Started, limit: maxInFlight},
		conns:    newConnSlots(ctx, o, addr, tps[0].tls),
		requests: make([]record.Request, len(o.Trace.At)), stamps: make([]record.Stamps, len(o.Trace.At)),
		emptyReply: &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Body: http.NoBody},
	}
	if t.pacer.sleep == nil {
		t.pacer.sleep = nanosleep
	}
	t.conns.timeout = t.timeout
	for i, target := range o.Targets {
		t.targets = append(t.targets, target.prepare(tps[i]))
	}
	for i, at := range o.Trace.At {
		t.requests[i] = record.Request{Scheduled: int64(at), Sent: -1, Outcome: record.Cut}
		if a, d := t.target(uint64(i)); a.template.query != 0 {
			t.requests[i].Iters, t.requests[i].Sleep = d.Iters, int64(d.Sleep)
		}
	}
	return t, nil
}

// prepare turns off the header fields that net/http would add by itself.
func (t Target) prepare(tp template) preparedTarget {
	url, _, _ := strings.Cut(t.URL, "#")
	a := preparedTarget{method: t.Method, url: url, body: t.Body, template: tp, header: http.Header{"User-Agent": nil}}
	for name, values := range t.Header {
		if http.CanonicalHeaderKey(name) == "Host" {
			a.host = values[len(values)-1]
			continue
		}
		a.header[name] = values
	}
	return a
}

// target is the target of request seq, and its demand.
func (t *transport) target(seq uint64) (a *preparedTarget, d arrivals.Demand) {
	if t.trace.Demand != nil {
		d = t.trace.Demand[seq]
	}
	return &t.targets[targetOf(seq, t.trace.Which, len(t.targets))], d
}

// request makes request number seq.
func (t *transport) request(ctx context.Context, seq uint64) (*http.Request, error) {
	a, d := t.target(seq)
	req, err := http.NewRequestWithContext(ctx, a.method, string(a.template.demand([]byte(a.url), d)), bytes.NewReader(a.body))
	if err != nil {
		return nil, err
	}
	if a.host != "" {
		req.Host = a.host
	}
	req.Header = maps.Clone(a.header)
	req.Header["X-Vegeta-Seq"] = []string{strconv.FormatUint(seq, 10)}
	return req, nil
}

var errUnsequenced = errors.New("request without X-Vegeta-Seq")

// RoundTrip implements http.RoundTripper. Distinct requests have distinct
// sequence numbers, so no two calls touch one entry of requests.
func (t *transport) RoundTrip(hit *http.Request) (*http.Response, error) {
	seq, err := strconv.ParseUint(hit.Header.Get("X-Vegeta-Seq"), 10, 64)
	if err != nil || seq >= uint64(len(t.requests)) {
		return nil, errUnsequenced
	}
	r := &t.requests[seq]
	sent := time.Since(t.pacer.start)
	r.Sent = int64(sent)
	x := &exchange{deadline: t.pacer.start.Add(sent + t.timeout)}
	ctx, cancel := context.WithDeadline(x.traced(t.ctx), x.deadline)
	defer cancel()
	n, err := t.exchangeOn(ctx, seq, x, r)
	r.Bytes, r.Outcome = bodyBytes(n), t.outcome(ctx, err)
	if r.Outcome != record.Answered {
		r.Status, r.Bytes = 0, 0
	}
	t.stamps[seq] = x.stamps(t.pacer.zero)
	r.Done = int64(time.Since(t.pacer.start))
	t.pacer.ended.Add(1)
	return t.emptyReply, nil
}

// exchangeOn sends request seq on a free connection and reads its whole reply of n bytes.
func (t *transport) exchangeOn(ctx context.Context, seq uint64, x *exchange, r *record.Request) (n int64, err error) {
	p, err := t.conns.get(ctx)
	if err != nil {
		return 0, err
	}
	defer t.conns.put(p)
	req, err := t.request(ctx, seq)
	if err != nil {
		return 0, err
	}
	resp, err := p.http.RoundTrip(req)
	if err == nil {
		r.Status = uint16(resp.StatusCode)
		if resp.StatusCode != http.StatusSwitchingProtocols { // whose body is the connection
			n, err = io.Copy(io.Discard, resp.Body)
		}
		resp.Body.Close()
	}
	t.conns.countReply(p, x, err == nil)
	return n, err
}

// outcome is the outcome of a request that ended with err.
func (t *transport) outcome(ctx context.Context, err error) record.Outcome {
	switch _, dial := errors.AsType[*dialError](err); {
	case err == nil:
		return record.Answered
	case t.ctx.Err() != nil:
		return record.Cut
	case ctx.Err() != nil || isTimeout(err):
		return record.TimedOut
	case dial:
		return record.Refused
	}
	return record.Reset
}

// traced returns a context that has x stamp the request and bound its dialling.
func (x *exchange) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(context.WithValue(ctx, exchangeKey{}, x), &httptrace.ClientTrace{
		GotConn: x.gotConn, GotFirstResponseByte: x.gotFirst,
	})
}

func isTimeout(err error) bool {
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded)
}
