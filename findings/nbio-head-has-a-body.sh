#!/usr/bin/env bash
# nbio 1.6.12's HTTP server sends a body in answer to HEAD, no "100 Continue", and nothing for an absolute URL.
#
# One handler, http.HandlerFunc, under net/http and under nbio's engine:
# - HEAD: RFC 9110, section 9.3.2, forbids a body. nbio sends one, in chunks; the next reply on the connection then
#   follows bytes that a client does not read as a body.
# - Expect: 100-continue: RFC 9110, section 10.1.1, wants the interim reply when the server goes on to read. nbio
#   sends only the final one, after the body. curl waits a second before it sends a large body.
# - GET http://host/ HTTP/1.1: RFC 9112, section 3.2.2, says that a server must accept it. nbio closes the connection
#   without an answer.
#
# Seen on 2026-11-28 (go1.26.8):
#   net/http HEAD: 0 bytes after the head, 100 Continue: true, absolute URL: 200
#   nbio     HEAD: 15 bytes after the head, 100 Continue: false, absolute URL: closed without an answer
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/lesismal/nbio/logging"
	"github.com/lesismal/nbio/nbhttp"
)

func main() {
	logging.SetLevel(logging.LevelNone)
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "hello")
	})
	show("net/http", hello, func(addr string) { http.ListenAndServe(addr, hello) })
	show("nbio    ", hello, func(addr string) {
		nbhttp.NewEngine(nbhttp.Config{Network: "tcp", Addrs: []string{addr}, Handler: hello}).Start()
	})
	os.Exit(0)
}

func show(name string, h http.Handler, serve func(addr string)) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	go serve(addr)
	_, body, _ := bytes.Cut(ask(addr, "HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", ""), []byte("\r\n\r\n"))
	// The body is sent after half a second, as by a client that waited for the interim reply in vain.
	upload := ask(addr, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n", "12345")
	absolute := string(ask(addr, "GET http://a/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", ""))
	if absolute == "" {
		absolute = "closed without an answer"
	} else {
		absolute = strings.Fields(absolute)[1]
	}
	fmt.Printf("%s HEAD: %d bytes after the head, 100 Continue: %t, absolute URL: %s\n", name, len(body), bytes.HasPrefix(upload, []byte("HTTP/1.1 100 ")), absolute)
}

func ask(addr, head, body string) []byte {
	var c net.Conn
	var err error
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
	io.WriteString(c, head)
	if body != "" {
		time.Sleep(500 * time.Millisecond)
		io.WriteString(c, body)
	}
	c.SetReadDeadline(time.Now().Add(2 * time.Second))
	reply, _ := io.ReadAll(c)
	return reply
}
END
go mod init finding >/dev/null 2>&1
go get github.com/lesismal/nbio@v1.6.12 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run . 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END'
net/http HEAD: 0 bytes after the head, 100 Continue: true, absolute URL: 200
nbio     HEAD: 15 bytes after the head, 100 Continue: false, absolute URL: closed without an answer
END
