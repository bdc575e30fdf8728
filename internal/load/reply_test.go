package load

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// A readConn is a connection that only reads.
type readConn struct {
	net.Conn
	r io.Reader
}

func (c readConn) Read(p []byte) (int, error) { return c.r.Read(p) }

func reading(r io.Reader) *conn {
	k := newConn()
	k.nc = readConn{r: r}
	return k
}

func TestReadReply(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 10_000)
	for name, test := range map[string]struct {
		text  string
		head  bool
		want  reply
		after string // what is left to read
	}{
		"plain":          {text: plainReply, want: reply{200, 13, true}},
		"next follows":   {text: okReply + okReply, want: reply{200, 3, true}, after: okReply},
		"close":          {text: "HTTP/1.1 200 OK\r\nconnection: Close\r\ncontent-length: 0\r\n\r\n", want: reply{200, 0, false}},
		"keep-alive":     {text: "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx", want: reply{200, 1, true}},
		"several tokens": {text: "HTTP/1.1 200 OK\r\nConnection: keep-alive, close\r\nContent-Length: 1\r\n\r\nx", want: reply{200, 1, false}},
		"no reason":      {text: "HTTP/1.1 503\r\nContent-Length: 2\r\n\r\nno", want: reply{503, 2, true}},
		"no content":     {text: "HTTP/1.1 204 No Content\r\n\r\nnext", want: reply{204, 0, true}, after: "next"},
		"not modified":   {text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\nnext", want: reply{304, 0, true}, after: "next"},
		"HEAD":           {text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nnext", head: true, want: reply{200, 0, true}, after: "next"},
		"HEAD, chunked":  {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnext", head: true, want: reply{200, 0, true}, after: "next"},
		"chunked":        {text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\nnext", want: reply{200, 5, true}, after: "next"},
		"until closed":   {text: "HTTP/1.1 200 OK\r\n\r\nto the end", want: reply{200, 10, false}},
		"HTTP/1.0":       {text: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", want: reply{200, 2, false}},
		"interim":        {text: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + okReply, want: reply{200, 3, true}},
		"upgrade":        {text: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nraw", want: reply{101, 0, false}, after: "raw"},
		"bare line ends": {text: "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", want: reply{200, 2, true}},
		"large head":     {text: "HTTP/1.1 200 OK\r\nX: " + big + "\r\nContent-Length: 2\r\n\r\nok", want: reply{200, 2, true}},
		"large body":     {text: "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + big, want: reply{200, 10_000, true}},
		"same length":    {text: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok", want: reply{200, 2, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for how, r := range map[string]io.Reader{
				"at once":        strings.NewReader(test.text),
				"byte for byte":  iotest.OneByteReader(strings.NewReader(test.text)),
				"half and error": iotest.DataErrReader(strings.NewReader(test.text)),
			} {
				k := reading(r)
				got, err := k.readReply(test.head)
				if err != nil || got != test.want {
					t.Errorf("%s: got %+v, %v; want %+v", how, got, err, test.want)
				}
				if rest, _ := io.ReadAll(k.br); string(rest) != test.after {
					t.Errorf("%s: left %q, want %q", how, rest, test.after)
				}
			}
		})
	}
}

func TestReadReplyRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":         "",
		"half a head":     "HTTP/1.1 200 OK\r\nContent-Le",
		"half a body":     "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok",
		"half a chunk":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nok",
		"not HTTP":        "SSH-2.0-OpenSSH_9.6\r\n\r\n",
		"no status":       "HTTP/1.1 abc OK\r\n\r\n",
		"low status":      "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n",
		"two lengths":     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
		"negative length": "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
		"endless head":    "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", maxHead/6+10_000) + "\r\n",
		"interim only":    "HTTP/1.1 100 Continue\r\n\r\n",
	} {
		if got, err := reading(strings.NewReader(text)).readReply(false); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}

func TestUnaskedBytesEndTheConnection(t *testing.T) {
	t.Parallel()
	k := newConn()
	k.nc = &cannedConn{reply: []byte(okReply + "surplus")}
	if rep, err := k.exchange(time.Time{}, false); err != nil || rep.keep {
		t.Errorf("got %+v, %v; want a reply whose connection is given up", rep, err)
	}
}

// Whatever net/http reads as a reply, the driver reads as the same one.
func FuzzReadReply(f *testing.F) {
	for _, seed := range []string{
		plainReply, okReply + okReply, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"HTTP/0.0 200\n\r\n", "HTTP/1.0 200 OK\r\n\r\nbody", "HTTP/1.1 100 Continue\r\n\r\n" + okReply,
		"HTTP/1.1 200 OK\r\nContent-Length : 3\r\nA:\r\n b\r\n\r\nabc",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, head bool) {
		got, gotErr := reading(bytes.NewReader(text)).readReply(head)
		want, wantErr := reference(text, head)
		if wantErr == nil && (gotErr != nil || got != want) {
			t.Errorf("got %+v, %v; net/http reads %+v", got, gotErr, want)
		}
		if gotErr == nil && (got.status < 100 || got.status > 999 || got.bytes < 0 || got.bytes > int64(len(text))) {
			t.Errorf("got %+v from %d bytes", got, len(text))
		}
	})
}

// reference reads a reply with net/http alone.
func reference(text []byte, head bool) (reply, error) {
	req := &http.Request{Method: http.MethodGet}
	if head {
		req.Method = http.MethodHead
	}
	br := bufio.NewReader(bytes.NewReader(text))
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
