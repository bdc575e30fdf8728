package model

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"unsafe"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http/httpguts"

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
}

// newFasthttpEngine returns an engine for r, with the timeouts of its settings. A model may replace
// ConnState before it serves. Several engines may share one r.
func newFasthttpEngine(r *requests) fasthttpEngine {
	cfg := r.cfg
	e := fasthttpEngine{r, newServer(cfg)}
	e.server.Handler = e.answer
	e.server.ErrorHandler = e.end
	e.server.HeaderReceived = e.limitBody
	e.server.ConnState = track
	e.server.NoDefaultContentType = true
	e.server.Concurrency = fasthttp.DefaultConcurrency // the listener holds the cap
	e.server.ReadTimeout, e.server.WriteTimeout, e.server.IdleTimeout = cfg.HeaderTimeout, cfg.WriteTimeout, cfg.IdleTimeout
	return e
}

// newServer returns a fasthttp server with the size limits of cfg, and no timeouts.
func newServer(cfg Config) *fasthttp.Server {
	return &fasthttp.Server{
		Name:                         serverName,
		ReadBufferSize:               cfg.MaxHead,
		MaxRequestBodySize:           cfg.MaxBody,
		SecureErrorLogMessage:        true,
		Logger:                       DebugLog(cfg.Log),
		DisablePreParseMultipartForm: true, // handlers take every body as bytes, whatever its Content-Type
	}
}

// track marks a connection's requests as answered when it becomes idle.
func track(nc net.Conn, state fasthttp.ConnState) {
	if state == fasthttp.StateIdle {
		nc.(openConn).ledgerEntry().markAnswered()
	}
}

// track notes which bytes have been answered, for a connection that fasthttp is given more than once.
func (e *entry) track(state fasthttp.ConnState) {
	switch state {
	case fasthttp.StateActive:
		if e.begun { // fasthttp reports the first request before its first byte
			e.beginRequest()
		}
		e.begun = true
	case fasthttp.StateIdle:
		e.markAnswered()
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
	return fasthttp.RequestConfig{ReadTimeout: e.cfg.BodyTimeout}
}

// answer is the handler for fasthttp: it runs the request and copies the answer to ctx.
func (e *fasthttpEngine) answer(ctx *fasthttp.RequestCtx) {
	x := exchanges.Get().(*workload.Exchange)
	defer exchanges.Put(x)
	x.Reset()
	req := &ctx.Request
	// The strings alias fasthttp's buffers, which stay as they are until answer returns.
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
		leaveUnanswered(c, e.cfg.IdleTimeout)
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

// unreadable has the answers to requests that could not be read, by status.
var unreadable = map[int]string{
	fasthttp.StatusBadRequest:                  "malformed request\n",
	fasthttp.StatusRequestTimeout:              "request took too long to arrive\n",
	fasthttp.StatusRequestEntityTooLarge:       "request body too large\n",
	fasthttp.StatusRequestHeaderFieldsTooLarge: "request head too large\n",
	fasthttp.StatusNotImplemented:              "unsupported transfer coding\n",
}

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
	status := fasthttp.StatusBadRequest
	_, small := errors.AsType[*fasthttp.ErrSmallBuffer](err)
	op, _ := errors.AsType[*net.OpError](err)
	switch {
	case small:
		status = fasthttp.StatusRequestHeaderFieldsTooLarge
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		status = fasthttp.StatusRequestEntityTooLarge
	case errors.Is(err, fasthttp.ErrUnsupportedTransferEncoding):
		status = fasthttp.StatusNotImplemented
	case op != nil && op.Timeout():
		status = fasthttp.StatusRequestTimeout
	}
	// A client that was too slow is not waited for again.
	ctx.Conn().(openConn).ledgerEntry().linger.Store(status != fasthttp.StatusRequestTimeout)
	if op == nil || op.Timeout() { // otherwise the connection failed, and no answer arrives
		r.tally.refuse(status)
	}
	ctx.SetStatusCode(status)
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(unreadable[status])
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
	m := &fasthttpModel{fasthttpEngine: newFasthttpEngine(newRequests(cfg))}
	m.server.ConnState = m.track
	return m
}

// Serve waits for the connections itself, because fasthttp's Serve returns while its workers
// still serve. One of fasthttp's goroutines outlives Serve: it looks for idle workers every
// ten seconds and ends at its next look.
func (m *fasthttpModel) Serve(l *Listener) error {
	err := m.server.Serve(l)
	m.conns.Wait() // fasthttp has reported every connection that it took as new
	return err
}

func (m *fasthttpModel) track(nc net.Conn, state fasthttp.ConnState) {
	switch state {
	case fasthttp.StateNew:
		m.conns.Add(1)
	case fasthttp.StateClosed:
		m.conns.Done()
	}
	track(nc, state)
}

// A head holds what fasthttp's parser does not report about a request: whether a strict reader
// would refuse its head, and whether the client wants the connection closed. (That is a token
// in any case and place, RFC 9110 §7.6.1; fasthttp sees only a lone "close".) It also holds
// the two fields that this package reads, because fasthttp takes some 40 ns to find each.
type head struct {
	flaw   flaw
	closes bool
	seq    string // value of seqHeader; valid as long as the request
	timing bool   // timingHeader is present and not empty
}

// A flaw is a reason to refuse a request although fasthttp, or net/http, accepts its head.
type flaw uint8

const (
	noFlaw           flaw = iota
	malformed             // a name that is no token, a folded line, an invalid host
	ambiguousFraming      // a length and a transfer coding: two readers could differ (RFC 9112 §6.1)
	unknownCoding         // a transfer coding other than chunked, such as the old identity
	tooManyFields         // too many fields
	wrongVersion          // a protocol other than HTTP/1
)

// refusals are the answers to flaws. The connection closes after any of them.
var refusals = [...]struct {
	status int
	body   string
}{
	malformed:        {fasthttp.StatusBadRequest, unreadable[fasthttp.StatusBadRequest]},
	ambiguousFraming: {fasthttp.StatusBadRequest, "ambiguous message framing\n"},
	unknownCoding:    {fasthttp.StatusNotImplemented, unreadable[fasthttp.StatusNotImplemented]},
	tooManyFields:    {fasthttp.StatusRequestHeaderFieldsTooLarge, "too many fields\n"},
	wrongVersion:     {fasthttp.StatusHTTPVersionNotSupported, "unsupported protocol version\n"},
}

// maxFields is the largest number of fields in a head. nginx and Apache httpd have such a
// limit too.
const maxFields = 100

// inspect reads a request's head again, after fasthttp. It costs some 55 ns for a usual head,
// and allocates only for a target that is not a path.
func inspect(req *fasthttp.RequestHeader) head {
	var h head
	var coded, sized, hosted bool
	fields := 0
	// The head is read by lines, as fasthttp has stored them: without the request line.
	for rest := view(req.RawHeaders()); rest != ""; {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if line == "" || line == "\r" {
			continue
		}
		fields++
		colon := 0
		for colon < len(line) && line[colon] > ' ' && line[colon] != ':' {
			colon++
		}
		// fasthttp accepts folded lines, and spaces in names.
		if colon == 0 || colon == len(line) || line[colon] != ':' {
			h.flaw = malformed
			continue
		}
		name, value := line[:colon], line[colon+1:]
		// One letter, in lower case, leaves at most two names to compare with.
		switch name[0] | 0x20 {
		case 't':
			if len(name) == len(transferCoding) && strings.EqualFold(name, transferCoding) {
				coded = true
				// Without chunked nothing tells where the body ends.
				if !hasToken(value, "chunked") {
					h.flaw = max(h.flaw, unknownCoding)
				}
			}
		case 'c':
			if strings.EqualFold(name, contentLength) {
				sized = true
			} else if strings.EqualFold(name, "connection") {
				h.closes = h.closes || hasToken(value, "close")
			}
		case 'h':
			if len(name) == len("host") && strings.EqualFold(name, "host") {
				hosted = true
				if !httpguts.ValidHostHeader(strings.TrimSpace(value)) { // an empty one passes
					h.flaw = max(h.flaw, malformed)
				}
			}
		case 'x':
			switch {
			case len(name) == len(seqHeader) && h.seq == "" && strings.EqualFold(name, seqHeader):
				h.seq = strings.TrimSpace(value)
			case len(name) == len(timingHeader) && strings.EqualFold(name, timingHeader):
				h.timing = h.timing || strings.TrimSpace(value) != ""
			}
		}
	}
	switch {
	case h.flaw != noFlaw:
	case coded && sized:
		h.flaw = ambiguousFraming
	case fields > maxFields:
		h.flaw = tooManyFields
	case !isTarget(req):
		h.flaw = malformed
	}
	// Only HTTP/1.0 may leave Host out (RFC 9112 §3.2). fasthttp checks it for HTTP/1.1 alone.
	if !req.IsHTTP11() {
		switch version := view(req.Protocol()); {
		case !strings.HasPrefix(version, "HTTP/1."):
			h.flaw = wrongVersion
		case version != "HTTP/1.0" && !hosted:
			h.flaw = malformed
		}
	}
	return h
}

// isTarget reports whether a request's target is valid: a path with complete escapes, an
// asterisk, an authority or a URL (RFC 9112 §3.2).
func isTarget(req *fasthttp.RequestHeader) bool {
	target := view(req.RequestURI())
	if target[0] != '/' {
		if req.IsConnect() {
			target = "http://" + target
		}
		_, err := url.ParseRequestURI(target)
		return err == nil
	}
	if strings.IndexByte(target, '%') < 0 {
		return true
	}
	// Escapes in the query are the handler's concern.
	path, _, _ := strings.Cut(target, "?")
	for {
		_, escape, found := strings.Cut(path, "%")
		switch {
		case !found:
			return true
		case len(escape) < 2 || !isHex(escape[0]) || !isHex(escape[1]):
			return false
		}
		path = escape[2:]
	}
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'f'
}

// hasToken reports whether a comma-separated list holds token, in any case.
func hasToken(list, token string) bool {
	return httpguts.HeaderValuesContainsToken([]string{strings.TrimSpace(list)}, token)
}
