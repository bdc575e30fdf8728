package model

import (
	"math"

	"golang.org/x/sys/unix"
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
