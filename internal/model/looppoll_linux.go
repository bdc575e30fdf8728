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

// A goPoller lets a loop wait for its events as any goroutine waits for a socket: Go's own
// poller watches the loop's epoll. If the thread waited in a system call, it would keep its P
// from the workers it has just woken until sysmon takes it away and wakes another thread
// (docs/decisions/0007).
type goPoller struct {
	file     *os.File // a second descriptor of the loop's epoll
	raw      syscall.RawConn
	check    func(fd uintptr) bool
	deadline time.Duration // of file, by the loop's clock; 0: none
	n        int           // events that check found
	errno    syscall.Errno
}

func (l *eventLoop) openPoller() error {
	fd, err := unix.FcntlInt(uintptr(l.epoll), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // or Go's poller would not take it
		_ = unix.Close(fd)
		return os.NewSyscallError("fcntl", err)
	}
	p := &l.poller
	p.file = os.NewFile(uintptr(fd), "epoll")
	if p.raw, err = p.file.SyscallConn(); err != nil {
		return fmt.Errorf("waiting for the loop's events: %w", err)
	}
	p.check = func(uintptr) bool {
		p.n, p.errno = l.pollNow()
		return p.n > 0 || p.errno != 0
	}
	return nil
}

// pollNow looks for events without waiting, in a raw system call that Go's scheduler does not
// see.
func (l *eventLoop) pollNow() (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events)), maxBatch, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// pollWait waits for events, at most for wait and often less: setting a deadline costs as much
// as a system call, so the deadline of an earlier wait is kept.
func (l *eventLoop) pollWait(wait time.Duration) (int, error) {
	p := &l.poller
	if now := l.clock(); p.deadline == 0 || p.deadline > now+wait {
		p.deadline = now + wait
		if err := p.file.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return 0, err
		}
	}
	p.n, p.errno = 0, 0
	switch err := p.raw.Read(p.check); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.deadline = 0
		return 0, nil
	case err != nil:
		return 0, err
	case p.errno != 0 && p.errno != unix.EINTR:
		return 0, p.errno
	}
	return p.n, nil
}
