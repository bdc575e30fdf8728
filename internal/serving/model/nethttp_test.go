package model

import (
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"schedlab/internal/shared/workload"
)

// A client that has its answer may send the next request before net/http calls the
// connection idle, and its second goroutine reads the first byte of that. The
// connection is not idle then, or a drain would close it.
func TestFirstByteOfTheNextRequestIsNoAnsweredOne(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	nc, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c := &Conn{TCPConn: nc.(*net.TCPConn), framing: &framing{tally: new(tally)}}
	if _, err := received(fdOf(t, c)); errors.Is(err, errLinuxOnly) {
		t.Skip("NOT RUN: only Linux tells what it received")
	}
	m := new(nethttpModel)
	request, answer := usualHead, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	sends := func(s string) {
		if _, err := io.WriteString(client, s); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, len(s))); err != nil {
			t.Fatal(err)
		}
	}
	answers := func() {
		if _, err := io.WriteString(c, answer); err != nil {
			t.Fatal(err)
		}
	}
	for round, early := range []string{"", "G", "", "GET / HT"} {
		sends(request)
		answers()
		sends(early)
		m.track(c, http.StateIdle)
		if got, want := isIdle(c), early == ""; got != want {
			t.Errorf("round %d, %q read after the answer: idle is %v, want %v", round, early, got, want)
		}
		if early != "" { // the rest of it
			sends(request[len(early):])
			answers()
			m.track(c, http.StateIdle)
		}
	}
	if !isIdle(c) {
		t.Error("everything is answered, and it is not idle")
	}
}

// fdOf is c's descriptor, for a question that is asked at once.
func fdOf(t *testing.T, c *Conn) (descriptor int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) { descriptor = int(fd) }); err != nil {
		t.Fatal(err)
	}
	return descriptor
}

// In a pipeline the next request may have been read by the time that one begins; it
// was read before it began all the same.
func TestReadBeforeItBegins(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unflushed                int
		first, last, begun, want int64
	}{{0, 10, 10, 20, 10}, {1, 5, 10, 20, 10}, {0, 30, 30, 20, 20}, {1, 5, 30, 20, 20}} {
		s := stamps{unflushed: c.unflushed}
		s.first.Store(c.first)
		s.last.Store(c.last)
		if s.begin(&workload.Exchange{Begun: c.begun}); s.read != c.want {
			t.Errorf("%+v: got %d", c, s.read)
		}
	}
}
