#!/usr/bin/env bash
# go-gin-prometheus's sum of reply sizes falls by one with each 204, below zero, and a handler's 500 is not counted.
#
# zsais/go-gin-prometheus 0.1.0 observes gin's Writer.Size() in its Summary gin_response_size_bytes ("The HTTP response
# sizes in bytes."). gin has -1 there while no body is written, so that each 204, 304 and redirect without a body takes a
# byte off the sum. Prometheus takes the sum of a Summary for a counter where no value is negative, which sizes are not:
# rate() reads a fall as a restart and adds what is left. One would expect a size of 0.
# A handler's panic, which gin's own Recovery answers with 500, is in none of its metrics where the middlewares stand in
# the order that the README has (gin.New or gin.Default, then Use), neither as a request nor with its time.
#
# Seen on 2026-11-28 (go1.26.8, gin 1.12.0):
#   1 reply of 200: size sum 10, size count 1, requests 1
#   20 replies of 204: size sum -10, size count 21, requests 21
#   1 reply of 500: size sum -10, size count 21, requests 21
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	ginprometheus "github.com/zsais/go-gin-prometheus"
)

func main() {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(gin.RecoveryWithWriter(io.Discard))
	ginprometheus.NewPrometheus("gin").Use(r)
	r.GET("/200", func(c *gin.Context) { c.String(200, "0123456789") })
	r.GET("/204", func(c *gin.Context) { c.Status(204) })
	r.GET("/500", func(*gin.Context) { panic("here") })
	s := httptest.NewServer(r)
	defer s.Close()
	for _, step := range []struct{ code, n int }{{200, 1}, {204, 20}, {500, 1}} {
		code := 0
		for range step.n {
			reply, err := http.Get(fmt.Sprint(s.URL, "/", step.code))
			if err != nil {
				log.Fatal(err)
			}
			io.Copy(io.Discard, reply.Body)
			reply.Body.Close()
			code = reply.StatusCode
		}
		plural := "replies"
		if step.n == 1 {
			plural = "reply"
		}
		fmt.Printf("%d %s of %d: %s\n", step.n, plural, code, figures())
	}
}

func figures() string {
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		log.Fatal(err)
	}
	var sum, requests float64
	var count uint64
	for _, f := range families {
		for _, m := range f.GetMetric() {
			switch f.GetName() {
			case "gin_response_size_bytes":
				sum, count = m.GetSummary().GetSampleSum(), m.GetSummary().GetSampleCount()
			case "gin_requests_total":
				requests += m.GetCounter().GetValue()
			}
		}
	}
	return fmt.Sprintf("size sum %v, size count %d, requests %v", sum, count, requests)
}
END
go mod init finding >/dev/null 2>&1
go get github.com/zsais/go-gin-prometheus@v0.1.0 github.com/gin-gonic/gin@v1.12.0 github.com/prometheus/client_golang@v1.25.0 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
1 reply of 200: size sum 10, size count 1, requests 1
20 replies of 204: size sum -10, size count 21, requests 21
1 reply of 500: size sum -10, size count 21, requests 21
END
