#!/usr/bin/env bash
# fasthttp keeps the largest reply's memory for as long as a client keeps its connection, however small the later replies are.
#
# A body that a handler writes goes into a buffer of the connection's context, which is used again for the next reply.
# fasthttp 1.74.0 returns the context to its pool when the connection ends. 50 clients that each got one reply of 1 MiB and
# then a hundred empty ones on their kept connections hold 1 MiB each, after garbage collections. One would expect memory
# by what is in use, as with net/http: a service with many idle clients and now and then a large page grows to
# connections times its largest page. Server.ReduceMemoryUsage, whose documentation speaks of idle connections and of no reply's
# size, lets it go; so does Response.SetBodyRaw, which copies nothing, for a body that the handler has anyway.
#
# Seen on 2026-11-29 (go1.26.8), heap in use above that of the same 50 connections before:
#   net/http:                            after the large reply 0.0 MiB a connection, after 100 small ones 0.0
#   fasthttp:                            after the large reply 1.0 MiB a connection, after 100 small ones 1.0
#   fasthttp, ReduceMemoryUsage:         after the large reply 0.0 MiB a connection, after 100 small ones 0.0
#   fasthttp, Response.SetBodyRaw:       after the large reply 0.0 MiB a connection, after 100 small ones 0.0
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/valyala/fasthttp"
)

const connections = 50

func main() {
	page := make([]byte, 1<<20)
	show("net/http:", func(l net.Listener) {
		http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/large" {
				w.Write(page)
			}
		}))
	})
	show("fasthttp:", of(&fasthttp.Server{}, func(ctx *fasthttp.RequestCtx) { ctx.Write(page) }))
	show("fasthttp, ReduceMemoryUsage:", of(&fasthttp.Server{ReduceMemoryUsage: true}, func(ctx *fasthttp.RequestCtx) { ctx.Write(page) }))
	show("fasthttp, Response.SetBodyRaw:", of(&fasthttp.Server{}, func(ctx *fasthttp.RequestCtx) { ctx.Response.SetBodyRaw(page) }))
}

// of returns a function that serves by s, with large for the large reply.
func of(s *fasthttp.Server, large fasthttp.RequestHandler) func(net.Listener) {
	s.Handler = func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/large" {
			large(ctx)
		}
	}
	return func(l net.Listener) { s.Serve(l) }
}

func show(name string, serve func(net.Listener)) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go serve(l)
	var open []net.Conn
	for range connections {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			log.Fatal(err)
		}
		open = append(open, c)
	}
	ask := func(path string) {
		for _, c := range open {
			fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: local\r\n\r\n", path)
			r, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
			if err != nil {
				log.Fatal(err)
			}
			io.Copy(io.Discard, r.Body)
		}
	}
	ask("/small")
	small := heap()
	ask("/large")
	large := heap()
	for range 100 {
		ask("/small")
	}
	after := heap()
	mib := func(bytes int64) float64 { return max(0, float64(bytes)/connections/(1<<20)) }
	fmt.Printf("%-36s after the large reply %.1f MiB a connection, after 100 small ones %.1f\n", name, mib(large-small), mib(after-small))
	for _, c := range open {
		c.Close()
	}
	l.Close()
}

// heap returns the bytes in use after garbage collections, two of which empty each sync.Pool.
func heap() int64 {
	time.Sleep(200 * time.Millisecond)
	runtime.GC()
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
END
go mod init finding >/dev/null 2>&1
go get github.com/valyala/fasthttp@v1.74.0 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
net/http:                            after the large reply 0.0 MiB a connection, after 100 small ones 0.0
fasthttp:                            after the large reply 1.0 MiB a connection, after 100 small ones 1.0
fasthttp, ReduceMemoryUsage:         after the large reply 0.0 MiB a connection, after 100 small ones 0.0
fasthttp, Response.SetBodyRaw:       after the large reply 0.0 MiB a connection, after 100 small ones 0.0
END
