package model_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
)

// A client speaks HTTP/1.1 byte by byte, so that tests see what a server sends
// and choose what it gets.
type client struct {
	*net.TCPConn
	in  *bufio.Reader
	got int // bytes read from the socket
}

func newClient(c *net.TCPConn) *client {
	cl := &client{TCPConn: c}
	cl.in = bufio.NewReader(readFunc(func(p []byte) (int, error) {
		n, err := c.Read(p)
		cl.got += n
		return n, err
	}))
	return cl
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// An answer is one response as it came.
type answer struct {
	Status  int
	Header  []string // "Name: value", sorted; Date has no value
	Body    string
	Size    int // bytes of head and body
	Interim []int
	Kept    bool // the server took another request afterwards
}

func (a answer) field(name string) string {
	for _, line := range a.Header {
		if v, ok := strings.CutPrefix(line, name+": "); ok {
			return v
		}
	}
	return ""
}

// get is a request for target, kept alive; getClose is one that is not.
func get(target string) string { return "GET " + target + " HTTP/1.1\r\nHost: test\r\n\r\n" }
func getClose(target string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
}

// ask sends a request and reads its answer.
func (c *client) ask(request string) (answer, error) {
	if _, err := io.WriteString(c, request); err != nil {
		return answer{}, err
	}
	method, _, _ := strings.Cut(request, " ")
	return c.read(method)
}

// read reads the whole answer to a request of that method.
func (c *client) read(method string) (answer, error) {
	before := c.got - c.in.Buffered()
	var a answer
	var length = -1
	chunked := false
	for {
		status, err := c.line()
		if err != nil {
			return a, err
		}
		var minor int
		if _, err := fmt.Sscanf(status, "HTTP/1.%d %d ", &minor, &a.Status); err != nil {
			return a, fmt.Errorf("reading status line %q: %w", status, err)
		}
		for {
			line, err := c.line()
			if err != nil {
				return a, unexpected(err)
			}
			if line == "" {
				break
			}
			name, value, _ := strings.Cut(line, ": ")
			switch strings.ToLower(name) {
			case "date":
				line = "Date: "
			case "content-length":
				if length, err = strconv.Atoi(value); err != nil {
					return a, err
				}
			case "transfer-encoding":
				chunked = true
			}
			a.Header = append(a.Header, line)
		}
		if a.Status >= 200 {
			break
		}
		a.Interim = append(a.Interim, a.Status)
	}
	slices.Sort(a.Header)

	body := io.Reader(c.in)
	switch {
	case method == "HEAD" || a.Status == 204 || length == 0:
		body = strings.NewReader("")
	case chunked:
		body = httputil.NewChunkedReader(c.in)
	case length > 0:
		body = io.LimitReader(c.in, int64(length))
	}
	b, err := io.ReadAll(body)
	if err == nil && method != "HEAD" && length > len(b) {
		err = io.ErrUnexpectedEOF
	}
	a.Body, a.Size = string(b), c.got-c.in.Buffered()-before
	return a, err
}

func (c *client) line() (string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil && line != "" {
		err = unexpected(err)
	}
	return strings.TrimRight(line, "\r\n"), err
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// reset closes the connection with RST instead of FIN.
func (c *client) reset() {
	c.SetLinger(0)
	c.Close()
}
