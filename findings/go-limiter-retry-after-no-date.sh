#!/usr/bin/env bash
# sethvargo/go-limiter 0.7.1: its Retry-After ends in "UTC", which is no HTTP-date, and lies up to a second too early.
#
# RFC 9110, sections 10.2.3 and 5.6.7: Retry-After is a number of seconds or a date whose zone is "GMT". The middleware
# of httplimit (its README: headers "conforming to the latest RFCs") prints time.RFC1123, which in Go writes "UTC"; net/http's
# own ParseTime refuses that, and so do clients that use it. A client that does read it fares no better: the
# fraction of the second is cut off, so that at the moment told the limit still holds. go-retryablehttp 0.7.8 reads "UTC",
# waits, is refused with a date that has passed by then, takes that for "at once", and gives up after five requests,
# the last four of them within milliseconds, half a second before it would have been served. throttled 2.15.0 with the
# same limit, one request in three seconds, rounds up to whole seconds: one retry, and it is served.
#
# Seen on 2026-11-28 (go1.26.8); the limit is used up at half past a second:
#   go-limiter: ParseTime refuses it, zone UTC; go-retryablehttp ends with 429 after 5 requests, 4 of them in the last half second
#   throttled: go-retryablehttp ends with 200 after 2 requests, 1 of them in the last half second
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/sethvargo/go-limiter/httplimit"
	"github.com/sethvargo/go-limiter/memorystore"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
)

const window = 3 * time.Second

func main() {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	tokens, err := memorystore.New(&memorystore.Config{Tokens: 1, Interval: window})
	if err != nil {
		log.Fatal(err)
	}
	limit, err := httplimit.NewMiddleware(tokens, func(*http.Request) (string, error) { return "all", nil })
	if err != nil {
		log.Fatal(err)
	}
	cells, err := memstore.NewCtx(10)
	if err != nil {
		log.Fatal(err)
	}
	rate, err := throttled.NewGCRARateLimiterCtx(cells, throttled.RateQuota{MaxRate: throttled.PerDuration(1, window)})
	if err != nil {
		log.Fatal(err)
	}
	other := throttled.HTTPRateLimiterCtx{RateLimiter: rate, VaryBy: &throttled.VaryBy{Path: true}}

	var wg sync.WaitGroup
	var first, second string
	wg.Go(func() { first = "go-limiter: " + try(limit.Handle(ok), true) })
	wg.Go(func() { second = "throttled: " + try(other.RateLimit(ok), false) })
	wg.Wait()
	fmt.Printf("%s\n%s\n", first, second)
}

// try uses up the limit and has go-retryablehttp ask again.
func try(h http.Handler, date bool) (said string) {
	var mu sync.Mutex
	var came []time.Time
	var after string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		mu.Lock()
		defer mu.Unlock()
		came = append(came, time.Now())
		if after == "" {
			after = w.Header().Get("Retry-After")
		}
	}))
	defer server.Close()
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(1500 * time.Millisecond).Sub(now))
	r, err := http.Get(server.URL)
	if err != nil || r.StatusCode != 200 {
		log.Fatal("the first is refused: ", err)
	}
	r.Body.Close()
	came = nil

	client := retryablehttp.NewClient() // retries four times
	client.Logger = nil
	client.ErrorHandler = retryablehttp.PassthroughErrorHandler
	last, err := client.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	last.Body.Close()
	mu.Lock()
	defer mu.Unlock()
	if date {
		if _, err := http.ParseTime(after); err != nil {
			said = "ParseTime refuses it, zone " + after[len(after)-3:] + "; "
		}
	}
	late := 0
	for _, t := range came {
		if came[len(came)-1].Sub(t) < time.Second/2 {
			late++
		}
	}
	return said + fmt.Sprintf("go-retryablehttp ends with %d after %d requests, %d of them in the last half second", last.StatusCode, len(came), late)
}
END
go mod init finding >/dev/null 2>&1
go get github.com/sethvargo/go-limiter@v0.7.1 github.com/hashicorp/go-retryablehttp@v0.7.8 github.com/throttled/throttled/v2@v2.15.0 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
go-limiter: ParseTime refuses it, zone UTC; go-retryablehttp ends with 429 after 5 requests, 4 of them in the last half second
throttled: go-retryablehttp ends with 200 after 2 requests, 1 of them in the last half second
END
