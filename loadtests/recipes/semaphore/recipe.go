// Package semaphore serves with a goroutine per connection; handlers run on it, a number of them at a
// time. A request that gets no turn within longestWait is answered 503.
//
// It wins for CPU-bound requests near capacity: it has the bound of a pool without the hand-off to a
// worker, and without a hand-off tiny requests have p50 -25 % and CPU time -25 %. It starves requests that
// get no turn: they are refused with 503 and Retry-After, and their connection stays open. For handlers that
// compute take one or two turns a CPU, and let clients that were refused ask again.
//
// It takes a fasthttp.RequestHandler. For an http.Handler give it fasthttpadaptor.NewFastHTTPHandler(handler)
// (github.com/valyala/fasthttp/fasthttpadaptor); to bound it without fasthttp take the recipe nethttp-gate,
// whose limit is of connections and not of requests.
package semaphore

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

// Accepted counts the connections that were accepted. The ones that are not Done are open. Publish both,
// with expvar or your metrics.
var Accepted atomic.Int64

// Done counts the connections that have ended.
var Done atomic.Int64

// Refused counts requests that were answered 503.
var Refused atomic.Int64

// longestBody is the largest request body, in bytes.
const longestBody = 1 << 20

// grace is how long, once ctx has ended, connections are still accepted and kept, so that no request is lost
// that was sent before its client knew. Each answer then ends its connection. Make it longer where clients
// come for longer: a load balancer may take seconds to take a server out.
const grace = 250 * time.Millisecond

const (
	drainTime   = 10 * time.Second // how long requests under way may take to end after grace
	longestWait = 100 * time.Millisecond
)

// ListenAndServe serves h on addr, turns requests at a time, until ctx ends. It then lets requests under
// way end and returns nil, or an error if some of them took longer than drainTime.
func ListenAndServe(ctx context.Context, addr string, h fasthttp.RequestHandler, turns int) error {
	if turns < 1 {
		return fmt.Errorf("%d turns; give 1 or more", turns)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &fasthttp.Server{
		Handler:            guard(ctx, inTurn(h, turns)),
		HeaderReceived:     readExpect,
		ErrorHandler:       refuse,
		ReadTimeout:        5 * time.Second, // for a whole request
		WriteTimeout:       10 * time.Second,
		IdleTimeout:        time.Minute,
		ReadBufferSize:     8 << 10, // longest head
		MaxRequestBodySize: longestBody,
		Concurrency:        10_000, // connections; beyond them 503
	}
	var running sync.WaitGroup // the acceptor and the connections
	serve := func(c net.Conn) {
		running.Go(func() {
			server.ServeConn(c)
			Done.Add(1)
		})
	}
	failed := make(chan error, 1)
	running.Go(func() { failed <- server.Serve(acceptor{ln, serve}) })
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	return errors.Join(err, drain(server, ln, running.Wait))
}

// inTurn runs h for a number of requests at a time.
func inTurn(h fasthttp.RequestHandler, turns int) fasthttp.RequestHandler {
	taken := make(chan struct{}, turns)
	return func(rc *fasthttp.RequestCtx) {
		select {
		case taken <- struct{}{}:
		default: // only a request that waits needs a timer
			select {
			case taken <- struct{}{}:
			case <-time.After(longestWait):
				Refused.Add(1)
				rc.Error("overloaded", fasthttp.StatusServiceUnavailable)
				rc.Response.Header.Set("Retry-After", "1")
				return
			}
		}
		defer func() { <-taken }() // also when h panics
		h(rc)
	}
}

// An acceptor gives every connection to serve and returns none to fasthttp, which would serve it in its
// own pool. fasthttp's Shutdown still closes the listener, ends idle connections and waits.
type acceptor struct {
	net.Listener
	serve func(net.Conn)
}

func (a acceptor) Accept() (net.Conn, error) {
	for {
		c, err := a.Listener.Accept()
		switch {
		case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
			time.Sleep(50 * time.Millisecond) // no descriptor is free; Serve would end on this
		case err != nil:
			return nil, err
		default:
			Accepted.Add(1)
			a.serve(c)
		}
	}
}

// readExpect tells fasthttp, which knows the expectation only alone and in lower case, that a client waits
// for the word to send its body. A body that is too long is refused instead.
func readExpect(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	switch {
	case !h.IsHTTP11() || h.ContentLength() > longestBody:
		h.Del("Expect")
	case len(h.Peek("Expect")) > 0:
		h.Set("Expect", "100-continue") // the only expectation there is
	}
	return fasthttp.RequestConfig{}
}

// refuse answers a request that could not be read. fasthttp's own handler calls a long body malformed.
func refuse(rc *fasthttp.RequestCtx, err error) {
	var small *fasthttp.ErrSmallBuffer
	var failed net.Error
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		rc.Error("request body too large", fasthttp.StatusRequestEntityTooLarge)
	case errors.As(err, &small):
		rc.Error("request head too large", fasthttp.StatusRequestHeaderFieldsTooLarge)
	case errors.As(err, &failed) && failed.Timeout():
		rc.Error("request took too long to arrive", fasthttp.StatusRequestTimeout)
	default:
		rc.Error("malformed request", fasthttp.StatusBadRequest)
	}
}

// guard answers 500 when h panics, for which fasthttp would end the program. Once ctx has ended it closes
// each connection with its answer.
func guard(ctx context.Context, h fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(rc *fasthttp.RequestCtx) {
		defer func() {
			if p := recover(); p != nil {
				log.Printf("handler: %v\n%s", p, debug.Stack())
				rc.Error("internal error", fasthttp.StatusInternalServerError)
			}
			if ctx.Err() != nil {
				rc.SetConnectionClose()
			}
		}()
		h(rc)
	}
}

// drain goes on for grace, stops accepting, ends idle connections, and waits for the others. What remains is
// a request that is sent in the moment in which its idle connection is closed; a client may send it again.
func drain(server *fasthttp.Server, ln net.Listener, wait func()) error {
	time.Sleep(grace)
	limit, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := server.ShutdownWithContext(limit)
	ln.Close() // Shutdown does not know it if ctx ended at the start
	ended := make(chan struct{})
	go func() {
		wait()
		close(ended)
	}()
	select {
	case <-ended:
		return err
	case <-limit.Done():
		return errors.New("requests were still under way when drainTime had passed")
	}
}
