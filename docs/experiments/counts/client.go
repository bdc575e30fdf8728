package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// dialLimit is how long a client waits for a connection: a server that drains may leave it unanswered.
	dialLimit = 200 * time.Millisecond
	// answerLimit is how long a client waits for an answer.
	answerLimit = 5 * time.Second
)

// senders returns a function that makes the senders of one stop, by kind of client.
func senders(client, addr string) func(method, path string) sender {
	if client == rawClient {
		return func(method, path string) sender { return newRaw(addr, method, path) }
	}
	t, scheme := transportFor(map[string]string{goClient: plainHTTP, goHTTP2: overHTTP2}[client])
	t.DialContext = (&net.Dialer{Timeout: dialLimit}).DialContext
	t.MaxIdleConnsPerHost = clients
	return func(method, path string) sender {
		return &transported{client: &http.Client{Transport: t, Timeout: answerLimit}, method: method, url: scheme + "://" + addr + path}
	}
}

// A raw sender writes its requests on a connection of its own and sends none again. It looks before it writes, so it sends
// nothing on a connection that it could know to be closed.
type raw struct {
	addr       string
	head, body []byte
	conn       *net.TCPConn // nil: to be made
	kept       bool         // it has answered
	replies    *bufio.Reader
}

func newRaw(addr, method, path string) *raw {
	r := &raw{addr: addr}
	length := ""
	if method == http.MethodPost {
		r.body = bytes.Repeat([]byte("x"), bodyLength)
		length = fmt.Sprintf("Content-Length: %d\r\n", bodyLength)
	}
	r.head = fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", method, path, addr, length)
	return r
}

func (r *raw) close() {
	if r.conn != nil {
		_ = r.conn.Close()
		r.conn = nil
	}
}

// closed reports whether the server has closed the connection, as far as the kernel knows.
func (r *raw) closed() (closed bool) {
	socket, err := r.conn.SyscallConn()
	if err != nil {
		return true
	}
	err = socket.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		closed = n <= 0 && !errors.Is(err, syscall.EAGAIN)
	})
	return closed || err != nil
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}

func (r *raw) send() error {
	if r.conn != nil && r.closed() {
		r.close()
	}
	if r.conn == nil {
		conn, err := net.DialTimeout("tcp", r.addr, dialLimit)
		if err != nil {
			return errGone // refused, or left without an answer
		}
		r.conn, r.kept, r.replies = conn.(*net.TCPConn), false, bufio.NewReader(conn)
	}
	_ = r.conn.SetDeadline(time.Now().Add(answerLimit))
	if n, err := r.conn.Write(r.head); err != nil {
		r.close()
		if n == 0 {
			return r.send() // nothing was sent, so a new connection takes it
		}
		return errLost{seen(err), r.kept}
	}
	// The kernel tells of a reset once: a write that fails with it, even one of no bytes, leaves a clean end to the read.
	var unsent error
	if len(r.body) > 0 {
		_, unsent = r.conn.Write(r.body)
	}
	res, err := http.ReadResponse(r.replies, nil)
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
	}
	if err != nil {
		err = cmp.Or(unsent, err)
	}
	switch {
	case err != nil:
		r.close()
		return errLost{seen(err), r.kept}
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", bytes.Fields(r.head)[1], res.Status)
	case res.Close:
		r.close()
	}
	r.kept = true
	return nil
}

// seen is what a client sees of a request without a whole answer.
func seen(err error) string {
	switch {
	case isTimeout(err):
		return "no answer"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "closed"
	}
	return "other"
}

// A transported sender sends with Go's client.
type transported struct {
	client      *http.Client
	method, url string
}

func (t *transported) close() { t.client.CloseIdleConnections() }

func (t *transported) send() error {
	var body io.Reader
	if t.method == http.MethodPost {
		body = bytes.NewReader(make([]byte, bodyLength))
	}
	req, err := http.NewRequest(t.method, t.url, body)
	if err != nil {
		return err
	}
	var written, kept atomic.Bool // the request, and its connection, of the last attempt
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GetConn:      func(string) { written.Store(false) },
		GotConn:      func(c httptrace.GotConnInfo) { kept.Store(c.Reused) },
		WroteHeaders: func() { written.Store(true) },
	}))
	res, err := t.client.Do(req)
	if err == nil {
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
	}
	switch {
	case err != nil && !written.Load():
		return errGone
	case err != nil:
		return errLost{seen(err), kept.Load()}
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", t.url, res.Status)
	}
	return nil
}
