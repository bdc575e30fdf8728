// Package quiet has the system calls of a loop that serves all its sockets on one thread. Those that never wait are quiet:
// Go's scheduler is not told of them, which saves up to some microseconds each.
package quiet

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SecondP lets the rest of the runtime go on while a thread is in a quiet wait, which keeps its P.
func SecondP() { runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) }

// Watch has the epoll instance poll tell of events of a descriptor. how is EPOLL_CTL_ADD or EPOLL_CTL_MOD.
func Watch(poll, how, fd int, events uint32) error {
	if err := unix.EpollCtl(poll, how, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// Wait fills events with those that come within limit, without a limit if that is nil, and returns their number. It may
// return 0 earlier. raw: the wait is quiet even if it is long.
func Wait(poll int, events []unix.EpollEvent, limit *unix.Timespec, raw bool) (int, error) {
	var (
		n     uintptr
		errno unix.Errno
	)
	if raw || limit != nil && *limit == (unix.Timespec{}) {
		n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(poll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(limit)), 0, 0)
	} else {
		n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(poll), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), uintptr(unsafe.Pointer(limit)), 0, 0)
	}
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		runtime.Gosched() // the runtime's signal asks the thread to stop, as for a garbage collection
		return 0, nil
	}
	return 0, fmt.Errorf("epoll_pwait2, which Linux has since 5.11: %w", errno)
}

// Transfer reads or sends on a socket that never makes its caller wait.
func Transfer(call uintptr, fd int, b []byte, flags uintptr) (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), flags, 0, 0)
	return int(n), errno
}
