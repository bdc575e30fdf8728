package model_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/serving/model"
)

// both is the head of a request with a length and a transfer coding.
const both = "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"

// old is the head of a request with a transfer coding, which its version has not.
const old = "POST /echo HTTP/1.0\r\nHost: test\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"

// Every request answered before it reaches a handler is counted by its status, in
// every mode alike, and is none of the started.
func TestRefusedAreCounted(t *testing.T) {
	requests := []struct {
		raw  string
		want int
	}{
		{"GET / HTTP/1.1\r\nHost: test\r\nBad Name: x\r\n\r\n", 400},
		{"GET / HTTP/1.1\r\n\r\n", 400},
		{both + "0\r\n\r\n", 400},
		{"POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 2000000\r\n\r\n", 413},
		{"GET / HTTP/1.1\r\nHost: test\r\nX: " + strings.Repeat("x", 40<<10) + "\r\n\r\n", 431},
		{"GET / HTTP/1.1\r\nHost: test\r\n" + strings.Repeat("X: y\r\n", 200) + "\r\n", 431},
		{"POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
		{old + "0\r\n\r\n", 501},
		{"GET / HTTP/3.0\r\nHost: test\r\n\r\n", 505},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
	}
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode)
		var want model.RequestCounts
		for _, r := range requests {
			c := s.dial()
			if a, err := c.ask(r.raw); err != nil || a.Status != r.want {
				t.Errorf("%.60q: got %d %v, want %d", r.raw, a.Status, err, r.want)
			}
			want.Refused[slices.Index(model.RefusalCodes(), r.want)]++
		}
		s.open(0)
		if got := s.model.Requests(); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

// A connection that breaks in the middle of a request has had no refused request, in no mode.
func TestBrokenAreNotRefused(t *testing.T) {
	requests := []string{
		"GET /plaintext HTTP/1.1\r\nHo",
		"POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("b", 5000),
		"POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("b", 20_000),
		"POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n2710\r\n" + strings.Repeat("b", 5000),
	}
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode)
		for _, first := range []bool{true, false} {
			for _, r := range requests {
				c := s.dial()
				if !first {
					if a, err := c.ask(get("/plaintext")); err != nil || a.Status != 200 {
						t.Fatalf("got %d %v, want 200", a.Status, err)
					}
				}
				io.WriteString(c, r)
				s.open(1)
				c.reset()
				s.open(0)
			}
		}
		if got, want := s.model.Requests(), (model.RequestCounts{Started: uint64(len(requests))}); got != want {
			t.Errorf("got %+v, want only those before", got)
		}
	})
}

// HTTP/1.0 has no transfer codings: the request that names one is refused, and none
// that comes along with it and before it.
func TestCodingInHTTP10(t *testing.T) {
	keep := "GET /plaintext HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode)
		c := s.dial()
		io.WriteString(c, keep+keep+old+"0\r\n\r\n"+keep)
		for i, want := range []int{200, 200, 501} {
			if a, err := c.read("GET"); err != nil || a.Status != want {
				t.Errorf("answer %d: got %d %v, want %d", i, a.Status, err, want)
			}
		}
		if _, err := c.in.ReadByte(); err != io.EOF {
			t.Errorf("after the refusal: got %v, want a clean close", err)
		}
		if a, err := s.dial().ask("POST /echo HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello"); err != nil || a.Status != 200 {
			t.Errorf("a length: got %d %v, want 200", a.Status, err)
		}
	})
}

// A request that is framed in two ways is refused wherever its head is known to be
// one, and ends its connection wherever it is not; no body is taken for it.
func TestFramedTwice(t *testing.T) {
	chunk := "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n"
	lookalike := "4c\r\n" + strings.Repeat("-", 31) + "\r\nContent-Length: 5\r\nTransfer-Encoding: x\r\n\r\n" + "\r\n0\r\n\r\n"
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode)
		c := s.dial()
		for range 2 {
			if a, err := c.ask(get("/plaintext")); err != nil || a.Status != 200 {
				t.Fatalf("got %d %v, want 200", a.Status, err)
			}
		}
		if a, err := c.ask(both + "0\r\n\r\n"); err != nil || a.Status != 400 || a.field("Connection") != "close" {
			t.Errorf("after others: got %d %v, Connection %q, want 400 and close", a.Status, err, a.field("Connection"))
		}
		c = s.dial()
		io.WriteString(c, get("/plaintext")+both+"0\r\n\r\n")
		for _, want := range []int{200, 400} {
			if a, err := c.read("GET"); err != nil || a.Status != want {
				t.Errorf("pipelined: got %d %v, want %d", a.Status, err, want)
			}
		}
		if a, err := s.dial().ask(chunk + lookalike); err != nil || a.Status != 200 {
			t.Errorf("a body that looks like it: got %d %v, want 200", a.Status, err)
		}
	})
}
