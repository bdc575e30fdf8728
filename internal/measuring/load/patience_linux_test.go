package load

import (
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
)

// numbered notes the X-Vegeta-Seq of each request, in the order in which they were read.
func numbered(all *[]string, answer func(seq string) string) func(*rawServer, int, *net.TCPConn) {
	return func(s *rawServer, _ int, nc *net.TCPConn) {
		each(nc, func(_ int, req *http.Request) string {
			s.mu.Lock()
			defer s.mu.Unlock()
			seq := req.Header.Get("X-Vegeta-Seq")
			*all = append(*all, seq)
			return answer(seq)
		})
	}
}

// A request that failed is sent again after the backoff, with a number of its own, and stays one request: its response time is
// from its schedule, and its outcome that of the last attempt.
func TestSpinSendsAgain(t *testing.T) {
	const backoff = 20 * time.Millisecond
	const again = "1099511627776" // 1<<40: the second attempt of request 0
	for name, test := range map[string]struct {
		answer  func(seq string) string
		retries int
		status  uint16
		sent    int
		again   uint8
	}{
		"mended": {func(seq string) string {
			if seq == again {
				return spinOK
			}
			return spinBusy
		}, 3, 200, 2, 1},
		"never mended":        {func(string) string { return spinBusy }, 2, 503, 3, 2},
		"no retries":          {func(string) string { return spinBusy }, 0, 503, 1, 0},
		"an error that lasts": {func(string) string { return "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n" }, 3, 404, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, keep := range []bool{true, false} {
				var sent []string
				s := newRawServer(t, numbered(&sent, test.answer))
				o := openTo(s, 0)
				o.KeepAlive, o.Connections = keep, 1
				o.Patience = record.Patience{Retries: test.retries, Backoff: record.Lasting(backoff)}
				res := openRun(t, o)
				r := res.Requests[0]
				s.mu.Lock() // the server may still be in its turn
				read := slices.Clone(sent)
				s.mu.Unlock()
				if r.Outcome != request.Answered || r.Status != test.status || r.Retries != test.again || len(read) != test.sent {
					t.Errorf("got %v with status %d after %d retries, sent %v; want status %d after %d, sent %d times", r.Outcome, r.Status, r.Retries, read, test.status, test.again, test.sent)
				}
				if took := time.Duration(r.Done - r.Scheduled); took < time.Duration(test.again)*backoff {
					t.Errorf("took %v, want the backoffs at least", took)
				}
				if res.Proof.Sent != 1 || res.Proof.Planned != 1 {
					t.Errorf("%d of %d requests sent, want the one", res.Proof.Sent, res.Proof.Planned)
				}
			}
		})
	}
}

// A client gives up a request at its deadline, whichever attempt is under way, and begins no attempt after that.
func TestSpinKeepsTheDeadline(t *testing.T) {
	const deadline = 250 * time.Millisecond
	s := newRawServer(t, func(_ *rawServer, _ int, nc *net.TCPConn) { io.Copy(io.Discard, nc) })
	o := openTo(s, evenly(20, 100*time.Millisecond)...)
	o.KeepAlive, o.Connections, o.Timeout = false, 8, record.Lasting(100*time.Millisecond)
	o.Patience = record.Patience{Deadline: record.Lasting(deadline), Retries: 3, Backoff: record.Lasting(10 * time.Millisecond)}
	res := openRun(t, o)
	for i, r := range res.Requests {
		if took := time.Duration(r.Done - r.Scheduled); r.Outcome != request.TimedOut || r.Retries > 2 || r.Retries > 0 && took < 200*time.Millisecond {
			t.Errorf("request %d: %v after %v and %d retries, want it given up at its deadline", i, r.Outcome, took, r.Retries)
		}
	}
	o.Patience.Retries, o.Timeout = 0, record.Lasting(10*time.Second)
	for i, r := range openRun(t, o).Requests {
		if took := time.Duration(r.Done - r.Scheduled); r.Outcome != request.TimedOut || took < deadline {
			t.Errorf("request %d: %v after %v, want it given up at its deadline", i, r.Outcome, took)
		}
	}
}

// A request that is given up while it waits to be sent again has no status: its last attempt got no reply.
func TestSpinForgetsTheFailedAttempt(t *testing.T) {
	const deadline = 200 * time.Millisecond
	s := answering(t, func(_, _ int, req *http.Request) string {
		if seqOf(t, req) == 0 {
			return "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"
		}
		return later // the second request keeps the one connection until its deadline
	})
	o := openTo(s, 0, deadline/4)
	o.Patience = record.Patience{Deadline: record.Lasting(deadline), Retries: 1, Backoff: record.Lasting(deadline / 2)}
	res := openRun(t, o)
	if r := res.Requests[0]; r.Outcome != request.TimedOut || r.Retries != 1 || r.Status != 0 || r.Bytes != 0 || res.Stamps[0] != (request.Stamps{}) {
		t.Errorf("got %+v with %+v; want it timed out, with nothing of the first attempt", r, res.Stamps[0])
	}
}

func TestPatienceOfOpenLoopsOnly(t *testing.T) {
	t.Parallel()
	o := openTo(&rawServer{url: "http://127.0.0.1:1"}, 0)
	o.Patience.Retries = 4
	for _, use := range []func(){func() {}, func() { o.Patience.Retries, o.Engine = 1, EngineVegeta }, func() { o.Loop, o.Engine = "closed", "" }} {
		use()
		if err := o.Check(); err == nil {
			t.Errorf("%+v: want an error", o.Clients)
		}
	}
}
