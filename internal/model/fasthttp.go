package model

import (
	"errors"
	"net"
	"sync"
	"unsafe"

	"github.com/valyala/fasthttp"

	"schedlab/internal/workload"
)

// A fasthttpEngine reads, parses and answers requests with fasthttp. The model that embeds it
// decides on which goroutine this happens.
//
// fasthttp calls back at four points: HeaderReceived after a head (limitBody), Handler for a
// request (answer), ErrorHandler for one that it could not read (end), and ConnState (track). A
// model calls server.ServeConn with a connection, on a goroutine of its choice.
type fasthttpEngine struct {
	*requests
	server *fasthttp.Server
	limits Limits
}

// newFasthttpEngine returns an engine with the timeouts of cfg. A model may replace ConnState
// before it serves.
func newFasthttpEngine(cfg Config) fasthttpEngine {
	e := fasthttpEngine{requests: newRequests(cfg), limits: cfg.Limits}
	e.server = newServer(cfg)
	e.server.Handler = e.answer
	e.server.ErrorHandler = e.end
	e.server.HeaderReceived = e.limitBody
	e.server.ConnState = track
	e.server.NoDefaultContentType = true
	e.server.Concurrency = fasthttp.DefaultConcurrency // the listener holds the cap
	e.server.ReadTimeout, e.server.WriteTimeout, e.server.IdleTimeout = cfg.HeaderTimeout, cfg.WriteTimeout, cfg.IdleTimeout
	return e
}

// newServer returns a fasthttp server with the settings that all share: the size limits of cfg,
// and no timeouts.
func newServer(cfg Config) *fasthttp.Server {
	return &fasthttp.Server{
		Name:                         serverName,
		ReadBufferSize:               cfg.MaxHead,
		MaxRequestBodySize:           cfg.MaxBody,
		SecureErrorLogMessage:        true,
		Logger:                       DebugLog{cfg.Log},
		DisablePreParseMultipartForm: true, // handlers take every body as bytes, whatever its Content-Type
	}
}

// track marks a connection's requests as answered when it becomes idle.
func track(nc net.Conn, state fasthttp.ConnState) {
	if state == fasthttp.StateIdle {
		nc.(openConn).ledgerEntry().markAnswered()
	}
}

// noLength is fasthttp's ContentLength when the request announces no body.
const noLength = -2

// limitBody sets the body timeout for a request that has a body. It also removes Expect from a
// request of HTTP/1.0, which must not be sent 100 Continue (RFC 9110 §15.2).
func (e *fasthttpEngine) limitBody(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if !h.IsHTTP11() {
		h.Del(fasthttp.HeaderExpect)
	}
	if n := h.ContentLength(); n == 0 || n == noLength {
		return fasthttp.RequestConfig{}
	}
	return fasthttp.RequestConfig{ReadTimeout: e.limits.BodyTimeout}
}

// answer is the handler for fasthttp: it runs the request and copies the answer to ctx.
func (e *fasthttpEngine) answer(ctx *fasthttp.RequestCtx) {
	// The strings below alias fasthttp's buffers, which stay as they are until answer returns.
	x := exchanges.Get().(*workload.Exchange)
	defer exchanges.Put(x)
	x.Reset()
	req := &ctx.Request
	x.Method = view(req.Header.Method())
	x.Path, x.Query = target(view(req.Header.RequestURI()))
	x.Body = req.Body()
	c := ctx.Conn().(openConn)
	h := inspect(&req.Header)
	x.Seq = h.seq
	if h.flaw != noFlaw {
		e.decline(x, refusals[h.flaw].status, refusals[h.flaw].body)
		c.ledgerEntry().linger.Store(true)
	} else {
		e.serve(x, c, ctx.Time().Sub(e.epoch)) // fasthttp has just read the clock
	}
	if x.Status == noAnswer {
		leaveUnanswered(c, e.limits.IdleTimeout)
		return
	}

	res := &ctx.Response
	res.SetStatusCode(x.Status)
	if x.ContentType != "" {
		res.Header.SetContentType(x.ContentType)
	}
	if x.Allow != "" {
		res.Header.Set("Allow", x.Allow)
	}
	if x.RetryAfter != "" {
		res.Header.Set("Retry-After", x.RetryAfter)
	}
	if x.Stamped && h.timing {
		res.Header.Set("Server-Timing", serverTiming(x))
	}
	if x.Close || h.closes {
		res.SetConnectionClose()
	}
	// fasthttp writes the answer after this function has returned, when x may serve another
	// request. So a body in x's buffer is copied. Any other body is never modified.
	if x.Owned() {
		res.SetBody(x.Out)
	} else {
		res.SetBodyRaw(x.Out)
	}
}

// seqHeader is the header that carries a request's number in its trace.
const seqHeader = "X-Vegeta-Seq"

const unsupportedCoding = "unsupported transfer coding\n"

// end ends a connection on which fasthttp failed to read the next request. In every mode, a
// client that sent nothing gets no answer.
func (e *fasthttpEngine) end(ctx *fasthttp.RequestCtx, err error) {
	if c := ctx.Conn().(openConn); c.ledgerEntry().read.Load() == 0 {
		_ = c.Close() // keeps fasthttp from sending its answer
		return
	}
	e.refuseBad(ctx, err)
}

// refuseBad answers a request that fasthttp could not parse; the connection then closes.
func (r *requests) refuseBad(ctx *fasthttp.RequestCtx, err error) {
	status, body := fasthttp.StatusBadRequest, "malformed request\n"
	var small *fasthttp.ErrSmallBuffer
	var op *net.OpError
	_ = errors.As(err, &op)
	switch {
	case errors.As(err, &small):
		status, body = fasthttp.StatusRequestHeaderFieldsTooLarge, "request head too large\n"
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		status, body = fasthttp.StatusRequestEntityTooLarge, "request body too large\n"
	case errors.Is(err, fasthttp.ErrUnsupportedTransferEncoding):
		status, body = fasthttp.StatusNotImplemented, unsupportedCoding
	case op != nil && op.Timeout():
		status, body = fasthttp.StatusRequestTimeout, "request took too long to arrive\n"
	}
	// A client that was too slow is not waited for again.
	ctx.Conn().(openConn).ledgerEntry().linger.Store(status != fasthttp.StatusRequestTimeout)
	if op == nil || op.Timeout() { // otherwise the connection failed, and no answer arrives
		r.tally.refuse(status)
	}
	ctx.SetStatusCode(status)
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(body)
}

// view returns b as a string without a copy. The string is valid as long as the request.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// fasthttpModel is fasthttp's own scheduling: an elastic pool of workers. The worker that
// became free last takes the next connection, and keeps it until it closes.
type fasthttpModel struct {
	fasthttpEngine
	conns sync.WaitGroup
}

func newFasthttp(cfg Config) Model {
	m := &fasthttpModel{fasthttpEngine: newFasthttpEngine(cfg)}
	m.server.ConnState = m.track
	return m
}

// Serve waits for the connections itself, because fasthttp's Serve returns while its workers
// still serve. One of fasthttp's goroutines outlives Serve: it looks for idle workers every
// ten seconds and ends at its next look.
func (m *fasthttpModel) Serve(l *Listener) error {
	err := m.server.Serve(l)
	// Every connection that fasthttp took was reported as new before Serve of fasthttp returned.
	m.conns.Wait()
	return err
}

// track also counts the open connections, for Serve.
func (m *fasthttpModel) track(nc net.Conn, state fasthttp.ConnState) {
	switch state {
	case fasthttp.StateNew:
		m.conns.Add(1)
	case fasthttp.StateClosed:
		m.conns.Done()
	}
	track(nc, state)
}
