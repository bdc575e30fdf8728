#!/usr/bin/env bash
# httprate and fiber's sliding window refuse a client that waits as long as their Retry-After says; fiber for ever.
#
# RFC 9110, section 10.2.3: Retry-After says how long the client ought to wait before it asks again. With one request in
# eight seconds allowed, a client asks twice, is refused, waits what it was told, and asks again. httprate 0.16.1 always
# says its whole window, after which the window before still counts, and refuses that client once more. fiber 3.1.0's
# limiter with SlidingWindow says what is left of the window, counts the refused request too, and so refuses each polite
# retry: the client would be served if it waited twice as long. Its documentation says that the window before counts,
# neither that the header leaves that out nor that refused requests count (gofiber/fiber#2578, closed, met the latter).
# throttled 2.15.0 and fiber's fixed window keep their word.
#
# Seen on 2026-11-28 (go1.26.8), the answers to up to four retries, each sent when Retry-After had passed:
#   throttled            200
#   fiber, fixed window  200
#   httprate             429 200
#   fiber, SlidingWindow 429 429 429 429
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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/httprate"
	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/limiter"
	"github.com/throttled/throttled/v2"
	"github.com/throttled/throttled/v2/store/memstore"
)

const window = 8 * time.Second

type ask func() (code int, after string)

func main() {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	store, err := memstore.NewCtx(10)
	if err != nil {
		log.Fatal(err)
	}
	rate, err := throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{MaxRate: throttled.PerDuration(1, window)})
	if err != nil {
		log.Fatal(err)
	}
	limiters := []struct {
		name string
		ask  ask
	}{
		{"throttled           ", std((&throttled.HTTPRateLimiterCtx{RateLimiter: rate, VaryBy: &throttled.VaryBy{Path: true}}).RateLimit(ok))},
		{"fiber, fixed window ", fib(limiter.Config{Max: 1, Expiration: window})},
		{"httprate            ", std(httprate.LimitAll(1, window)(ok))},
		{"fiber, SlidingWindow", fib(limiter.Config{Max: 1, Expiration: window, LimiterMiddleware: limiter.SlidingWindow{}})},
	}
	said := make([]string, len(limiters))
	var wg sync.WaitGroup
	for i, l := range limiters {
		wg.Go(func() { said[i] = l.name + retries(l.ask) })
	}
	wg.Wait()
	fmt.Println(strings.Join(said, "\n"))
}

func retries(do ask) (said string) {
	if code, _ := do(); code != 200 {
		return " refused at once"
	}
	code, after := do()
	for range 4 {
		if code != 429 {
			break
		}
		seconds, err := strconv.Atoi(after)
		if err != nil {
			return said + " no Retry-After"
		}
		time.Sleep(time.Duration(seconds)*time.Second + 50*time.Millisecond)
		code, after = do()
		said += fmt.Sprintf(" %d", code)
	}
	return said
}

func std(h http.Handler) ask {
	return func() (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		return w.Code, w.Header().Get("Retry-After")
	}
}

func fib(c limiter.Config) ask {
	app := fiber.New()
	app.Use(limiter.New(c))
	app.Get("/", func(fiber.Ctx) error { return nil })
	return func() (int, string) {
		r, err := app.Test(httptest.NewRequest("GET", "/", nil), fiber.TestConfig{Timeout: 5 * time.Second})
		if err != nil {
			log.Fatal(err)
		}
		return r.StatusCode, r.Header.Get("Retry-After")
	}
}
END
go mod init finding >/dev/null 2>&1
go get github.com/go-chi/httprate@v0.16.1 github.com/gofiber/fiber/v3@v3.1.0 github.com/throttled/throttled/v2@v2.15.0 2>/dev/null
go mod tidy 2>/dev/null
go version
got=$(go run . 2>/dev/null)
echo "$got"
diff <(echo "$got") - <<'END'
throttled            200
fiber, fixed window  200
httprate             429 200
fiber, SlidingWindow 429 429 429 429
END
