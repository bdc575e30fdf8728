package model_test

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"schedlab/internal/serving/model"
	"schedlab/internal/shared/workload"
)

// A panic ends one request and one connection, and is counted.
func TestPanics(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		var log strings.Builder // read after the drain
		s := start(t, mode, func(with *setup) {
			with.Log = slog.New(slog.NewTextHandler(&log, nil))
			serve := with.Handle
			with.Handle = func(x *workload.Exchange) {
				if serve(x); x.Path == "/absent" {
					panic("planted")
				}
			}
		})
		for range 3 {
			a, err := s.dial().ask(get("/absent"))
			if err != nil || a.Status != 500 || a.Body != "internal error\n" || a.field("Connection") != "close" {
				t.Errorf("got %+v %v, want 500 and close", a, err)
			}
			s.visit(2, get("/plaintext"))
		}
		s.open(0)
		if r := s.model.Requests(); r.Panics != 3 || r.Started != 9 || r.Aborted != 0 {
			t.Errorf("got %+v, want 3 panics of 9 requests, none aborted", r)
		}
		if c := s.ln.Counts(); c.Done != 6 {
			t.Errorf("got %+v, want 6 done", c)
		}
		s.drain()
		if got := strings.Count(log.String(), "panic=planted"); got != 3 {
			t.Errorf("the log tells of %d panics, want 3:\n%s", got, log.String())
		}
	})
}

// Requests sent without waiting are answered in order, whole and all.
func TestPipelining(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode)
		c := s.dial()
		var sent strings.Builder
		const n = 16
		for i := range n {
			switch i % 4 {
			case 0:
				sent.WriteString(get(fmt.Sprintf("/bytes/%d", i)))
			case 1:
				sent.WriteString(request("POST /echo", "Transfer-Encoding: chunked") + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", i, strings.Repeat("c", i)))
			case 2:
				sent.WriteString(upload("POST /echo", strings.Repeat("e", i)))
			case 3:
				sent.WriteString(get(fmt.Sprintf("/bytes/%d?sleep", 50_000+i)))
			}
		}
		raw := sent.String()
		if _, err := io.WriteString(c, raw[:len(raw)/3]); err != nil {
			t.Fatal(err)
		}
		go io.WriteString(c, raw[len(raw)/3:])
		for i := range n {
			want := i
			if i%4 == 3 {
				want += 50_000
			}
			a, err := c.read("GET")
			if err != nil || a.Status != 200 || len(a.Body) != want {
				t.Fatalf("answer %d: got %d with %d bytes %v, want %d bytes", i, a.Status, len(a.Body), err, want)
			}
		}
		if got := s.model.Requests().Started; got != n {
			t.Errorf("got %d requests, want %d", got, n)
		}
	})
}

// HTTP/1.0 is answered, and the connection closed unless it asked to keep it.
func TestHTTP10(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode)
		for _, raw := range []string{
			"GET /plaintext HTTP/1.0\r\n\r\n",
			"GET /plaintext HTTP/1.0\r\nHost: test\r\n\r\n",
			"GET /plaintext HTTP/1.0\r\nConnection: close\r\n\r\n",
		} {
			c := s.dial()
			a, err := c.ask(raw)
			if err != nil || a.Status != 200 || a.Body != "Hello, World!" {
				t.Errorf("%q: got %+v %v, want 200", raw, a, err)
			}
			if _, err := c.in.ReadByte(); err != io.EOF {
				t.Errorf("%q: got %v, want a clean close", raw, err)
			}
		}
	})
}

// A client that has sent its request may close its side and still be answered.
func TestHalfClose(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		c := start(t, mode).dial()
		io.WriteString(c, getClose("/plaintext"))
		c.CloseWrite()
		if a, err := c.read("GET"); err != nil || a.Status != 200 {
			t.Errorf("got %+v %v, want 200", a, err)
		}
	})
}

// Heads and bodies may be as large as the limits, whatever they are.
func TestLimits(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		const head, body = 6 << 10, 1000
		s := start(t, mode, func(with *setup) { with.MaxHead, with.MaxBody = head, body })
		sized := func(n int) string {
			const short = "GET /plaintext HTTP/1.1\r\nHost: test\r\nConnection: close\r\nX-Pad: \r\n\r\n"
			return strings.Replace(short, "X-Pad: ", "X-Pad: "+strings.Repeat("v", n-len(short)), 1)
		}
		for _, tc := range []struct {
			name, raw string
			status    int
		}{
			{"head at the limit", sized(head), 200},
			{"head above", sized(head + 1), 431},
			{"body at the limit", upload("POST /echo", strings.Repeat("b", body)), 200},
			{"body above", upload("POST /echo", strings.Repeat("b", body+1)), 413},
			{"much above", upload("POST /echo", strings.Repeat("b", 1_000_000)), 413},
		} {
			c := s.dial()
			go io.WriteString(c, tc.raw)
			if a, err := c.read("POST"); err != nil || a.Status != tc.status {
				t.Errorf("%s: got %d %v, want %d", tc.name, a.Status, err, tc.status)
			}
		}
	})
}
