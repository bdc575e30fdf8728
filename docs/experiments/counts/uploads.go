package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"schedlab/internal/shared/stats"
)

// An uploadCell is a server whose handler has one place, and that gets several uploads at once. Over HTTP/2 they share a
// connection.
type uploadCell struct {
	Protocol string
	Order    string // of a handler's two steps
	Window   int    // the server's receive window of a connection in bytes; 0: Go's own, 1 MiB
	Rounds   []uploaded
}

// An uploaded is what came of the uploads of one round.
type uploaded struct {
	Answered int
	Seconds  float64 // until the last answer
}

// Orders of a handler's steps.
const (
	waitFirst = "waits for the place, then reads its body"
	readFirst = "reads its body, then waits for the place"
)

const (
	uploads      = 40
	uploadLength = 100 << 10
	uploadLimit  = 6 * time.Second       // how long a client waits
	placeTime    = 10 * time.Millisecond // how long a request keeps the place after it has its body
	widestWindow = 4<<20 - 1             // the most that HTTP2Config allows by its documentation
)

// uploadCells returns all cells.
func uploadCells() []uploadCell {
	return []uploadCell{
		{Protocol: overTLS, Order: waitFirst},
		{Protocol: overTLS, Order: readFirst},
		{Protocol: overHTTP2, Order: waitFirst},
		{Protocol: overHTTP2, Order: waitFirst, Window: widestWindow},
		{Protocol: overHTTP2, Order: readFirst},
	}
}

// handler returns the cell's handler. A request keeps its place until it ends, also when its client has left.
func (c uploadCell) handler() http.HandlerFunc {
	place := make(chan struct{}, 1)
	return func(_ http.ResponseWriter, r *http.Request) {
		read := func() error { _, err := io.Copy(io.Discard, r.Body); return err }
		if c.Order == readFirst && read() != nil {
			return
		}
		select {
		case place <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		defer func() { <-place }()
		if c.Order == waitFirst && read() != nil {
			return
		}
		time.Sleep(placeTime)
	}
}

// measure sends all uploads to a server in this process, and returns how many are answered within the limit.
func (c uploadCell) measure(ctx context.Context, own tls.Certificate) (got uploaded, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return got, err
	}
	server := &http.Server{Handler: c.handler(), Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{MaxReceiveBufferPerConnection: c.Window}}
	config := &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{"http/1.1"}}
	server.Protocols.SetHTTP1(true)
	if c.Protocol == overHTTP2 {
		server.Protocols.SetHTTP2(true)
		config.NextProtos = []string{"h2"}
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(tls.NewListener(l, config)) }()
	defer func() {
		err = errors.Join(err, server.Close())
		<-ended
	}()
	return c.send(ctx, l.Addr().String())
}

// send sends all uploads at once.
func (c uploadCell) send(ctx context.Context, addr string) (got uploaded, err error) {
	transport, scheme := transportFor(c.Protocol)
	defer transport.CloseIdleConnections()
	roundTrip := transport.RoundTrip
	if c.Protocol == overHTTP2 {
		conn, err := transport.NewClientConn(ctx, scheme, addr)
		if err != nil {
			return got, err
		}
		defer func() { _ = conn.Close() }()
		roundTrip = conn.RoundTrip
	}
	ctx, stop := context.WithTimeout(ctx, uploadLimit)
	defer stop()
	var running sync.WaitGroup
	failed, done := make([]error, uploads), make([]time.Duration, uploads) // done: 0 without an answer
	begin := time.Now()
	for i := range failed {
		running.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+"://"+addr, bytes.NewReader(make([]byte, uploadLength)))
			if err != nil {
				failed[i] = err
				return
			}
			res, err := roundTrip(req)
			switch {
			case err != nil && ctx.Err() == nil:
				failed[i] = err
			case err != nil: // the time is over
			case res.StatusCode != http.StatusOK:
				failed[i] = fmt.Errorf("upload %d: %s", i, res.Status)
				_ = res.Body.Close()
			default:
				_ = res.Body.Close()
				done[i] = time.Since(begin)
			}
		})
	}
	running.Wait()
	got.Seconds = slices.Max(done).Seconds()
	for _, at := range done {
		got.Answered += stats.Count(at > 0)
	}
	err = errors.Join(failed...)
	if err == nil && errors.Is(context.Cause(ctx), context.Canceled) {
		err = context.Canceled // asked to end, and not at the limit
	}
	return got, err
}
