//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"unsafe"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"schedlab/internal/shared/workload"
	"schedlab/loadtests/arms/arm"
	"schedlab/loadtests/arms/quiet"
)

// A server is one loop. Its thread alone touches connections.
type server struct {
	app        *workload.App
	epoll, raw bool
	file       *os.File // keeps listener open
	listener   int
	stopped    int           // an eventfd: readable when the server is to stop
	ended      chan struct{} // closed when serve returns
	conns      []*conn

	// With no descriptor left (EMFILE) the server accepts nothing until it has closed a connection: to try again at once
	// would keep its thread busy.
	accepting bool // over epoll: the listener is watched; over a ring: an accept is under way
	room      bool // a descriptor may be free

	bytes bytes.Reader
	in    *bufio.Reader
	out   *bufio.Writer
	req   fasthttp.Request
	res   fasthttp.Response
}

// A conn is a connection: what it has received of a request that is not whole yet, and what is to be sent.
type conn struct {
	fd      int
	rest    []byte
	out     []byte // answers that are not being sent yet
	sending []byte // what the kernel is sending, until it says that it has
	blocked bool   // over epoll: out waits until the socket takes more
	last    bool   // out ends with the last answer
	ended   bool   // nothing more will be received
}

const badRequest = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

func newServer(app *workload.App, addr string, epoll, raw bool) (*server, error) {
	tcp, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return nil, fmt.Errorf("-listen: %w", err)
	}
	l, err := net.ListenTCP("tcp4", tcp)
	if err != nil {
		return nil, err
	}
	file, err := l.File() // a descriptor that Go's poller does not watch
	if err != nil {
		return nil, err
	}
	l.Close()
	s := &server{app: app, epoll: epoll, raw: raw, file: file, listener: int(file.Fd()), ended: make(chan struct{}), room: true}
	if err := unix.SetNonblock(s.listener, true); err != nil {
		return nil, err
	}
	if s.stopped, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	s.in, s.out = bufio.NewReader(&s.bytes), bufio.NewWriter(io.Discard)
	if raw {
		quiet.SecondP()
	}
	return s, nil
}

// stop ends serve and waits for it. No request is under way between two rounds of the loop, except those that have not
// come whole.
func (s *server) stop(ctx context.Context) error {
	if _, err := unix.Write(s.stopped, []byte{1, 0, 0, 0, 0, 0, 0, 0}); err != nil {
		return err
	}
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve serves on the calling goroutine's thread.
func (s *server) serve() error {
	defer close(s.ended)
	runtime.LockOSThread()
	if s.epoll {
		return s.serveEpoll()
	}
	return s.serveRing()
}

// connection returns the state of a descriptor, new for a new one.
func (s *server) connection(fd int) *conn {
	for fd >= len(s.conns) {
		s.conns = append(s.conns, nil)
	}
	if s.conns[fd] == nil {
		s.conns[fd] = &conn{fd: fd}
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	return s.conns[fd]
}

func (s *server) close(c *conn) {
	s.conns[c.fd] = nil
	_ = unix.Close(c.fd)
	s.room = true
}

// answer puts the answers of all whole requests that c has received into c.out, and keeps the rest.
func (s *server) answer(c *conn, received []byte) {
	if len(c.rest) > 0 {
		received = append(c.rest, received...)
	}
	for len(received) > 0 && !c.last {
		used, err := s.parse(received)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil || s.req.MayContinue() {
			c.out, c.last = append(c.out, badRequest...), true
			return
		}
		received = received[used:]
		s.res.Reset()
		arm.Fast(s.app.Serve, &s.req, &s.res)
		s.res.SkipBody = s.req.Header.IsHead()
		s.out.Reset(appender{&c.out})
		_ = s.res.Write(s.out) // memory does not fail
		_ = s.out.Flush()
		c.last = s.res.ConnectionClose()
	}
	c.rest = append(c.rest[:0], received...)
}

// parse reads one request from the start of b and returns its length.
func (s *server) parse(b []byte) (used int, err error) {
	s.req.Reset()
	s.bytes.Reset(b)
	s.in.Reset(&s.bytes)
	err = s.req.ReadLimitBody(s.in, arm.MaxBody+1)
	return len(b) - s.bytes.Len() - s.in.Buffered(), err
}

// An appender writes to the end of a slice.
type appender struct{ to *[]byte }

func (a appender) Write(p []byte) (int, error) {
	*a.to = append(*a.to, p...)
	return len(p), nil
}

// The kinds of a ring's requests; the low half of User is the descriptor.
const (
	isAccept = (iota + 1) << 32
	isStop
	isRecv
	isSend
)

func (s *server) serveRing() error {
	r, err := newRing(s.raw)
	if err != nil {
		return err
	}
	accept := func() {
		q := r.next()
		q.Op, q.Priority, q.FD, q.User = opAccept, acceptMore, int32(s.listener), isAccept
	}
	receive := func(c *conn) {
		q := r.next()
		q.Op, q.Flags, q.Priority, q.FD, q.Group, q.User = opRecv, selectBuffer, recvMore, int32(c.fd), group, isRecv|uint64(c.fd)
	}
	var counter [8]byte
	q := r.next()
	q.Op, q.FD, q.Addr, q.Len, q.User = opRead, int32(s.stopped), uint64(uintptr(unsafe.Pointer(&counter))), uint32(len(counter)), isStop
	isOver := false
	var failed error
	handle := func(done completion) {
		fd, goesOn := int(uint32(done.User)), done.Flags&moreFollow != 0
		switch done.User &^ (1<<32 - 1) {
		case isStop:
			isOver = true
		case isAccept:
			errno := unix.Errno(max(0, -done.Res))
			s.accepting, s.room = goesOn, s.room || errno != unix.EMFILE
			switch errno {
			case 0:
				receive(s.connection(int(done.Res)))
			case unix.EINTR, unix.ECONNABORTED, unix.EMFILE:
			default:
				failed = fmt.Errorf("accepting: %w", errno)
			}
		case isRecv:
			c := s.conns[fd]
			switch {
			case done.Res > 0:
				data, number := r.received(done)
				s.answer(c, data)
				r.release(number)
				if !goesOn {
					receive(c)
				}
			case done.Res == -int32(unix.ENOBUFS): // all buffers are in use until this round ends
				receive(c)
			default:
				c.ended = true
			}
			s.send(r, c)
		case isSend:
			c := s.conns[fd]
			if int(done.Res) < len(c.sending) {
				c.ended, c.out = true, nil // the client is gone
				_ = unix.Shutdown(c.fd, unix.SHUT_RDWR)
			}
			c.sending = c.sending[:0]
			s.send(r, c)
		}
	}
	for !isOver && failed == nil {
		if !s.accepting && s.room {
			accept()
			s.accepting, s.room = true, false
		}
		if err := r.wait(); err != nil {
			return err
		}
		r.each(handle)
	}
	runtime.KeepAlive(&counter)
	return failed
}

// send has the ring send what waits, one buffer at a time. A connection whose last answer is sent is shut down; the recv
// that still runs then ends, and with it the connection.
func (s *server) send(r *ring, c *conn) {
	switch {
	case len(c.sending) > 0:
	case len(c.out) > 0:
		c.out, c.sending = c.sending, c.out
		q := r.next()
		q.Op, q.FD, q.Addr, q.Len, q.OpFlags, q.User = opSend, int32(c.fd), uint64(uintptr(unsafe.Pointer(&c.sending[0]))), uint32(len(c.sending)), unix.MSG_NOSIGNAL|unix.MSG_WAITALL, isSend|uint64(c.fd)
	case c.ended:
		s.close(c)
	case c.last:
		_ = unix.Shutdown(c.fd, unix.SHUT_RDWR)
	}
}
