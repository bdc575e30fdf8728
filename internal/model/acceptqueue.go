package model

import (
	"errors"
	"fmt"
	"math"
	"net"

	"golang.org/x/sys/unix"
)

// setBacklog calls listen(2) again, the only way to choose the queue's length
// after Go has opened the socket, and reads back what the kernel made of it.
func (l *Listener) setBacklog(ln *net.TCPListener, want int) error {
	if want > 0 {
		if err := control(ln, func(fd int) error { return unix.Listen(fd, want) }); err != nil {
			return fmt.Errorf("setting the backlog: %w", err)
		}
	}
	queue, err := acceptQueue(ln)
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

// acceptQueue reads a listening socket's tcpi_unacked and tcpi_sacked
// (tcp_get_info in net/ipv4/tcp.c). It costs about 1.5 µs.
func acceptQueue(ln *net.TCPListener) (q AcceptQueue, err error) {
	err = control(ln, func(fd int) error {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			q = AcceptQueue{Waiting: int(info.Unacked), Limit: int(info.Sacked)}
		}
		return err
	})
	return q, err
}

// AcceptQueue reads the accept queue of the i-th socket; ok is false when that
// is closed.
func (l *Listener) AcceptQueue(i int) (q AcceptQueue, ok bool) {
	q, err := acceptQueue(l.sockets[i].tcp)
	return q, err == nil
}

// ignoreNew makes the kernel ignore new handshakes, so that the accept queue can
// be emptied for good: closing the socket resets whatever waits there, requests
// included. A client ignored tries again after a second and is then refused.
func (s *socket) ignoreNew() error {
	const flags, syn = 13, 0x02 // the byte of a TCP header and the bit in it (RFC 9293 §3.1)
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: syn, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0}, // drop
		{Code: unix.BPF_RET | unix.BPF_K, K: math.MaxUint32},
	}
	return control(s.tcp, func(fd int) error {
		return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	})
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
