#!/usr/bin/env bash
# Go's access logs disagree with the reply: gorilla logs files as 0 bytes, echo answers 404 with 200, chi logs 000.
#
# Each logger stands before the same handler in net/http, whose rules are documented: a handler that writes nothing sends
# 200; 103 is followed by the real code; the first real code is sent, and later ones are ignored. One would expect an
# access log to have the code and the size that were sent.
# gorilla/handlers 1.5.2 logs 0 bytes for a file served by http.ServeFile, since the copy goes past its counter (a pull
# request of 2020, gorilla/handlers#207, was closed unmerged), and an ignored second code as the reply's. In echo 4.16.4
# a 103 makes the reply's code 200, whatever the handler says after it (in 5.4.5 too), and the log's code 103. chi 5.5.0's
# Logger has 000 and negroni 3.1.2's 0 where nothing is written. httpsnoop 1.1.0, on which gorilla and other middlewares
# stand, and echo have a code set after a flush, which was not sent. All but negroni count the 5 bytes that HEAD does not
# send.
#
# Seen on 2026-11-28 (go1.26.8), sent > logged, code and size of the body (negroni logs no size):
#               httpsnoop           gorilla             chi                 negroni             echo
#   nothing     200 0 > 200 0       200 0 > 200 0       200 0 > 000 0       200 0 > 0           200 0 > 200 0
#   103, 404    404 5 > 404 5       404 5 > 404 5       404 5 > 404 5       404 5 > 404         200 5 > 103 5
#   201, 500    201 5 > 201 5       201 5 > 500 5       201 5 > 201 5       201 5 > 201         201 5 > 201 5
#   flush, 500  200 5 > 500 5       200 5 > 500 5       200 5 > 200 5       200 5 > 200         200 5 > 500 5
#   a file      200 100 > 200 100   200 100 > 200 0     200 100 > 200 100   200 100 > 200       200 100 > 200 100
#   HEAD        200 0 > 200 5       200 0 > 200 5       200 0 > 200 5       200 0 > 200         200 0 > 200 5
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
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/felixge/httpsnoop"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/gorilla/handlers"
	"github.com/labstack/echo/v4"
	echomw "github.com/labstack/echo/v4/middleware"
	"github.com/urfave/negroni/v3"
)

var cases = []struct {
	name, method string
	handler      http.HandlerFunc
}{
	{"nothing", "GET", func(http.ResponseWriter, *http.Request) {}},
	{"103, 404", "GET", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(103)
		w.WriteHeader(404)
		io.WriteString(w, "hello")
	}},
	{"201, 500", "GET", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(201)
		w.WriteHeader(500)
		io.WriteString(w, "hello")
	}},
	{"flush, 500", "GET", func(w http.ResponseWriter, _ *http.Request) {
		http.NewResponseController(w).Flush()
		w.WriteHeader(500)
		io.WriteString(w, "hello")
	}},
	{"a file", "GET", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "file.txt") }},
	{"HEAD", "HEAD", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }},
}

// Each writes CODE and SIZE into buf.
var loggers = []struct {
	name string
	wrap func(h http.HandlerFunc, buf *bytes.Buffer) http.Handler
}{
	{"httpsnoop", func(h http.HandlerFunc, buf *bytes.Buffer) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m := httpsnoop.CaptureMetrics(h, w, r)
			fmt.Fprint(buf, m.Code, " ", m.Written)
		})
	}},
	{"gorilla", func(h http.HandlerFunc, buf *bytes.Buffer) http.Handler {
		return handlers.CustomLoggingHandler(buf, h, func(w io.Writer, p handlers.LogFormatterParams) { fmt.Fprint(w, p.StatusCode, " ", p.Size) })
	}},
	{"chi", func(h http.HandlerFunc, buf *bytes.Buffer) http.Handler {
		return middleware.RequestLogger(&middleware.DefaultLogFormatter{Logger: log.New(buf, "", 0), NoColor: true})(h)
	}},
	{"negroni", func(h http.HandlerFunc, buf *bytes.Buffer) http.Handler {
		l := negroni.NewLogger()
		l.ALogger = log.New(buf, "", 0)
		l.SetFormat("{{.Status}}")
		n := negroni.New(l)
		n.UseHandler(h)
		return n
	}},
	{"echo", func(h http.HandlerFunc, buf *bytes.Buffer) http.Handler {
		e := echo.New()
		e.Use(echomw.LoggerWithConfig(echomw.LoggerConfig{Output: buf, Format: "${status} ${bytes_out}"}))
		e.Any("/", echo.WrapHandler(h))
		return e
	}},
}

func main() {
	log.SetOutput(io.Discard)
	if err := os.WriteFile("file.txt", bytes.Repeat([]byte("a"), 100), 0o600); err != nil {
		log.Fatal(err)
	}
	line := fmt.Sprintf("%-10s", "")
	for _, l := range loggers {
		line += fmt.Sprintf("  %-18s", l.name)
	}
	fmt.Println(strings.TrimRight(line, " "))
	for _, c := range cases {
		line := fmt.Sprintf("%-10s", c.name)
		for _, l := range loggers {
			line += fmt.Sprintf("  %-18s", one(c.method, c.handler, l.wrap))
		}
		fmt.Println(strings.TrimRight(line, " "))
	}
}

func one(method string, h http.HandlerFunc, wrap func(http.HandlerFunc, *bytes.Buffer) http.Handler) string {
	var buf bytes.Buffer
	s := httptest.NewUnstartedServer(wrap(h, &buf))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	r, err := http.NewRequest(method, s.URL+"/", nil)
	if err != nil {
		log.Fatal(err)
	}
	reply, err := s.Client().Do(r)
	if err != nil {
		log.Fatal(err)
	}
	body, _ := io.ReadAll(reply.Body)
	reply.Body.Close()
	s.Close() // after it the line is written
	logged := strings.TrimSpace(buf.String())
	if _, after, ok := strings.Cut(logged, " - "); ok { // chi: ... - 200 5B in 9µs
		logged = strings.ReplaceAll(strings.Join(strings.Fields(after)[:2], " "), "B", "")
	}
	return fmt.Sprint(reply.StatusCode, " ", len(body), " > ", logged)
}
END
go mod init finding >/dev/null 2>&1
go get github.com/felixge/httpsnoop@v1.1.0 github.com/go-chi/chi/v5@v5.5.0 github.com/gorilla/handlers@v1.5.2 github.com/labstack/echo/v4@v4.16.4 github.com/urfave/negroni/v3@v3.1.2 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
            httpsnoop           gorilla             chi                 negroni             echo
nothing     200 0 > 200 0       200 0 > 200 0       200 0 > 000 0       200 0 > 0           200 0 > 200 0
103, 404    404 5 > 404 5       404 5 > 404 5       404 5 > 404 5       404 5 > 404         200 5 > 103 5
201, 500    201 5 > 201 5       201 5 > 500 5       201 5 > 201 5       201 5 > 201         201 5 > 201 5
flush, 500  200 5 > 500 5       200 5 > 500 5       200 5 > 200 5       200 5 > 200         200 5 > 500 5
a file      200 100 > 200 100   200 100 > 200 0     200 100 > 200 100   200 100 > 200       200 100 > 200 100
HEAD        200 0 > 200 5       200 0 > 200 5       200 0 > 200 5       200 0 > 200         200 0 > 200 5
END
