package model_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"schedlab/internal/serving/model"
)

// With the default limits no client keeps a connection for long: each way of doing
// so has a time by which the server has closed it.
func TestDefaultTimeouts(t *testing.T) {
	const late = 500 * time.Millisecond // as timers are on a busy machine
	holds := []struct {
		name string
		send string
		most time.Duration
	}{
		{"silent", "", 6 * time.Second},
		{"stalled head", "GET /plaintext HTTP/1.1\r\nHo", 6 * time.Second},
		{"stalled body", "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhe", 15 * time.Second},
		{"unread answer", strings.Repeat(get("/bytes/1048576"), 16), 20 * time.Second},
	}
	eachMode(t, func(t *testing.T, mode model.Mode) {
		judged(t, func() string {
			s := start(t, mode, func(with *setup) { with.Limits = model.DefaultLimits() }) // as many workers as holds
			var wrong []string
			var mu sync.Mutex
			var all sync.WaitGroup
			clients := make([]*client, len(holds))
			for i := range holds {
				clients[i] = s.dial()
				clients[i].SetReadBuffer(4096)
			}
			s.open(len(holds))
			for i, h := range holds {
				c := clients[i]
				began := time.Now()
				if _, err := io.WriteString(c, h.send); err != nil {
					t.Fatal(err)
				}
				all.Go(func() {
					if h.name == "unread answer" {
						s.open(0) // it outlives the others, and its client cannot see its end
					} else if _, err := io.Copy(io.Discard, c.in); err != nil {
						t.Errorf("%s: got %v, want a clean close", h.name, err)
					}
					took := time.Since(began)
					t.Logf("%s: closed after %v", h.name, took)
					if took > h.most+late {
						mu.Lock()
						defer mu.Unlock()
						wrong = append(wrong, fmt.Sprintf("%s: closed after %v, want %v at most", h.name, took, h.most))
					}
				})
			}
			all.Wait()
			return strings.Join(wrong, "; ")
		})
	})
}
