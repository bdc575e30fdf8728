#!/usr/bin/env bash
# fasthttpadaptor's handler returns at the first Flush, and the http.Handler in it goes on: what is around it counts and times
# half of the work, and a limit of one lets all of it through.
#
# fasthttpadaptor of fasthttp 1.74.0 makes a RequestHandler of an http.Handler. If the http.Handler calls Flush, as one that
# streams does, the RequestHandler returns at that moment and the http.Handler goes on in a goroutine of its own. A middleware of
# fasthttp around it takes that for the end: a limit on requests at a time gives the place to the next one, a timer reads the
# time to the first byte, a gauge of requests in progress falls. One would expect the RequestHandler to return when the
# http.Handler has, as without a Flush, or its documentation to say so.
#
# Seen on 2026-11-30 (go1.26.8): ten requests at a time to a handler that takes 300 ms, behind a limit of one that a fasthttp handler
# keeps around it:
#   without Flush: 1 at a time, the limit is held for 300 ms
#   with Flush:    10 at a time, the limit is held for 0 ms
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'EOF'
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

func main() {
	try("without Flush:", false)
	try("with Flush:   ", true)
}

func try(name string, flush bool) {
	var now, most atomic.Int64
	inner := fasthttpadaptor.NewFastHTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		io.WriteString(w, "begun\n")
		if flush {
			w.(http.Flusher).Flush()
		}
		time.Sleep(300 * time.Millisecond)
		io.WriteString(w, "done\n")
	}))
	place := make(chan struct{}, 1)
	var held atomic.Int64
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		place <- struct{}{}
		began := time.Now()
		inner(ctx)
		held.Store(max(held.Load(), int64(time.Since(began))))
		<-place
	}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go server.Serve(ln)
	var clients sync.WaitGroup
	for range 10 {
		clients.Go(func() {
			reply, err := http.Get("http://" + ln.Addr().String())
			if err != nil {
				panic(err)
			}
			if body, err := io.ReadAll(reply.Body); err != nil || string(body) != "begun\ndone\n" {
				panic(fmt.Sprint(string(body), err))
			}
		})
	}
	clients.Wait()
	fmt.Printf("%s %d at a time, the limit is held for %d ms\n", name, most.Load(), time.Duration(held.Load()).Round(100*time.Millisecond).Milliseconds())
}
EOF
go mod init finding >/dev/null 2>&1
go get github.com/valyala/fasthttp@v1.74.0 2>/dev/null
go run . >out
cat out
diff - out <<'EOF'
without Flush: 1 at a time, the limit is held for 300 ms
with Flush:    10 at a time, the limit is held for 0 ms
EOF
