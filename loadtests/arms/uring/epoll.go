//go:build linux

package main

import (
	"fmt"

	"golang.org/x/sys/unix"

	"schedlab/loadtests/arms/quiet"
)

// serveEpoll is serveRing with the same connections and answers over epoll: it is told which sockets are ready, and
// reads and writes each by itself.
func (s *server) serveEpoll() error {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("epoll_create1: %w", err)
	}
	for _, fd := range []int{s.listener, s.stopped} {
		if err := quiet.Watch(poll, unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN); err != nil {
			return err
		}
	}
	s.accepting = true
	var (
		events [1024]unix.EpollEvent
		buffer [64 << 10]byte
	)
	for {
		if !s.accepting && s.room {
			if err := quiet.Watch(poll, unix.EPOLL_CTL_MOD, s.listener, unix.EPOLLIN); err != nil {
				return err
			}
			s.accepting = true
		}
		n, err := s.ready(poll, events[:])
		if err != nil {
			return err
		}
		for _, event := range events[:n] {
			switch fd := int(event.Fd); fd {
			case s.stopped:
				return nil
			case s.listener:
				if err := s.accept(poll); err != nil {
					return err
				}
			default:
				c := s.conns[fd]
				if !c.blocked {
					n, errno := quiet.Transfer(unix.SYS_READ, fd, buffer[:], 0)
					switch {
					case n > 0:
						s.answer(c, buffer[:n])
					case errno != unix.EAGAIN && errno != unix.EINTR:
						c.ended = true
					}
				}
				if err := s.write(poll, c); err != nil {
					return err
				}
			}
		}
	}
}

// ready waits until a socket is ready. With raw Go's scheduler is told of nothing; else it is told only if a first look finds
// none.
func (s *server) ready(poll int, events []unix.EpollEvent) (n int, err error) {
	if !s.raw {
		n, err = quiet.Wait(poll, events, &unix.Timespec{}, false)
	}
	for n == 0 && err == nil {
		n, err = quiet.Wait(poll, events, nil, s.raw)
	}
	return n, err
}

// accept takes the connections that wait.
func (s *server) accept(poll int) error {
	for {
		fd, _, err := unix.Accept4(s.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
		case unix.EAGAIN:
			return nil
		case unix.EINTR, unix.ECONNABORTED:
			continue
		case unix.EMFILE:
			s.accepting, s.room = false, false
			return quiet.Watch(poll, unix.EPOLL_CTL_MOD, s.listener, 0)
		default:
			return fmt.Errorf("accepting: %w", err)
		}
		s.connection(fd)
		if err := quiet.Watch(poll, unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN); err != nil {
			return err
		}
	}
}

// write writes what waits. What the socket does not take waits until it does, and nothing is read meanwhile.
func (s *server) write(poll int, c *conn) error {
	for len(c.out) > 0 {
		n, errno := quiet.Transfer(unix.SYS_WRITE, c.fd, c.out, 0)
		if errno == unix.EAGAIN || errno == unix.EINTR {
			break
		}
		if errno != 0 {
			c.ended, c.out = true, nil
			break
		}
		c.out = c.out[:copy(c.out, c.out[n:])]
	}
	switch waits := len(c.out) > 0; {
	case !waits && (c.last || c.ended):
		s.close(c)
	case waits && !c.blocked:
		c.blocked = true
		return quiet.Watch(poll, unix.EPOLL_CTL_MOD, c.fd, unix.EPOLLOUT)
	case !waits && c.blocked:
		c.blocked = false
		return quiet.Watch(poll, unix.EPOLL_CTL_MOD, c.fd, unix.EPOLLIN)
	}
	return nil
}
