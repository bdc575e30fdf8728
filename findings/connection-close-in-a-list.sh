#!/usr/bin/env bash
# fasthttp 1.74.0, fiber 3.1.0, hertz 0.10.4 and nbio 1.6.12 keep a connection that the client asked to close, if
# "close" is not the whole value of Connection.
#
# RFC 9110, section 7.6.1: Connection is a list of options, and options are case-insensitive. A client that sends
# "Connection: TE, close" or "Connection: Close" waits for an end that does not come, and the server keeps a
# connection that nobody uses. fasthttp and hertz (and fiber, which is built on fasthttp) know the exact word close
# only; nbio knows its case, not the list. net/http closes in each case.
#
# Seen on 2026-11-28 (go1.26.8); the columns are close, Close, "TE, close":
#   net/http closes closes closes
#   fasthttp closes keeps keeps
#   fiber    closes keeps keeps
#   hertz    closes keeps keeps
#   nbio     closes closes keeps
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/cloudwego/hertz/pkg/app"
	hertz "github.com/cloudwego/hertz/pkg/app/server"
	"github.com/gofiber/fiber/v3"
	"github.com/lesismal/nbio/logging"
	"github.com/lesismal/nbio/nbhttp"
	"github.com/valyala/fasthttp"
)

func main() {
	log.SetOutput(io.Discard)
	logging.SetLevel(logging.LevelNone)
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	for _, s := range []struct {
		name  string
		serve func(addr string)
	}{
		{"net/http", func(addr string) { http.ListenAndServe(addr, hello) }},
		{"fasthttp", func(addr string) { fasthttp.ListenAndServe(addr, func(c *fasthttp.RequestCtx) { c.WriteString("hello") }) }},
		{"fiber   ", func(addr string) {
			a := fiber.New()
			a.Get("/", func(c fiber.Ctx) error { return c.SendString("hello") })
			a.Listen(addr, fiber.ListenConfig{DisableStartupMessage: true})
		}},
		{"hertz   ", func(addr string) {
			h := hertz.New(hertz.WithHostPorts(addr))
			h.GET("/", func(_ context.Context, c *app.RequestContext) { c.String(200, "hello") })
			h.Run()
		}},
		{"nbio    ", func(addr string) {
			nbhttp.NewEngine(nbhttp.Config{Network: "tcp", Addrs: []string{addr}, Handler: hello}).Start()
		}},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			log.Fatal(err)
		}
		addr := l.Addr().String()
		l.Close()
		go s.serve(addr)
		fmt.Fprint(os.Stdout, s.name)
		for _, value := range []string{"close", "Close", "TE, close"} {
			fmt.Print(" ", ask(addr, value))
		}
		fmt.Println()
	}
	os.Exit(0)
}

// ask tells whether the server closes the connection within a second of its answer.
func ask(addr, value string) string {
	var c net.Conn
	var err error
	for range 100 {
		if c, err = net.Dial("tcp", addr); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: %s\r\nTE: trailers\r\n\r\n", addr, value)
	c.SetReadDeadline(time.Now().Add(time.Second))
	_, err = io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "keeps"
	}
	return "closes"
}
END
go mod init finding >/dev/null 2>&1
go get github.com/valyala/fasthttp@v1.74.0 github.com/gofiber/fiber/v3@v3.1.0 github.com/cloudwego/hertz@v0.10.4 github.com/lesismal/nbio@v1.6.12 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run . 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END'
net/http closes closes closes
fasthttp closes keeps keeps
fiber    closes keeps keeps
hertz    closes keeps keeps
nbio     closes closes keeps
END
