package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
)

const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// serving serves each connection with the next of these functions, and returns its address. After the last it closes.
func serving(t *testing.T, each ...func(c *net.TCPConn, requests *bufio.Reader)) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i, serve := range each {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if i == len(each)-1 {
				l.Close()
			}
			serve(c.(*net.TCPConn), bufio.NewReader(c))
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	return l.Addr().String()
}

// take reads a request and answers it.
func take(c net.Conn, requests *bufio.Reader, answer string) {
	req, err := http.ReadRequest(requests)
	if err == nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
	_, _ = io.WriteString(c, answer)
}

// A request is lost when some of it was sent and there is no whole answer. A connection that the server closes while it
// is idle loses none, and neither does one that nobody accepts.
func TestRawSender(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		serve []func(*net.TCPConn, *bufio.Reader)
		want  []error
	}{
		"answered, then gone": {
			[]func(*net.TCPConn, *bufio.Reader){func(c *net.TCPConn, r *bufio.Reader) { take(c, r, answer) }},
			[]error{nil, errGone},
		},
		"closed while idle, and accepted again": {
			[]func(*net.TCPConn, *bufio.Reader){
				func(c *net.TCPConn, r *bufio.Reader) { take(c, r, answer) },
				func(c *net.TCPConn, r *bufio.Reader) { take(c, r, answer) },
			},
			[]error{nil, nil, errGone},
		},
		"closed without an answer, on a new connection": {
			[]func(*net.TCPConn, *bufio.Reader){func(c *net.TCPConn, r *bufio.Reader) { take(c, r, "") }},
			[]error{errLost{"closed", false}, errGone},
		},
		"an answer cut short, on a kept connection": {
			[]func(*net.TCPConn, *bufio.Reader){func(c *net.TCPConn, r *bufio.Reader) { take(c, r, answer); take(c, r, answer[:len(answer)-1]) }},
			[]error{nil, errLost{"closed", true}, errGone},
		},
		"reset": {
			[]func(*net.TCPConn, *bufio.Reader){func(c *net.TCPConn, r *bufio.Reader) { take(c, r, answer); take(c, r, ""); _ = c.SetLinger(0) }},
			[]error{nil, errLost{"reset", true}, errGone},
		},
		"told that it is the last": {
			[]func(*net.TCPConn, *bufio.Reader){func(c *net.TCPConn, r *bufio.Reader) {
				take(c, r, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
				_, _ = r.ReadByte() // until the client has closed
			}},
			[]error{nil, errGone},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				s := newRaw(serving(t, tc.serve...), method, "/")
				for i, want := range tc.want {
					if err := s.send(); !errors.Is(err, want) {
						t.Errorf("%s %d: got %v, want %v", method, i, err, want)
					}
					if next := i + 1; next < len(tc.want) && s.conn != nil && !errors.As(tc.want[next], new(errLost)) {
						_, _ = s.replies.Peek(1) // until the server has closed
					}
				}
				s.close()
			}
		})
	}
}
