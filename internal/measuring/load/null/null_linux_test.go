package null

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Every empty line is answered once, however the bytes come in.
func TestServe(t *testing.T) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, ln.(*net.TCPListener), 0, 0) }()
	var nc net.Conn
	for end := time.Now().Add(10 * time.Second); nc == nil; {
		if nc, err = net.Dial("tcp4", addr); err != nil && time.Now().After(end) {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r", "\nGET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n"} {
		if _, err := nc.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]byte, 3*len(answer))
	if _, err := io.ReadFull(nc, got); err != nil || strings.Count(string(got), "200 OK") != 3 {
		t.Fatalf("got %q, %v; want three replies", got, err)
	}
	nc.Close()
	reply, err := http.Get("http://" + addr + "/")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(reply.Body)
	reply.Body.Close()
	if err != nil || string(body) != "ok\n" {
		t.Errorf("got %q, %v", body, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Requests that come together are answered a service time after they came or, one
// after the other, where there is one station; and never earlier.
func TestAnswersAreDueAtFixedTimes(t *testing.T) {
	const service, requests = 20 * time.Millisecond, 4
	for stations, last := range map[int]time.Duration{0: service, 1: requests * service, 2: 2 * service} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { failed <- Serve(ctx, ln.(*net.TCPListener), service, stations) }()

		var conns []net.Conn
		for range requests {
			c, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, c)
		}
		began := time.Now()
		for _, c := range conns {
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
		}
		for i, c := range conns {
			c.SetReadDeadline(began.Add(10 * time.Second))
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("%d stations, answer %d: %v, %v", stations, i, res, err)
			}
			due := last
			if stations > 0 {
				due = time.Duration(i/stations+1) * service
			}
			if took := time.Since(began); took < due {
				t.Errorf("%d stations: answer %d after %v, before %v", stations, i, took, due)
			}
			c.Close()
		}
		cancel()
		if err := <-failed; err != nil {
			t.Errorf("%d stations: %v", stations, err)
		}
	}
}

// A station is taken by the requests in their order, begins when it is free, and is
// idle when there are none; a client that has gone gets no answer.
func TestReplyQueue(t *testing.T) {
	q := replyQueue{service: 10, free: make([]time.Duration, 2)}
	for i, at := range []time.Duration{100, 101, 102, 103, 150} {
		q.take(int32(i), at)
	}
	want := []dueReply{{0, 110}, {1, 111}, {2, 120}, {3, 121}, {4, 160}}
	for i, d := range q.replies {
		if d != want[i] {
			t.Errorf("reply %d: got %+v, want %+v", i, d, want[i])
		}
	}
	q.forget(1)
	if len(q.replies) != 4 || q.replies[1].fd != 2 {
		t.Errorf("after forget(1): %+v", q.replies)
	}
}
