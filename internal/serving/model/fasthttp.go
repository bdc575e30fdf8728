package model

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/valyala/fasthttp"
	"golang.org/x/net/http/httpguts"

	"schedlab/internal/shared/workload"
)

// A fasthttpEngine reads, parses and answers requests with fasthttp. The model that embeds it
// decides on which goroutine this happens.
//
// fasthttp calls back at five points: HeaderReceived after a head (limitBody), ExpectHandler before it
// asks a client for the body (expected), Handler for a request (answer), ErrorHandler for one that it
// could not read (end), and ConnState (track). A model calls server.ServeConn with a connection, on a
// goroutine of its choice.
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
	e.server.ExpectHandler = e.expected
	e.server.ConnState = track
	e.server.NoDefaultContentType = true
	e.server.Concurrency = fasthttp.DefaultConcurrency // the listener holds the cap
	e.server.ReadTimeout, e.server.WriteTimeout, e.server.IdleTimeout = cfg.HeaderTimeout, cfg.WriteTimeout, cfg.IdleTimeout
	return e
}

// newServer returns a fasthttp server with the size limits of cfg, and no timeouts.
func newServer(cfg Config) *fasthttp.Server {
	return &fasthttp.Server{
		HeaderReceived: func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
			readExpect(h)
			return fasthttp.RequestConfig{}
		},
		Name:                         serverName,
		ReadBufferSize:               cfg.MaxHead,
		MaxRequestBodySize:           cfg.MaxBody,
		StreamRequestBody:            true, // otherwise fasthttp allocates the whole length that a client announces, before a byte has come
		SecureErrorLogMessage:        true,
		Logger:                       DebugLog(cfg.Log),
		DisablePreParseMultipartForm: true, // handlers take every body as bytes, whatever its Content-Type
	}
}

// track notes which bytes have been answered, and where a head begins.
func track(nc net.Conn, state fasthttp.ConnState) { nc.(openConn).ledgerEntry().track(state) }

func (e *entry) track(state fasthttp.ConnState) {
	switch state {
	case fasthttp.StateActive:
		if !e.begun { // fasthttp reports the first request before its first byte
			e.begun, e.head = true, atRequestLine
			return
		}
		if e.head == atRequestLine { // nothing was read for this request: its head came with the one before
			e.head = outsideHead
		}
		e.beginRequest()
	case fasthttp.StateIdle:
		e.head = atRequestLine
		e.markAnswered()
	}
}

// noLength is fasthttp's ContentLength when the request announces no body.
const noLength = -2

// limitBody sets the body timeout for a request that has a body, after readExpect. A body that is
// too long by its head is not read at all: inspect finds the announced length.
func (e *fasthttpEngine) limitBody(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	readExpect(h)
	switch n := h.ContentLength(); {
	case n == 0 || n == noLength:
		return fasthttp.RequestConfig{}
	case n > e.cfg.MaxBody:
		h.SetContentLength(0)
	}
	return fasthttp.RequestConfig{ReadTimeout: e.cfg.BodyTimeout}
}

// readExpect changes the field Expect so that fasthttp does what RFC 9110 §10.1.1 asks. fasthttp
// knows the value 100-continue only alone and in lower case. It then calls ExpectHandler, which
// reads the client's own words. readExpect removes the field from a request of HTTP/1.0, which must
// not be sent 100 Continue, and from one that says that it has no body.
func readExpect(h *fasthttp.RequestHeader) {
	switch n := h.ContentLength(); {
	case !h.IsHTTP11() || n == 0:
		h.Del(fasthttp.HeaderExpect)
	case n != noLength && len(h.Peek(fasthttp.HeaderExpect)) > 0:
		h.Set(fasthttp.HeaderExpect, "100-continue")
	}
}

// bodies keeps buffers for request bodies.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// readBody reads the body into a buffer that grows with it, and gives the buffer to ctx. fasthttp has
// read at most the first 8 KiB. It returns an error of a kind that fasthttp gives to ErrorHandler.
func (e *fasthttpEngine) readBody(ctx *fasthttp.RequestCtx, c *entry) (err error) {
	const leastRead = 512
	req := &ctx.Request
	kept := bodies.Get().(*[]byte)
	defer bodies.Put(kept)
	body, stream := (*kept)[:0], req.BodyStream()
	for left := 1; err == nil && left > 0; {
		left = e.cfg.MaxBody - len(body) // at 0 the read finds the end of the body or nothing
		body = slices.Grow(body, min(leastRead, left))
		var n int
		n, err = stream.Read(body[len(body):min(cap(body), len(body)+left)])
		body = body[:len(body)+n]
	}
	*kept = body
	switch n := req.Header.ContentLength(); {
	case err == nil:
		return fasthttp.ErrBodyTooLarge
	case err != io.EOF:
		return err
	// fasthttp does not tell a stream that breaks off from one that ends.
	case len(body) < n, n < 0 && c.brokeOff:
		return io.ErrUnexpectedEOF
	}
	*kept = req.SwapBody(body)
	return nil
}

// expected returns the answer to a client that waits to send its body: to go on, or the refusal of
// its head, which has no text.
func (e *fasthttpEngine) expected(ctx *fasthttp.RequestCtx) int {
	h := inspect(&ctx.Request.Header, e.cfg.MaxBody)
	if h.flaw == noFlaw {
		return fasthttp.StatusContinue
	}
	status := refusals[h.flaw].status
	e.tally.refuse(status)
	ctx.Conn().(openConn).ledgerEntry().linger.Store(true)
	return status
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
	c := ctx.Conn().(openConn)
	h := inspect(&req.Header, e.cfg.MaxBody)
	x.Seq = h.seq
	switch {
	case h.flaw != noFlaw:
		e.decline(x, refusals[h.flaw].status, refusals[h.flaw].body)
		c.ledgerEntry().linger.Store(true)
	case !req.IsBodyStream():
		e.serve(x, c, ctx.Time().Sub(e.epoch)) // fasthttp has just read the clock
	default:
		if err := e.readBody(ctx, c.ledgerEntry()); err != nil {
			e.refuseBad(ctx, err)
			ctx.SetConnectionClose()
			return
		}
		x.Body = req.Body()
		e.serve(x, c, e.clock())
	}
	if x.Status == noAnswer {
		leaveUnanswered(c, e.cfg.IdleTimeout, Reason(x.Unanswered))
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
func (r *requests) end(ctx *fasthttp.RequestCtx, err error) {
	if c := ctx.Conn().(openConn); c.ledgerEntry().read.Load() == 0 {
		_ = c.Close() // keeps fasthttp from sending its answer
		return
	}
	r.refuseBad(ctx, err)
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
	if !isBroken(err) {
		r.tally.refuse(status)
	}
	ctx.SetStatusCode(status)
	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.SetBodyString(unreadable[status])
}

// isBroken reports whether a read failed with its connection: the client has reset it, or a drain has
// cut it. No answer arrives then, so in every mode the request does not count as refused.
func isBroken(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && !op.Timeout()
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
	tooLong               // a body longer than the limit, by its head
	unmetExpectation      // an expectation other than 100-continue
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
	tooLong:          {fasthttp.StatusRequestEntityTooLarge, unreadable[fasthttp.StatusRequestEntityTooLarge]},
	unmetExpectation: {fasthttp.StatusExpectationFailed, "unknown expectation\n"},
}

// maxFields is the largest number of fields in a head. nginx and Apache httpd have such a
// limit too.
const maxFields = 100

// inspect reads a request's head again, after fasthttp. maxBody is the longest body, in bytes. It
// costs some 55 ns for a usual head, and allocates only for a target that is not a path.
func inspect(req *fasthttp.RequestHeader, maxBody int) head {
	var h head
	var coded, sized, hosted, long, expects, unmet bool
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
				n, err := strconv.Atoi(strings.TrimSpace(value)) // fasthttp has seen digits
				long = err != nil || n > maxBody
			} else if strings.EqualFold(name, "connection") {
				h.closes = h.closes || hasToken(value, "close")
			}
		case 'e':
			// The first line counts, as for net/http.
			if !expects && len(name) == len("expect") && strings.EqualFold(name, "expect") {
				expects, unmet = true, strings.TrimSpace(value) != "" && !hasToken(value, "100-continue")
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
	case long:
		h.flaw = tooLong
	case unmet:
		h.flaw = unmetExpectation
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

// A headPlace tells where in a request's head the next byte of a connection lies, for fillHost.
type headPlace uint8

const (
	atRequestLine headPlace = iota // at the beginning of a request
	atField                        // at the beginning of a later line
	withinLine
	outsideHead // in a body, or at a place that is not known
)

// fillHost gives an empty Host field the value "-", because fasthttp takes an empty field for a
// missing one and refuses it. A client without an authority must send an empty field (RFC 9112
// §3.2). b is the result of the last read, and keeps its length: the value replaces a space of the
// line, or else the CR at the end of the line before, since fasthttp also ends a line at a single LF.
//
// Only heads are changed: e.head is outsideHead unless fasthttp waited for a request when it read. So
// fasthttp still refuses an empty field if its request was read together with the one before, or if
// its line comes in two reads or is the first of a read.
func (e *entry) fillHost(b []byte) {
	const name = "host:"
	for start := 0; e.head != outsideHead && start < len(b); {
		end := bytes.IndexByte(b[start:], '\n')
		if end < 0 {
			e.head = withinLine
			if b[start] == '\r' { // perhaps the end of the head
				e.head = outsideHead
			}
			return
		}
		line := b[start : start+end]
		switch {
		case e.head == withinLine:
			e.head = atField
		case len(line) == 0 || line[0] == '\r': // ends the head, but is ignored before the request
			if e.head == atField {
				e.head = outsideHead
			}
		case len(line) > len(name) && line[0]|0x20 == name[0] && bytes.EqualFold(line[:len(name)], []byte(name)):
			e.head = outsideHead
			value := line[len(name):]
			switch {
			case len(bytes.TrimSpace(value)) > 0:
			case value[0] != '\r':
				value[0] = '-'
			case start > 1 && b[start-2] == '\r':
				copy(b[start-2:], b[start-1:start+len(name)])
				b[start+len(name)-1] = '-'
			}
		default:
			e.head = atField
		}
		start += end + 1
	}
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
