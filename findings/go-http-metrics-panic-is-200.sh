#!/usr/bin/env bash
# slok/go-http-metrics counts a panic as 200, also where the client gets 500, and every reply after a 103 as a 103.
#
# go-http-metrics 0.13.0 observes in a defer with the last code that went through its ResponseWriter, 200 before any has. A
# handler that panics has sent none: with Recoverer of chi (or any other) outside of it the client has a 500 and the
# metrics a 200, and without one the client has a closed connection and the metrics a 200. The README's query of code=~"5.." stays
# quiet when a handler panics on each request. With Recoverer inside of the metrics they have 500; the README of neither
# says that the order matters, and its examples for chi and the rest have no recovery at all.
# net/http sends 1xx codes at once and then the one that counts: a handler that gives 103 Early Hints and lets Write do the
# rest, as net/http's documentation of WriteHeader allows, is code="103" though its client has a 200. A handler whose late
# WriteHeader(500) is ignored as superfluous, after the body of a 200, is code="500".
#
# Seen on 2026-11-29 (go1.26.8, client_golang 1.25.0, chi 5.2.3), what the client got | the code of the metric:
#   panic, Recoverer outside: 500 | 200
#   panic, Recoverer inside:  500 | 500
#   panic, no Recoverer:      EOF | 200
#   panic half way:           cut | 200
#   103, then a body:         200 | 103
#   200, then a late 500:     200 | 500
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus"
	metrics "github.com/slok/go-http-metrics/metrics/prometheus"
	measure "github.com/slok/go-http-metrics/middleware"
	"github.com/slok/go-http-metrics/middleware/std"
)

func show(name string, wrap func(with func(http.Handler) http.Handler, h http.Handler) http.Handler, h http.HandlerFunc) {
	registry := prometheus.NewRegistry()
	m := measure.New(measure.Config{Recorder: metrics.NewRecorder(metrics.Config{Registry: registry})})
	s := httptest.NewUnstartedServer(wrap(std.HandlerProvider("", m), h))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Start()
	reply, err := http.Get(s.URL)
	got := ""
	switch {
	case errors.Is(err, io.EOF):
		got = "EOF"
	case err != nil:
		log.Fatal(err)
	default:
		got = fmt.Sprint(reply.StatusCode)
		if _, err := io.Copy(io.Discard, reply.Body); err != nil {
			got = "cut"
		}
		reply.Body.Close()
	}
	s.Close()
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "http_request_duration_seconds" {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "code" {
					fmt.Printf("%-25s %s | %s\n", name+":", got, l.GetValue())
				}
			}
		}
	}
}

type layer = func(http.Handler) http.Handler

func main() {
	alone := func(with layer, h http.Handler) http.Handler { return with(h) }
	outside := func(with layer, h http.Handler) http.Handler { return middleware.Recoverer(with(h)) }
	inside := func(with layer, h http.Handler) http.Handler { return with(middleware.Recoverer(h)) }
	fail := func(http.ResponseWriter, *http.Request) { panic("here") }
	show("panic, Recoverer outside", outside, fail)
	show("panic, Recoverer inside", inside, fail)
	show("panic, no Recoverer", alone, fail)
	show("panic half way", alone, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "first")
		w.(http.Flusher).Flush()
		panic("here")
	})
	show("103, then a body", alone, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		io.WriteString(w, "body")
	})
	show("200, then a late 500", alone, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "body")
		w.WriteHeader(http.StatusInternalServerError)
	})
}
END
go mod init finding >/dev/null 2>&1
go get github.com/slok/go-http-metrics@v0.13.0 github.com/prometheus/client_golang@v1.25.0 github.com/go-chi/chi/v5@v5.2.3 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run . 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END'
panic, Recoverer outside: 500 | 200
panic, Recoverer inside:  500 | 500
panic, no Recoverer:      EOF | 200
panic half way:           cut | 200
103, then a body:         200 | 103
200, then a late 500:     200 | 500
END
