package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"schedlab/internal/record"
)

func spinOptions(url string) ClosedOptions {
	return ClosedOptions{
		Targets:     []Target{{Method: "GET", URL: url + "/work"}, {Method: "HEAD", URL: url + "/"}, {Method: "POST", URL: url + "/", Body: []byte("body")}},
		Connections: 8, KeepAlive: true, Spin: true, Record: true,
		Duration: 200 * time.Millisecond, Timeout: 5 * time.Second,
	}
}

// What the spinner counts is what net/http's server served, whatever the depth.
func TestSpinCountsWhatTheServerServes(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{1, 16} {
		var served, bad, iters atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			served.Add(1)
			body, _ := io.ReadAll(r.Body)
			if r.Header.Get("X-Vegeta-Seq") == "" || (r.Method == http.MethodPost) != (string(body) == "body") {
				bad.Add(1)
			}
			if r.URL.Query().Get("iters") == "7" {
				iters.Add(1)
			}
			fmt.Fprint(w, strings.Repeat("x", 1+int(served.Load()%2000))) // net/http would chunk more
		}))
		o := spinOptions(s.URL)
		o.Pipeline, o.Demands = depth, []Demand{{Iters: 7}}
		res, err := Closed(t.Context(), o)
		s.Close()
		if err != nil {
			t.Fatal(err)
		}
		if res.Answered == 0 || res.Failed != 0 || len(res.Requests) != res.Answered || res.Dialled != 8 {
			t.Errorf("depth %d: %d answered, %d failed, %d recorded, %d dialled; want some, 0, as many, 8", depth, res.Answered, res.Failed, len(res.Requests), res.Dialled)
		}
		// Those cut off may or may not have been served.
		if n := int(served.Load()); n < res.Answered || n > res.Answered+res.Cut.Requests || res.Cut.Requests != 8*depth {
			t.Errorf("depth %d: the server served %d; %d answered and %d were cut", depth, n, res.Answered, res.Cut.Requests)
		}
		if bad.Load() > 0 || iters.Load() == 0 {
			t.Errorf("depth %d: %d requests without number or with a wrong body, %d with the demand", depth, bad.Load(), iters.Load())
		}
		var sum uint32
		for _, n := range res.ConnAnswers {
			sum += n
		}
		if len(res.ConnAnswers) != 8 || res.Asked != 8 || res.Starved != 0 || int(sum) != res.Answered || res.FirstReply <= 0 {
			t.Errorf("depth %d: answers per connection %v, %d of %d starved, slowest first reply %v", depth, res.ConnAnswers, res.Starved, res.Asked, res.FirstReply)
		}
		checkMarks(t, &res)
		for _, r := range res.Requests {
			if r.Sent < 0 || r.Done <= r.Sent || r.Status != 200 {
				t.Fatalf("depth %d: %+v, want a good reply after it was sent", depth, r)
			}
		}
		if p := res.Proof; p.CPU <= 0 || p.Busy <= 0 || p.Busy > 1 || p.Sent != res.Answered {
			t.Errorf("depth %d: proof %+v", depth, p)
		}
	}
}

// rawServer gives every connection to serve, which need not close it.
func rawServer(t *testing.T, serve func(n int, nc net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := 0; ; n++ {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				serve(n, nc)
			}()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return "http://" + l.Addr().String()
}

// Every way in which a server can fail is counted, and the loop goes on.
func TestSpinOutcomes(t *testing.T) {
	t.Parallel()
	const hello = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	read := func(nc net.Conn) bool {
		_, err := nc.Read(make([]byte, 4096))
		return err == nil
	}
	for name, test := range map[string]struct {
		serve   func(n int, nc net.Conn)
		outcome record.Outcome
		status  uint16
	}{
		"silence": {func(_ int, nc net.Conn) { io.Copy(io.Discard, nc) }, record.TimedOut, 0},
		"hang-up": {func(_ int, nc net.Conn) { read(nc) }, record.Reset, 0},
		"refusal": {func(_ int, nc net.Conn) {
			read(nc)
			io.WriteString(nc, "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		}, record.Answered, 503},
		"half":    {func(_ int, nc net.Conn) { read(nc); io.WriteString(nc, hello[:39]) }, record.Reset, 0},
		"surplus": {func(_ int, nc net.Conn) { read(nc); io.WriteString(nc, hello+hello); read(nc) }, record.Answered, 200},
		"in pieces": {func(_ int, nc net.Conn) {
			for read(nc) {
				for _, b := range []byte(hello) {
					nc.Write([]byte{b})
				}
			}
		}, record.Answered, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := spinOptions(rawServer(t, test.serve))
			o.Targets, o.Connections, o.Timeout, o.Duration = o.Targets[:1], 2, 5*time.Second, 500*time.Millisecond
			if test.outcome == record.TimedOut {
				o.Timeout = 100 * time.Millisecond
			}
			res, err := Closed(t.Context(), o)
			if err != nil || len(res.Requests) == 0 {
				t.Fatalf("%d requests, %v; want some and no error", len(res.Requests), err)
			}
			for _, r := range res.Requests {
				if r.Outcome != test.outcome || r.Status != test.status {
					t.Fatalf("got %+v, want outcome %v, status %d", r, test.outcome, test.status)
				}
			}
		})
	}
}

func TestSpinIsRefused(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nobody else is likely to be given its port
	o := spinOptions("http://" + l.Addr().String())
	res, err := Closed(t.Context(), o)
	if err != nil || res.Answered != 0 || res.Failed == 0 || res.Requests[0].Outcome != record.Refused || res.Failed > 8*30 {
		t.Errorf("%d answered, %d failed, %v; want none and a few refused", res.Answered, res.Failed, err)
	}
}

func TestSpinStopsWithItsContext(t *testing.T) {
	t.Parallel()
	o := spinOptions(rawServer(t, func(_ int, nc net.Conn) { answerAll(nc, okReply) }))
	o.Targets, o.Duration = o.Targets[:1], time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if res, err := Closed(ctx, o); !errors.Is(err, context.DeadlineExceeded) || res.Answered == 0 {
		t.Errorf("%d answered, %v; want some and the context's error", res.Answered, err)
	}
}

func TestSpinSaysWhatItCannotRead(t *testing.T) {
	t.Parallel()
	o := spinOptions(rawServer(t, func(_ int, nc net.Conn) {
		answerAll(nc, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	}))
	if _, err := Closed(t.Context(), o); err == nil || !strings.Contains(err.Error(), "chunked") || !strings.Contains(err.Error(), "leave it out") {
		t.Errorf("got %v, want an error that shows the reply and says what to do", err)
	}
}
