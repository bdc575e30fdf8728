package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/load"
)

// keptConns is how many kept connections there are where each carries one request at a time. All are opened before a
// window, so that it has no handshake; a request waits in the client while all are in use.
const keptConns = 128

// An asker is a client in an open loop: it sends each request when it is due, whether or not earlier ones are answered.
type asker struct {
	transport          *http.Transport
	conn               *http.ClientConn // of HTTP/2
	scheme, addr, path string
	major              int           // of the protocol that answers have
	first              int           // connections that are opened before a window
	dialling           chan struct{} // closed when as many are being dialled
	opened             atomic.Int64
}

// An asked is what was sent in a window. Every request of it was answered.
type asked struct {
	Requests int
	Opened   int     // connections
	Resumed  int     // connections that resumed a session of TLS, where each has one request
	Seconds  float64 // until the last answer
}

// newAsker returns a client for a cell's server. It has a cache of TLS sessions of its own: Go's client looks sessions up
// by the server's name without its port, so servers that share a cache would never resume.
func newAsker(c tlsCell, addr string) *asker {
	transport, scheme := transportFor(c.Protocol)
	a := &asker{transport: transport, scheme: scheme, addr: addr, path: c.path(), major: 1, first: 1, dialling: make(chan struct{})}
	transport.MaxIdleConnsPerHost = keptConns
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if n := a.opened.Add(1); n == int64(a.first) {
			close(a.dialling)
		}
		select {
		case <-a.dialling:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	if c.Protocol == overH2C || c.Protocol == overHTTP2 {
		a.major = 2
	} else if c.Connections == connKept {
		a.first = keptConns
		transport.MaxConnsPerHost = keptConns
	}
	if c.Connections != connKept {
		transport.DisableKeepAlives = true
		transport.TLSClientConfig.ClientSessionCache = forgetful{}
	}
	switch c.Connections {
	case connClassic:
		transport.TLSClientConfig.CurvePreferences = []tls.CurveID{tls.X25519}
	case connFull12, connResumed12:
		transport.TLSClientConfig.MaxVersion = tls.VersionTLS12
	}
	if c.Connections == connResumed || c.Connections == connResumed12 {
		transport.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	}
	return a
}

// A forgetful cache keeps no session. A client with one asks for sessions as others do, which costs the server the making
// of a ticket, and never resumes one.
type forgetful struct{}

func (forgetful) Get(string) (*tls.ClientSessionState, bool) { return nil, false }
func (forgetful) Put(string, *tls.ClientSessionState)        {}

func (a *asker) close() {
	if a.conn != nil {
		_ = a.conn.Close()
	}
	a.transport.CloseIdleConnections()
}

// open opens the connections, by a request on each at once: none is dialled before all are, so that none can take a
// second request. HTTP/2 has one, and so has a client whose later handshakes resume the session of its first.
func (a *asker) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	if a.major == 2 {
		// Note: a Transport dials another connection when all streams are in use. With StrictMaxConcurrentRequests it does not,
		// but counts waiting requests as streams in use, and stops for ever when as many wait (go.dev/issue/70809, Go 1.26.8).
		var err error
		if a.conn, err = a.transport.NewClientConn(ctx, a.scheme, a.addr); err != nil {
			return err
		}
	}
	failed := make([]error, a.first)
	var running sync.WaitGroup
	for i := range failed {
		running.Go(func() { _, failed[i] = a.one(ctx) })
	}
	running.Wait()
	return errors.Join(failed...)
}

// sendAt calls send for each request when it is due, from begin, whether or not earlier calls have returned. It returns when
// all have. After ctx has ended it calls send no more.
func sendAt(ctx context.Context, begin time.Time, due iter.Seq[time.Duration], send func(due time.Duration)) {
	var running sync.WaitGroup
	defer running.Wait()
	for at := range due {
		for early := at - time.Since(begin); early > 0 && ctx.Err() == nil; early = at - time.Since(begin) {
			load.Sleep(early) // a signal to the thread ends it early
		}
		if ctx.Err() != nil {
			return
		}
		running.Go(func() { send(at) })
	}
}

// ask sends requests at random times (Poisson) for a span and waits for all answers. The first that fails ends it.
func (a *asker) ask(ctx context.Context, rate float64, span time.Duration, random *rand.Rand) (all asked, err error) {
	limit := span + answerLimit
	ctx, stop := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%g requests a second for %v are not answered after %v: end other programs, or lower the rate", rate, span, limit))
	defer stop()
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var requests, resumed atomic.Int64
	opened, begin := a.opened.Load(), time.Now()
	sendAt(ctx, begin, arrivals.Process{}.Times(rate, span, random), func(time.Duration) {
		requests.Add(1)
		switch again, err := a.one(ctx); {
		case err != nil:
			fail(err)
		case again:
			resumed.Add(1)
		}
	})
	all = asked{int(requests.Load()), int(a.opened.Load() - opened), int(resumed.Load()), time.Since(begin).Seconds()}
	return all, context.Cause(ctx)
}

// one sends a request, and reports whether its connection resumed a session of TLS.
func (a *asker) one(ctx context.Context) (resumed bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.scheme+"://"+a.addr+a.path, nil)
	if err != nil {
		return false, err
	}
	roundTrip := a.transport.RoundTrip
	if a.conn != nil {
		roundTrip = a.conn.RoundTrip
	}
	res, err := roundTrip(req)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return false, err
	}
	if res.StatusCode != http.StatusOK || res.ProtoMajor != a.major {
		return false, fmt.Errorf("%s: %s over %s", req.URL, res.Status, res.Proto)
	}
	return res.TLS != nil && res.TLS.DidResume, nil
}
