#!/usr/bin/env bash
# net/http of Go 1.26.8: Server.Shutdown returns up to half a second after the last reply.
#
# Twenty servers each have one request under way, which ends after 2.0 to 2.5 s, when Shutdown is called. One would
# expect Shutdown to return when the reply is out. It looks again at intervals that double from a millisecond to half a
# second, so the longer the wait has been, the later it notices: after 2 s some of twenty are 400 ms late or more.
# fasthttp 1.74.0 looks every 100 ms. Whoever stops a server after Shutdown, pod by pod, waits that long each time, and a
# grace period that just fits the longest request does not fit Shutdown.
#
# Seen on 2026-11-28 (go1.26.8):
#   net/http: the latest of 20 is 300 ms late or more: true; half of them 100 ms or more: true
#   fasthttp: the latest of 20 is 300 ms late or more: false; half of them 100 ms or more: false
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/valyala/fasthttp"
)

const servers = 20

// work is how long the request of a server takes.
func work(server int) time.Duration { return 2*time.Second + time.Duration(server)*25*time.Millisecond }

func main() {
	show("net/http", func(i int, l net.Listener) func() error {
		s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(work(i)) })}
		go s.Serve(l)
		return func() error { return s.Shutdown(context.Background()) }
	})
	show("fasthttp", func(i int, l net.Listener) func() error {
		s := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) { time.Sleep(work(i)) }}
		go s.Serve(l)
		return s.Shutdown
	})
}

func show(name string, serve func(i int, l net.Listener) (shutdown func() error)) {
	late := make(chan time.Duration, servers)
	for i := range servers {
		go func() {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				panic(err)
			}
			shutdown := serve(i, l)
			replied := make(chan time.Time, 1)
			go func() {
				r, err := http.Get("http://" + l.Addr().String())
				if err != nil {
					panic(err)
				}
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
				replied <- time.Now()
			}()
			time.Sleep(100 * time.Millisecond)
			if err := shutdown(); err != nil {
				panic(err)
			}
			returned := time.Now()
			late <- returned.Sub(<-replied)
		}()
	}
	var all []time.Duration
	for range servers {
		all = append(all, <-late)
	}
	slices.Sort(all)
	fmt.Fprintln(os.Stderr, name, all)
	fmt.Printf("%s: the latest of %d is 300 ms late or more: %t; half of them 100 ms or more: %t\n", name, servers,
		all[servers-1] >= 300*time.Millisecond, all[servers/2] >= 100*time.Millisecond)
}
END
go mod init finding >/dev/null 2>&1
go get github.com/valyala/fasthttp@v1.74.0 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
net/http: the latest of 20 is 300 ms late or more: true; half of them 100 ms or more: true
fasthttp: the latest of 20 is 300 ms late or more: false; half of them 100 ms or more: false
END
