package main

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"schedlab/internal/serving/model"
)

// bareRaw is the floor: one event loop of raw system calls on one thread that
// answers fixed bytes to whatever ends in an empty line. It knows no HTTP, no
// deadline and no limit, and its Date stands still.
func bareRaw(ln net.Listener, _ model.Limits) error {
	runtime.LockOSThread()
	file, err := ln.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer ln.Close() // and not before, as the collector would
	defer file.Close()
	door := int(file.Fd())
	if err := unix.SetNonblock(door, true); err != nil { // Fd has made it block
		return err
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	watch := func(fd int) error {
		return unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
	}
	if err := watch(door); err != nil {
		return err
	}
	kept, last := rawAnswer(""), rawAnswer("Connection: close\r\n")
	burst := bytes.Repeat(kept, 64)
	buf := make([]byte, 16<<10)
	var events [128]unix.EpollEvent
	for {
		// A call that cannot block is not told to Go's scheduler.
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(&events)), uintptr(len(events)), 0, 0, 0)
		count := int(n)
		if errno != 0 || count == 0 {
			if count, err = unix.EpollWait(epoll, events[:], -1); err != nil && err != unix.EINTR {
				return err
			}
		}
		for _, e := range events[:max(count, 0)] {
			fd := int(e.Fd)
			if fd == door {
				conn, _, err := unix.Accept4(door, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
				if err != nil {
					continue // its client has gone
				}
				if err := watch(conn); err != nil {
					return err
				}
				_ = unix.SetsockoptInt(conn, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
				continue
			}
			got := rawTransfer(unix.SYS_READ, fd, buf)
			if got <= 0 {
				_ = unix.Close(fd)
				continue
			}
			asked := bytes.Count(buf[:got], []byte("\r\n\r\n"))
			if bytes.Contains(buf[:got], []byte(": close\r\n")) {
				rawTransfer(unix.SYS_WRITE, fd, last)
				_ = unix.Close(fd)
				continue
			}
			rawTransfer(unix.SYS_WRITE, fd, burst[:asked*len(kept)])
		}
	}
}

func rawTransfer(trap uintptr, fd int, p []byte) int {
	n, _, errno := unix.RawSyscall(trap, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(p)))
	if errno != 0 {
		return -1
	}
	return int(n)
}

func rawAnswer(header string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nServer: schedlab\r\nDate: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n%s",
		time.Now().UTC().Format(http.TimeFormat), plainType, len(plainBody), header, plainBody)
}
