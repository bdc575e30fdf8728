#!/usr/bin/env bash
# failsafe-go 0.9.8: its HTTP retry policy waits for "Retry-After: 3" but not for the same moment given as a date.
#
# The documentation of failsafehttp's NewRetryPolicyBuilder: "If a Retry-After header is present in the response, it will
# be used as a delay between retries." RFC 9110, section 10.2.3: the header is a number of seconds or an HTTP-date; section
# 5.6.7: a recipient MUST accept all three forms of a date. A server here answers 503 with the header three seconds ahead
# (a date has whole seconds: two to three) and counts what comes before that moment. failsafe-go reads the number only.
# After a date the policy with its defaults uses up both retries at once, on a server that said it is overloaded, and the
# caller gets the 503 (here with ReturnLastFailure, otherwise an error). go-retryablehttp 0.7.8, told to back off by a
# millisecond, reads the first form of a date, and does with the two older ones what failsafe-go does with all three.
#
# Seen on 2026-11-28 (go1.26.8), requests too early and the last answer:
#   failsafe-go         seconds     0 early, 200
#   failsafe-go         IMF-fixdate 2 early, 503
#   failsafe-go         RFC 850     2 early, 503
#   failsafe-go         asctime     2 early, 503
#   go-retryablehttp    seconds     0 early, 200
#   go-retryablehttp    IMF-fixdate 0 early, 200
#   go-retryablehttp    RFC 850     2 early, 503
#   go-retryablehttp    asctime     2 early, 503
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
	"strings"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"
)

// overloaded serves from a moment on, which it tells in the given form, and counts the retries before it.
type overloaded struct {
	form  string
	mu    sync.Mutex
	start time.Time
	seen  int
	early int
}

func (o *overloaded) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	if o.seen == 0 {
		o.start = now.Add(3 * time.Second)
		if o.form != "" {
			o.start = o.start.Truncate(time.Second)
		}
	}
	o.seen++
	if !now.Before(o.start) {
		return
	}
	if o.seen > 1 {
		o.early++
	}
	after := "3"
	if o.form != "" {
		after = o.start.UTC().Format(o.form)
		if _, err := http.ParseTime(after); err != nil {
			log.Fatal(err)
		}
	}
	w.Header().Set("Retry-After", after)
	w.WriteHeader(http.StatusServiceUnavailable)
}

func main() {
	clients := []struct {
		name string
		new  func() *http.Client
	}{
		{"failsafe-go     ", func() *http.Client {
			return &http.Client{Transport: failsafehttp.NewRoundTripper(nil, failsafehttp.NewRetryPolicyBuilder().ReturnLastFailure().Build())}
		}},
		{"go-retryablehttp", func() *http.Client {
			c := retryablehttp.NewClient()
			c.Logger = nil
			c.RetryMax = 2
			c.RetryWaitMin, c.RetryWaitMax = time.Millisecond, 2*time.Millisecond
			c.ErrorHandler = retryablehttp.PassthroughErrorHandler
			return c.StandardClient()
		}},
	}
	forms := []struct{ name, layout string }{
		{"seconds    ", ""},
		{"IMF-fixdate", http.TimeFormat},
		{"RFC 850    ", "Monday, 02-Jan-06 15:04:05 GMT"},
		{"asctime    ", time.ANSIC},
	}
	said := make([]string, len(clients)*len(forms))
	var wg sync.WaitGroup
	for i, c := range clients {
		for j, f := range forms {
			wg.Go(func() {
				o := &overloaded{form: f.layout}
				server := httptest.NewServer(o)
				defer server.Close()
				client := c.new()
				client.Timeout = 20 * time.Second
				r, err := client.Get(server.URL)
				if err != nil {
					log.Fatal(err)
				}
				r.Body.Close()
				said[i*len(forms)+j] = fmt.Sprintf("%s    %s %d early, %d", c.name, f.name, o.early, r.StatusCode)
			})
		}
	}
	wg.Wait()
	fmt.Println(strings.Join(said, "\n"))
}
END
go mod init finding >/dev/null 2>&1
go get github.com/failsafe-go/failsafe-go@v0.9.8 github.com/hashicorp/go-retryablehttp@v0.7.8 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
failsafe-go         seconds     0 early, 200
failsafe-go         IMF-fixdate 2 early, 503
failsafe-go         RFC 850     2 early, 503
failsafe-go         asctime     2 early, 503
go-retryablehttp    seconds     0 early, 200
go-retryablehttp    IMF-fixdate 0 early, 200
go-retryablehttp    RFC 850     2 early, 503
go-retryablehttp    asctime     2 early, 503
END
