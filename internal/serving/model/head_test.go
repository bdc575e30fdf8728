package model

import (
	"bufio"
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"schedlab/internal/shared/workload"
)

// parse reads a head as the server does.
func parse(t testing.TB, raw string) *fasthttp.RequestHeader {
	t.Helper()
	h := new(fasthttp.RequestHeader)
	if err := h.Read(bufio.NewReaderSize(strings.NewReader(raw), 16<<10)); err != nil {
		t.Fatal(err)
	}
	return h
}

const usualHead = "GET /plaintext HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: bench\r\nAccept-Encoding: gzip\r\n\r\n"

func TestInspect(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		raw  string
		want head
	}{
		{usualHead, head{}},
		{"GET * HTTP/1.1\r\nHost: a\r\n\r\n", head{}},
		{"GET / HTTP/1.0\r\n\r\n", head{}},
		{"GET / HTTP/1.2\r\n\r\n", head{flaw: malformed}},
		{"GET / HTTP/2.0\r\nHost: a\r\n\r\n", head{flaw: wrongVersion}},
		{"GET /%2f?%zz HTTP/1.1\r\nHost: a\r\n\r\n", head{}},
		{"GET /%2 HTTP/1.1\r\nHost: a\r\n\r\n", head{flaw: malformed}},
		{"GET /%2g HTTP/1.1\r\nHost: a\r\n\r\n", head{flaw: malformed}},
		{"GET http://[::1]:80/ HTTP/1.1\r\nHost: a\r\n\r\n", head{}},
		{"GET http://a:b/ HTTP/1.1\r\nHost: a\r\n\r\n", head{flaw: malformed}},
		{"GET / HTTP/1.1\r\nHost: a\r\nA B: c\r\n\r\n", head{flaw: malformed}},
		{"GET / HTTP/1.1\r\nHost: a\r\nB: c\r\n d\r\n\r\n", head{flaw: malformed}},
		{"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", head{flaw: malformed}},
		{"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, CLOSE\r\n\r\n", head{closes: true}},
		{"GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n", head{}},
		{"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n", head{flaw: unknownCoding}},
		{"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", head{flaw: ambiguousFraming}},
		{"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("B: c\r\n", maxFields-1) + "\r\n", head{}},
		{"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("B: c\r\n", maxFields) + "\r\n", head{flaw: tooManyFields}},
		{"GET / HTTP/1.1\r\nHost: a\r\nx-vegeta-SEQ:  17 \r\nX-Vegeta-Seq: 18\r\nX-Server-timing: 1\r\n\r\n", head{seq: "17", timing: true}},
		{"GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n\r\n", head{}},
		{"GET / HTTP/1.1\r\nHost: a\r\nexpect: x-y ,100-CONTINUE\r\nExpect: z\r\n\r\n", head{}},
		{"GET / HTTP/1.1\r\nHost: a\r\nExpect:\r\n\r\n", head{}},
		{"P / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n", head{}},
		{"P / HTTP/1.1\r\nHost: a\r\nExpect: x-y\r\nContent-Length: 1048577 \r\n\r\n", head{flaw: tooLong}},
		{"GET / HTTP/1.1\r\nHost: a\r\nExpect: x-y\r\n\r\n", head{flaw: unmetExpectation}},
		{"GET / HTTP/1.1\r\nHost: a b\r\nExpect: x-y\r\n\r\n", head{flaw: malformed}},
		{"GET / HTTP/1.1\r\nHost: a\r\nX-Vegeta-Seqs: 17\r\nX-Server-Timing: \r\n\r\n", head{}},
	} {
		if got := inspect(parse(t, tc.raw), 1<<20); got != tc.want {
			t.Errorf("%.60q: got %+v, want %+v", tc.raw, got, tc.want)
		}
	}
}

// An empty Host field gets a value in whatever pieces a head comes, unless its line is cut, and no
// other byte is changed: neither of a body nor of a request behind it.
func TestFillHost(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ raw, want string }{
		{usualHead, usualHead},
		{"GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET / HTTP/1.1\nHost:-\r\n\r\n"},
		{"GET / HTTP/1.1\r\nhOST: \r\n\r\n", "GET / HTTP/1.1\r\nhOST:-\r\n\r\n"},
		{"GET / HTTP/1.1\nX: y\nHost: \t\n\n", "GET / HTTP/1.1\nX: y\nHost:-\t\n\n"},
		{"\r\n\r\nGET / HTTP/1.1\r\nHost:\r\n\r\n", "\r\n\r\nGET / HTTP/1.1\nHost:-\r\n\r\n"},
		{"GET / HTTP/1.1\r\nHosts:\r\nHost:\n\r\nHost:\r\n", "GET / HTTP/1.1\r\nHosts:\r\nHost:\n\r\nHost:\r\n"},
		{"P / HTTP/1.1\r\nHost:\r\nContent-Length: 12\r\n\r\n\r\nHost: \r\n\r\n", "P / HTTP/1.1\nHost:-\r\nContent-Length: 12\r\n\r\n\r\nHost: \r\n\r\n"},
		{"GET / HTTP/1.1\r\n\r\nHost:\r\n", "GET / HTTP/1.1\r\n\r\nHost:\r\n"},
	} {
		for size := 1; size <= len(tc.raw); size++ {
			var e entry
			got := []byte(tc.raw)
			for p := got; len(p) > 0; p = p[min(size, len(p)):] {
				e.fillHost(p[:min(size, len(p))])
			}
			if string(got) != tc.want && (size == len(tc.raw) || string(got) != tc.raw) {
				t.Errorf("in pieces of %d: got %q, want %q", size, got, tc.want)
			}
		}
	}
}

func TestInspectDoesNotAllocate(t *testing.T) {
	h := parse(t, usualHead)
	if n := testing.AllocsPerRun(100, func() { inspect(h, 1<<20) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

// BenchmarkInspect measures inspect, and what the library takes to find the two fields that
// inspect finds as well.
func BenchmarkInspect(b *testing.B) {
	h := parse(b, strings.Replace(usualHead, "\r\n\r\n", "\r\nX-Vegeta-Seq: 123456\r\n\r\n", 1))
	for _, by := range []struct {
		name string
		look func()
	}{
		{"inspect", func() { inspect(h, 1<<20) }},
		{"peek", func() { h.Peek(seqHeader); h.Peek(timingHeader) }},
	} {
		b.Run("by="+by.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				by.look()
			}
		})
	}
}

// A framing finds the same in whatever pieces the bytes come.
func TestFraming(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		raw                       string
		coded, ambiguous, certain bool
	}{
		{usualHead, false, false, false},
		{"P\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nP\r\nContent-Length: 1\r\n\r\n", true, false, false},
		{"P\r\nContent-Length: 1\r\n\r\nxP\r\ntransfer-encoding: chunked\r\n\r\n", true, false, false},
		{"P\ncontent-LENGTH: 1\nX: y\nTRANSFER-encoding: chunked\n\n", true, true, true},
		{"\r\n" + usualHead + usualHead + "P\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", true, true, true},
		{"P\r\nContent-Length: 99\r\n\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", true, true, false},
		{"P\r\nTransfer-Encoding: chunked\r\n\r\n99\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", true, true, false},
		{"P\r\nTransfer-Encodings: chunked\r\nContent-Length: 1\r\n\r\n", false, false, false},
		{"P\r\nTransfer-Encoding:x\r\nX-Long: " + strings.Repeat("v", 100) + "\r\nContent-Length:1\r\n\r\n", true, true, true},
		{"P\r\nX-Transfer-Encoding: chunked\r\nTransfer-Encodin: a\r\n\r\n", false, false, false},
	} {
		for size := 1; size <= len(tc.raw); size++ {
			var f framing
			for p := []byte(tc.raw); len(p) > 0; p = p[min(size, len(p)):] {
				f.scan(p[:min(size, len(p))])
			}
			if f.coded.Load() != tc.coded || f.ambiguous.Load() != tc.ambiguous || f.ambiguousHead.Load() != tc.certain {
				t.Errorf("%q in pieces of %d: got coded %v, ambiguous %v, certain %v", tc.raw, size, f.coded.Load(), f.ambiguous.Load(), f.ambiguousHead.Load())
			}
		}
	}
}

// A head with more lines than it may have fields is noticed, and two with half as
// many each are not.
func TestFramingCountsLines(t *testing.T) {
	t.Parallel()
	head := func(fields int) string {
		return "GET / HTTP/1.1\r\n" + strings.Repeat("X: y\r\nC: d\r\n", fields/2) + "\r\n"
	}
	for _, tc := range []struct {
		raw  string
		want bool
	}{
		{head(maxFields), false},
		{head(maxFields + 2), true},
		{strings.Repeat(head(maxFields/2), 5), false},
	} {
		for _, size := range []int{1, 7, len(tc.raw)} {
			var f framing
			for p := []byte(tc.raw); len(p) > 0; p = p[min(size, len(p)):] {
				f.scan(p[:min(size, len(p))])
			}
			if got := f.tooManyLines.Load(); got != tc.want {
				t.Errorf("%d lines in pieces of %d: got crowded %v, want %v", strings.Count(tc.raw, "\n"), size, got, tc.want)
			}
		}
	}
}

// A wire is a connection whose client has sent everything and closed its side.
type wire struct {
	entry
	in  *bytes.Reader
	out bytes.Buffer
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.in.Read(p)
	w.read.Add(uint64(n))
	w.brokeOff = w.brokeOff || n == 0
	return n, err
}

func (w *wire) Write(p []byte) (int, error)      { return w.out.Write(p) }
func (w *wire) Close() error                     { return nil }
func (w *wire) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (w *wire) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
func (w *wire) control(func(int))                {}

// FuzzHead checks that the fasthttp stack is as strict as net/http: no first request
// of a connection gets an answer that net/http, asked the same, refuses with 400
// for its head. Empty lines before it do not count: a server should ignore them
// (RFC 9112 §2.2), and net/http does not.
func FuzzHead(f *testing.F) {
	for _, seed := range []string{
		usualHead,
		"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
		"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"GET http://a:80/b%20c?d HTTP/1.1\r\nHost: a\r\nX Y: z\r\n\r\n",
		"GET / HTTP/1.0\r\nX-Y: a\r\n b\r\n\r\n",
		"CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n",
		"GET /%zz HTTP/1.1\r\nHost: \r\nConnection: close, x\r\n\r\n",
		"OPTIONS * HTTP/1.2\nHost: a\n\n",
	} {
		f.Add([]byte(seed))
	}
	engine := newFasthttpEngine(newRequests(Config{
		Limits: DefaultLimits(),
		Handle: func(x *workload.Exchange) { x.Status = http.StatusOK },
		Log:    slog.New(slog.DiscardHandler),
	}))
	l := &Listener{}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !oracleRefuses(bytes.TrimLeft(raw, "\r\n")) {
			return
		}
		ours := &wire{in: bytes.NewReader(raw), entry: entry{listener: l}}
		// What it returns is what it answered, and that is looked at.
		_ = engine.server.ServeConn(ours)
		if status, _, _ := strings.Cut(ours.out.String(), "\r\n"); strings.HasPrefix(status, "HTTP/1.1 2") {
			t.Errorf("net/http refuses %q, got %q", raw, status)
		}
	})
}

// oracleRefuses reports whether net/http answers 400 to the first request.
func oracleRefuses(raw []byte) bool {
	reached := false
	server := &http.Server{
		Handler:  http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	theirs := &wire{in: bytes.NewReader(raw)}
	ended := make(chan struct{})
	server.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			close(ended)
		}
	}
	// It returns when there is no second connection.
	_ = server.Serve(&oneConn{conn: theirs})
	<-ended
	return !reached && bytes.HasPrefix(theirs.out.Bytes(), []byte("HTTP/1.1 400"))
}

// A oneConn is a listener with one connection.
type oneConn struct{ conn net.Conn }

func (l *oneConn) Accept() (net.Conn, error) {
	if l.conn == nil {
		return nil, io.EOF
	}
	c := l.conn
	l.conn = nil
	return c, nil
}
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
