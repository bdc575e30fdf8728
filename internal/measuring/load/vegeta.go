package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	"golang.org/x/net/http2"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
)

// vegeta starts with firstWorkers goroutines and adds one whenever all are busy, up to
// maxWorkers. The limit keeps a server that answers nothing from exhausting the generator's
// memory. At the limit requests are sent late.
const (
	firstWorkers = 64
	maxWorkers   = arrivals.MaxBurst
)

// attackVegeta runs Attack with vegeta's attacker and net/http's client.
func attackVegeta(ctx context.Context, o Options, requests *script) (*Result, error) {
	n := len(o.Trace.At)
	res := &Result{Requests: make([]request.Request, n), Stamps: make([]request.Stamps, n)}
	for i, at := range o.Trace.At {
		// A request counts as never sent until vegeta has sent it.
		r := requests.planned(i)
		r.Scheduled, r.Sent, r.Outcome = int64(at), -1, request.Cut
		res.Requests[i] = r
	}
	conns, err := newConnections(o.Clients)
	if err != nil {
		return nil, err
	}
	defer conns.close()
	a := &vegetaAttack{Options: &o, ctx: ctx, script: requests, res: res, conns: conns}
	attacker := vegeta.NewAttacker(vegeta.Client(&http.Client{Transport: a}), vegeta.Redirects(vegeta.NoFollow),
		vegeta.Workers(firstWorkers), vegeta.MaxWorkers(maxWorkers))
	// vegeta asks for targets from many goroutines, in any order, so RoundTrip chooses the real one.
	placeholder := vegeta.NewStaticTargeter(vegeta.Target{Method: http.MethodGet, URL: "/"})
	proof := measureProcess()
	for hit := range attacker.Attack(placeholder, a, 0, "") {
		// vegeta reports a hit after its RoundTrip, so the outcome is already there.
		r := &res.Requests[hit.Seq]
		r.Sent = int64(hit.Timestamp.Sub(res.Start))
		r.Done = r.Sent + int64(hit.Latency)
		if o.Ended != nil {
			o.Ended(int(hit.Seq), *r, res.Stamps[hit.Seq])
		}
	}
	res.Proof = proof()
	res.Proof.Planned = n
	a.count(res)
	res.Waited = int(conns.waited.Load())
	if o.Closing != nil {
		o.Closing()
	}
	end, cut := int64(time.Since(res.Start)), false
	for i := range res.Requests {
		r := &res.Requests[i]
		res.Proof.count(*r)
		if r.Sent < 0 { // cut off before it was sent
			r.Done = max(end, r.Scheduled)
		}
		cut = cut || r.Outcome == request.Cut
	}
	if cut {
		return res, ctx.Err()
	}
	return res, nil
}

// A vegetaAttack is the vegeta.Pacer and the http.RoundTripper of one attack.
//
// vegeta's attacker owns the goroutines and numbers its hits. Pace decides when the next hit is sent,
// and RoundTrip sends request n of the trace as hit n. So the schedule, the targets and the outcomes
// are the same as with the engine spin; the goroutines and the connections are vegeta's and net/http's.
type vegetaAttack struct {
	*Options
	ctx     context.Context // ends the attack
	script  *script
	conns   *connections
	res     *Result // Start is set by the first Pace
	moments int     // calls of Moment so far

	dialled, handshakes, exhausted atomic.Uint64
}

// count copies the counts of connections to res. net/http may still open one for a request that has ended; it is not counted.
func (a *vegetaAttack) count(res *Result) {
	res.Opened = record.Opened{Dialled: a.dialled.Load(), Handshakes: a.handshakes.Load()}
	res.Exhausted = a.exhausted.Load()
}

// Pace implements vegeta.Pacer. vegeta calls it for each hit, in order and from one
// goroutine. Pace itself sleeps until the arrival and never returns a wait, because vegeta's
// own pause is time.Sleep, which ends up to a millisecond late in an idle Go process.
func (a *vegetaAttack) Pace(_ time.Duration, hits uint64) (wait time.Duration, stop bool) {
	if hits == 0 {
		a.res.Start = time.Now()
		if a.Started != nil {
			a.Started(a.res.Start)
		}
	}
	// The call after the last hit ends the attack. Moments that are left are still called at their times.
	last := hits == uint64(len(a.Trace.At))
	for a.moments < len(a.Moments) && (last || a.Moments[a.moments] <= a.Trace.At[hits]) {
		if !a.sleepUntil(a.Moments[a.moments]) {
			return 0, true
		}
		a.Moment(a.moments)
		a.moments++
	}
	return 0, last || !a.sleepUntil(a.Trace.At[hits])
}

// longestSleep bounds how late a cancelled attack is noticed.
const longestSleep = 100 * time.Millisecond

// sleepUntil sleeps until at, a time from the attack's start. It reports whether the attack
// goes on.
func (a *vegetaAttack) sleepUntil(at time.Duration) bool {
	for a.ctx.Err() == nil {
		early := at - time.Since(a.res.Start)
		if early <= 0 {
			return true
		}
		Sleep(min(early, longestSleep))
	}
	return false
}

// Rate implements vegeta.Pacer. The attacker does not call it.
func (a *vegetaAttack) Rate(time.Duration) float64 { return 0 }

// RoundTrip implements http.RoundTripper. It sends the trace's request with hit's number and
// reads the whole reply. No two calls have the same number. It may be called concurrently.
func (a *vegetaAttack) RoundTrip(hit *http.Request) (*http.Response, error) {
	seq, err := strconv.Atoi(hit.Header.Get("X-Vegeta-Seq"))
	if err != nil || seq >= len(a.Trace.At) {
		return nil, fmt.Errorf("request number %q of %d", hit.Header.Get("X-Vegeta-Seq"), len(a.Trace.At))
	}
	resp, ended, stamps, err := a.ask(seq)
	r := &a.res.Requests[seq]
	r.Outcome, r.Status, r.Bytes, a.res.Stamps[seq] = ended.Outcome, ended.Status, ended.Bytes, stamps
	return resp, err
}

// ask sends request number seq and reads the whole reply. ended has the outcome, status and bytes alone. It may be called
// concurrently.
func (a *vegetaAttack) ask(seq int) (resp *http.Response, ended request.Request, stamps request.Stamps, err error) {
	ctx, cancel := context.WithTimeout(a.ctx, timeout(a.Timeout))
	defer cancel()
	var ready, first atomic.Int64 // a reply may come when ask has given up
	var secured atomic.Bool       // a TLS handshake has begun
	since := func(stamp *atomic.Int64) { stamp.Store(max(1, int64(time.Since(a.res.Start)))) }
	resp, n, err := a.exchange(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			since(&ready)
			// Over HTTP/1.1 a used connection that was not idle has just come from another request.
			if got.Reused && !got.WasIdle && !a.Speaks.HTTP2 && a.Connections > 0 {
				a.conns.waited.Add(1)
			}
		},
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				a.dialled.Add(1)
			}
		},
		TLSHandshakeStart: func() { secured.Store(true) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				a.handshakes.Add(1)
			}
		},
		GotFirstResponseByte: func() { since(&first) },
	}), seq)
	// net/http writes the request as soon as it has a connection, so Wrote is the same time as Ready.
	stamps = request.Stamps{Ready: ready.Load(), Wrote: ready.Load(), First: first.Load()}
	switch {
	case err == nil && a.Speaks.HTTP2 && resp.ProtoMajor != 2: // without ALPN net/http goes on in HTTP/1.1
		ended.Outcome, err = request.NoHTTP2, errors.New("the reply is HTTP/1.1")
	case err == nil:
		ended.Outcome, ended.Status, ended.Bytes = request.Answered, uint16(resp.StatusCode), bodyBytes(n)
		return resp, ended, stamps, nil
	// The attack's own context is looked at first: it ends the request's context too.
	case a.ctx.Err() != nil:
		ended.Outcome = request.Cut
	case ctx.Err() != nil:
		ended.Outcome = request.TimedOut
	case ready.Load() == 0:
		ended.Outcome = failedDial(err)
		if secured.Load() {
			ended.Outcome = request.OfHandshake(err)
		}
	default:
		ended.Outcome = failedExchange(err, first.Load() > 0)
		// What a server that speaks HTTP/1.1 alone sends first is no frame of HTTP/2.
		if a.Speaks.HTTP2 && a.Speaks.TLS == "" && ended.Outcome == request.Closed {
			ended.Outcome = failedPreface(err)
		}
	}
	if ended.Outcome == request.Exhausted {
		a.exhausted.Add(1)
	}
	return nil, ended, stamps, err
}

// failedExchange returns the outcome of a request that failed on its open connection. begun tells whether a
// byte of the reply had come.
func failedExchange(err error, begun bool) request.End {
	var broken net.Error
	stream, streams := errors.AsType[http2.StreamError](err)
	refused := request.OfCertificate(err) // over TLS 1.3 a server sees the client's certificate when the client has finished
	switch {
	case refused != 0:
		return refused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return request.Reset
	case streams:
		// net/http resets a stream itself if what came on it is not HTTP.
		if stream.Cause != nil && stream.Cause.Error() == "received from peer" {
			return request.Reset
		}
		return request.Malformed
	case begun && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || wentAway(err)):
		return request.Short
	case begun && !errors.As(err, &broken): // the network is well, so the reply was not
		return request.Malformed
	case begun:
		return request.Reset
	}
	return request.Closed
}

// failedPreface returns the outcome of a request over HTTP/2 without TLS that got no reply: NoHTTP2 if the network is well, so
// that the server answered something else or closed, else Closed.
func failedPreface(err error) request.End {
	if _, broken := errors.AsType[net.Error](err); broken || wentAway(err) {
		return request.Closed
	}
	return request.NoHTTP2
}

// wentAway reports whether the server ended a connection of HTTP/2 by GOAWAY (RFC 9113, section 6.8). The errors of net/http
// that say so have no type or value outside of it.
func wentAway(err error) bool { return strings.Contains(err.Error(), "GOAWAY") }

// exchange sends request number seq and reads its reply. n is the length of the reply's body.
func (a *vegetaAttack) exchange(ctx context.Context, seq int) (resp *http.Response, n int64, err error) {
	tp := a.script.template(uint64(seq))
	url := tp.demandURL(a.script.demand(seq))
	req, err := (&vegeta.Target{Method: tp.Method, URL: url, Header: tp.Header, Body: tp.Body}).Request()
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("X-Vegeta-Seq", strconv.Itoa(seq)) // the hit's own is on the placeholder
	// vegeta knows the header Host by one spelling alone, and net/http would send any other beside its own.
	req.Host = tp.host
	maps.DeleteFunc(req.Header, func(name string, _ []string) bool { return isHost(name) })
	client, free, err := a.conns.take(ctx, req.URL.Scheme, tp.addr)
	if err != nil {
		return nil, 0, err
	}
	defer free()
	if resp, err = client.RoundTrip(req.WithContext(ctx)); err != nil {
		return nil, 0, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols { // there the body is the connection
		n, err = io.Copy(io.Discard, resp.Body)
	}
	// The attacker reads and closes the body of each reply. This one is read already.
	resp.Body.Close()
	resp.Body = http.NoBody
	return resp, n, err
}

// A Stamp selects the time at which a vegeta result begins.
type Stamp int

// ScheduledStamp gives response time, the honest figure. SentStamp gives the
// time since the request was sent, as vegeta itself reports it.
const (
	ScheduledStamp Stamp = iota
	SentStamp
)

// A VegetaWriter writes the requests of an attack in vegeta's binary format, which
// `vegeta report` and vegeta's other commands read. Each result's Timestamp is the
// request's scheduled (or sent) time, and its Latency lasts from there to its end.
// Requests without a reply have code 0 and their outcome as error. Requests never
// sent are left out.
//
// It writes whole results only, several at a time and at most 200 ms late, so that the
// file of a killed process can be read. It is not safe for concurrent use.
type VegetaWriter struct {
	Start time.Time // of the attack; set it before the first Write

	w        io.Writer
	buffered bytes.Buffer
	flushed  time.Time
	encode   vegeta.Encoder
	name     string
	script   *script
	from     Stamp
}

// A VegetaWriter buffers results up to this size, and for this long.
const (
	flushBytes = 32 << 10
	flushEvery = 200 * time.Millisecond
)

// NewVegetaWriter returns a writer to w of the results of an attack called name. The attack's
// targets, and the trace's Which, give method, URL and bytes sent. The caller calls Flush at the end.
func NewVegetaWriter(w io.Writer, name string, targets []Target, which []uint32, from Stamp) (*VegetaWriter, error) {
	script, err := newScript(targets, true, nil, which)
	if err != nil {
		return nil, fmt.Errorf("encoding vegeta results: %w", err)
	}
	v := &VegetaWriter{w: w, name: name, script: script, from: from, flushed: time.Now()}
	v.encode = vegeta.NewEncoder(&v.buffered)
	return v, nil
}

// Write adds request number seq of the attack. It may only buffer it; see Flush.
func (v *VegetaWriter) Write(seq int, r request.Request) error {
	if r.Sent < 0 {
		return nil
	}
	// A result begins at Timestamp and ends Latency later, so both count from the same stamp.
	began := r.Scheduled
	if v.from == SentStamp {
		began = r.Sent
	}
	tp := v.script.template(uint64(seq))
	d := arrivals.Demand{Iters: r.Iters, Sleep: time.Duration(r.Sleep)}
	result := vegeta.Result{
		Attack:    v.name,
		Seq:       uint64(seq),
		Code:      r.Status,
		Timestamp: v.Start.Add(time.Duration(began)),
		Latency:   time.Duration(r.Done - began),
		BytesIn:   uint64(r.Bytes),
		BytesOut:  uint64(len(tp.Body)),
		Method:    tp.Method,
		URL:       tp.demandURL(d),
		Error:     vegetaError(r),
	}
	if err := v.encode.Encode(&result); err != nil {
		return fmt.Errorf("encoding vegeta result %d: %w", seq, err)
	}
	if v.buffered.Len() < flushBytes && time.Since(v.flushed) < flushEvery {
		return nil
	}
	return v.Flush()
}

// Flush writes the buffered results.
func (v *VegetaWriter) Flush() error {
	v.flushed = time.Now()
	if _, err := v.buffered.WriteTo(v.w); err != nil {
		return fmt.Errorf("writing vegeta results: %w", err)
	}
	return nil
}

// vegetaError returns the error that vegeta would report: the outcome of a request without a
// reply, or a bad status; "" for a good reply.
func vegetaError(r request.Request) string {
	switch {
	case r.Outcome != request.Answered:
		return r.Outcome.String()
	case r.Good():
		return ""
	}
	return strings.TrimSpace(strconv.Itoa(int(r.Status)) + " " + http.StatusText(int(r.Status)))
}
