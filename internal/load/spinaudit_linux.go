package load

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"schedlab/internal/record"
)

// auditedConns is on how many connections replies are audited: few, as it takes a dearer
// system call and a second clock.
const auditedConns = 4

// A readAudit has the kernel tell when replies came, on a few connections, and so how long
// they lay there until the loop read them.
type readAudit struct {
	waits  *record.Histogram // nil: no connection is audited
	header unix.Msghdr
	room   unix.Iovec
	told   [64]byte // what the kernel tells beside the bytes
}

// auditReplies has the first of the given connections audited once they are open.
func (s *spinner) auditReplies(conns []spinConn) {
	s.audit.waits = record.NewHistogram()
	for i := range conns[:min(len(conns), auditedConns)] {
		conns[i].audited = true
	}
}

// tellArrival has the kernel tell of a socket when its bytes came.
func tellArrival(fd int) unix.Errno {
	on := int32(1)
	_, _, errno := unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, uintptr(unsafe.Pointer(&on)), unsafe.Sizeof(on), 0)
	return errno
}

// receive is a read of fd that notes how long the bytes had been there.
func (a *readAudit) receive(fd int, in []byte) (n uintptr, errno unix.Errno) {
	a.room.Base = &in[0]
	a.room.SetLen(len(in))
	a.header = unix.Msghdr{Iov: &a.room, Iovlen: 1, Control: &a.told[0]}
	a.header.SetControllen(len(a.told))
	n, _, errno = unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&a.header)), 0)
	size := unix.SizeofCmsghdr + int(unsafe.Sizeof(unix.Timespec{}))
	if errno != 0 || n == 0 || int(a.header.Controllen) < size {
		return n, errno
	}
	kind := (*unix.Cmsghdr)(unsafe.Pointer(&a.told[0]))
	if kind.Level == unix.SOL_SOCKET && kind.Type == unix.SCM_TIMESTAMPNS {
		came := (*unix.Timespec)(unsafe.Pointer(&a.told[unix.SizeofCmsghdr])).Nano()
		a.waits.Record(time.Duration(time.Now().UnixNano() - came))
	}
	return n, errno
}

// audited adds to p how long replies waited to be read.
func (p *Proof) audited(a *readAudit) {
	if a.waits == nil || a.waits.Count() == 0 {
		return
	}
	p.ReadLate = &record.ReadLate{Replies: a.waits.Count(), P50: a.waits.Quantile(.5).Seconds(), P99: a.waits.Quantile(.99).Seconds()}
}
