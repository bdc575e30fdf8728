package model

import (
	"errors"
	"net"
	"strings"
	"unsafe"

	"github.com/valyala/fasthttp"

	"schedlab/internal/dispatch"
	"schedlab/internal/workload"
)

// A fasthttpEngine reads, parses and answers requests with fasthttp; which
// goroutine that happens on is the business of the models that embed it.
type fasthttpEngine struct {
	*requests
	server *fasthttp.Server
	limits Limits
}

func newFasthttpEngine(cfg Config) fasthttpEngine {
	e := fasthttpEngine{requests: newRequests(cfg), limits: cfg.Limits}
	e.server = &fasthttp.Server{
		Handler:               e.answer,
		ErrorHandler:          e.refuseBad,
		HeaderReceived:        e.limitBody,
		ConnState:             track,
		Name:                  serverName,
		NoDefaultContentType:  true,
		Concurrency:           fasthttp.DefaultConcurrency, // the listener holds the cap
		ReadTimeout:           cfg.HeaderTimeout,
		WriteTimeout:          cfg.WriteTimeout,
		IdleTimeout:           cfg.IdleTimeout,
		ReadBufferSize:        cfg.MaxHead,
		MaxRequestBodySize:    cfg.MaxBody,
		SecureErrorLogMessage: true,
		Logger:                quietLog{cfg.Log},
	}
	return e
}

// track keeps a connection's phase for the drain.
func track(nc net.Conn, state fasthttp.ConnState) {
	switch state {
	case fasthttp.StateActive:
		nc.(*Conn).phase.Store(active)
	case fasthttp.StateIdle:
		nc.(*Conn).phase.Store(idle)
	}
}

// limitBody gives a request that has a body the body's own time.
func (e *fasthttpEngine) limitBody(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if h.ContentLength() == 0 {
		return fasthttp.RequestConfig{}
	}
	return fasthttp.RequestConfig{ReadTimeout: e.limits.BodyTimeout}
}

// answer is fasthttp's handler.
func (e *fasthttpEngine) answer(ctx *fasthttp.RequestCtx) {
	x := exchanges.Get().(*workload.Exchange)
	defer exchanges.Put(x)
	x.Reset()
	req := &ctx.Request
	x.Method = view(req.Header.Method())
	x.Path, x.Query = target(view(req.Header.RequestURI()))
	x.Body = req.Body()
	if strings.HasPrefix(x.Path, "/work") {
		x.Seq = view(req.Header.Peek(seqHeader))
	}
	if ambiguous(&req.Header) {
		refuse(x, fasthttp.StatusBadRequest, "ambiguous message framing\n")
		x.Close = true
	} else {
		e.serve(x, ctx.Conn().(*Conn))
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
	if x.Close {
		res.SetConnectionClose()
	}
	if x.Owned() {
		res.SetBody(x.Out)
	} else {
		res.SetBodyRaw(x.Out)
	}
}

// seqHeader carries a request's number in its trace.
const seqHeader = "X-Vegeta-Seq"

// ambiguous reports framing that two readers could take differently (RFC 9112
// §6.1, §6.3): a transfer coding other than chunked, or one beside a length or
// in HTTP/1.0. fasthttp serves some of these.
func ambiguous(h *fasthttp.RequestHeader) bool {
	if h.ContentLength() >= 0 {
		return false
	}
	coding := h.Peek("Transfer-Encoding")
	if len(coding) == 0 && h.ContentLength() != -1 {
		return false // no body announced at all
	}
	chunked := strings.EqualFold(view(coding), "chunked")
	return !chunked || !h.IsHTTP11() || hasField(h.RawHeaders(), "content-length")
}

// hasField reports whether a raw head has a field of that lower-case name.
func hasField(raw []byte, name string) bool {
	for line := range strings.Lines(view(raw)) {
		if field, _, ok := strings.Cut(line, ":"); ok && strings.EqualFold(strings.TrimSpace(field), name) {
			return true
		}
	}
	return false
}

// refuseBad answers what fasthttp could not parse; the connection then closes.
func (e *fasthttpEngine) refuseBad(ctx *fasthttp.RequestCtx, err error) {
	status, body := fasthttp.StatusBadRequest, "malformed request\n"
	var small *fasthttp.ErrSmallBuffer
	var op *net.OpError
	switch {
	case errors.As(err, &small):
		status, body = fasthttp.StatusRequestHeaderFieldsTooLarge, "request head too large\n"
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		status, body = fasthttp.StatusRequestEntityTooLarge, "request body too large\n"
	case errors.As(err, &op) && op.Timeout():
		status, body = fasthttp.StatusRequestTimeout, "request took too long to arrive\n"
	}
	ctx.SetStatusCode(status)
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(body)
}

// view is b as a string without a copy, valid while the request is.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// fasthttpModel is fasthttp's own scheduling: an elastic pool of workers, the
// last to become free taking the next connection and keeping it until close.
type fasthttpModel struct{ fasthttpEngine }

func newFasthttp(cfg Config) Model { return &fasthttpModel{newFasthttpEngine(cfg)} }

func (m *fasthttpModel) Serve(l *Listener) error { return m.server.Serve(l) }
func (m *fasthttpModel) Queue() dispatch.Queue   { return nil }
