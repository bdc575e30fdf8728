package model

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A parking place lets a loop wait for its events as any goroutine waits for a
// socket: Go's own poller watches the loop's epoll. A thread that waits in a system
// call of its own loses its P to sysmon, which wakes another thread for it, and
// until sysmon looks keeps it from the workers it has just woken
// (docs/decisions/0007).
type parking struct {
	file  *os.File // a second descriptor of the loop's epoll
	raw   syscall.RawConn
	look  func(fd uintptr) bool
	until time.Duration // the deadline that file has, by the loop's clock; 0: none
	n     int           // events that look found
	errno syscall.Errno
}

func (l *eventLoop) makeParking() error {
	fd, err := unix.FcntlInt(uintptr(l.epoll), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // or Go's poller would not have it
		_ = unix.Close(fd)
		return os.NewSyscallError("fcntl", err)
	}
	p := &l.parking
	p.file = os.NewFile(uintptr(fd), "epoll")
	if p.raw, err = p.file.SyscallConn(); err != nil {
		return fmt.Errorf("waiting for the loop's events: %w", err)
	}
	p.look = func(uintptr) bool {
		p.n, p.errno = l.glance()
		return p.n > 0 || p.errno != 0
	}
	return nil
}

// glance looks for events and does not wait. Go's scheduler is not told.
func (l *eventLoop) glance() (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events)), maxBatch, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// park waits for events, at most so long and often less: a deadline costs as much
// as a system call, so one that was set for an earlier wait is kept.
func (l *eventLoop) park(wait time.Duration) (int, error) {
	p := &l.parking
	if now := l.clock(); p.until == 0 || p.until > now+wait {
		p.until = now + wait
		if err := p.file.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return 0, err
		}
	}
	p.n, p.errno = 0, 0
	switch err := p.raw.Read(p.look); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.until = 0
		return 0, nil
	case err != nil:
		return 0, err
	case p.errno != 0 && p.errno != unix.EINTR:
		return 0, p.errno
	}
	return p.n, nil
}
