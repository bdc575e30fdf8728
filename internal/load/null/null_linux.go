// Package null is a server that does as little as a server can: one thread, raw epoll,
// and the same short reply to whatever ends in an empty line. What a load measures of it
// is the load's own time, and the kernel's. It reads no request, so it serves nobody else.
package null

import (
	"context"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

var answer = []byte("HTTP/1.1 200 OK\r\nServer: null\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nok\n")

// wakeEvery bounds how late the context's end is seen.
const wakeEvery = 100 // ms

// Serve answers on a loopback address, host:port, until the context ends.
func Serve(ctx context.Context, addr string) error {
	tcp, err := net.ResolveTCPAddr("tcp4", addr)
	if err != nil {
		return fmt.Errorf("the address %s: %w", addr, err)
	}
	s := &server{matched: map[int32]int{}, in: make([]byte, 64<<10)}
	if s.listener, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	defer func() { _ = unix.Close(s.listener) }()
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	defer func() { _ = unix.Close(s.epoll) }()
	at := &unix.SockaddrInet4{Port: tcp.Port, Addr: [4]byte(tcp.IP.To4())}
	for _, step := range []func() error{
		func() error { return unix.SetsockoptInt(s.listener, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) },
		func() error { return unix.Bind(s.listener, at) },
		func() error { return unix.Listen(s.listener, 4096) },
		func() error { return s.watch(s.listener) },
	} {
		if err := step(); err != nil {
			return fmt.Errorf("listening on %s: %w", addr, err)
		}
	}
	events := make([]unix.EpollEvent, 256)
	for ctx.Err() == nil {
		n, err := unix.EpollWait(s.epoll, events, wakeEvery)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("waiting for events: %w", err)
		}
		for _, e := range events[:max(n, 0)] {
			if int(e.Fd) == s.listener {
				s.accept()
			} else {
				s.serve(e.Fd)
			}
		}
	}
	return nil
}

type server struct {
	listener, epoll int
	in              []byte
	matched         map[int32]int // bytes of an empty line that a connection's input ends with
}

func (s *server) watch(fd int) error {
	return unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

func (s *server) accept() {
	for {
		fd, _, err := unix.Accept4(s.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return
		}
		if unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1) != nil || s.watch(fd) != nil {
			_ = unix.Close(fd)
		}
	}
}

// serve takes what one connection has sent. A connection that cannot take its replies
// at once is closed.
func (s *server) serve(fd int32) {
	n, err := unix.Read(int(fd), s.in)
	if err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	ok, matched := err == nil && n > 0, s.matched[fd]
	for _, b := range s.in[:max(n, 0)] {
		if matched = next(matched, b); matched == len(emptyLine) {
			matched = 0
			written, err := unix.Write(int(fd), answer)
			ok = ok && err == nil && written == len(answer)
		}
	}
	s.matched[fd] = matched
	if !ok {
		delete(s.matched, fd)
		_ = unix.Close(int(fd))
	}
}

const emptyLine = "\r\n\r\n"

// next is how much of an empty line is matched after one more byte.
func next(matched int, b byte) int {
	switch {
	case b == emptyLine[matched]:
		return matched + 1
	case b == '\r':
		return 1
	}
	return 0
}
