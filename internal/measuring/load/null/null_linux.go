// Package null is a server that does as little as a server can: one thread, raw epoll,
// and the same short reply to any bytes that end in an empty line. A load that runs against
// it measures the load's own time and the kernel's. It does not parse requests, so it is of
// no use as a real server.
//
// With a service time it is a metronome, a server with known response times; tools/peers
// tests load tools with it. Each reply is due at a fixed time on the clock. When another
// program takes the CPU, the present reply is late but later replies are not.
package null

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// answer is the reply to every request.
var answer = []byte(reply11)

const (
	// wakeEvery bounds the delay until the end of the context is seen.
	wakeEvery = 100 * time.Millisecond
	// ahead is the time before a reply is due at which the thread stops waiting and begins
	// to poll the clock.
	ahead = 100 * time.Microsecond
)

// Serve answers the connections of ln until the context ends, and closes ln. It answers each
// request the time service after reading it. If all stations are busy then, service begins
// when one becomes free. stations 0 means any number of stations.
func Serve(ctx context.Context, ln *net.TCPListener, service time.Duration, stations int) error {
	file, err := ln.File()
	_ = ln.Close() // file is a second descriptor, which Go's poller does not watch
	if err != nil {
		return err
	}
	defer file.Close()
	s := &server{
		listener: int(file.Fd()), matched: map[int32]int{}, in: make([]byte, 64<<10), epoch: time.Now(),
		replyQueue: replyQueue{service: service, free: make([]time.Duration, stations)},
	}
	// accept takes connections until none waits, so it must not block.
	if err := unix.SetNonblock(s.listener, true); err != nil {
		return err
	}
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	defer func() { _ = unix.Close(s.epoll) }()
	if err := s.watch(s.listener); err != nil {
		return err
	}
	events := make([]unix.EpollEvent, 256)
	for ctx.Err() == nil {
		n, err := s.await(events)
		if err != nil {
			return fmt.Errorf("waiting for events: %w", err)
		}
		for _, e := range events[:n] {
			if int(e.Fd) == s.listener {
				s.accept()
			} else {
				s.serve(e.Fd)
			}
		}
		for len(s.replies) > 0 && s.replies[0].due <= time.Since(s.epoch) {
			fd := s.replies[0].fd
			s.replies = append(s.replies[:0], s.replies[1:]...) // in place: nothing for a collector to do
			if !reply(fd) {
				s.drop(fd)
			}
		}
	}
	return nil
}

// A server is the one thread of Serve: its epoll set, and for each connection how far its input matches
// the end of a request.
type server struct {
	listener, epoll int
	in              []byte
	matched         map[int32]int // per connection: how many bytes of emptyLine its input ends with
	epoch           time.Time
	replyQueue
}

// watch makes epoll report when fd can be read.
func (s *server) watch(fd int) error {
	return unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
}

// await waits for events, until shortly before the next reply is due, and returns their number.
// It may wait 50 µs longer, the slack of the kernel's timers.
func (s *server) await(events []unix.EpollEvent) (int, error) {
	wait := wakeEvery
	if len(s.replies) > 0 {
		wait = min(wait, max(0, s.replies[0].due-ahead-time.Since(s.epoch)))
	}
	ts := unix.NsecToTimespec(int64(wait))
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(s.epoll), uintptr(unsafe.Pointer(&events[0])),
		uintptr(len(events)), uintptr(unsafe.Pointer(&ts)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR: // Go's own signals, SIGSTOP and SIGCONT
		return 0, nil
	}
	return 0, os.NewSyscallError("epoll_pwait2", errno)
}

// accept takes all connections that wait to be accepted.
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

// serve reads the bytes that one connection has sent, and answers or queues its requests.
func (s *server) serve(fd int32) {
	n, err := unix.Read(int(fd), s.in)
	if err == unix.EAGAIN || err == unix.EINTR {
		return
	}
	ok, matched := err == nil && n > 0, s.matched[fd]
	for _, b := range s.in[:max(n, 0)] {
		// Several requests may come in one read, and the end of one may be split between two reads.
		if matched = next(matched, b); matched < len(emptyLine) {
			continue
		}
		if matched = 0; s.service > 0 {
			// With a service time the reply waits in the queue until it is due.
			s.take(fd, time.Since(s.epoch))
		} else {
			ok = ok && reply(fd)
		}
	}
	if s.matched[fd] = matched; !ok {
		s.drop(fd)
	}
}

// reply answers one request, and reports whether the connection took the answer at once.
func reply(fd int32) bool {
	n, err := unix.Write(int(fd), answer)
	return err == nil && n == len(answer)
}

// drop closes a connection.
func (s *server) drop(fd int32) {
	s.forget(fd)
	delete(s.matched, fd)
	_ = unix.Close(int(fd))
}

// emptyLine ends a request that has no body.
const emptyLine = "\r\n\r\n"

// next returns how many bytes of emptyLine are matched after one more byte.
func next(matched int, b byte) int {
	switch {
	case b == emptyLine[matched]:
		return matched + 1
	case b == '\r':
		return 1
	}
	return 0
}

// A dueReply is an answer that has still to be sent.
type dueReply struct {
	fd  int32
	due time.Duration // on the server's clock
}

// A replyQueue holds the answers still to be sent, the next one first. With a fixed service
// time no answer overtakes another.
type replyQueue struct {
	service time.Duration
	free    []time.Duration // time at which each station is free, a ring; empty: any number of stations
	first   int             // the station that is free first
	replies []dueReply
}

// take queues the answer to a request that was read at now.
func (q *replyQueue) take(fd int32, now time.Duration) {
	begin := now
	if len(q.free) > 0 {
		begin = max(now, q.free[q.first])
		q.free[q.first] = begin + q.service
		q.first = (q.first + 1) % len(q.free)
	}
	q.replies = append(q.replies, dueReply{fd, begin + q.service})
}

// forget drops the answers to a client that has gone, because another will get its descriptor.
// The stations stay busy for them.
func (q *replyQueue) forget(fd int32) {
	q.replies = slices.DeleteFunc(q.replies, func(d dueReply) bool { return d.fd == fd })
}
