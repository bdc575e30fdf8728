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
		ErrorHandler:          refuseBad,
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
		// A body is bytes to every handler, whatever it calls itself.
		DisablePreParseMultipartForm: true,
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

// noLength is what fasthttp calls the length of a body that was not announced.
const noLength = -2

// limitBody gives a request that has a body the body's own time.
func (e *fasthttpEngine) limitBody(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if n := h.ContentLength(); n == 0 || n == noLength {
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
	if workload.RouteOf(x.Path) == workload.RouteWork {
		x.Seq = view(req.Header.Peek(seqHeader))
	}
	h := inspect(&req.Header)
	switch {
	case h.foreign:
		refuse(x, fasthttp.StatusNotImplemented, unsupportedCoding)
		x.Close = true
	case h.ambiguous:
		refuse(x, fasthttp.StatusBadRequest, "ambiguous message framing\n")
		x.Close = true
	default:
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
	if x.Close || h.closes {
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

// A head is what the raw bytes of a request head say and fasthttp's parser
// loses.
type head struct {
	foreign   bool // a transfer coding other than chunked: the identity of old
	ambiguous bool // a length beside a transfer coding: two readers could differ (RFC 9112 §6.1)
	// closes says that the client wants the connection closed: a token in any case
	// and any place (RFC 9110 §7.6.1), of which fasthttp knows a lone "close".
	closes bool
}

func inspect(h *fasthttp.RequestHeader) head {
	var was head
	var coded, sized bool
	for rest := view(h.RawHeaders()); rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if line == "" {
			continue
		}
		switch line[0] | 0x20 {
		case 't':
			if coding, ok := field(line, "transfer-encoding"); ok {
				coded = true
				was.foreign = was.foreign || !hasToken(coding, "chunked")
			}
		case 'c':
			if _, ok := field(line, "content-length"); ok {
				sized = true
			} else if options, ok := field(line, "connection"); ok {
				was.closes = was.closes || hasToken(options, "close")
			}
		}
	}
	was.ambiguous = coded && sized
	return was
}

// field returns the value of a line of a head if it is the field of that name.
func field(line, name string) (value string, ok bool) {
	if len(line) <= len(name) || line[len(name)] != ':' || !strings.EqualFold(line[:len(name)], name) {
		return "", false
	}
	return line[len(name)+1:], true
}

// hasToken reports whether a comma-separated list holds token, in any case.
func hasToken(list, token string) bool {
	for list != "" {
		var item string
		item, list, _ = strings.Cut(list, ",")
		if strings.EqualFold(strings.TrimSpace(item), token) {
			return true
		}
	}
	return false
}

const unsupportedCoding = "unsupported transfer coding\n"

// refuseBad answers what fasthttp could not parse; the connection then closes.
func refuseBad(ctx *fasthttp.RequestCtx, err error) {
	status, body := fasthttp.StatusBadRequest, "malformed request\n"
	var small *fasthttp.ErrSmallBuffer
	var op *net.OpError
	switch {
	case errors.As(err, &small):
		status, body = fasthttp.StatusRequestHeaderFieldsTooLarge, "request head too large\n"
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		status, body = fasthttp.StatusRequestEntityTooLarge, "request body too large\n"
	case errors.Is(err, fasthttp.ErrUnsupportedTransferEncoding):
		status, body = fasthttp.StatusNotImplemented, unsupportedCoding
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
