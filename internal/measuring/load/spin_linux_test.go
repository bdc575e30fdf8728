package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
)

// These tests use real sockets, on machines that may be busy: of times they check the order
// only.

const spinBusy = "HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

// A rawServer calls serve for every connection; serve need not close it.
type rawServer struct {
	url   string
	conns atomic.Int64 // accepted so far
	mu    sync.Mutex
	asked int // what serve notes
}

func newRawServer(t testing.TB, serve func(s *rawServer, conn int, nc *net.TCPConn)) *rawServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &rawServer{url: "http://" + l.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			conn := int(s.conns.Add(1)) - 1
			serving.Go(func() {
				defer nc.Close()
				serve(s, conn, nc.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	return s
}

// each answers the requests of one connection with what answer returns for request n on
// it; "" closes the connection, later gives no answer yet.
func each(nc net.Conn, answer func(n int, req *http.Request) string) {
	br := bufio.NewReader(nc)
	for n := 0; ; n++ {
		req, err := http.ReadRequest(br)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
		reply := answer(n, req)
		if reply == "" {
			return
		}
		if reply == later {
			continue
		}
		if _, err := io.WriteString(nc, reply); err != nil {
			return
		}
	}
}

const later = "later"

// answering answers each request on its own.
func answering(t testing.TB, answer func(conn, n int, req *http.Request) string) *rawServer {
	return newRawServer(t, func(_ *rawServer, conn int, nc *net.TCPConn) {
		each(nc, func(n int, req *http.Request) string { return answer(conn, n, req) })
	})
}

func seqOf(t testing.TB, req *http.Request) int {
	seq, err := strconv.Atoi(req.Header.Get("X-Vegeta-Seq"))
	if err != nil {
		t.Error(err)
	}
	return seq
}

// openTo sends requests at these times, on one kept connection.
func openTo(s *rawServer, at ...time.Duration) Options {
	return Options{
		Clients: record.Clients{Connections: 1, KeepAlive: true, Timeout: record.Lasting(20 * time.Second)},
		Targets: []Target{{Method: "GET", URL: s.url + "/work"}}, Trace: arrivals.Trace{At: at},
	}
}

// openRun runs an open loop and checks what holds for every result.
func openRun(t *testing.T, o Options) *Result {
	t.Helper()
	var told sync.Map
	o.Ended = func(seq int, r request.Request, _ request.Stamps) {
		if _, twice := told.LoadOrStore(seq, r); twice {
			t.Errorf("request %d was told twice", seq)
		}
	}
	res, err := Attack(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Requests) != len(o.Trace.At) || len(res.Stamps) != len(o.Trace.At) || res.Proof.Sent != len(o.Trace.At) {
		t.Fatalf("%d requests, %d stamps, %d sent; want %d", len(res.Requests), len(res.Stamps), res.Proof.Sent, len(o.Trace.At))
	}
	for i, r := range res.Requests {
		if got, ok := told.Load(i); !ok || got != r {
			t.Fatalf("request %d: told %+v, want %+v", i, got, r)
		}
		if r.Scheduled != int64(o.Trace.At[i]) || r.Outcome == request.Cut {
			t.Fatalf("request %d: %+v, want an outcome, and it due at %v", i, r, o.Trace.At[i])
		}
		checkStamps(t, r, res.Stamps[i])
	}
	return res
}

// checkStamps checks that the stamps of one request are in order.
func checkStamps(t *testing.T, r request.Request, s request.Stamps) {
	t.Helper()
	steps := []int64{r.Scheduled, r.Sent}
	for _, at := range []int64{s.Ready, s.Wrote, s.First} {
		if at != 0 { // it came to that
			steps = append(steps, at)
		}
	}
	if !slices.IsSorted(append(steps, r.Done)) || r.Outcome == request.Answered && len(steps) < 5 || (r.Outcome == request.Answered) != (r.Status > 0) {
		t.Fatalf("request %+v has stamps %+v", r, s)
	}
}

// bothForms runs a test with a spinner that never sleeps and one that does.
func bothForms(t *testing.T, test func(t *testing.T, shared bool)) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared=%v", shared), func(t *testing.T) { test(t, shared) })
	}
}

// everyEngine runs a test with both forms of the spinner, and with the engine vegeta. use sets
// the one to use.
func everyEngine(t *testing.T, test func(t *testing.T, use func(*Options))) {
	bothForms(t, func(t *testing.T, shared bool) {
		test(t, func(o *Options) { o.Engine, o.Shared = EngineSpin, shared })
	})
	t.Run(EngineVegeta, func(t *testing.T) {
		test(t, func(o *Options) { o.Engine = EngineVegeta })
	})
}

// Every form of a reply is read with its status and length, and the connection is kept or not.
func TestReadsEveryReply(t *testing.T) {
	everyEngine(t, func(t *testing.T, use func(*Options)) {
		for _, test := range readCases() {
			s := newRawServer(t, func(_ *rawServer, _ int, nc *net.TCPConn) {
				each(nc, func(int, *http.Request) string {
					if test.after == "" && test.want.keep {
						return test.text
					}
					io.WriteString(nc, test.text)
					return ""
				})
			})
			o := openTo(s, 0, 0)
			use(&o)
			if o.Engine == EngineVegeta && test.after != "" {
				continue // net/http may take the connection for the next request before it reads what is too much
			}
			if test.head {
				o.Targets[0].Method = "HEAD"
			}
			res := openRun(t, o)
			want := request.Request{Status: test.want.status, Bytes: uint32(test.want.bytes)}
			for _, r := range res.Requests {
				if got := (request.Request{Status: r.Status, Bytes: r.Bytes, Outcome: r.Outcome}); got != want {
					t.Errorf("%s: got %+v, want %+v", test.name, got, want)
				}
			}
			dialled := uint64(2)
			if test.after == "" && test.want.keep {
				dialled = 1
			}
			if res.Dialled != dialled {
				t.Errorf("%s: %d connections for two requests, want %d", test.name, res.Dialled, dialled)
			}
		}
	})
}

// hangUp closes a connection with a reset.
func hangUp(nc *net.TCPConn) {
	nc.SetLinger(0)
	nc.Close()
}

// Whatever a server does, two requests one after the other have these outcomes and open this
// many connections.
func TestOutcomes(t *testing.T) {
	const half = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
	const timeout = 150 * time.Millisecond
	const unasked = "bytes that nobody asked for"
	type want struct {
		first, second request.End
		status        uint16 // of those answered
		dialled       uint64
		asked         int // requests that the server read
	}
	answered := func(conns uint64, asked int) want {
		return want{request.Answered, request.Answered, 200, conns, asked}
	}
	both := func(out request.End) want { return want{out, out, 0, 2, 2} }
	onEach := func(answer func(s *rawServer, conn, n int, nc *net.TCPConn) string) func(*rawServer, int, *net.TCPConn) {
		return func(s *rawServer, conn int, nc *net.TCPConn) {
			each(nc, func(n int, _ *http.Request) string {
				s.mu.Lock()
				s.asked++
				s.mu.Unlock()
				return answer(s, conn, n, nc)
			})
		}
	}
	for name, test := range map[string]struct {
		method string
		serve  func(s *rawServer, conn int, nc *net.TCPConn)
		want   want
	}{
		"kept": {serve: onEach(func(*rawServer, int, int, *net.TCPConn) string { return spinOK }), want: answered(1, 2)},
		"busy": {serve: onEach(func(*rawServer, int, int, *net.TCPConn) string { return spinBusy }),
			want: want{request.Answered, request.Answered, 503, 2, 2}},
		"byte for byte": {serve: onEach(func(_ *rawServer, _, _ int, nc *net.TCPConn) string {
			for i := range len(spinOK) - 1 {
				io.WriteString(nc, spinOK[i:i+1])
				time.Sleep(100 * time.Microsecond)
			}
			return spinOK[len(spinOK)-1:]
		}), want: answered(1, 2)},
		"half-closed after a reply": {serve: onEach(func(_ *rawServer, _, _ int, nc *net.TCPConn) string {
			io.WriteString(nc, spinOK)
			nc.CloseWrite()
			io.Copy(io.Discard, nc)
			return ""
		}), want: answered(2, 2)},
		"half-closed instead of a reply": {serve: onEach(func(_ *rawServer, _, _ int, nc *net.TCPConn) string {
			nc.CloseWrite()
			io.Copy(io.Discard, nc)
			return ""
		}), want: both(request.Closed)},
		"closed after a reply": {serve: onEach(func(_ *rawServer, _, _ int, nc *net.TCPConn) string {
			io.WriteString(nc, spinOK)
			return ""
		}), want: answered(2, 2)},
		"closed before a reply": {serve: onEach(func(*rawServer, int, int, *net.TCPConn) string { return "" }), want: both(request.Closed)},
		"reset before a reply": {serve: onEach(func(_ *rawServer, _, _ int, nc *net.TCPConn) string {
			hangUp(nc)
			return ""
		}), want: both(request.Reset)},
		"closed within a reply": {serve: onEach(func(_ *rawServer, _, _ int, nc *net.TCPConn) string {
			io.WriteString(nc, half)
			return ""
		}), want: both(request.Short)},
		"closed within a head": {serve: onEach(func(_ *rawServer, _, _ int, nc *net.TCPConn) string {
			io.WriteString(nc, half[:20])
			return ""
		}), want: both(request.Short)},
		"closed within a chunk": {serve: onEach(func(_ *rawServer, _, _ int, nc *net.TCPConn) string {
			io.WriteString(nc, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe")
			return ""
		}), want: both(request.Short)},
		"a chunk without a size": {serve: onEach(func(*rawServer, int, int, *net.TCPConn) string {
			return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nhello"
		}), want: both(request.Malformed)},
		"another protocol": {serve: onEach(func(*rawServer, int, int, *net.TCPConn) string { return "ICY 200 OK\r\nContent-Length: 2\r\n\r\nok" }), want: both(request.Malformed)},
		"reset within a reply": {serve: onEach(func(_ *rawServer, _, _ int, nc *net.TCPConn) string {
			io.WriteString(nc, half)
			time.Sleep(5 * time.Millisecond)
			hangUp(nc)
			return ""
		}), want: both(request.Reset)},
		"not HTTP":      {serve: onEach(func(*rawServer, int, int, *net.TCPConn) string { return "SSH-2.0-OpenSSH\r\n\r\n" }), want: both(request.Malformed)},
		"silence":       {serve: onEach(func(_ *rawServer, _, _ int, nc *net.TCPConn) string { io.Copy(io.Discard, nc); return "" }), want: both(request.TimedOut)},
		"half a reply":  {serve: onEach(func(*rawServer, int, int, *net.TCPConn) string { return half }), want: both(request.TimedOut)},
		"interim alone": {serve: onEach(func(*rawServer, int, int, *net.TCPConn) string { return "HTTP/1.1 100 Continue\r\n\r\n" }), want: both(request.TimedOut)},
		unasked: {serve: onEach(func(_ *rawServer, _, _ int, nc *net.TCPConn) string {
			io.WriteString(nc, spinOK)
			time.Sleep(20 * time.Millisecond)
			return spinOK
		}), want: answered(2, 2)},
		"closed instead of the second reply, which is safe to repeat": {serve: onEach(func(_ *rawServer, conn, n int, _ *net.TCPConn) string {
			if conn == 0 && n == 1 {
				return ""
			}
			return spinOK
		}), want: answered(2, 3)},
		"reset instead of the second reply, which is safe to repeat": {serve: onEach(func(_ *rawServer, conn, n int, nc *net.TCPConn) string {
			if conn == 0 && n == 1 {
				hangUp(nc)
				return ""
			}
			return spinOK
		}), want: answered(2, 3)},
		"repeated once only": {serve: onEach(func(_ *rawServer, conn, n int, _ *net.TCPConn) string {
			if conn > 0 || n == 1 {
				return ""
			}
			return spinOK
		}), want: want{request.Answered, request.Closed, 200, 2, 3}},
		"closed instead of the second reply, which is not safe to repeat": {method: "POST", serve: onEach(func(_ *rawServer, _, n int, _ *net.TCPConn) string {
			if n == 1 {
				return ""
			}
			return spinOK
		}), want: want{request.Answered, request.Closed, 200, 1, 2}},
		"closed within the second reply": {serve: onEach(func(_ *rawServer, _, n int, nc *net.TCPConn) string {
			if n == 1 {
				io.WriteString(nc, "H")
				return ""
			}
			return spinOK
		}), want: want{request.Answered, request.Short, 200, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			everyEngine(t, func(t *testing.T, use func(*Options)) {
				s := newRawServer(t, test.serve)
				second := 60 * time.Millisecond
				if name == unasked { // they must have come by then, also on a busy machine
					second = 500 * time.Millisecond
				}
				o := openTo(s, 0, second)
				use(&o)
				if o.Engine == EngineVegeta && name == unasked {
					t.Skip("net/http takes such bytes for the next reply where they come as it is asked")
				}
				if test.method != "" {
					o.Targets[0].Method = test.method
				}
				if test.want.first == request.TimedOut {
					o.Timeout = record.Lasting(timeout)
				}
				res := openRun(t, o)
				got := want{first: res.Requests[0].Outcome, second: res.Requests[1].Outcome, status: max(res.Requests[0].Status, res.Requests[1].Status), dialled: res.Dialled}
				s.mu.Lock()
				got.asked = s.asked
				s.mu.Unlock()
				want := test.want
				// net/http's client takes the part of a head for the whole of a bad one.
				if o.Engine == EngineVegeta && (name == "closed within a head" || name == "closed within the second reply") {
					if want.second = request.Malformed; want.first == request.Short {
						want.first = request.Malformed
					}
				}
				if got != want {
					t.Errorf("got %+v, want %+v", got, want)
				}
				for _, r := range res.Requests {
					if took := time.Duration(r.Done - r.Sent); r.Outcome == request.TimedOut && (took < timeout || took > timeout+2*time.Second) {
						t.Errorf("timed out after %v, want %v", took, timeout)
					}
				}
			})
		})
	}
}

// A connection that only fails is not starved: it never waited in vain.
func TestFailuresStarveNobody(t *testing.T) {
	for name, serve := range map[string]func(nc *net.TCPConn) string{
		"reset":  func(nc *net.TCPConn) string { hangUp(nc); return "" },
		"closed": func(*net.TCPConn) string { return "" },
		"short":  func(nc *net.TCPConn) string { io.WriteString(nc, spinOK[:20]); return "" },
		"silent": func(nc *net.TCPConn) string { io.Copy(io.Discard, nc); return "" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newRawServer(t, func(_ *rawServer, _ int, nc *net.TCPConn) {
				each(nc, func(int, *http.Request) string { return serve(nc) })
			})
			want := 0
			if name == "silent" {
				want = 4
			}
			open := openTo(s, evenly(200, 100*time.Millisecond)...)
			open.Connections, open.Timeout = 4, record.Lasting(200*time.Millisecond)
			if res := openRun(t, open); res.Starved != want || res.Asked != 4 {
				t.Errorf("open loop: %d of %d starved, want %d of 4", res.Starved, res.Asked, want)
			}
			closed := closedTo(s)
			closed.Connections, closed.Timeout, closed.Duration = 4, record.Lasting(200*time.Millisecond), 600*time.Millisecond
			if res := closedRun(t, closed); res.Starved != want || res.Asked != 4 {
				t.Errorf("closed loop: %d of %d starved, want %d of 4", res.Starved, res.Asked, want)
			}
		})
	}
}

// deadPort is an address where nobody listens; nobody else is likely to be given it.
func deadPort(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

func TestRefused(t *testing.T) {
	everyEngine(t, func(t *testing.T, use func(*Options)) {
		for _, keep := range []bool{true, false} {
			o := openTo(&rawServer{url: deadPort(t)}, evenly(200, 100*time.Millisecond)...)
			o.KeepAlive, o.Connections = keep, 4
			use(&o)
			res := openRun(t, o)
			for _, r := range res.Requests {
				if r.Outcome != request.Refused || r.Status != 0 {
					t.Fatalf("got %+v, want it refused", r)
				}
			}
			if res.Dialled != 0 || res.Asked != 0 || res.Starved != 0 || res.Exhausted != 0 {
				t.Errorf("%d dialled, %d of %d starved, %d exhausted; want no connection at all", res.Dialled, res.Starved, res.Asked, res.Exhausted)
			}
		}
	})
}

// A listener whose queue is full leaves connections half open: requests on them time out, and
// so do those on connections that it took.
func TestSpinTimesOutWhileItOpens(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("http://127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)
	o := openTo(&rawServer{url: url}, evenly(100, 100*time.Millisecond)...)
	o.KeepAlive, o.Connections, o.Timeout = false, 8, record.Lasting(100*time.Millisecond)
	res := openRun(t, o)
	for _, r := range res.Requests {
		if took := time.Duration(r.Done - r.Sent); r.Outcome != request.TimedOut || took < o.Timeout.Duration {
			t.Errorf("%v after %v, want it timed out after %v s", r.Outcome, took, o.Timeout)
		}
	}
	if res.Dialled == 0 || res.Dialled >= 8 {
		t.Errorf("%d dialled, want those that the queue had room for", res.Dialled)
	}
}

// A request that waits for a connection times out like one that is being served.
func TestTimesOutWhileItWaits(t *testing.T) {
	everyEngine(t, func(t *testing.T, use func(*Options)) {
		s := newRawServer(t, func(_ *rawServer, _ int, nc *net.TCPConn) { io.Copy(io.Discard, nc) })
		o := openTo(s, 0, 10*time.Millisecond, 20*time.Millisecond, 290*time.Millisecond)
		o.Timeout = record.Lasting(200 * time.Millisecond)
		use(&o)
		res := openRun(t, o)
		// The second has the connection for 10 ms after the first, the third for 10 ms
		// after that, the last has one of its own.
		for i, r := range res.Requests {
			if took := time.Duration(r.Done - r.Sent); r.Outcome != request.TimedOut || took < o.Timeout.Duration {
				t.Errorf("request %d: %v after %v, want it timed out after %v s", i, r.Outcome, took, o.Timeout)
			}
		}
		if o.Engine == EngineSpin && res.Waited < 2 {
			t.Errorf("%d waited, want the second and the third at least", res.Waited)
		}
	})
}

// Requests that find no connection free go out in order as it comes free, and their wait
// is part of their response times.
func TestSpinWaitsInOrder(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		const takes = 5 * time.Millisecond
		var mu sync.Mutex
		var order []int
		s := answering(t, func(_, _ int, req *http.Request) string {
			mu.Lock()
			order = append(order, seqOf(t, req))
			mu.Unlock()
			time.Sleep(takes)
			return spinOK
		})
		o := openTo(s, evenly(1000, 10*time.Millisecond)...)
		o.Shared = shared
		res := openRun(t, o)
		mu.Lock()
		defer mu.Unlock()
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(order, want) {
			t.Errorf("served in the order %v, want %v", order, want)
		}
		if res.Waited < 8 || res.Waited > 9 || len(res.ConnAnswers) != 1 || res.ConnAnswers[0] != 10 || res.Dialled != 1 {
			t.Errorf("%d waited, answers %v, %d dialled; want 9, 10 on one connection", res.Waited, res.ConnAnswers, res.Dialled)
		}
		for i, r := range res.Requests[1:] {
			if before := res.Requests[i]; r.Done-before.Done < int64(takes) || res.Stamps[i+1].Wrote < before.Done {
				t.Errorf("request %d: %+v, %+v; want it written and served after %+v", i+1, r, res.Stamps[i+1], before)
			}
		}
	})
}

// Limited connections are used in turn; without a limit the one used last is used again, and
// as many are opened as are busy at once.
func TestSpinChoosesConnections(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		const atOnce = 5
		var entered sync.WaitGroup
		entered.Add(atOnce)
		s := answering(t, func(_, _ int, req *http.Request) string {
			if seqOf(t, req) < atOnce {
				entered.Done()
				entered.Wait()
			}
			return spinOK
		})
		o := openTo(s, make([]time.Duration, atOnce)...)
		o.Shared, o.Connections = shared, 0
		for i := range 40 {
			o.Trace.At = append(o.Trace.At, 100*time.Millisecond+time.Duration(i)*5*time.Millisecond)
		}
		if res := openRun(t, o); res.Dialled < atOnce || res.Dialled > 2*atOnce || res.Waited != 0 || res.ConnAnswers != nil {
			t.Errorf("without a limit: %d dialled, %d waited, answers %v; want %d, 0 and none told", res.Dialled, res.Waited, res.ConnAnswers, atOnce)
		}
		o = openTo(answering(t, func(int, int, *http.Request) string { return spinOK }), o.Trace.At[atOnce:]...)
		o.Shared, o.Connections = shared, 4
		res := openRun(t, o)
		if len(res.ConnAnswers) != 4 || slices.Min(res.ConnAnswers) < 8 || res.Dialled != 4 || res.Asked != 4 || res.Starved != 0 || res.FirstReply <= 0 {
			t.Errorf("in turn: answers %v, %d dialled, %d of %d starved; want 10 on each of four", res.ConnAnswers, res.Dialled, res.Starved, res.Asked)
		}
	})
}

// A connection that was never asked anything is not counted as starved.
func TestSpinCountsAskedConnections(t *testing.T) {
	s := answering(t, func(_, _ int, req *http.Request) string {
		if seqOf(t, req) == 3 {
			time.Sleep(300 * time.Millisecond)
			return ""
		}
		return spinOK
	})
	o := openTo(s, evenly(200, 50*time.Millisecond)...)
	o.Connections, o.Timeout = 64, record.Lasting(100*time.Millisecond)
	res := openRun(t, o)
	if res.Asked != 10 || res.Starved != 1 || len(res.ConnAnswers) != 10 || res.Dialled != 64 {
		t.Errorf("%d of %d starved, answers %v, %d dialled; want 1 of 10, 64 dialled", res.Starved, res.Asked, res.ConnAnswers, res.Dialled)
	}
}

// A connection that is starved from the warm-up on does not hold up the load until its request times
// out, once all that are measured have ended. A measured request does.
func TestSpinCutsOffTheWarmup(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		s := answering(t, func(_, _ int, req *http.Request) string {
			if seqOf(t, req) == 0 {
				return later
			}
			return spinOK
		})
		for warmup, want := range map[time.Duration]request.End{50 * time.Millisecond: request.Cut, 0: request.TimedOut} {
			o := openTo(s, 10*time.Millisecond, 20*time.Millisecond, 50*time.Millisecond, 60*time.Millisecond)
			o.Shared, o.Connections, o.Timeout, o.Warmup = shared, 2, record.Lasting(time.Second), warmup
			res, err := Attack(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range res.Requests {
				if i == 0 && r.Outcome != want || i > 0 && r.Outcome != request.Answered {
					t.Errorf("a warm-up of %v: request %d: %+v; want the first %v, and all others answered", warmup, i, r, want)
				}
			}
			if res.Starved != 1 || res.Asked != 2 || res.Proof.Sent != 4 {
				t.Errorf("a warm-up of %v: %d of %d starved, %d sent; want 1 of 2, 4", warmup, res.Starved, res.Asked, res.Proof.Sent)
			}
		}
	})
}

// Without keep-alive each request has a connection, of which a limit leaves so many open
// at a time.
func TestConnectionPerRequest(t *testing.T) {
	everyEngine(t, func(t *testing.T, use func(*Options)) {
		for _, limit := range []int{0, 2} {
			var open, most, kept atomic.Int64
			s := newRawServer(t, func(s *rawServer, _ int, nc *net.TCPConn) {
				now := open.Add(1)
				s.mu.Lock()
				most.Store(max(most.Load(), now))
				s.mu.Unlock()
				each(nc, func(n int, req *http.Request) string {
					if n > 0 || !req.Close {
						kept.Add(1)
					}
					time.Sleep(3 * time.Millisecond)
					open.Add(-1) // before the client can know
					return spinOK
				})
			})
			o := openTo(s, evenly(2000, 100*time.Millisecond)...)
			o.KeepAlive, o.Connections = false, limit
			use(&o)
			res := openRun(t, o)
			for _, r := range res.Requests {
				if !r.Good() {
					t.Fatalf("got %+v", r)
				}
			}
			if s.conns.Load() != 200 || res.Dialled != 200 || kept.Load() != 0 || res.ConnAnswers != nil {
				t.Errorf("limit %d: %d connections accepted, %d dialled, %d requests that keep theirs; want 200, 200, 0", limit, s.conns.Load(), res.Dialled, kept.Load())
			}
			if limit > 0 && (most.Load() > int64(limit) || o.Engine == EngineSpin && res.Waited == 0) || limit == 0 && res.Waited != 0 {
				t.Errorf("limit %d: %d open at once, %d waited", limit, most.Load(), res.Waited)
			}
		}
	})
}

// Bodies that fill the sockets both ways come through, kept or not.
func TestSpinMovesLargeBodies(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		body := make([]byte, 6<<20)
		for i := range body {
			body[i] = byte(i * 7)
		}
		var wrong atomic.Int64
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got, _ := io.ReadAll(r.Body)
			if string(got) != string(body) {
				wrong.Add(1)
			}
			w.Write(got)
		}))
		defer h.Close()
		for _, keep := range []bool{true, false} {
			o := openTo(&rawServer{url: h.URL}, make([]time.Duration, 6)...)
			o.Targets[0].Method, o.Targets[0].Body = "POST", body
			o.Shared, o.KeepAlive, o.Connections = shared, keep, 2
			for _, r := range openRun(t, o).Requests {
				if !r.Good() || int(r.Bytes) != len(body) {
					t.Errorf("keep-alive %v: got %+v", keep, r)
				}
			}
		}
		if wrong.Load() > 0 {
			t.Errorf("%d bodies came otherwise than they were sent", wrong.Load())
		}
	})
}

// A server may answer before it reads the body: its reply counts, and the connection is
// not used again, whatever the server would do with it.
func TestSpinAnsweredBeforeTheBodyIsRead(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		for name, test := range map[string]struct {
			reply  string
			status uint16
		}{"and closes": {spinBusy, 503}, "and would go on": {spinOK, 200}} {
			s := newRawServer(t, func(_ *rawServer, _ int, nc *net.TCPConn) {
				nc.Read(make([]byte, 100))
				io.WriteString(nc, test.reply)
				if test.status == 503 {
					nc.CloseWrite()
				}
				time.Sleep(20 * time.Millisecond)
				io.Copy(io.Discard, nc)
			})
			o := openTo(s, 0, 0, 0)
			o.Shared = shared
			o.Targets[0].Method, o.Targets[0].Body = "POST", make([]byte, 16<<20)
			res := openRun(t, o)
			for _, r := range res.Requests {
				if r.Outcome != request.Answered || r.Status != test.status {
					t.Errorf("%s: got %+v", name, r)
				}
			}
			if res.Dialled != 3 {
				t.Errorf("%s: %d dialled, want one for each", name, res.Dialled)
			}
		}
	})
}

// Each request asks for its own demand, of its own target, with its number.
func TestAsksWhatTheTraceSays(t *testing.T) {
	everyEngine(t, func(t *testing.T, use func(*Options)) {
		var mu sync.Mutex
		got := map[int]string{}
		s := answering(t, func(_, _ int, req *http.Request) string {
			mu.Lock()
			defer mu.Unlock()
			got[seqOf(t, req)] = req.Method + " " + req.RequestURI + " " + req.Header.Get("X-A")
			if req.Method == "HEAD" {
				return "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"
			}
			return spinOK
		})
		o := openTo(s, make([]time.Duration, 6)...)
		o.Targets = []Target{{Method: "GET", URL: s.url + "/work?a=b", Header: http.Header{"X-A": {"1"}}}, {Method: "HEAD", URL: s.url + "/head"}, {Method: "POST", URL: s.url + "/work"}}
		o.Trace.Demand = []arrivals.Demand{{}, {Iters: 1}, {Iters: 2}, {Iters: 3, Sleep: time.Nanosecond}, {}, {Iters: 5}}
		o.Trace.Which = []uint32{0, 0, 1, 2, 2, 1}
		use(&o)
		res := openRun(t, o)
		want := []string{"GET /work?a=b 1", "GET /work?a=b&iters=1 1", "HEAD /head ", "POST /work?iters=3&sleep=1ns ", "POST /work ", "HEAD /head "}
		mu.Lock()
		defer mu.Unlock()
		for i, r := range res.Requests {
			d := o.Trace.Demand[i]
			if o.Trace.Which[i] == 1 {
				d = arrivals.Demand{} // its target takes none
			}
			if got[i] != want[i] || !r.Good() || r.Iters != d.Iters || r.Sleep != int64(d.Sleep) {
				t.Errorf("request %d: asked %q and recorded %+v; want %q", i, got[i], r, want[i])
			}
		}
	})
}

// Idle connections carry one request each and are then left alone; lost ones are counted.
func TestSpinIdleConnections(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		const main, idle = 4, 20
		var asked [main + idle]atomic.Int32
		closing := make(chan struct{})
		s := newRawServer(t, func(_ *rawServer, conn int, nc *net.TCPConn) {
			each(nc, func(int, *http.Request) string {
				asked[conn].Add(1)
				switch {
				case conn < main:
				case conn%5 == 0: // four never answer
					io.Copy(io.Discard, nc)
				case conn%5 == 1: // four ask to close
					return spinBusy
				case conn%5 == 2: // four close while the load runs
					io.WriteString(nc, spinOK)
					<-closing
					return ""
				}
				return spinOK
			})
		})
		o := openTo(s, evenly(200, 300*time.Millisecond)...)
		o.Shared, o.Connections, o.Idle, o.Timeout = shared, main, idle, record.Lasting(400*time.Millisecond)
		o.Started = func(time.Time) { time.AfterFunc(50*time.Millisecond, func() { close(closing) }) }
		res := openRun(t, o)
		if got := res.Idle; got.Asked != idle || got.Answered != 16 || got.Lost != 8 {
			t.Errorf("got %+v, want 20 asked for, 16 answered, 8 lost", got)
		}
		for conn := range asked {
			if n := asked[conn].Load(); conn >= main && n != 1 {
				t.Errorf("idle connection %d was asked %d times, want once", conn, n)
			}
		}
		if len(res.ConnAnswers) != main || res.Dialled != main+idle {
			t.Errorf("answers %v, %d dialled; want the load's %d alone, and %d", res.ConnAnswers, res.Dialled, main, main+idle)
		}
		for _, r := range res.Requests {
			if !r.Good() {
				t.Fatalf("got %+v, want the load itself untouched", r)
			}
		}
	})
}

// Many idle connections leave a short trace as many connections as it needs.
func TestSpinSmallLoadWithManyIdleConnections(t *testing.T) {
	var entered sync.WaitGroup
	entered.Add(3)
	s := answering(t, func(_, _ int, req *http.Request) string {
		if seqOf(t, req) < 3 { // together or never
			entered.Done()
			entered.Wait()
		}
		return spinOK
	})
	o := openTo(s, 0, 0, 0)
	o.Connections, o.Idle = 0, 40
	if res := openRun(t, o); res.Waited != 0 || res.Idle.Answered != 40 || !res.Requests[2].Good() {
		t.Errorf("%d waited, idle %+v, %+v", res.Waited, res.Idle, res.Requests)
	}
}

// Connections are opened at their rate, before Started is called and a request is sent.
func TestSpinOpensAtARate(t *testing.T) {
	s := answering(t, func(int, int, *http.Request) string { return spinOK })
	o := openTo(s, 0)
	o.Connections, o.OpenRate = 11, 100
	begun := time.Now()
	var told []time.Time
	o.Started = func(at time.Time) { told = append(told, at) }
	res := openRun(t, o)
	if len(told) != 1 || !told[0].Equal(res.Start) || res.Start.Sub(begun) < 100*time.Millisecond || res.Dialled != 11 || !strings.Contains(res.Start.String(), " m=") {
		t.Errorf("told %v, %v after the beginning, %d dialled; want once, the eleventh 100ms later, on the monotonic clock", told, res.Start.Sub(begun), res.Dialled)
	}
}

// The wait for an agreed start is no part of the load, in none of its figures, and a stop ends it.
func TestSpinWaitsForItsBegin(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		const ahead = 500 * time.Millisecond
		s := answering(t, func(int, int, *http.Request) string { return spinOK })
		o := openTo(s, 0)
		o.Shared, o.Begin = shared, time.Now().Add(ahead)
		res := openRun(t, o)
		if !res.Start.Equal(o.Begin) || res.Requests[0].Sent < 0 || res.Proof.Elapsed >= ahead.Seconds() {
			t.Errorf("begun %v after the time agreed, in %v s; want it begun then, and the time from then on", res.Start.Sub(o.Begin), res.Proof.Elapsed)
		}
		o.Begin = time.Now().Add(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := Attack(ctx, o); !errors.Is(err, context.DeadlineExceeded) || time.Until(o.Begin) < 59*time.Minute {
			t.Errorf("%v before the start: %v; want the context's error at once", time.Until(o.Begin), err)
		}
	})
}

// The zone of an IPv6 address is an interface of this machine. The server is not told.
func TestSpinKnowsZones(t *testing.T) {
	t.Parallel()
	links, err := net.Interfaces()
	if err != nil || len(links) == 0 {
		t.Fatal(links, err)
	}
	for zone, want := range map[string]int{links[0].Name: links[0].Index, "77": 77, "": 0} {
		if got, err := newRawAddress(&net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 80, Zone: zone}); err != nil || got.six.Scope_id != uint32(want) {
			t.Errorf("zone %q: number %d, %v; want %d", zone, got.six.Scope_id, err, want)
		}
	}
	if _, err := newRawAddress(&net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "no-such"}); err == nil {
		t.Error("an unknown zone is no error")
	}
	tp, err := Target{Method: "GET", URL: "http://[fe80::1%25eth0]:81/a"}.template(true)
	if err != nil || tp.addr != "[fe80::1%eth0]:81" || tp.host != "[fe80::1]:81" || !strings.Contains(string(tp.head), "Host: [fe80::1]:81\r\n") {
		t.Errorf("dials %q, head %q, %v", tp.addr, tp.head, err)
	}
}

// A slowListener waits a millisecond after each connection that it accepts.
type slowListener struct{ net.Listener }

func (l slowListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	time.Sleep(time.Millisecond)
	return c, err
}

// A server that accepts one connection in a millisecond and has a queue for five more gets all of them before the load starts, and
// without the second that the kernel takes before it asks a full queue again.
func TestSpinOpensToAShortQueue(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "listener")
	defer file.Close()
	if err := errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 5)); err != nil {
		t.Fatal(err)
	}
	l, err := net.FileListener(file)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Listener.Close()
	s.Listener = slowListener{l}
	s.Start()
	defer s.Close()
	o := openTo(&rawServer{url: s.URL}, 0)
	o.Connections = 64
	begun := time.Now()
	if res := openRun(t, o); res.Dialled != 64 || res.Start.Sub(begun) >= time.Second || !res.Requests[0].Good() {
		t.Errorf("%d dialled in %v, the request: %+v", res.Dialled, res.Start.Sub(begun), res.Requests[0])
	}
}

// A server may close kept connections whenever no request uses them, and before the load.
func TestSpinKeptConnectionsAreClosedIdle(t *testing.T) {
	bothForms(t, func(t *testing.T, shared bool) {
		for _, limit := range []int{0, 1, 3} {
			closed := make(chan struct{})
			s := newRawServer(t, func(_ *rawServer, conn int, nc *net.TCPConn) {
				if conn == 0 && limit > 0 { // before it was asked
					nc.Close()
					close(closed)
					return
				}
				each(nc, func(n int, _ *http.Request) string {
					if n == 0 {
						return spinOK
					}
					io.WriteString(nc, spinOK)
					time.Sleep(2 * time.Millisecond)
					return ""
				})
			})
			var at []time.Duration
			for i := range 25 { // not at once: the first close has to come before
				at = append(at, 50*time.Millisecond+time.Duration(i)*10*time.Millisecond)
			}
			o := openTo(s, at...)
			o.Shared, o.Connections = shared, limit
			if limit > 0 { // else no connection is opened before the first request
				o.Started = func(time.Time) { <-closed }
			}
			for i, r := range openRun(t, o).Requests {
				if !r.Good() {
					t.Fatalf("limit %d: request %d: %+v, want each answered", limit, i, r)
				}
			}
		}
	})
}

// A server that does all of that at random, under a load that is late, waits and times
// out: each request has one outcome, nothing is sent twice but by the rule, and no
// connection carries two requests at a time.
func TestSpinAmongChaos(t *testing.T) {
	for _, test := range []struct {
		connections int
		keep        bool
	}{{0, true}, {8, true}, {0, false}, {8, false}} {
		t.Run(fmt.Sprintf("connections=%d,keep=%v", test.connections, test.keep), func(t *testing.T) {
			t.Parallel() // they mostly wait
			bothForms(t, func(t *testing.T, shared bool) {
				var overlaps atomic.Int64
				var mu sync.Mutex
				served := map[int]int{}
				s := newRawServer(t, func(_ *rawServer, conn int, nc *net.TCPConn) {
					rng := seeded(uint64(conn))
					br := bufio.NewReader(nc)
					for {
						req, err := http.ReadRequest(br)
						if err != nil {
							return
						}
						if br.Buffered() > 0 {
							overlaps.Add(1)
						}
						mu.Lock()
						served[seqOf(t, req)]++
						mu.Unlock()
						switch reply := []byte(spinOK); rng.IntN(16) {
						case 0:
							return
						case 1:
							hangUp(nc)
							return
						case 2: // too late
							io.Copy(io.Discard, nc)
							return
						case 3:
							nc.Write(reply[:rng.IntN(len(reply))])
							return
						case 4:
							nc.Write(reply)
							return
						case 5:
							nc.Write(reply)
							nc.CloseWrite()
							io.Copy(io.Discard, nc)
							return
						case 6:
							io.WriteString(nc, spinBusy)
							return
						case 7:
							io.WriteString(nc, spinOK+"surplus")
						case 8:
							nc.Write(reply)
							time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond)
							io.WriteString(nc, "x")
						case 9:
							io.WriteString(nc, "HTTP/1.1 100 Continue\r\n\r\n"+spinOK)
						case 10:
							io.WriteString(nc, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x\r\ny\r\n0\r\n\r\n")
						case 11:
							io.WriteString(nc, "HTTP/1.0 200 OK\r\n\r\nto the end")
							return
						case 12:
							io.WriteString(nc, "garbage\r\n\r\n")
						default:
							time.Sleep(time.Duration(rng.IntN(2000)) * time.Microsecond)
							nc.Write(reply)
						}
					}
				})
				o := openTo(s, arrivals.Process{}.Draw(1500, 500*time.Millisecond, seeded(3)).At...)
				o.Shared, o.Connections, o.KeepAlive, o.Timeout = shared, test.connections, test.keep, record.Lasting(60*time.Millisecond)
				res := openRun(t, o)
				ends := map[string]int{}
				mu.Lock() // a server may be reading still
				defer mu.Unlock()
				for i, r := range res.Requests {
					ends[r.End()]++
					if n := served[i]; n > 2 || n == 0 && r.Outcome == request.Answered || n > 0 && r.Outcome == request.Refused || !test.keep && n > 1 {
						t.Errorf("request %d was served %d times: %+v", i, n, r)
					}
				}
				if overlaps.Load() > 0 || ends["status 200"] == 0 || ends["reset"] == 0 || ends["timed out"] == 0 {
					t.Errorf("%d requests met another on their connection; ends %v", overlaps.Load(), ends)
				}
				answers := 0
				for _, n := range res.ConnAnswers {
					answers += int(n)
				}
				if kept := test.keep && test.connections > 0; kept && answers != ends["status 200"]+ends["status 503"] {
					t.Errorf("%d answers by connection; ends %v", answers, ends)
				}
			})
		})
	}
}

// A stop is noticed at once; requests in flight are cut off and reported, those not sent stay
// unsent.
func TestStopsWithItsContext(t *testing.T) {
	everyEngine(t, func(t *testing.T, use func(*Options)) {
		s := newRawServer(t, func(_ *rawServer, _ int, nc *net.TCPConn) { io.Copy(io.Discard, nc) })
		o := openTo(s, evenly(100, time.Hour)[:100_000]...)
		o.Connections, o.Timeout = 0, record.Lasting(3600*time.Second)
		use(&o)
		ctx, cancel := context.WithCancel(t.Context())
		var cancelled time.Time
		o.Started = func(time.Time) {
			time.AfterFunc(100*time.Millisecond, func() { cancelled = time.Now(); cancel() })
		}
		told := 0
		o.Ended = func(_ int, r request.Request, _ request.Stamps) {
			if told++; r.Outcome != request.Cut || r.Sent < 0 {
				t.Errorf("told %+v", r)
			}
		}
		res, err := Attack(ctx, o)
		if took := time.Since(cancelled); !errors.Is(err, context.Canceled) || took > 2*time.Second {
			t.Errorf("%v %v after the stop; want the context's error within 100ms", err, took)
		}
		for i, r := range res.Requests {
			if sent := i < told; r.Outcome != request.Cut || (r.Sent >= 0) != sent || r.Done < r.Sent {
				t.Fatalf("request %d of %d sent: %+v", i, told, r)
			}
		}
		if told == 0 || told != res.Proof.Sent || res.Proof.Planned != 100_000 {
			t.Errorf("%d told, proof %+v", told, res.Proof)
		}
	})
}

// A request costs no allocation: twenty times as many requests allocate no more, apart from
// the slices of the result. The garbage collector does not run.
func TestSpinDoesNotAllocate(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	targets := []Target{{Method: "GET", URL: startBareServer(t) + "work"}}
	measured := func(run func(started func(time.Time)) Proof) uint64 {
		var before, after runtime.MemStats
		p := run(func(time.Time) { runtime.ReadMemStats(&before) })
		runtime.ReadMemStats(&after)
		if p.GCs != 0 || after.NumGC != before.NumGC {
			t.Errorf("%d collections", p.GCs)
		}
		return after.Mallocs - before.Mallocs
	}
	bothForms(t, func(t *testing.T, shared bool) {
		for _, connections := range []int{0, 16} {
			open := func(n int) uint64 {
				at := evenly(10_000, time.Duration(n)*100*time.Microsecond)
				demands := make([]arrivals.Demand, len(at))
				for i := range demands {
					demands[i] = arrivals.Demand{Iters: uint32(i)}
				}
				return measured(func(started func(time.Time)) Proof {
					res, err := Attack(t.Context(), Options{Clients: record.Clients{Connections: connections, KeepAlive: true}, Targets: targets, Trace: arrivals.Trace{At: at, Demand: demands}, Shared: shared, Started: started})
					if err != nil || res.Proof.Sent != n {
						t.Fatal(err, res.Proof)
					}
					return res.Proof
				})
			}
			if few, many := open(250), open(5000); many > few+200 {
				t.Errorf("open loop, %d connections: %d allocations for 250 requests, %d for 5,000", connections, few, many)
			}
		}
		for _, depth := range []int{1, 8} {
			answered := 0
			closed := func(d time.Duration) uint64 {
				return measured(func(started func(time.Time)) Proof {
					res, err := Closed(t.Context(), Options{Clients: record.Clients{Connections: 16, KeepAlive: true, Pipeline: depth}, Targets: targets, Duration: d, Shared: shared, Started: started})
					if err != nil || res.Failed > 0 {
						t.Fatal(err, res.Failed)
					}
					answered = res.Answered
					return res.Proof
				})
			}
			if few, many := closed(10*time.Millisecond), closed(400*time.Millisecond); many > few+min(200, uint64(answered)/2) {
				t.Errorf("closed loop, depth %d: %d allocations in 10ms, %d in 400ms for %d requests", depth, few, many, answered)
			}
		}
	})
}

// One load can have MaxConnections, in an open and in a closed loop.
func TestSpinMostConnections(t *testing.T) {
	if limit := descriptorLimit(); testing.Short() || limit < MaxConnections+2*spareDescriptors {
		t.Skipf("NOT RUN: needs %d descriptors here and in the server, and seconds of wall-clock time", MaxConnections)
	}
	targets := []Target{{Method: "GET", URL: startBareServer(t)}}
	res, err := Attack(t.Context(), Options{
		Clients: record.Clients{Connections: MaxConnections / 2, Idle: MaxConnections / 2, KeepAlive: true, Timeout: record.Lasting(60 * time.Second)},
		Targets: targets, Trace: arrivals.Trace{At: evenly(1000, 500*time.Millisecond)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if i := res.Idle; res.Dialled != MaxConnections || i.Answered != MaxConnections/2 || i.Lost != 0 || res.Proof.Sent != 500 || res.Asked != 500 || res.Starved != 0 {
		t.Errorf("open loop: %d dialled, idle %+v, %d sent, %d of %d starved; want %d, all answered, 500", res.Dialled, i, res.Proof.Sent, res.Starved, res.Asked, MaxConnections)
	}
	var closed ClosedResult
	for _, long := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second} { // a busy machine answers all of them later
		closed, err = Closed(t.Context(), Options{Clients: record.Clients{Connections: MaxConnections, KeepAlive: true, Timeout: record.Lasting(60 * time.Second)}, Targets: targets, Duration: long})
		if err != nil || closed.Answered > 0 && len(closed.ConnAnswers) == MaxConnections {
			break
		}
	}
	if err != nil || closed.Failed > 0 || closed.Dialled != MaxConnections || len(closed.ConnAnswers) != MaxConnections || closed.Answered == 0 {
		t.Errorf("closed loop: %d answered, %d failed, %d dialled, %v", closed.Answered, closed.Failed, closed.Dialled, err)
	}
}

// Too few descriptors are reported before the load, with the remedy. If they run out all the
// same, that counts as the generator's fault.
func TestSpinDescriptors(t *testing.T) {
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	limit := func(n uint64) {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: was.Max}); err != nil {
			t.Fatal(err)
		}
	}
	defer limit(was.Cur)
	limit(512)
	targets := []Target{{Method: "GET", URL: "http://127.0.0.1:1/"}}
	const want = "preparing the attack: 500 connections need 564 file descriptors and this process may open 512; raise the limit with `ulimit -n 564`, or use fewer connections"
	if res, err := Attack(t.Context(), Options{Clients: record.Clients{Connections: 400, Idle: 100, KeepAlive: true}, Targets: targets}); res != nil || err == nil || err.Error() != want {
		t.Errorf("got %v, %v; want %s", res, err, want)
	}
	if _, err := Closed(t.Context(), Options{Clients: record.Clients{Connections: 500}, Targets: targets, Duration: time.Second}); err == nil {
		t.Error("the closed loop began")
	}
	s := answering(t, func(int, int, *http.Request) string { return spinOK })
	o := openTo(s, evenly(1000, 50*time.Millisecond)...)
	o.KeepAlive, o.Connections = false, 4
	o.Started = func(time.Time) { limit(3) }
	res := openRun(t, o)
	limit(was.Cur)
	for i, r := range res.Requests {
		if r.Outcome != request.Exhausted {
			t.Fatalf("request %d: %+v, want it to fail for want of a descriptor", i, r)
		}
	}
	if res.Exhausted != 50 || res.Dialled != 0 {
		t.Errorf("%d exhausted, %d dialled; want all 50", res.Exhausted, res.Dialled)
	}
}

func TestSpinRefusesBadOptions(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(*Options){
		"holds 16384 at most":   func(o *Options) { o.Connections, o.Idle = 10_000, 10_000 },
		"neither is ever negat": func(o *Options) { o.Idle = -1 },
		"without keep-alive":    func(o *Options) { o.Idle, o.KeepAlive = 1, false },
		"no targets":            func(o *Options) { o.Targets = nil },
		"no other schedule":     func(o *Options) { o.Times = spaced(1, 1) },
	} {
		o := openTo(&rawServer{url: "http://127.0.0.1:1"}, 0)
		spoil(&o)
		if res, err := Attack(t.Context(), o); res != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want an error with %q", res, err, want)
		}
	}
}

// BenchmarkSpin drives a bare server in another process over 64 kept connections: the
// time of one request, and what of it is this process's CPU.
func BenchmarkSpin(b *testing.B) {
	targets := []Target{{Method: "GET", URL: startBareServer(b)}}
	const connections = 64
	b.Run("loop=open,conns=64", func(b *testing.B) { // all due at once: the connections are never free
		res, err := Attack(b.Context(), Options{Clients: record.Clients{Connections: connections, KeepAlive: true, Timeout: record.Lasting(3600 * time.Second)}, Targets: targets, Trace: arrivals.Trace{At: make([]time.Duration, b.N)}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(1e9*res.Proof.Elapsed/float64(b.N), "ns/request")
		b.ReportMetric(1e9*res.Proof.CPU/float64(b.N), "cpu-ns/request")
	})
	for _, depth := range []int{1, 16} {
		b.Run(fmt.Sprintf("loop=closed,conns=64,pipeline=%d", depth), func(b *testing.B) {
			answered, took, spent := 0, time.Duration(0), time.Duration(0)
			for range b.N {
				res, err := Closed(b.Context(), Options{Clients: record.Clients{Connections: connections, Pipeline: depth, KeepAlive: true}, Targets: targets, Duration: 200 * time.Millisecond})
				if err != nil || res.Failed > 0 {
					b.Fatal(res.Failed, err)
				}
				answered, took, spent = answered+res.Answered, took+res.Elapsed, spent+record.Duration(res.Proof.CPU)
			}
			b.ReportMetric(float64(took)/float64(answered), "ns/request")
			b.ReportMetric(float64(spent)/float64(answered), "cpu-ns/request")
		})
	}
}

// A crowd on loopback comes from several addresses, so that none runs short of ports.
func TestCrowdHasSeveralAddresses(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	addr, err := newRawAddress(l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	for index, want := range map[int32]string{0: "127.0.0.1", perSource - 1: "127.0.0.1", perSource: "127.0.0.2", MaxConnections - 1: "127.0.0.2"} {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		if errno := addr.connectFrom(index, fd); errno != 0 {
			t.Fatalf("connection %d: %v", index, errno)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if got := c.RemoteAddr().(*net.TCPAddr).IP.String(); got != want {
			t.Errorf("connection %d comes from %s, want %s", index, got, want)
		}
		c.Close()
		unix.Close(fd)
	}
}
