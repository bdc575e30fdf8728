// Command metronome is a server whose response times are known: it answers every
// request a fixed time after it was read or, if all its stations were busy then,
// after one became free. Each answer is due at a moment of the clock, so when another
// program takes its CPU an answer is late and those after it are not. tools/peers uses it
// to test what load tools report.
//
// One thread waits in epoll until shortly before the next answer is due, and then
// looks at the clock. It knows no HTTP: it answers whatever ends in an empty line,
// and expects to read a request as a whole. Its address is the first line of its
// standard error, as JSON.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	service := flag.Duration("service", time.Millisecond, "what a station takes for a request")
	stations := flag.Int("stations", 0, "how many requests are served at a time (0: any number)")
	flag.Parse()
	err := listen(*service, *stations)
	fmt.Fprintln(os.Stderr, "metronome:", err)
	os.Exit(1)
}

func listen(service time.Duration, stations int) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer ln.Close()
	fmt.Fprintf(os.Stderr, `{"addr":%q}`+"\n", ln.Addr())
	return serve(ln.(*net.TCPListener), service, stations)
}

const answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nok\n"

// A dueReply is an answer to come.
type dueReply struct {
	fd  int
	due time.Duration // on the server's clock
}

// A replyQueue holds the answers to come, the next one first: with a fixed service time
// none overtakes another.
type replyQueue struct {
	service time.Duration
	free    []time.Duration // when each station is, in a circle; empty: any number
	next    int             // the station that is free first
	replies []dueReply
}

// take notes a request that was read at now.
func (q *replyQueue) take(fd int, now time.Duration) {
	begin := now
	if len(q.free) > 0 {
		begin = max(now, q.free[q.next])
		q.free[q.next] = begin + q.service
		q.next = (q.next + 1) % len(q.free)
	}
	q.replies = append(q.replies, dueReply{fd, begin + q.service})
}

// ahead is how long before an answer is due the thread stops waiting and polls the clock.
const ahead = 100 * time.Microsecond

// wait is how long to wait for requests; nil, for ever, where no answer is due.
func (q *replyQueue) wait(now time.Duration) *unix.Timespec {
	if len(q.replies) == 0 {
		return nil
	}
	left := unix.NsecToTimespec(int64(max(0, q.replies[0].due-now-ahead)))
	return &left
}

// serve answers the connections of a listener until something fails.
func serve(ln *net.TCPListener, service time.Duration, stations int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	file, err := ln.File()
	if err != nil {
		return err
	}
	defer file.Close()
	listener := int(file.Fd())
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(epoll) }()
	watch := func(fd int) error {
		return unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
	}
	if err := errors.Join(unix.SetNonblock(listener, true), watch(listener)); err != nil {
		return err
	}
	var (
		q      = replyQueue{service: service, free: make([]time.Duration, stations)}
		epoch  = time.Now()
		events [128]unix.EpollEvent
		buf    = make([]byte, 16<<10)
	)
	for {
		count, err := await(epoll, events[:], q.wait(time.Since(epoch)))
		if err != nil {
			return err
		}
		for _, e := range events[:count] {
			fd := int(e.Fd)
			if fd == listener {
				if conn, _, err := unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC); err == nil {
					if err := errors.Join(watch(conn), unix.SetsockoptInt(conn, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)); err != nil {
						return err
					}
				}
				continue
			}
			n, err := unix.Read(fd, buf)
			if n <= 0 || err != nil {
				q.forget(fd)
				_ = unix.Close(fd)
				continue
			}
			now := time.Since(epoch)
			for range bytes.Count(buf[:n], []byte("\r\n\r\n")) {
				q.take(fd, now)
			}
		}
		for len(q.replies) > 0 && q.replies[0].due <= time.Since(epoch) {
			if _, err := unix.Write(q.replies[0].fd, []byte(answer)); err != nil && err != unix.EPIPE && err != unix.ECONNRESET {
				return fmt.Errorf("write: %w", err)
			}
			q.replies = append(q.replies[:0], q.replies[1:]...) // in place: nothing for a collector to do
		}
	}
}

// await waits for events and returns their number. It may wait 50 µs longer than asked, the
// slack of the kernel's timers.
func await(epoll int, events []unix.EpollEvent, wait *unix.Timespec) (int, error) {
	n, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))),
		uintptr(len(events)), uintptr(unsafe.Pointer(wait)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR: // Go's own signals, and a stop and its end
		return 0, nil
	}
	return 0, os.NewSyscallError("epoll_pwait2", errno)
}

// forget drops the answers to a client that has gone: another will get its descriptor. The
// stations have been busy all the same.
func (q *replyQueue) forget(fd int) {
	kept := q.replies[:0]
	for _, d := range q.replies {
		if d.fd != fd {
			kept = append(kept, d)
		}
	}
	q.replies = kept
}
