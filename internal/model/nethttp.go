package model

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"schedlab/internal/dispatch"
	"schedlab/internal/timeline"
	"schedlab/internal/workload"
)

// nethttpModel runs net/http unchanged: a goroutine per connection and, during a keep-alive
// request, a second one that watches for the client to hang up.
//
// It is itself the http.Handler. What net/http accepts although it should not, framing finds in the
// bytes that Conn reads. bodies keeps buffers for request bodies.
type nethttpModel struct {
	*requests
	server *http.Server
	limits Limits
	conns  sync.WaitGroup
	bodies sync.Pool
}

// headSlack is the number of bytes that net/http adds to MaxHeaderBytes.
const headSlack = 4096

// newNethttp makes the model of the mode nethttp.
func newNethttp(cfg Config) Model {
	m := &nethttpModel{requests: newRequests(cfg), limits: cfg.Limits}
	m.bodies.New = func() any { return new([]byte) }
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
		ErrorLog:                     log.New(DebugLog{cfg.Log}, "", 0),
		DisableGeneralOptionsHandler: true,
	}
	return m
}

// connKey is the key of the *Conn in a request's context.
type connKey struct{}

func (m *nethttpModel) Serve(l *Listener) error { return m.serveOn(l) }

// serveOn serves the connections that l accepts, until l is closed and all of them are.
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
	case http.StateIdle:
		c := nc.(*Conn)
		c.framing.serving = false
		// This may be less than all bytes read by now: the second goroutine may have read
		// the first byte of the client's next request.
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
	c.framing.requestBegan()
	flaw := c.framing.flaw(r)
	if r.ProtoMajor != 1 { // HTTP/2's preface, which net/http passes on for servers that hijack the connection
		flaw = wrongVersion
	}
	if flaw != noFlaw {
		m.decline(x, refusals[flaw].status, refusals[flaw].body)
		write(w, r, x)
		return
	}
	if r.ContentLength != 0 {
		buf := m.bodies.Get().(*[]byte)
		defer m.bodies.Put(buf)
		if status := m.readBody(w, r, buf); status != 0 {
			m.decline(x, status, bodyErrors[status])
			write(w, r, x)
			return
		}
		x.Body = *buf
	}
	m.serve(x, c, m.clock())
	if c.framing.mustClose(r) {
		x.Close = true
	}
	write(w, r, x)
}

// bodyErrors has the answer for each status that readBody returns.
var bodyErrors = map[int]string{
	http.StatusBadRequest:            "malformed request\n",
	http.StatusRequestTimeout:        "request took too long to arrive\n",
	http.StatusRequestEntityTooLarge: "request body too large\n",
}

// readBody reads the whole body into buf and returns 0. If it fails it returns the status with
// which to refuse the request.
func (m *nethttpModel) readBody(w http.ResponseWriter, r *http.Request, buf *[]byte) int {
	if r.ContentLength > int64(m.limits.MaxBody) {
		return http.StatusRequestEntityTooLarge
	}
	body := http.MaxBytesReader(w, r.Body, int64(m.limits.MaxBody))
	b := (*buf)[:0]
	for {
		// Grow as append does: one more element than fits makes room for about as many again.
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := body.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		*buf = b
		if err == nil {
			continue
		}
		var large *http.MaxBytesError
		var timeout net.Error
		switch {
		case err == io.EOF:
			return 0
		case errors.As(err, &large):
			return http.StatusRequestEntityTooLarge
		case errors.As(err, &timeout) && timeout.Timeout():
			return http.StatusRequestTimeout
		}
		return http.StatusBadRequest
	}
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
	waited   func(time.Duration)
	places   chan struct{}
	waiting  atomic.Int64
	maxConns atomic.Int64 // the cap on open connections, in service and waiting
}

// newGate makes the model of the mode nethttp-gate, with cfg.Workers places.
func newGate(cfg Config) Model {
	m := &gateModel{
		nethttpModel: newNethttp(cfg).(*nethttpModel),
		waited:       cfg.Waited,
		places:       make(chan struct{}, cfg.Workers),
	}
	if m.waited == nil {
		m.waited = func(time.Duration) {}
	}
	m.server.ConnState = func(c net.Conn, state http.ConnState) {
		m.track(c, state)
		if state == http.StateClosed || state == http.StateHijacked {
			<-m.places
		}
	}
	return m
}

func (m *gateModel) Serve(l *Listener) error {
	m.maxConns.Store(int64(l.MaxConns()))
	// Room for every connection that may be open: the acceptor never waits here.
	g := &gateListener{Listener: l, gate: m, arrivals: make(chan *Conn, l.MaxConns())}
	var failed error
	var acceptor sync.WaitGroup
	acceptor.Go(func() {
		failed = eachConn(l, func(c *Conn) {
			m.waiting.Add(1)
			c.enqueue(timeline.Now())
			g.arrivals <- c
		})
		close(g.arrivals)
	})
	err := m.serveOn(g)
	acceptor.Wait()
	if failed != nil {
		return failed
	}
	return err
}

func (m *gateModel) Queue() dispatch.Queue { return (*gateQueue)(m) }

// A gateListener returns accepted connections to net/http as places become free.
type gateListener struct {
	*Listener
	gate     *gateModel
	arrivals chan *Conn
}

// Accept takes the connection that has waited longest, waits for a place, and returns the connection.
func (l *gateListener) Accept() (net.Conn, error) {
	c, ok := <-l.arrivals
	if !ok {
		return nil, net.ErrClosed
	}
	l.gate.places <- struct{}{}
	l.gate.waiting.Add(-1)
	wait := time.Duration(timeline.Now() - c.waiting.Load())
	l.gate.waited(wait)
	tookConn(c, wait)
	c.dequeue()
	return c, nil
}

// gateQueue presents the gate as a queue. The gate's places count as workers.
type gateQueue gateModel

func (g *gateQueue) Depth() int    { return int(g.waiting.Load()) }
func (g *gateQueue) Capacity() int { return max(0, int(g.maxConns.Load())-cap(g.places)) }
func (g *gateQueue) Workers() int  { return cap(g.places) }
func (g *gateQueue) Busy() int     { return len(g.places) }
