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

	"schedlab/internal/shared/timeline"
)

// received returns the number of bytes that the kernel has received on a connection so far.
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

// acceptQueue returns the accept queue of a listening socket: for such a socket tcpi_unacked and
// tcpi_sacked hold its figures.
func acceptQueue(fd int) (AcceptQueue, error) {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return AcceptQueue{}, err
	}
	return AcceptQueue{Waiting: int(info.Unacked), Limit: int(info.Sacked)}, nil
}

// ignoreNew makes the kernel ignore new handshakes, so that the accept queue can be emptied for
// good. Without it, closing the socket would reset the connections that wait there, and their
// requests. A client that is ignored tries again after a second and is then refused.
func ignoreNew(fd int) error {
	const flags, syn = 13, 0x02 // the byte of a TCP header and the bit in it (RFC 9293 §3.1)
	// Load the byte with the flags; if SYN is set, keep 0 bytes of the packet, otherwise all.
	return attach(fd, unix.SO_ATTACH_FILTER, []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_B | unix.BPF_ABS, K: flags},
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: syn, Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0}, // drop
		{Code: unix.BPF_RET | unix.BPF_K, K: math.MaxUint32},
	})
}

// attach installs a program that the kernel runs, at the point that option names.
func attach(fd, option int, program []unix.SockFilter) error {
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, option, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
}

// dealAmong makes the kernel choose a socket for each new connection at random among the first n, in the
// order in which they were opened, of the sockets that share the address of fd.
func dealAmong(fd, n int) error {
	const random = -0x1000 + 56 // SKF_AD_OFF + SKF_AD_RANDOM of linux/filter.h
	// Load a random number, and return it modulo n: the socket's index.
	return attach(fd, unix.SO_ATTACH_REUSEPORT_CBPF, []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: random & math.MaxUint32},
		{Code: unix.BPF_ALU | unix.BPF_MOD | unix.BPF_K, K: uint32(n)},
		{Code: unix.BPF_RET | unix.BPF_A},
	})
}

// kernelStamps reads a connection together with the time at which the kernel received the last
// byte (SO_TIMESTAMPNS). Only one reader may use it at a time.
//
// head, vector and control are the arguments of recvmsg(2), kept here so that a read allocates
// nothing. control has room for a stamp.
type kernelStamps struct {
	raw     syscall.RawConn // of a Conn
	attempt func(fd uintptr) bool
	n       int
	errno   syscall.Errno

	head    unix.Msghdr
	vector  unix.Iovec
	control [64]byte
}

// askKernelStamps makes the kernel stamp the arrival of bytes, on a listening socket and on the
// connections that it accepts.
func askKernelStamps(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
}

func (k *kernelStamps) read(c *net.TCPConn, p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	if k.raw == nil {
		if k.raw, err = c.SyscallConn(); err != nil {
			return 0, err
		}
		k.attempt = k.try // made once, because each method value is an allocation
	}
	k.message(p)
	err = k.raw.Read(k.attempt)
	k.vector.Base = nil // keeps no reference to the caller's buffer
	switch {
	case err != nil:
		return 0, err
	case k.errno != 0:
		return 0, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("recvmsg", k.errno)}
	case k.n == 0:
		return 0, io.EOF
	}
	return k.n, nil
}

// try reads once and reports whether it got bytes or an error. Go's scheduler sees the call,
// just as it sees the read of a connection without stamps. A call that it does not see wakes no
// sysmon, and the server would use less CPU time with stamps than without
// (docs/evidence/findings-syscalls.md).
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

// received returns the time at which the kernel received the last of the bytes just read, on the
// timeline's clock, which shows now; 0 if the kernel sent no stamp with them.
func (k *kernelStamps) received(now int64) int64 {
	if uint64(k.head.Controllen) < uint64(unix.CmsgLen(sizeofTimespec)) {
		return 0
	}
	head := (*unix.Cmsghdr)(unsafe.Pointer(&k.control[0]))
	if head.Level != unix.SOL_SOCKET || head.Type != unix.SCM_TIMESTAMPNS {
		return 0
	}
	stamp := (*unix.Timespec)(unsafe.Pointer(&k.control[unix.CmsgLen(0)]))
	return min(stamp.Nano()-wall.ahead(now), now)
}

// wall converts the kernel's stamps, which are times of day, to the timeline's clock.
var wall timeOfDay

// A timeOfDay holds how far the time of day is ahead of the timeline's clock, in nanoseconds.
// The two clocks are compared again after a millisecond, because the time of day may be set
// meanwhile. A comparison for every request would cost another stamp. If the thread loses its
// CPU during a comparison, the result is wrong by that time, so it is used for the present
// request only. A timeOfDay is safe for concurrent use.
type timeOfDay struct{ gap, compared atomic.Int64 }

// ahead returns the gap at the time now of the timeline's clock.
func (w *timeOfDay) ahead(now int64) int64 {
	if now-w.compared.Load() > int64(time.Millisecond) {
		t := time.Now()
		gap := t.UnixNano() - timeline.At(t)
		if timeline.Now()-now > mostBetween {
			return gap // used for this request only
		}
		w.gap.Store(gap)
		w.compared.Store(now)
	}
	return w.gap.Load()
}

// mostBetween is the longest time, in nanoseconds, that reading the two clocks may take.
const mostBetween = 10_000

const sizeofTimespec = int(unsafe.Sizeof(unix.Timespec{}))
