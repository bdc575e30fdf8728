package load

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"schedlab/internal/record"
)

// auditedConns is the number of connections that are audited. It is small, because each
// audited read needs a slower system call and another clock.
const auditedConns = 4

// A readAudit measures, on a few connections, how long replies waited in the kernel until
// the loop read them. The kernel stamps their arrival.
//
// The audit checks the claim that spin reads replies at once. Only open loops with kept connections
// are audited; the result is Proof.ReadLate.
type readAudit struct {
	waits   *record.Histogram // nil: no connection is audited
	header  unix.Msghdr
	room    unix.Iovec
	control [64]byte // control messages of the last read
}

// auditReplies marks the first of the given connections for auditing.
func (s *spinner) auditReplies(conns []spinConn) {
	s.audit.waits = record.NewHistogram()
	for i := range conns[:min(len(conns), auditedConns)] {
		conns[i].audited = true
	}
}

// stampArrivals makes the kernel report when a socket's bytes arrived.
// A read with recvmsg then returns the time as a control message (socket(7), SO_TIMESTAMP).
func stampArrivals(fd int) unix.Errno {
	on := int32(1)
	_, _, errno := unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, uintptr(unsafe.Pointer(&on)), unsafe.Sizeof(on), 0)
	return errno
}

// receive reads fd and records how long the bytes had been waiting.
func (a *readAudit) receive(fd int, in []byte) (n uintptr, errno unix.Errno) {
	a.room.Base = &in[0]
	a.room.SetLen(len(in))
	// recvmsg overwrites the lengths in the header, so it is set again for every read.
	a.header = unix.Msghdr{Iov: &a.room, Iovlen: 1, Control: &a.control[0]}
	a.header.SetControllen(len(a.control))
	n, _, errno = unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&a.header)), 0)
	size := unix.SizeofCmsghdr + int(unsafe.Sizeof(unix.Timespec{}))
	// Without the control message the read itself is still good.
	if errno != 0 || n == 0 || int(a.header.Controllen) < size {
		return n, errno
	}
	kind := (*unix.Cmsghdr)(unsafe.Pointer(&a.control[0]))
	if kind.Level == unix.SOL_SOCKET && kind.Type == unix.SCM_TIMESTAMPNS {
		// The kernel stamps with the wall clock, so the wait is measured by that, not by the load's clock.
		came := (*unix.Timespec)(unsafe.Pointer(&a.control[unix.SizeofCmsghdr])).Nano()
		a.waits.Record(time.Duration(time.Now().UnixNano() - came))
	}
	return n, errno
}

// addReadAudit adds how long replies waited to be read.
func (p *Proof) addReadAudit(a *readAudit) {
	if a.waits == nil || a.waits.Count() == 0 {
		return
	}
	p.ReadLate = &record.ReadLate{Replies: a.waits.Count(), P50: a.waits.Quantile(.5).Seconds(), P99: a.waits.Quantile(.99).Seconds()}
}
