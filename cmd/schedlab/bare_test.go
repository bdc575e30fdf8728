package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/metrics"
	"syscall"

	"github.com/valyala/fasthttp"

	"schedlab/internal/serving/model"
)

// bareServer is the program that benchmarks hold `schedlab serve` against:
// net/http or fasthttp as a user would write it by hand, or no HTTP at all (see
// bareRaw). It has the
// listening socket's options, the four timeouts and the size limits of serve, and
// a handler that answers every request with the bytes of serve's /plaintext. It
// has no wrapper around listener or connection, no callback on connection states
// or heads, no routing, no check of the head beyond the library's, no clock, no
// counter, no histogram, no recovery from panics, no drain. Beside the data
// address it opens one more, which tells allocations when asked.
func bareServer() {
	stack := flag.String("stack", "nethttp", "nethttp, fasthttp or raw")
	timeouts := flag.Bool("timeouts", true, "set the timeouts")
	flag.Parse()
	limits := model.DefaultLimits()
	if !*timeouts {
		limits.HeaderTimeout, limits.BodyTimeout, limits.WriteTimeout, limits.IdleTimeout = 0, 0, 0, 0
	}
	data, err := bareListen()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	admin, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, `{"addr":%q,"admin":%q}`+"\n", data.Addr(), admin.Addr())
	go func() {
		fmt.Fprintln(os.Stderr, http.Serve(admin, http.HandlerFunc(tellAllocations)))
	}()
	serve := map[string]func(net.Listener, model.Limits) error{
		"nethttp": bareNethttp, "fasthttp": bareFasthttp, "raw": bareRaw,
	}
	fmt.Fprintln(os.Stderr, serve[*stack](data, limits))
	os.Exit(1)
}

// bareListen opens a socket with the options of [model.Socket].
func bareListen() (net.Listener, error) {
	lc := net.ListenConfig{KeepAlive: -1, Control: func(_, _ string, c syscall.RawConn) error {
		var opt error
		err := c.Control(func(fd uintptr) {
			opt = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_SNDBUF, 256<<10)
		})
		return errors.Join(err, opt)
	}}
	lc.SetMultipathTCP(false)
	return lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
}

const plainType = "text/plain; charset=utf-8"

var plainBody = []byte("Hello, World!")

func bareFasthttp(ln net.Listener, l model.Limits) error {
	server := &fasthttp.Server{
		Name: "schedlab",
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetContentType(plainType)
			ctx.Response.SetBodyRaw(plainBody)
		},
		ReadTimeout:        l.HeaderTimeout,
		WriteTimeout:       l.WriteTimeout,
		IdleTimeout:        l.IdleTimeout,
		ReadBufferSize:     l.MaxHead,
		MaxRequestBodySize: l.MaxBody,
	}
	return server.Serve(ln)
}

func bareNethttp(ln net.Listener, l model.Limits) error {
	// Shared values, as serve has them: h.Set would allocate, and flatter serve.
	name, kind := []string{"schedlab"}, []string{plainType}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			h := w.Header()
			h["Server"], h["Content-Type"] = name, kind
			w.Write(plainBody)
		}),
		ReadHeaderTimeout: l.HeaderTimeout,
		ReadTimeout:       l.HeaderTimeout + l.BodyTimeout,
		WriteTimeout:      l.WriteTimeout,
		IdleTimeout:       l.IdleTimeout,
		MaxHeaderBytes:    l.MaxHead,
	}
	return server.Serve(ln)
}

// allocations are the runtime's counts of heap objects, by the names that
// client_golang gives them.
var allocations = map[string]string{
	"/gc/heap/allocs:objects":      "go_gc_heap_allocs_objects_total",
	"/gc/heap/tiny/allocs:objects": "go_gc_heap_tiny_allocs_objects_total",
}

func tellAllocations(w http.ResponseWriter, _ *http.Request) {
	for name, series := range allocations {
		s := []metrics.Sample{{Name: name}}
		metrics.Read(s)
		fmt.Fprintf(w, "%s %d\n", series, s[0].Value.Uint64())
	}
}
