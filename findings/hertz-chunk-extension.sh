#!/usr/bin/env bash
# hertz 0.10.4 answers 400 to a chunked upload whose chunks have an extension.
#
# RFC 9112, section 7.1.1: a recipient must ignore chunk extensions that it does not know. net/http and fasthttp do.
# hertz refuses the request ("Error when parsing request").
#
# Seen on 2026-11-28 (go1.26.8):
#   net/http 200
#   fasthttp 200
#   hertz    400
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
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/cloudwego/hertz/pkg/app"
	hertz "github.com/cloudwego/hertz/pkg/app/server"
	"github.com/valyala/fasthttp"
)

func main() {
	show("net/http", func(addr string) {
		http.ListenAndServe(addr, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	})
	show("fasthttp", func(addr string) { fasthttp.ListenAndServe(addr, func(*fasthttp.RequestCtx) {}) })
	show("hertz   ", func(addr string) {
		h := hertz.New(hertz.WithHostPorts(addr))
		h.POST("/", func(_ context.Context, c *app.RequestContext) { c.Status(200) })
		h.Run()
	})
	os.Exit(0)
}

func show(name string, serve func(addr string)) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	go serve(addr)
	var c net.Conn
	for range 100 {
		if c, err = net.Dial("tcp", addr); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n5;note=first\r\nhello\r\n0\r\n\r\n")
	c.SetReadDeadline(time.Now().Add(2 * time.Second))
	reply, _ := io.ReadAll(c)
	fmt.Println(name, strings.Fields(string(reply) + " - -")[1])
}
END
go mod init finding >/dev/null 2>&1
go get github.com/valyala/fasthttp@v1.74.0 github.com/cloudwego/hertz@v0.10.4 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run . 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END'
net/http 200
fasthttp 200
hertz    400
END
