// Command metronome is a server whose response times are known: it answers every
// request a fixed time after it was read or, if all its stations were busy then,
// after one became free. The answer is due at a moment of the clock, so what other
// programs take of its CPU delays an answer and never the ones after it. With it
// tools/peers tests what load tools say.
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

// A debt is an answer to come.
type debt struct {
	fd  int
	due time.Duration // on the clock of its books
}

// books are the answers that a server owes, the next one first: a fixed service
// time lets nobody overtake.
type books struct {
	service time.Duration
	free    []time.Duration // when each station is, in a circle; empty: any number
	next    int             // the station that is free first
	debts   []debt
}

// take notes a request that was read at now.
func (b *books) take(fd int, now time.Duration) {
	begin := now
	if len(b.free) > 0 {
		begin = max(now, b.free[b.next])
		b.free[b.next] = begin + b.service
		b.next = (b.next + 1) % len(b.free)
	}
	b.debts = append(b.debts, debt{fd, begin + b.service})
}

// ahead is how long before an answer is due the waiting ends and the looking at the
// clock begins.
const ahead = 100 * time.Microsecond

// wait is how long to wait for requests: nil without an answer to give, until
// something comes.
func (b *books) wait(now time.Duration) *unix.Timespec {
	if len(b.debts) == 0 {
		return nil
	}
	left := unix.NsecToTimespec(int64(max(0, b.debts[0].due-now-ahead)))
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
	door := int(file.Fd())
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(epoll) }()
	watch := func(fd int) error {
		return unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
	}
	if err := errors.Join(unix.SetNonblock(door, true), watch(door)); err != nil {
		return err
	}
	var (
		b      = books{service: service, free: make([]time.Duration, stations)}
		epoch  = time.Now()
		events [128]unix.EpollEvent
		buf    = make([]byte, 16<<10)
	)
	for {
		count, err := await(epoll, events[:], b.wait(time.Since(epoch)))
		if err != nil {
			return err
		}
		for _, e := range events[:count] {
			fd := int(e.Fd)
			if fd == door {
				if conn, _, err := unix.Accept4(door, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC); err == nil {
					if err := errors.Join(watch(conn), unix.SetsockoptInt(conn, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)); err != nil {
						return err
					}
				}
				continue
			}
			n, err := unix.Read(fd, buf)
			if n <= 0 || err != nil {
				b.forget(fd)
				_ = unix.Close(fd)
				continue
			}
			now := time.Since(epoch)
			for range bytes.Count(buf[:n], []byte("\r\n\r\n")) {
				b.take(fd, now)
			}
		}
		for len(b.debts) > 0 && b.debts[0].due <= time.Since(epoch) {
			if _, err := unix.Write(b.debts[0].fd, []byte(answer)); err != nil && err != unix.EPIPE && err != unix.ECONNRESET {
				return fmt.Errorf("write: %w", err)
			}
			b.debts = append(b.debts[:0], b.debts[1:]...) // in place: nothing for a collector to do
		}
	}
}

// await waits for something to read; none came if it returns 0. The time to wait is
// exact to the slack of the kernel's timers, some 50 µs.
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

// forget drops what is owed to a client that has gone: its descriptor will be
// another's. The stations have worked all the same.
func (b *books) forget(fd int) {
	kept := b.debts[:0]
	for _, d := range b.debts {
		if d.fd != fd {
			kept = append(kept, d)
		}
	}
	b.debts = kept
}
