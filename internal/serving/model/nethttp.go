package model

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"schedlab/internal/shared/timeline"
	"schedlab/internal/shared/workload"
)

// nethttpModel runs net/http unchanged: a goroutine per connection and, during a keep-alive
// request, a second one that watches for the client to hang up.
//
// Over TLS it speaks HTTP/2, too. There WriteTimeout ends a stream and its context, and over HTTP/1.1 neither: the handler
// runs on. A handler that waits before it has read its body keeps the window of the connection, and can so stop the other
// streams; so ServeHTTP reads each body first.
//
// It is itself the http.Handler. What net/http accepts although it should not, framing finds in the
// bytes that Conn reads. bodies keeps buffers for request bodies.
type nethttpModel struct {
	*requests
	server *http.Server
	conns  sync.WaitGroup
	bodies sync.Pool
}

// headSlack is the number of bytes that net/http adds to MaxHeaderBytes.
const headSlack = 4096

func newNethttp(cfg Config) Model {
	m := &nethttpModel{requests: newRequests(cfg)}
	m.bodies.New = func() any { return new(bytes.Buffer) }
	m.server = &http.Server{
		Handler:           m,
		ReadHeaderTimeout: cfg.HeaderTimeout,
		ReadTimeout:       cfg.HeaderTimeout + cfg.BodyTimeout,
		WriteTimeout:      cfg.WriteTimeout,
		IdleTimeout:       cfg.IdleTimeout,
		MaxHeaderBytes:    max(cfg.MaxHead-headSlack, 1),
		ConnState:         m.track,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			c.(*Conn).framing = &framing{tally: m.tally}
			return context.WithValue(ctx, connKey{}, c)
		},
		ErrorLog:                     DebugLog(cfg.Log),
		DisableGeneralOptionsHandler: true,
	}
	// A Conn decrypts TLS itself, so to net/http every connection is plain and HTTP/2 on it unencrypted.
	if cfg.HTTP2 {
		m.server.Protocols = new(http.Protocols)
		m.server.Protocols.SetHTTP1(true)
		m.server.Protocols.SetUnencryptedHTTP2(true)
	}
	return m
}

// connKey is the key of the *Conn in a request's context.
type connKey struct{}

func (m *nethttpModel) Serve(l *Listener) error { return m.serveOn(l) }

// serveOn serves until l is closed and all connections that it accepted are.
func (m *nethttpModel) serveOn(l net.Listener) error {
	err := m.server.Serve(l)
	m.conns.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// track counts open connections, and notes when a connection's requests are answered.
func (m *nethttpModel) track(nc net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		// net/http reports a new connection before it starts the goroutine, so Wait misses none.
		m.conns.Add(1)
	case http.StateActive:
		if c := nc.(*Conn); c.streams { // the first stream of several is open
			c.busy.Store(math.MaxInt64)
		}
	case http.StateIdle:
		c := nc.(*Conn)
		if c.streams { // the last stream is closed
			c.busy.Store(timeline.Now() + int64(flushTime))
			return
		}
		c.framing.serving = false
		// The second goroutine may have read the first byte of the client's next request by now.
		c.answered.Store(c.framing.readBeforeWrite)
	case http.StateClosed, http.StateHijacked:
		m.conns.Done()
	}
}

// Header values shared by all answers, so that setting one allocates nothing.
var (
	serverValue  = []string{serverName}
	closeValue   = []string{"close"}
	contentTypes = func() map[string][]string {
		m := make(map[string][]string)
		for _, t := range workload.ContentTypes() {
			m[t] = []string{t}
		}
		return m
	}()
)

// field returns the first value of a header, like Header.Get. name must be in canonical form;
// Get would canonicalise it again.
func field(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// ServeHTTP implements http.Handler: it runs the request and writes the answer.
func (m *nethttpModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchanges.Get().(*workload.Exchange)
	defer exchanges.Put(x)
	x.Reset()
	x.Method = r.Method
	x.Path, x.Query = target(r.RequestURI)
	c := r.Context().Value(connKey{}).(*Conn)
	if x.Query != "" || c.stamps != nil { // /work draws its demand from the request's number
		x.Seq = field(r.Header, seqHeader)
	}
	flaw := noFlaw
	switch {
	case c.streams: // HTTP/2 has no lines to be ambiguous
	case r.ProtoMajor != 1: // HTTP/2's preface, which net/http passes on for servers that hijack the connection
		c.framing.serving = true
		flaw = wrongVersion
	default:
		c.framing.serving = true
		c.framing.requests++
		flaw = c.framing.flaw(r)
	}
	if flaw != noFlaw {
		m.decline(x, refusals[flaw].status, refusals[flaw].body)
		write(w, r, x)
		return
	}
	if r.ContentLength != 0 {
		buf := m.bodies.Get().(*bytes.Buffer)
		defer m.bodies.Put(buf)
		if status := m.readBody(w, r, buf); status != 0 {
			m.decline(x, status, unreadable[status])
			write(w, r, x)
			return
		}
		x.Body = buf.Bytes()
	}
	m.serve(x, c, m.clock())
	if !c.streams && c.framing.mustClose(r) {
		x.Close = true
	}
	write(w, r, x)
}

// readBody reads the whole body into buf and returns 0. If it fails it returns the status with
// which to refuse the request. If the connection has failed it makes net/http end it.
func (m *nethttpModel) readBody(w http.ResponseWriter, r *http.Request, buf *bytes.Buffer) int {
	if r.ContentLength > int64(m.cfg.MaxBody) {
		return http.StatusRequestEntityTooLarge
	}
	buf.Reset()
	_, err := buf.ReadFrom(http.MaxBytesReader(w, r.Body, int64(m.cfg.MaxBody)))
	if err == nil {
		return 0
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return http.StatusRequestEntityTooLarge
	}
	if op, ok := errors.AsType[net.Error](err); ok && op.Timeout() {
		return http.StatusRequestTimeout
	}
	if isBroken(err) {
		panic(http.ErrAbortHandler) // net/http closes the connection and logs nothing
	}
	return http.StatusBadRequest
}

// sniffless is the size of a body, in bytes, up to which net/http sets Content-Length itself.
const sniffless = 2048

// write writes x's answer. It sets header fields by their canonical keys, as Header.Set would, but
// without an allocation for the usual ones.
func write(w http.ResponseWriter, r *http.Request, x *workload.Exchange) {
	h := w.Header()
	h["Server"] = serverValue
	if x.ContentType != "" {
		h["Content-Type"] = contentTypes[x.ContentType]
	}
	if x.Allow != "" {
		h["Allow"] = []string{x.Allow}
	}
	if x.RetryAfter != "" {
		h["Retry-After"] = []string{x.RetryAfter}
	}
	if x.Stamped && field(r.Header, timingHeader) != "" {
		h["Server-Timing"] = []string{serverTiming(x)}
	}
	if x.Close {
		h["Connection"] = closeValue
	}
	// Without a length net/http would send a larger body in chunks.
	if len(x.Out) > sniffless || r.Method == http.MethodHead && len(x.Out) > 0 {
		h["Content-Length"] = []string{strconv.Itoa(len(x.Out))}
	}
	w.WriteHeader(x.Status)
	if len(x.Out) > 0 {
		w.Write(x.Out)
	}
}

// gateModel runs net/http with a bounded number of connections in service. It is not a pool:
// net/http still makes a goroutine for each connection in service. Connections are accepted
// and counted as they come, and then wait at the gate, first come first served.
//
// net/http takes connections from a gateListener, and its Accept waits for a place. The state
// "closed" of a connection frees the place. The gate never refuses: the cap on open connections
// bounds how many wait.
type gateModel struct {
	*nethttpModel
	places   chan struct{}
	arrivals chan *Conn
	waiting  atomic.Int64 // connections that wait for a place
}

func newGate(cfg Config) Model {
	m := &gateModel{nethttpModel: newNethttp(cfg).(*nethttpModel), places: make(chan struct{}, cfg.Workers)}
	// Room for every connection that may be open: the acceptor never waits here.
	m.arrivals = make(chan *Conn, cfg.MaxConns)
	m.queue = (*gateQueue)(m)
	m.server.ConnState = func(c net.Conn, state http.ConnState) {
		m.track(c, state)
		if state == http.StateClosed || state == http.StateHijacked {
			<-m.places
		}
	}
	return m
}

func (m *gateModel) Serve(l *Listener) error {
	var failed error
	var acceptor sync.WaitGroup
	acceptor.Go(func() {
		failed = eachConn(l.sockets[0], func(c *Conn) {
			m.waiting.Add(1)
			c.enqueue(timeline.Now())
			m.arrivals <- c
		})
		close(m.arrivals)
	})
	err := m.serveOn(gateListener{l, m})
	acceptor.Wait()
	return cmp.Or(failed, err)
}

// A gateListener returns accepted connections to net/http as places become free.
type gateListener struct {
	*Listener
	gate *gateModel
}

// Accept takes the connection that has waited longest, waits for a place, and returns the connection.
func (l gateListener) Accept() (net.Conn, error) {
	c, ok := <-l.gate.arrivals
	if !ok {
		return nil, net.ErrClosed
	}
	l.gate.places <- struct{}{}
	l.gate.waiting.Add(-1)
	wait := time.Duration(timeline.Now() - c.waiting.Load())
	l.gate.cfg.Waited(wait)
	tookConn(c, wait)
	c.dequeue()
	return c, nil
}

// gateQueue presents the gate as a queue. The gate's places count as workers.
type gateQueue gateModel

func (g *gateQueue) Depth() int    { return int(g.waiting.Load()) }
func (g *gateQueue) Capacity() int { return max(0, cap(g.arrivals)-cap(g.places)) }
func (g *gateQueue) Workers() int  { return cap(g.places) }
func (g *gateQueue) Busy() int     { return len(g.places) }

// A framing watches the bytes of a connection for request heads with ambiguous framing: two
// readers could disagree about where the body ends. It is for net/http, which removes the
// conflicting fields before a handler runs and keeps the connection (go.dev/issue/80942). It
// then takes the rest of such a body for a request.
//
// A framing sees lines, not requests. After the first body of a connection, lines of a body may
// look like an ambiguous head, and then the connection closes without need. No ambiguous head
// is missed. A line costs some 5 ns.
//
// scan splits each read into lines, and begin looks at the first bytes of a line. A line without
// either field costs one search for its end. flaw and mustClose read the flags that these two set, on
// the goroutine that serves the request.
type framing struct {
	coded         atomic.Bool  // a line named a transfer coding
	ambiguous     atomic.Bool  // lines named a coding and a length, with no empty line between them
	ambiguousHead atomic.Bool  // ambiguous, and before any body, so the lines certainly were a head
	codedHead     atomic.Int32 // the first head, counted from 1, that names a coding before any body; 0: none
	tooManyLines  atomic.Bool  // more lines came without an empty one than a head may have

	// Used by the connection's goroutine.
	serving         bool   // a handler has a request
	requests        int32  // requests that reached the handler
	readBeforeWrite uint64 // bytes read before the last write
	tally           *tally

	// Used by the goroutine that reads.
	broken   bool                          // the connection has failed; countOwnAnswer looks at it after the last read
	coding   bool                          // a line since the last empty line named a transfer coding
	length   bool                          // a line since the last empty line named a length
	lines    int32                         // lines since the last empty line
	heads    int32                         // heads that have ended before the first body
	bodies   bool                          // the next lines may belong to a body
	tail     [len(transferCoding) + 1]byte // the beginning of an incomplete line
	tailLen  int
	skipLine bool // skip the rest of the line: its beginning has been read
}

const (
	transferCoding = "transfer-encoding"
	contentLength  = "content-length"
)

// flaw returns the flaw that the lines show in r, the request that began last. Only the first
// request with a coding can also have a length. HTTP/1.0 has no codings, so net/http ignores
// one there.
func (f *framing) flaw(r *http.Request) flaw {
	switch {
	case len(r.TransferEncoding) > 0 && f.ambiguousHead.Load():
		return ambiguousFraming
	case !r.ProtoAtLeast(1, 1) && f.codedHead.Load() == f.requests:
		return unknownCoding
	case f.tooManyLines.Load() && fields(r) > maxFields: // tooManyLines may have counted a body's lines
		return tooManyFields
	}
	return noFlaw
}

// fields returns the number of fields in a head. net/http shows all of them but Host.
func fields(r *http.Request) int {
	n := 1
	for _, values := range r.Header {
		n += len(values)
	}
	return n
}

// countOwnAnswer counts an answer that net/http sends without calling a handler. net/http takes the
// beginning of a line for a line when the connection breaks within it, and so may answer it.
func (f *framing) countOwnAnswer(answer []byte) {
	const status = len("HTTP/1.1 ")
	if f.serving || f.broken || len(answer) < status+3 {
		return
	}
	if code, err := strconv.Atoi(string(answer[status : status+3])); err == nil {
		f.tally.refuse(code)
	}
}

// mustClose reports whether the connection must close after r (RFC 9112 §6.1).
func (f *framing) mustClose(r *http.Request) bool {
	if !r.ProtoAtLeast(1, 1) {
		return f.coded.Load() && f.codedHead.Load() <= f.requests // a coding in a later head belongs to a later request
	}
	return len(r.TransferEncoding) > 0 && f.ambiguous.Load()
}

// scan looks at the next bytes of the connection.
func (f *framing) scan(p []byte) {
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		// The fast path. A whole line that begins with neither t nor c names neither field, and
		// with end > 1 it is not empty.
		if end > 1 && f.tailLen == 0 && !f.skipLine && p[0]|0x20 != 't' && p[0]|0x20 != 'c' {
			f.count()
			p = p[end+1:]
			continue
		}
		line := p
		if end >= 0 {
			line = p[:end]
		}
		if !f.skipLine {
			// The line began in an earlier read, or goes on in the next one.
			if f.tailLen > 0 || end < 0 {
				n := copy(f.tail[f.tailLen:], line)
				f.tailLen += n
				line = f.tail[:f.tailLen]
			}
			// Whole, or long enough to tell which field it is.
			if end >= 0 || f.tailLen == len(f.tail) {
				f.begin(line, end >= 0)
			}
		}
		if end < 0 {
			return
		}
		f.tailLen, f.skipLine = 0, false
		p = p[end+1:]
	}
}

// count counts a line that may belong to a head: the request line or a field.
func (f *framing) count() {
	// The request line and maxFields fields are allowed.
	if f.lines++; f.lines == maxFields+2 {
		f.tooManyLines.Store(true)
	}
}

// begin examines the beginning of a line, or all of it when whole is true.
func (f *framing) begin(line []byte, whole bool) {
	f.skipLine = !whole
	if whole && (len(line) == 0 || len(line) == 1 && line[0] == '\r') {
		// A head with neither field has no body, so the next line begins another head. After the
		// first head that may have a body, heads and bodies cannot be told apart.
		if !f.bodies {
			f.heads++
			f.bodies = f.coding || f.length
		}
		f.coding, f.length, f.lines = false, false, 0
		return
	}
	f.count()
	switch {
	case named(line, transferCoding):
		f.coding = true
		f.coded.Store(true)
		if !f.bodies {
			f.codedHead.CompareAndSwap(0, f.heads+1)
		}
	case named(line, contentLength):
		f.length = true
	}
	if f.coding && f.length {
		f.ambiguous.Store(true)
		if !f.bodies {
			f.ambiguousHead.Store(true)
		}
	}
}

// named reports whether a line is a field of that name, in any case. A comparison of the first byte
// answers for most lines.
func named(line []byte, name string) bool {
	return len(line) > len(name) && line[len(name)] == ':' && line[0]|0x20 == name[0] && bytes.EqualFold(line[:len(name)], []byte(name))
}
