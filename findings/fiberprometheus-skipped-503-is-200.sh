#!/usr/bin/env bash
# fiberprometheus 2.16.0: a path that its metrics skip answers 200 where its handler failed; a wrapped 503 counts as 500.
#
# SetSkipPaths is to "set the paths that should be skipped from the metrics", and the README does so for /ping, as one
# does for what a balancer asks. fiber's guide has a handler report a failure by the error that it returns, and fiber
# turns that into the status. On a skipped path the middleware returns nil in place of the error: a readiness check that
# returns fiber.ErrServiceUnavailable then says 200 with an empty body, and a balancer keeps sending to a server that said it is
# not ready. Without the middleware, without the skip, and with SetIgnoreStatusCodes(503) the same handler answers 503.
# One would expect that leaving a path out of the metrics leaves its answers alone. (A handler that sets the status itself
# and returns nil is not affected.) Besides, where the error is wrapped with %w, fiber unwraps it and answers 503, while the
# middleware does not and counts a 500.
#
# Seen on 2026-11-28 (go1.26.8, fiber 2.52.11), what the client gets and what is counted:
#   no middleware             /ready 503 - /wrapped 503 -
#   middleware                /ready 503 503 /wrapped 503 500
#   SetIgnoreStatusCodes(503) /ready 503 - /wrapped 503 500
#   SetSkipPaths              /ready 200 - /wrapped 200 -
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/ansrivas/fiberprometheus/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
)

func main() {
	for _, c := range []struct {
		name string
		set  func(*fiberprometheus.FiberPrometheus)
	}{
		{"no middleware", nil},
		{"middleware", func(*fiberprometheus.FiberPrometheus) {}},
		{"SetIgnoreStatusCodes(503)", func(p *fiberprometheus.FiberPrometheus) { p.SetIgnoreStatusCodes([]int{503}) }},
		{"SetSkipPaths", func(p *fiberprometheus.FiberPrometheus) { p.SetSkipPaths([]string{"/ready", "/wrapped"}) }},
	} {
		registry := prometheus.NewRegistry()
		app := fiber.New()
		if c.set != nil {
			p := fiberprometheus.NewWithRegistry(registry, "service", "http", "", nil)
			c.set(p)
			app.Use(p.Middleware)
		}
		app.Get("/ready", func(*fiber.Ctx) error { return fiber.ErrServiceUnavailable })
		app.Get("/wrapped", func(*fiber.Ctx) error { return fmt.Errorf("not yet: %w", fiber.ErrServiceUnavailable) })
		fmt.Printf("%-25s", c.name)
		for _, path := range []string{"/ready", "/wrapped"} {
			r, err := app.Test(httptest.NewRequest("GET", path, nil))
			if err != nil {
				log.Fatal(err)
			}
			fmt.Printf(" %s %d %s", path, r.StatusCode, counted(registry, path))
		}
		fmt.Println()
	}
}

// counted gives the status codes under which a path was counted.
func counted(registry *prometheus.Registry, path string) (codes string) {
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "http_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["path"] == path {
				codes += labels["status_code"]
			}
		}
	}
	if codes == "" {
		return "-"
	}
	return codes
}
END
go mod init finding >/dev/null 2>&1
go get github.com/ansrivas/fiberprometheus/v2@v2.16.0 github.com/gofiber/fiber/v2@v2.52.11 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
no middleware             /ready 503 - /wrapped 503 -
middleware                /ready 503 503 /wrapped 503 500
SetIgnoreStatusCodes(503) /ready 503 - /wrapped 503 500
SetSkipPaths              /ready 200 - /wrapped 200 -
END
