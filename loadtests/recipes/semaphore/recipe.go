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
// whose limit is of connections and not of requests. Take that too for a handler that streams: the adaptor
// returns at its first Flush, so that its turn is free while it goes on.
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

// ListenAndServe serves h on addr, turns requests at a time, until ctx ends. It then lets requests under way
// end and returns nil. If some of them take longer than drainTime it ends their contexts and returns an
// error.
func ListenAndServe(ctx context.Context, addr string, h fasthttp.RequestHandler, turns int) error {
	if turns < 1 {
		return fmt.Errorf("%d turns; give 1 or more", turns)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
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
		ConnState: func(c net.Conn, state fasthttp.ConnState) {
			if state == fasthttp.StateIdle { // it has got its answer
				c.(*conn).idle.Store(time.Now().UnixNano())
			}
		},
	}
	var running sync.WaitGroup // the acceptor and the connections
	var open sync.Map          // the connections
	serve := func(c *conn) {
		running.Go(func() {
			c.idle.Store(time.Now().UnixNano())
			open.Store(c, nil)
			server.ServeConn(c)
			open.Delete(c)
			Done.Add(1)
		})
	}
	failed := make(chan error, 1)
	running.Go(func() { failed <- server.Serve(acceptor{ln, serve}) })
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	stop() // if the listener failed: from now on answers end their connections
	return errors.Join(err, drain(server, ln, &open, running.Wait))
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
// own pool. fasthttp's Serve must still run: without it requests have no context that Shutdown ends.
type acceptor struct {
	net.Listener
	serve func(*conn)
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
			a.serve(&conn{TCPConn: c.(*net.TCPConn)})
		}
	}
}

// A conn notes since when its client has sent nothing that is not answered. It does not see a part of a
// request that came together with the one before it.
type conn struct {
	*net.TCPConn
	idle atomic.Int64 // that Unix time, in nanoseconds; 0: it has sent a request or a part of one
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	if n > 0 {
		c.idle.Store(0)
	}
	return n, err
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

// drain goes on for grace and stops accepting. It then closes each connection without a request, once it
// has been so for grace, and waits for the others. fasthttp's Shutdown comes last, for it ends the contexts of
// running requests. What remains is a request that is sent in the moment in which its idle connection is
// closed; a client may send it again.
func drain(server *fasthttp.Server, ln net.Listener, open *sync.Map, wait func()) error {
	limit, cancel := context.WithTimeout(context.Background(), grace+drainTime)
	defer func() {
		cancel()
		_ = server.ShutdownWithContext(limit) // does not wait
	}()
	time.Sleep(grace)
	ln.Close()
	ended := make(chan struct{})
	go func() {
		wait()
		close(ended)
	}()
	for {
		open.Range(func(key, _ any) bool {
			c := key.(*conn)
			if since := c.idle.Load(); since != 0 && time.Since(time.Unix(0, since)) >= grace {
				_ = c.CloseRead() // fasthttp still answers what has come, and closes it
			}
			return true
		})
		select {
		case <-ended:
			return nil
		case <-time.After(5 * time.Millisecond):
		case <-limit.Done():
			return errors.New("requests were still under way when drainTime had passed")
		}
	}
}
