#!/usr/bin/env bash
# otelhttp's metrics leave out each request whose handler panics, and give a hijacked 101 and a client that left as 200.
#
# otelhttp 0.72.0 (OpenTelemetry for net/http) records http.server.request.duration after the handler has returned, and not
# in a defer: a handler that panics is in no metric, whether the panic ends the connection or Recoverer of chi (or any
# other) outside of it answers 500. Where a release makes one request in five panic, its rate falls by a fifth, its rate of
# errors stays 0, and its times may even get better, since the failing requests are gone from them. One would expect each
# request to be counted once, with the code that its client got, or the attribute error.type that the semantic conventions
# have for requests that end with an error.
# What is counted though no reply was sent: a handler that returns because its client left is a 200, and a hijacked
# connection that answered 101 is a 200 as well.
#
# Seen on 2026-11-30 (go1.26.8, otel/sdk/metric 1.47.0, chi 5.2.3), what the client got | what the metric has:
#   ok:                       200 | 200
#   panic, no Recoverer:      EOF | nothing
#   panic, Recoverer outside: 500 | nothing
#   panic, Recoverer inside:  500 | 500
#   panic half way:           cut | nothing
#   the client leaves:        no reply | 200
#   hijacked:                 101 | 200
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'EOF'
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

func main() {
	log.SetOutput(io.Discard)
	middleware.DefaultLogger = nil
	fails := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a bug") })
	for _, c := range []struct {
		what            string
		outside, inside bool // of the metrics, a Recoverer
		handler         http.HandlerFunc
	}{
		{"ok", false, false, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") }},
		{"panic, no Recoverer", false, false, fails},
		{"panic, Recoverer outside", true, false, fails},
		{"panic, Recoverer inside", false, true, fails},
		{"panic half way", false, false, func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic("a bug")
		}},
		{"the client leaves", false, false, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		{"hijacked", false, false, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				log.Fatal(err)
			}
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")
			conn.Close()
		}},
	} {
		reader := metric.NewManualReader()
		var h http.Handler = c.handler
		if c.inside {
			h = middleware.Recoverer(h)
		}
		h = otelhttp.NewHandler(h, "finding", otelhttp.WithMeterProvider(metric.NewMeterProvider(metric.WithReader(reader))))
		if c.outside {
			h = middleware.Recoverer(h)
		}
		s := httptest.NewUnstartedServer(h)
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.Start()
		got := ask(s.URL)
		time.Sleep(100 * time.Millisecond) // the handler may return after its client has a reply
		fmt.Printf("%-25s %s | %s\n", c.what+":", got, has(reader))
		s.Close()
	}
}

// ask returns what a client gets that waits for 300 ms.
func ask(url string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		log.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(r)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no reply"
	case errors.Is(err, io.EOF):
		return "EOF"
	case err != nil:
		return err.Error()
	}
	defer reply.Body.Close()
	if _, err := io.ReadAll(reply.Body); reply.StatusCode == http.StatusOK && err != nil {
		return "cut"
	}
	return fmt.Sprint(reply.StatusCode)
}

// has returns the codes that http.server.request.duration has counted.
func has(reader metric.Reader) (codes string) {
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if h, is := m.Data.(metricdata.Histogram[float64]); is && m.Name == "http.server.request.duration" {
				for _, p := range h.DataPoints {
					code, _ := p.Attributes.Value("http.response.status_code")
					codes += fmt.Sprint(code.AsInt64())
				}
			}
		}
	}
	if codes == "" {
		return "nothing"
	}
	return codes
}
EOF
go mod init finding >/dev/null 2>&1
go get go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp@v0.72.0 go.opentelemetry.io/otel/sdk/metric@v1.47.0 github.com/go-chi/chi/v5@v5.2.3 2>/dev/null
go version
got=$(go run . 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'EOF'
ok:                       200 | 200
panic, no Recoverer:      EOF | nothing
panic, Recoverer outside: 500 | nothing
panic, Recoverer inside:  500 | 500
panic half way:           cut | nothing
the client leaves:        no reply | 200
hijacked:                 101 | 200
EOF
