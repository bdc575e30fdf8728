package model

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"schedlab/internal/timeline"
)

// kernelStamps reads a connection together with the kernel's stamp of when its last byte came
// in (SO_TIMESTAMPNS). It is used by one reader at a time.
type kernelStamps struct {
	raw     syscall.RawConn // of a Conn
	attempt func(fd uintptr) bool
	n       int
	errno   syscall.Errno

	head    unix.Msghdr
	vector  unix.Iovec
	control [64]byte
}

// askKernelStamps has the kernel note when bytes come in, on a listening socket
// and those it accepts.
func askKernelStamps(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
}

// read is a Read of c, with when it was done.
func (k *kernelStamps) read(c *net.TCPConn, p []byte) (n int, at readTimes, err error) {
	if len(p) == 0 {
		return 0, readTimes{}, nil
	}
	if k.raw == nil {
		if k.raw, err = c.SyscallConn(); err != nil {
			return 0, readTimes{}, err
		}
		k.attempt = k.try // made once: it would be allocated each time
	}
	k.message(p)
	err = k.raw.Read(k.attempt)
	k.vector.Base = nil
	switch {
	case err != nil:
		return 0, readTimes{}, err
	case k.errno != 0:
		return 0, readTimes{}, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("recvmsg", k.errno)}
	case k.n == 0:
		return 0, readTimes{}, io.EOF
	}
	return k.n, k.times(k.n), nil
}

// try reads once and reports whether there was something to read, or an error. Go's scheduler
// sees the call, as it sees the read of a connection without stamps: an unseen one wakes no
// sysmon, and the server would use less CPU time than it does unstamped
// (docs/findings-syscalls.md).
func (k *kernelStamps) try(fd uintptr) bool {
	for {
		n, _, errno := unix.Syscall(unix.SYS_RECVMSG, fd, uintptr(unsafe.Pointer(&k.head)), 0)
		k.n, k.errno = int(n), errno
		switch errno {
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			return true
		}
	}
}

// message prepares the message header for a read into p.
func (k *kernelStamps) message(p []byte) unsafe.Pointer {
	k.vector.Base = unsafe.SliceData(p)
	k.vector.SetLen(len(p))
	k.head = unix.Msghdr{Iov: &k.vector, Control: &k.control[0]}
	k.head.SetIovlen(1)
	k.head.SetControllen(len(k.control))
	return unsafe.Pointer(&k.head)
}

// times are when the kernel received the last of the n bytes just read, and now.
func (k *kernelStamps) times(n int) readTimes {
	if n <= 0 || uint64(k.head.Controllen) < uint64(unix.CmsgLen(sizeofTimespec)) {
		return readTimes{}
	}
	head := (*unix.Cmsghdr)(unsafe.Pointer(&k.control[0]))
	if head.Level != unix.SOL_SOCKET || head.Type != unix.SCM_TIMESTAMPNS {
		return readTimes{}
	}
	stamp := (*unix.Timespec)(unsafe.Pointer(&k.control[unix.CmsgLen(0)]))
	now := timeline.Now()
	return readTimes{received: min(stamp.Nano()-wall.ahead(now), now), returned: now}
}

// wall relates the kernel's stamps, which are times of day, to the timeline's clock.
var wall timeOfDay

// A timeOfDay is how far the time of day is ahead of the timeline's clock. The two are compared
// again after a millisecond, because somebody may set the time of day; to read both for every
// request would cost as much as a stamp. A comparison during which the thread lost its CPU is
// wrong by that time, and is used for its own request only.
type timeOfDay struct{ gap, compared atomic.Int64 }

func (w *timeOfDay) ahead(now int64) int64 {
	if now-w.compared.Load() > int64(time.Millisecond) {
		t := time.Now()
		gap := t.UnixNano() - timeline.At(t)
		if timeline.Now()-now > mostBetween {
			return gap // for this request alone
		}
		w.gap.Store(gap)
		w.compared.Store(now)
	}
	return w.gap.Load()
}

// mostBetween is the longest that reading the clocks may take, in nanoseconds.
const mostBetween = 10_000

const sizeofTimespec = int(unsafe.Sizeof(unix.Timespec{}))
