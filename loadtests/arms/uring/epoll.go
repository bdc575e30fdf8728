//go:build linux

package main

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// serveEpoll is serveRing with the same connections and answers over epoll: it is told which sockets are ready, and
// reads and writes each by itself.
func (s *server) serveEpoll() error {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("epoll_create1: %w", err)
	}
	for _, fd := range []int{s.listener, s.stopped} {
		if err := watch(poll, unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN); err != nil {
			return err
		}
	}
	var (
		events [1024]unix.EpollEvent
		buffer [64 << 10]byte
	)
	for {
		n, err := s.ready(poll, events[:])
		if err != nil {
			return err
		}
		for _, event := range events[:n] {
			switch fd := int(event.Fd); fd {
			case s.stopped:
				return nil
			case s.listener:
				for {
					fd, _, err := unix.Accept4(s.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
					if err != nil {
						break
					}
					s.connection(fd)
					if err := watch(poll, unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN); err != nil {
						return err
					}
				}
			default:
				c := s.conns[fd]
				if !c.blocked {
					n, errno := transfer(unix.SYS_READ, fd, buffer[:])
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

// ready waits until a socket is ready. It asks first without waiting, which Go's scheduler need not be told of.
func (s *server) ready(poll int, events []unix.EpollEvent) (int, error) {
	call, wait := unix.RawSyscall6, 0
	if s.raw {
		wait = -1
	}
	for {
		n, _, errno := call(unix.SYS_EPOLL_PWAIT, uintptr(poll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(wait), 0, 0)
		switch {
		case errno != 0 && errno != unix.EINTR:
			return 0, fmt.Errorf("epoll_pwait: %w", errno)
		case errno == 0 && n > 0:
			return int(n), nil
		case errno == unix.EINTR:
			// The runtime sends a signal to stop the thread, as for a garbage collection. It stops here.
			runtime.Gosched()
		case !s.raw:
			call, wait = unix.Syscall6, -1
		}
	}
}

// write writes what waits. What the socket does not take waits until it does, and nothing is read meanwhile.
func (s *server) write(poll int, c *conn) error {
	for len(c.out) > 0 {
		n, errno := transfer(unix.SYS_WRITE, c.fd, c.out)
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
		return watch(poll, unix.EPOLL_CTL_MOD, c.fd, unix.EPOLLOUT)
	case !waits && c.blocked:
		c.blocked = false
		return watch(poll, unix.EPOLL_CTL_MOD, c.fd, unix.EPOLLIN)
	}
	return nil
}

func watch(poll, how, fd int, what uint32) error {
	if err := unix.EpollCtl(poll, how, fd, &unix.EpollEvent{Events: what, Fd: int32(fd)}); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// transfer reads or writes on a socket that never makes its caller wait, without telling Go's scheduler.
func transfer(call uintptr, fd int, b []byte) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	return int(n), errno
}
