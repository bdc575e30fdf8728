package null

import (
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
	ln.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, addr) }()
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
