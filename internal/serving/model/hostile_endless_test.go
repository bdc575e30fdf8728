package model_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"schedlab/internal/serving/model"
)

// A request that comes fast and never ends is cut at a limit of bytes or at the body's
// timeout, and the server buffers no more of it than allowed (RFC 9112 §7.1.1,
// §7.1.2).
func TestHostileEndlessBodies(t *testing.T) {
	const short = 500 * time.Millisecond
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode, func(with *setup) { with.HeaderTimeout, with.BodyTimeout = short, short })
		for _, tc := range []struct{ name, begin, more string }{
			{"extension", "5;a=", strings.Repeat("x", 4096)},
			{"extensions", "", strings.Repeat("1;a="+strings.Repeat("x", 200)+"\r\ny\r\n", 20)},
			{"trailer", "0\r\nX: ", strings.Repeat("x", 4096)},
			{"trailers", "0\r\n", strings.Repeat("X: y\r\n", 500)},
			{"empty lines", "", strings.Repeat("\r\n", 2000)},
			{"chunks of a byte", "", strings.Repeat("1\r\ny\r\n", 500)},
		} {
			t.Run(tc.name, func(t *testing.T) {
				judged(t, func() string {
					c := s.dial()
					defer c.Close()
					began := time.Now()
					go func() {
						for _, err := io.WriteString(c, request("POST /echo", "Transfer-Encoding: chunked")+tc.begin); err == nil; {
							_, err = io.WriteString(c, tc.more)
						}
					}()
					if a, err := c.read("POST"); err == nil && a.Status < 400 {
						t.Errorf("got %d, want a refusal or a close", a.Status)
					}
					s.open(0) // it sends on: the server closes, not the client
					if took := time.Since(began); took > 2*short+slack {
						return fmt.Sprintf("it took %v, want %v at most", took, 2*short)
					}
					return ""
				})
			})
		}
		s.visit(1, getClose("/plaintext"))
	})
}
