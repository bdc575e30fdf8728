package load

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"testing"
)

// A readCase is the stream of one connection, up to its end: a reply and what follows it.
type readCase struct {
	name, text string
	head       bool // the request was a HEAD
	want       reply
	after      string
}

func readCases() []readCase {
	big := strings.Repeat("x", 10_000)
	small := strings.Repeat("1\r\nx\r\n", 70_000)
	return []readCase{
		{name: "plain", text: plainReply, want: reply{200, 13, true}},
		{name: "next follows", text: spinOK + spinOK, want: reply{200, 2, true}, after: spinOK},
		{name: "close", text: "HTTP/1.1 200 OK\r\nconnection: Close\r\ncontent-length: 0\r\n\r\n", want: reply{200, 0, false}},
		{name: "keep-alive", text: "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", want: reply{200, 1, true}},
		{name: "several tokens", text: "HTTP/1.1 200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 1\r\n\r\nx", want: reply{200, 1, false}},
		{name: "two connection lines", text: "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", want: reply{200, 1, false}},
		{name: "no reason", text: "HTTP/1.1 503\r\nContent-Length: 2\r\n\r\nno", want: reply{503, 2, true}},
		{name: "no content", text: "HTTP/1.1 204 No Content\r\n\r\nnext", want: reply{204, 0, true}, after: "next"},
		{name: "not modified", text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\nnext", want: reply{304, 0, true}, after: "next"},
		{name: "HEAD", text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nnext", head: true, want: reply{200, 0, true}, after: "next"},
		{name: "HEAD, chunked", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnext", head: true, want: reply{200, 0, true}, after: "next"},
		{name: "HEAD, no length", text: "HTTP/1.1 200 OK\r\n\r\nnext", head: true, want: reply{200, 0, true}, after: "next"},
		{name: "HEAD, close", text: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", head: true, want: reply{200, 0, false}},
		{name: "HEAD, HTTP/1.0", text: "HTTP/1.0 200 OK\r\n\r\n", head: true, want: reply{200, 0, false}},
		{name: "chunked", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nnext", want: reply{200, 3, true}, after: "next"},
		{name: "chunk extensions", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n2;x=y\r\nde\r\n0;z\r\n\r\n", want: reply{200, 5, true}},
		{name: "trailers", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: A\r\n\r\nA\r\n0123456789\r\n0\r\nA: b\r\nC: d\r\n\r\nnext", want: reply{200, 10, true}, after: "next"},
		{name: "no chunk", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", want: reply{200, 0, true}},
		{name: "padded chunk size", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0000000000000003\r\nabc\r\n0\r\n\r\n", want: reply{200, 3, true}},
		{name: "many small chunks", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + small + "0\r\n\r\n", want: reply{200, 70_000, true}},
		{name: "chunked, close", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n1\r\nx\r\n0\r\n\r\n", want: reply{200, 1, false}},
		{name: "until closed", text: "HTTP/1.1 200 OK\r\n\r\nto the end", want: reply{200, 10, false}},
		{name: "until closed, empty", text: "HTTP/1.1 200 OK\r\n\r\n", want: reply{200, 0, false}},
		{name: "HTTP/1.0", text: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", want: reply{200, 2, false}},
		{name: "HTTP/1.0, kept", text: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", want: reply{200, 2, true}},
		{name: "HTTP/1.0, until closed", text: "HTTP/1.0 200 OK\r\n\r\nthe old way", want: reply{200, 11, false}},
		{name: "continue", text: "HTTP/1.1 100 Continue\r\n\r\n" + spinOK, want: reply{200, 2, true}},
		{name: "several interim", text: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + spinOK, want: reply{200, 2, true}},
		{name: "upgrade", text: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nraw", want: reply{101, 0, false}, after: "raw"},
		{name: "bare line ends", text: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", want: reply{200, 2, true}},
		{name: "folded line", text: "HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 2\r\n\r\nok", want: reply{200, 2, true}},
		{name: "large head", text: "HTTP/1.1 200 OK\r\nX: " + big + "\r\nContent-Length: 2\r\n\r\nok", want: reply{200, 2, true}},
		{name: "large body", text: "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + big, want: reply{200, 10_000, true}},
		{name: "same length twice", text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", want: reply{200, 2, true}},
	}
}

var errUnfinished = errors.New("the stream ended within a reply")

// readPieces reads one reply from a stream in pieces of the lengths that size returns, as a
// spinConn does. after is the rest of the stream.
func readPieces(r *replyReader, heads *headCache, text string, head bool, size func() int) (rep reply, after string, err error) {
	for left := text; len(left) > 0; {
		n := min(size(), len(left))
		rest, rep, whole, err := r.next([]byte(left[:n]), heads, head)
		left = left[n:]
		if err != nil || whole {
			return rep, string(rest) + left, err
		}
	}
	rep, whole := r.end()
	if !whole {
		return rep, "", errUnfinished
	}
	return rep, "", nil
}

// reference reads a reply with net/http alone.
func reference(br *bufio.Reader, head bool) (reply, error) {
	req := &http.Request{Method: http.MethodGet}
	if head {
		req.Method = http.MethodHead
	}
	for {
		resp, err := http.ReadResponse(br, req)
		if err != nil {
			return reply{}, err
		}
		switch {
		case resp.StatusCode < 100:
			return reply{}, http.ErrNotSupported
		case resp.StatusCode == http.StatusSwitchingProtocols:
			return reply{status: 101}, nil
		case resp.StatusCode < 200:
			continue
		}
		n, err := io.Copy(io.Discard, resp.Body)
		return reply{uint16(resp.StatusCode), n, !resp.Close}, err
	}
}

func TestReplyReader(t *testing.T) {
	t.Parallel()
	for _, test := range readCases() {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			br := bufio.NewReader(strings.NewReader(test.text))
			want, err := reference(br, test.head)
			if rest, _ := io.ReadAll(br); err != nil || want != test.want || string(rest) != test.after {
				t.Fatalf("net/http reads %+v, %v and leaves %q; the table says %+v and %q", want, err, rest, test.want, test.after)
			}
			for how, size := range map[string]int{"at once": len(test.text), "byte for byte": 1, "in sevens": 7} {
				got, after, err := readPieces(&replyReader{}, &headCache{}, test.text, test.head, func() int { return size })
				if err != nil || got != test.want || after != test.after {
					t.Errorf("%s: got %+v, %v, leaving %q; want %+v, leaving %q", how, got, err, after, test.want, test.after)
				}
			}
		})
	}
}

// However a stream is cut, the same reply is read from it, by a reader and a cache that
// have read others before.
func TestReplyReaderInRandomPieces(t *testing.T) {
	t.Parallel()
	var r replyReader
	var heads headCache
	rng := rand.New(rand.NewPCG(1, 2))
	cases := readCases()
	for range 10_000 {
		test := cases[rng.IntN(len(cases))]
		mean := 1 + rng.IntN(len(test.text))
		got, after, err := readPieces(&r, &heads, test.text, test.head, func() int { return 1 + rng.IntN(mean) })
		if err != nil || got != test.want || after != test.after {
			t.Fatalf("%s, pieces up to %d: got %+v, %v, leaving %q; want %+v, leaving %q", test.name, mean, got, err, after, test.want, test.after)
		}
	}
}

func TestReplyReaderRefuses(t *testing.T) {
	t.Parallel()
	const chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, test := range map[string]struct {
		text  string
		early bool // before the stream ends
	}{
		"nothing":             {"", false},
		"half a head":         {"HTTP/1.1 200 OK\r\nContent-Le", false},
		"half a body":         {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", false},
		"half a chunk":        {chunked + "3\r\nok", false},
		"no last chunk":       {chunked + "2\r\nok\r\n", false},
		"half a trailer":      {chunked + "0\r\nA: b\r\n", false},
		"interim only":        {"HTTP/1.1 100 Continue\r\n\r\n", false},
		"not HTTP":            {"SSH-2.0-OpenSSH_9.6\r\n\r\n", true},
		"no status":           {"HTTP/1.1 abc OK\r\n\r\n", true},
		"low status":          {"HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n", true},
		"two lengths":         {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!", true},
		"negative length":     {"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", true},
		"unknown encoding":    {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nok", true},
		"no chunk size":       {chunked + "\r\nok", true},
		"bad chunk size":      {chunked + "3x\r\nabc\r\n", true},
		"endless chunk size":  {chunked + "00000000000000003\r\nabc\r\n0\r\n\r\n", true},
		"chunk size overflow": {chunked + "ffffffffffffffff\r\nabc", true},
		"long chunk":          {chunked + "3\r\nabcd\r\n0\r\n\r\n", true},
		"endless extension":   {chunked + "3;" + strings.Repeat("x", 2*maxChunkExtra), true},
		"endless trailers":    {chunked + "0\r\n" + strings.Repeat("A: b\r\n", maxChunkExtra), true},
		"endless head":        {"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", maxHead/6+10_000), true},
	} {
		got, _, err := readPieces(&replyReader{}, &headCache{}, test.text, false, func() int { return 64 << 10 })
		if err == nil || (err == errUnfinished) == test.early {
			t.Errorf("%s: got %+v, %v; want it refused, before the stream's end: %v", name, got, err, test.early)
		}
	}
}

// A head read before costs nothing, and neither does a body of any kind.
func TestReplyReaderDoesNotAllocate(t *testing.T) {
	var r replyReader
	var heads headCache
	for _, text := range []string{plainReply, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok"} {
		b := []byte(text)
		if got := testing.AllocsPerRun(100, func() {
			if _, _, whole, err := r.next(b, &heads, false); !whole || err != nil {
				t.Fatal(whole, err)
			}
		}); got != 0 {
			t.Errorf("%q: %v allocations per reply, want 0", text, got)
		}
	}
}

// However a stream is cut into pieces, the same replies are read from it; whatever
// net/http reads as a reply is read as the same one.
func FuzzReplyReader(f *testing.F) {
	for _, test := range readCases() {
		if len(test.text) < 1000 {
			f.Add([]byte(test.text), uint8(len(test.name)), test.head)
		}
	}
	f.Add([]byte("HTTP/0.0 200\n\r\n"), uint8(1), false)
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length : 3\r\nA:\r\n b\r\n\r\nabc"), uint8(3), false)
	f.Fuzz(func(t *testing.T, stream []byte, piece uint8, head bool) {
		read := func(size int) (replies []reply) {
			var r replyReader
			var heads headCache
			for left := string(stream); left != ""; {
				rep, after, err := readPieces(&r, &heads, left, head, func() int { return size })
				if err != nil {
					return replies
				}
				if len(after) >= len(left) || rep.status < 100 || rep.status > 999 || rep.bytes < 0 || rep.bytes > int64(len(left)-len(after)) {
					t.Fatalf("%q: read %+v, leaving %q", left, rep, after)
				}
				if replies = append(replies, rep); !rep.keep {
					return replies
				}
				left = after
			}
			return replies
		}
		whole, pieces := read(len(stream)+1), read(int(piece)+1)
		if len(pieces) != len(whole) {
			t.Fatalf("%q: %d replies at once and %d in pieces of %d", stream, len(whole), len(pieces), int(piece)+1)
		}
		br := bufio.NewReader(bytes.NewReader(stream))
		agreed := true // net/http has read as far as we have
		for i := 0; agreed && (i == 0 || whole[i-1].keep); i++ {
			want, err := reference(br, head)
			if agreed = err == nil; agreed && (i >= len(whole) || whole[i] != want || pieces[i] != want) {
				t.Fatalf("%q: reply %d is %+v for net/http; got %+v at once, %+v in pieces", stream, i, want, whole, pieces)
			}
			if i >= len(whole) {
				break
			}
		}
	})
}

// A head from the cache is the head parsed without it.
func FuzzHeadCache(f *testing.F) {
	f.Add([]byte(plainReply), []byte(plainReply))
	f.Add([]byte(spinOK), []byte("HTTP/1.1 503 No\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n"))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"), []byte("HTTP/1.1 204 OK\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 200 OK\n\n"), []byte("HTTP/1.0 200 OK\n\nbody"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var c headCache
		for _, b := range [][]byte{first, second, first, append(slices.Clip(first), second...)} {
			var none headCache
			want, wantErr := none.parse(b)
			got, err := c.parse(b)
			if (err == nil) != (wantErr == nil) || (err == errHeadUnread) != (wantErr == errHeadUnread) || err == nil && got != want {
				t.Fatalf("%q: got %+v, %v; want %+v, %v", b, got, err, want, wantErr)
			}
			if err == errHeadUnread && (headEnd(b) > 0 || len(b) > maxHead) {
				t.Fatalf("%q: waits for more of a head that is whole or too large", b)
			}
		}
	})
}

// What net/http reads as a chunked body has the same length here.
func FuzzChunks(f *testing.F) {
	for _, seed := range []string{"3\r\nabc\r\n0\r\n\r\n", "1;a=\"b\"\r\nx\r\nA \r\n0123456789\r\n0\r\nA: b\r\n\r\nnext", "0\r\n\r\n", "10\r\n", "ffffffffffffffff\r\n"} {
		f.Add([]byte(seed), uint8(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, piece uint8) {
		read := func(size int) (c chunkReader, left int, whole bool, err error) {
			for at := 0; at < len(stream) && err == nil && !whole; at += size {
				var rest []byte
				rest, whole, err = c.next(stream[at:min(at+size, len(stream))])
				left = len(rest) + max(0, len(stream)-at-size)
			}
			return c, left, whole, err
		}
		got, left, whole, err := read(len(stream) + 1)
		pieces, leftPieces, wholePieces, errPieces := read(int(piece) + 1)
		if got.body != pieces.body && err == nil || whole != wholePieces || whole && left != leftPieces || (err == nil) != (errPieces == nil) {
			t.Fatalf("%q: at once %+v %v %v; in pieces %+v %v %v", stream, got, whole, err, pieces, wholePieces, errPieces)
		}
		n, wantErr := io.Copy(io.Discard, httputil.NewChunkedReader(bytes.NewReader(stream)))
		if wantErr == nil && (got.body != n || got.expects != trailer) {
			t.Fatalf("%q: net/http reads %d bytes to the last chunk; got %d and %v, expecting %d", stream, n, got.body, err, got.expects)
		}
	})
}
