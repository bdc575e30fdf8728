#!/usr/bin/env bash
# fasthttp's Shutdown ends the context of every request that still runs, at once.
#
# ShutdownWithContext of fasthttp 1.74.0 "gracefully shuts down the server without interrupting any active connections". It
# waits for the requests under way, but before that it closes the channel that RequestCtx.Done returns, so Err of each of them is
# context.Canceled from that moment. fasthttpadaptor makes the RequestCtx the context of the http.Request. A handler that passes
# that on, to a database or to another service as handlers do, is cancelled at the signal: its client gets an error in place
# of the answer that the shutdown waits for. With net/http the same handler answers, since Shutdown leaves contexts alone until
# Close. One would expect the contexts of running requests to end when the wait for them does.
# (That Done is closed "when the server is shutting down" is in its own comment; until then nothing ends it, also not a client
# that leaves.)
#
# Seen on 2026-11-30 (go1.26.8): a handler that needs 500 ms or ends with its context; the shutdown begins after 100 ms, with 5 s
# to wait:
#   net/http: 200 the whole answer, Shutdown: <nil>
#   fasthttp, by fasthttpadaptor: 503 context canceled, ShutdownWithContext: <nil>
#   fasthttp, a handler of its own: 503 context canceled, ShutdownWithContext: <nil>
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'EOF'
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// work is what a handler asks of a database, say: it takes 500 ms, or ends with the context.
func work(ctx context.Context) (int, string) {
	select {
	case <-time.After(500 * time.Millisecond):
		return http.StatusOK, "the whole answer"
	case <-ctx.Done():
		return http.StatusServiceUnavailable, ctx.Err().Error()
	}
}

func main() {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, text := work(r.Context())
		w.WriteHeader(status)
		io.WriteString(w, text)
	})
	plain := &http.Server{Handler: handler}
	try("net/http", "Shutdown", plain.Serve, plain.Shutdown)
	adapted := &fasthttp.Server{Handler: fasthttpadaptor.NewFastHTTPHandler(handler)}
	try("fasthttp, by fasthttpadaptor", "ShutdownWithContext", adapted.Serve, adapted.ShutdownWithContext)
	own := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		status, text := work(ctx)
		ctx.SetStatusCode(status)
		ctx.SetBodyString(text)
	}}
	try("fasthttp, a handler of its own", "ShutdownWithContext", own.Serve, own.ShutdownWithContext)
}

// try shuts a server down while a request runs, and prints what the client got.
func try(name, how string, serve func(net.Listener) error, shutdown func(context.Context) error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go serve(ln)
	got := make(chan string)
	go func() {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		reply, err := client.Get("http://" + ln.Addr().String())
		if err != nil {
			got <- err.Error()
			return
		}
		body, _ := io.ReadAll(reply.Body)
		got <- fmt.Sprint(reply.StatusCode, " ", string(body))
	}()
	time.Sleep(100 * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	failed := shutdown(ctx)
	fmt.Printf("%s: %s, %s: %v\n", name, <-got, how, failed)
}
EOF
go mod init finding >/dev/null 2>&1
go get github.com/valyala/fasthttp@v1.74.0 2>/dev/null
go run . >out
cat out
diff - out <<'EOF'
net/http: 200 the whole answer, Shutdown: <nil>
fasthttp, by fasthttpadaptor: 503 context canceled, ShutdownWithContext: <nil>
fasthttp, a handler of its own: 503 context canceled, ShutdownWithContext: <nil>
EOF
