package model

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// errLinuxOnly says that this kernel does not report something. A backlog then cannot be read
// back, and a drain waits for connections or cuts them at its timeout.
var errLinuxOnly = errors.New("only Linux tells this of a socket")

// setBacklog calls listen(2) again, the only way to choose the queue's length
// after Go has opened the socket, and reads back what the kernel made of it.
func (l *Listener) setBacklog(ln *net.TCPListener, want int) error {
	if want > 0 {
		if err := control(ln, func(fd int) error { return unix.Listen(fd, want) }); err != nil {
			return fmt.Errorf("setting the backlog: %w", err)
		}
	}
	queue, err := readQueue(ln)
	if errors.Is(err, errLinuxOnly) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the backlog: %w", err)
	}
	l.backlog = queue.Limit
	if l.backlog < want {
		return &BacklogError{Want: want, Got: l.backlog}
	}
	return nil
}

// An AcceptQueue is the kernel's queue of connections that are not accepted yet.
// It holds one more than its limit before it overflows.
type AcceptQueue struct{ Waiting, Limit int }

// readQueue reads a listening socket's accept queue. It costs about 1.5 µs.
func readQueue(ln *net.TCPListener) (q AcceptQueue, err error) {
	err = control(ln, func(fd int) (err error) {
		q.Waiting, q.Limit, err = acceptQueue(fd)
		return err
	})
	return q, err
}

// AcceptQueue reads the accept queue of the i-th socket; ok is false when that socket is
// closed.
func (l *Listener) AcceptQueue(i int) (q AcceptQueue, ok bool) {
	q, err := readQueue(l.sockets[i].tcp)
	return q, err == nil
}

// control calls f with the listening socket.
func control(ln *net.TCPListener, f func(fd int) error) error {
	raw, err := ln.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	return errors.Join(raw.Control(func(fd uintptr) { failed = f(int(fd)) }), failed)
}

// A BacklogError says that the kernel cut the accept queue short.
type BacklogError struct{ Want, Got int }

func (e *BacklogError) Error() string {
	return fmt.Sprintf("backlog %d is above the kernel's limit %d; lower --backlog or raise net.core.somaxconn", e.Want, e.Got)
}
