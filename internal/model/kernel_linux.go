package model

import (
	"io"
	"math"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"schedlab/internal/timeline"
)

// received is the number of bytes the kernel has received on a connection so far.
func received(fd int) (uint64, error) {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0, err
	}
	return info.Bytes_received, nil
}

// hungUp reports whether the other end has closed the connection or its sending side.
func hungUp(fd int) bool {
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	n, err := unix.Poll(poll, 0)
	return err == nil && n > 0
}

// acceptQueue is how many connections wait on a listening socket, and the limit: for such a
// socket tcpi_unacked and tcpi_sacked hold these.
func acceptQueue(fd int) (depth, limit int, err error) {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return 0, 0, err
	}
	return int(info.Unacked), int(info.Sacked), nil
}

// ignoreNew makes the kernel ignore new handshakes, so that the accept queue can
// be emptied for good: closing the socket resets the connections that wait there, requests
// included. A client that is ignored tries again after a second and is then refused.
func ignoreNew(fd int) error {
	const flags, syn = 13, 0x02 // the byte of a TCP header and the bit in it (RFC 9293 §3.1)
	program := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: syn, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0}, // drop
		{Code: unix.BPF_RET | unix.BPF_K, K: math.MaxUint32},
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
}

// dealAtRandom makes the kernel draw one of n sockets that share the address of fd for each
// new connection.
func dealAtRandom(fd, n int) error {
	const random = -0x1000 + 56 // SKF_AD_OFF + SKF_AD_RANDOM of linux/filter.h
	return chooseSocket(fd, []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: random & math.MaxUint32},
		{Code: unix.BPF_ALU | unix.BPF_MOD | unix.BPF_K, K: uint32(n)},
		{Code: unix.BPF_RET | unix.BPF_A},
	})
}

// dealToFirst makes it choose the one that was opened first.
func dealToFirst(fd int) error {
	return chooseSocket(fd, []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0}})
}

// chooseSocket gives the sockets that share the address of fd a program whose result is the
// number of the one that a new connection goes to, in the order in which they were opened.
func chooseSocket(fd int, program []unix.SockFilter) error {
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF,
		&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
}

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
