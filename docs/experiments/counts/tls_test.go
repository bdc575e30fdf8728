package main

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"schedlab/internal/shared/selfsigned"
)

func ok(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) }

// answering serves a handler over a protocol, and returns the address. A connection of HTTP/2 has two streams at most.
func answering(t *testing.T, protocol string, h http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 2}, ErrorLog: log.New(io.Discard, "", 0), Handler: h}
	s.Protocols.SetHTTP1(protocol == plainHTTP || protocol == overTLS)
	s.Protocols.SetHTTP2(protocol == overHTTP2)
	s.Protocols.SetUnencryptedHTTP2(protocol == overH2C)
	if next := map[string]string{overTLS: "http/1.1", overHTTP2: "h2"}[protocol]; next != "" {
		config := selfsigned.New(t).Server()
		config.NextProtos = []string{next}
		l = tls.NewListener(l, config)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		s.Close()
		<-ended
	})
	return l.Addr().String()
}

// Kept connections are opened before the window, and HTTP/2 has one. A new connection carries one request, and resumes a
// session where its cell says so, and only there.
func TestAsker(t *testing.T) {
	t.Parallel()
	for _, c := range tlsCells(tlsRates{kept: 400, fresh: 400}) {
		if c.Server != standard || c.Rate == 0 {
			continue
		}
		t.Run(c.Protocol+", "+c.Connections, func(t *testing.T) {
			t.Parallel()
			a := newAsker(c, answering(t, c.Protocol, ok))
			defer a.close()
			if err := a.open(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := int(a.opened.Load())
			got, err := a.ask(t.Context(), c.Rate, 100*time.Millisecond, rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				t.Fatal(err)
			}
			if got.Requests == 0 {
				t.Fatal("no request was sent")
			}
			if c.Connections == connKept {
				if before != a.first || got.Opened != 0 {
					t.Errorf("got %d connections, and %d opened in the window, want %d and none", before, got.Opened, a.first)
				}
				return
			}
			resumed := 0
			if c.Connections == connResumed || c.Connections == connResumed12 {
				resumed = got.Requests
			}
			if got.Opened != got.Requests || got.Resumed != resumed {
				t.Errorf("%d requests on %d connections, of which %d resumed a session; want a connection each, %d resumed", got.Requests, got.Opened, got.Resumed, resumed)
			}
		})
	}
}

// An answer over another protocol ends the measurement: it would be counted for the wrong one.
func TestAskerRefusesAnotherProtocol(t *testing.T) {
	t.Parallel()
	a := newAsker(tlsCell{Server: standard, Protocol: plainHTTP, Connections: connNew}, answering(t, plainHTTP, ok))
	defer a.close()
	a.major = 2
	if err := a.open(t.Context()); err == nil || !strings.Contains(err.Error(), "200 OK over HTTP/1.1") {
		t.Errorf("got %v", err)
	}
}

// While all streams of a connection of HTTP/2 are in use, further requests wait for one, on the same connection.
func TestAskerKeepsItsConnection(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{overH2C, overHTTP2} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			const requests = 6
			reached, answer := make(chan bool, 1+requests), make(chan bool, 1)
			a := newAsker(tlsCell{Server: standard, Protocol: protocol, Connections: connKept}, answering(t, protocol, func(http.ResponseWriter, *http.Request) {
				reached <- true
				<-answer
			}))
			defer a.close()
			answer <- true
			if err := a.open(t.Context()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), answerLimit)
			defer cancel()
			var running sync.WaitGroup
			for range requests {
				running.Go(func() {
					if _, err := a.one(ctx); err != nil {
						t.Error(err)
					}
				})
			}
			for range 1 + 2 {
				<-reached
			}
			close(answer)
			running.Wait()
			if n := a.opened.Load(); n != 1 {
				t.Errorf("got %d connections, want 1", n)
			}
		})
	}
}

// Where a handler reads first, all uploads are answered, over both protocols; over HTTP/1.1 also where it waits first.
func TestUploads(t *testing.T) {
	t.Parallel()
	own := selfsigned.New(t).Pair
	for _, c := range uploadCells() {
		if c.Order == waitFirst && c.Protocol == overHTTP2 {
			continue // what comes of it is the question
		}
		t.Run(c.Protocol+", "+c.Order, func(t *testing.T) {
			t.Parallel()
			got, err := c.measure(t.Context(), own)
			if err != nil || got.Answered != uploads || got.Seconds <= 0 {
				t.Errorf("got %+v, %v, want %d answers", got, err, uploads)
			}
		})
	}
}

func TestTLSTable(t *testing.T) {
	t.Parallel()
	cell := func(protocol, connections string, rate float64, micros ...float64) tlsCell {
		c := tlsCell{Server: standard, Protocol: protocol, Connections: connections, Rate: rate}
		for i, v := range micros {
			c.Rounds = append(c.Rounds, tlsRound{Seed: uint64(1 + i%2), Planned: 1, CPU: 1000 * v / 1e6, asked: asked{Requests: 1000, Opened: i, Seconds: 1.02}})
		}
		if connections == connResumed {
			c.Rounds[0].Resumed = 1000
		}
		return c
	}
	r := tlsRecord{ServerCPU: "0", Cells: []tlsCell{
		cell(plainHTTP, connKept, 2000, 20, 20), cell(overTLS, connKept, 2000, 25, 25), cell(overHTTP2, connKept, 2000, 40, 40),
		cell(plainHTTP, connKept, 6000, 10, 10), cell(overTLS, connKept, 6000, 15, 15),
		cell(plainHTTP, connNew, 400, 100, 110), cell(overTLS, connFull, 400, 300, 310), cell(overTLS, connResumed, 400, 150, 160),
	}, Uploads: []uploadCell{
		{Protocol: overHTTP2, Order: waitFirst, Rounds: []uploaded{{0, 0}, {10, 1}, {13, 2}}}, {Protocol: overTLS, Order: waitFirst, Rounds: []uploaded{{0, 0}}},
	}}
	got := r.markdown()
	for i := range r.Cells {
		r.Cells[i].Rounds = r.Cells[i].Rounds[:1]
	}
	if again := r.markdown(); strings.Contains(again, "seeds") {
		t.Errorf("of one seed:\n%s", again)
	}
	for _, want := range []string{
		"The medians of the two seeds differ by at most 10 %.",
		"At most 1 connection opened in a window, and the last answer of one came 2 % of its length late at most.",
		"| net/http | 2,000/s | HTTP/1.1 | 20.0 | - | - | - |\n",
		"| net/http | 6,000/s | HTTP/1.1, TLS | 15.0 | 5.0 | +50 % | - |\n",
		"| net/http | 2,000/s | HTTP/1.1, TLS | 25.0 | 5.0 | +25 % | - |\n",
		"| net/http | 2,000/s | HTTP/2, TLS | 40.0 | 20.0 | +100 % | +60 % |\n",
		"| new | 400/s | 105.0 (100.0 to 110.0) | - | - | - | - |\n",
		"| new, full handshake | 400/s | 305.0 (300.0 to 310.0) | 200.0 | 10.0 | - | 0 of 2,000 |\n",
		"| new, resumed | 400/s | 155.0 (150.0 to 160.0) | 50.0 | 2.5 | 25 % | 1,000 of 2,000 |\n",
		"| HTTP/2, TLS | waits for the place, then reads its body | Go's own, 1 MiB | 10 (0–13) | 1.50 |\n",
		"| HTTP/1.1, TLS | waits for the place, then reads its body | - | 0 (0–0) | - |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
