package load

import (
	"net"
	"unsafe"

	"golang.org/x/sys/unix"

	"schedlab/internal/record"
)

// States of a spinConn.
const (
	spinClosed = iota
	spinOpening
	spinOpen
)

// A spinConn is a place for one connection, and the requests under way on it.
type spinConn struct {
	fd    int
	index int32
	life  int32 // of the socket: an event of an earlier one is stale
	state uint8
	fresh bool // it has not answered yet
	heard bool // a byte of the present reply has come
	full  bool // the socket took no more: the kernel tells when it does
	mark  bool // its loop has it among those to serve: it is not to be added again

	out     []byte // rendered requests, of which the kernel has written bytes
	written int
	reader  replyReader

	ring          []int32 // requests under way, by their place in the log
	oldest, count int

	idle    bool // one of the idle crowd
	audited bool // how long its replies wait is noted
}

func (k *spinConn) push(i int) {
	at := k.oldest + k.count
	if at >= len(k.ring) {
		at -= len(k.ring)
	}
	k.ring[at] = int32(i)
	k.count++
}

func (k *spinConn) pop() {
	if k.oldest++; k.oldest == len(k.ring) {
		k.oldest = 0
	}
	k.count--
}

// A rawAddress is the server's, as the kernel takes it.
type rawAddress struct {
	family int
	four   unix.RawSockaddrInet4
	six    unix.RawSockaddrInet6
}

func newRawAddress(a *net.TCPAddr) (r rawAddress) {
	port := uint16(a.Port)<<8 | uint16(a.Port)>>8 // in the network's order
	if ip := a.IP.To4(); ip != nil || a.IP == nil {
		r.family = unix.AF_INET
		r.four = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: port}
		if copy(r.four.Addr[:], ip) == 0 {
			r.four.Addr = [4]byte{127, 0, 0, 1}
		}
		return r
	}
	r.family = unix.AF_INET6
	r.six = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: port}
	copy(r.six.Addr[:], a.IP.To16())
	return r
}

// connect begins to open a connection on fd.
func (r *rawAddress) connect(fd int) unix.Errno {
	at, size := unsafe.Pointer(&r.four), unsafe.Sizeof(r.four)
	if r.family == unix.AF_INET6 {
		at, size = unsafe.Pointer(&r.six), unsafe.Sizeof(r.six)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(at), size)
	return errno
}

// put writes a request on a connection that has room for it, and opens one if need be.
func (s *spinner) put(k *spinConn, i int) {
	s.stack(k, i)
	if k.state == spinClosed {
		s.connect(k)
		return
	}
	s.ready(k)
	s.flush(k)
}

// stack renders a request behind what k has still to write.
func (s *spinner) stack(k *spinConn, i int) {
	e := s.log.at(i)
	e.conn = k.index
	k.push(i)
	k.out = s.asked.template(uint64(i)).request(k.out, uint64(i), s.asked.demand(i))
}

// ready stamps the requests of k that had no open connection yet.
func (s *spinner) ready(k *spinConn) {
	if k.count == 0 {
		return
	}
	s.now = s.clock()
	s.stamp(k, max(s.now, 1))
}

// unready takes that back, of a connection that proved not to be open.
func (s *spinner) unready(k *spinConn) { s.stamp(k, 0) }

// stamp gives those requests of k a time that differ in having one: the newest.
func (s *spinner) stamp(k *spinConn, at int64) {
	for n := k.count - 1; n >= 0; n-- {
		place := k.oldest + n
		if place >= len(k.ring) {
			place -= len(k.ring)
		}
		e := s.log.at(int(k.ring[place]))
		if (e.wrote == 0) == (at == 0) {
			return
		}
		e.ready, e.wrote = at, at
	}
}

// flush hands what is rendered to the kernel. It reports whether k is still open.
func (s *spinner) flush(k *spinConn) bool {
	for k.written < len(k.out) {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(k.fd), uintptr(unsafe.Pointer(&k.out[k.written])), uintptr(len(k.out)-k.written), unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			k.written += int(n)
		case unix.EINTR:
		case unix.EAGAIN:
			if !k.full {
				k.full = true
				s.watchFor(k, unix.EPOLL_CTL_MOD, unix.EPOLLOUT)
			}
			return true
		default:
			// A server may refuse and close before it has read the request: its answer
			// can still be there.
			life := k.life
			if s.read(k, true); k.life == life && k.state == spinOpen {
				s.broken(k, record.Reset)
			}
			return false
		}
	}
	k.out, k.written = k.out[:0], 0
	if k.full {
		k.full = false
		s.watchFor(k, unix.EPOLL_CTL_MOD, 0)
	}
	return true
}

// watchFor has the kernel report events of k: what can be read, and more.
func (s *spinner) watchFor(k *spinConn, how int, more uint32) {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff | more, Fd: k.index, Pad: k.life}
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(s.epoll), uintptr(how), uintptr(k.fd), uintptr(unsafe.Pointer(&e)), 0, 0)
	if errno != 0 {
		s.err = errno
	}
}

// handle takes what one connection has come to.
func (s *spinner) handle(k *spinConn, events uint32, life int32) {
	if k.life != life || k.state == spinClosed { // an earlier event of the same batch closed it
		return
	}
	if k.state == spinOpening && !s.opened(k) {
		return
	}
	if events&unix.EPOLLOUT != 0 && k.written < len(k.out) && !s.flush(k) {
		return
	}
	if events&^unix.EPOLLOUT != 0 {
		s.read(k, events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0)
	}
}

// read takes what the socket has. ending says that the connection's end is to be read
// too.
func (s *spinner) read(k *spinConn, ending bool) {
	life := k.life
	for k.life == life && k.state == spinOpen {
		n, errno := s.receive(k)
		s.now = s.clock()
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return
		case errno != 0:
			s.broken(k, record.Reset)
			return
		case n == 0:
			s.hungUp(k)
			return
		}
		s.replies(k, s.in[:n])
		if int(n) < readSize && !ending {
			return
		}
	}
}

// receive reads what k's socket has.
func (s *spinner) receive(k *spinConn) (n uintptr, errno unix.Errno) {
	if k.audited && s.running {
		return s.audit.receive(k.fd, s.in)
	}
	n, _, errno = unix.RawSyscall(unix.SYS_READ, uintptr(k.fd), uintptr(unsafe.Pointer(&s.in[0])), readSize)
	return n, errno
}

// hungUp takes the end of what the server sends.
func (s *spinner) hungUp(k *spinConn) {
	if rep, whole := k.reader.end(); whole && k.count > 0 {
		s.answered(k, rep)
	}
	if k.state == spinOpen {
		s.broken(k, record.Reset)
	}
}

// replies takes the replies in b.
func (s *spinner) replies(k *spinConn, b []byte) {
	if k.idle {
		s.idleReply(k, b)
		return
	}
	for len(b) > 0 && k.state == spinOpen {
		if k.count == 0 { // nobody asked for it
			s.broken(k, record.Reset)
			return
		}
		i := int(k.ring[k.oldest])
		e := s.log.at(i)
		if !k.heard {
			k.heard, e.first = true, max(s.now, 1)
		}
		rest, rep, whole, err := k.reader.next(b, &s.heads, s.asked.template(uint64(i)).bodiless)
		if err != nil {
			s.broken(k, record.Reset)
			return
		}
		if b = rest; !whole {
			return
		}
		if k.count == 1 && (len(b) > 0 || k.written < len(k.out)) {
			// More than was asked for, or a reply before its request was written whole:
			// what comes next could not be told apart.
			rep.keep = false
		}
		s.answered(k, rep)
	}
}

// answered takes a whole reply to the oldest request of k.
func (s *spinner) answered(k *spinConn, rep reply) {
	i := int(k.ring[k.oldest])
	e := s.log.at(i)
	k.pop()
	k.fresh, k.heard = false, false
	over := !rep.keep || !s.asked.keepAlive
	e.status, e.bytes, e.ends = rep.status, bodyBytes(rep.bytes), over && k.count == 0
	s.finish(i, record.Answered)
	if over {
		s.drop(k, record.Reset)
		return
	}
	s.freed = true
	s.loop.free(k)
}

// drop closes k, fails what was under way on it, and offers its place to the loop.
func (s *spinner) drop(k *spinConn, out record.Outcome) {
	s.shut(k)
	for k.count > 0 {
		i := int(k.ring[k.oldest])
		k.pop()
		s.log.at(i).ends = k.count == 0
		s.finish(i, out)
	}
	s.freed = true
	s.loop.free(k)
}

// broken ends a connection. As net/http's Transport does, a safe request is sent once
// more, on a new connection, when one that had answered before turns out closed and not
// a byte of reply was read.
func (s *spinner) broken(k *spinConn, out record.Outcome) {
	if k.idle {
		s.idleLost(k)
		return
	}
	if out == record.Reset && k.count == 1 && len(k.ring) == 1 && !k.fresh && !k.heard && k.state == spinOpen {
		i := int(k.ring[k.oldest])
		if tp := s.asked.template(uint64(i)); tp.idempotent {
			s.shut(k)
			e := s.log.at(i)
			e.ready, e.wrote = 0, 0
			k.out = tp.request(k.out, uint64(i), s.asked.demand(i))
			s.connect(k)
			return
		}
	}
	s.drop(k, out)
}

// connect opens k's socket. On loopback the connection is there when connect returns,
// though it says that it is in progress: what is rendered is written at once.
func (s *spinner) connect(k *spinConn) {
	fd, _, errno := unix.RawSyscall(unix.SYS_SOCKET, uintptr(s.addr.family), unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if errno != 0 {
		s.failed(k, errno)
		return
	}
	k.fd, k.state, k.fresh, k.heard, k.full = int(fd), spinOpening, true, false, false
	k.life++
	s.opening++
	if errno = noDelay(k.fd); errno == 0 && k.audited {
		errno = tellArrival(k.fd)
	}
	if errno == 0 {
		errno = s.addr.connect(k.fd)
	}
	if errno != 0 && errno != unix.EINPROGRESS && errno != unix.EINTR {
		s.failed(k, errno)
		return
	}
	if len(k.out) > 0 {
		s.ready(k)
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(k.fd), uintptr(unsafe.Pointer(&k.out[0])), uintptr(len(k.out)), unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			k.written = int(n)
			fallthrough
		case unix.EPIPE, unix.ECONNRESET: // it was open, and is closed already
			s.watchFor(k, unix.EPOLL_CTL_ADD, 0)
			s.connected(k)
			return
		}
		s.unready(k)
		if errno != unix.EAGAIN && errno != unix.EINTR {
			s.failed(k, errno)
			return
		}
	}
	k.full = true
	s.watchFor(k, unix.EPOLL_CTL_ADD, unix.EPOLLOUT)
}

func noDelay(fd int) unix.Errno {
	on := int32(1)
	_, _, errno := unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_NODELAY, uintptr(unsafe.Pointer(&on)), unsafe.Sizeof(on), 0)
	return errno
}

// opened takes the end of a connection's opening, and reports whether it is open.
func (s *spinner) opened(k *spinConn) bool {
	code, size := int32(0), unsafe.Sizeof(int32(0))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(k.fd), unix.SOL_SOCKET, unix.SO_ERROR, uintptr(unsafe.Pointer(&code)), uintptr(unsafe.Pointer(&size)), 0)
	if errno == 0 {
		errno = unix.Errno(code)
	}
	if errno != 0 {
		s.failed(k, errno)
		return false
	}
	return s.connected(k)
}

// connected writes what waited for the connection, and reports whether it is open.
func (s *spinner) connected(k *spinConn) bool {
	s.opening--
	s.dialled++
	k.state = spinOpen
	if k.idle && !s.askIdle(k) {
		return false
	}
	s.ready(k)
	return s.flush(k)
}

// failed takes a connection that could not be opened. Before the load that is left to
// the first request on it.
func (s *spinner) failed(k *spinConn, err unix.Errno) {
	s.now = s.clock()
	if err == unix.EADDRNOTAVAIL || err == unix.EMFILE || err == unix.ENFILE {
		s.exhausted++
	}
	if k.idle || !s.running {
		s.shut(k)
		return
	}
	s.drop(k, record.Refused)
}

// shut closes k's socket, if it has one, and forgets what was half read or written.
func (s *spinner) shut(k *spinConn) {
	if k.state == spinOpening {
		s.opening--
	}
	if k.state != spinClosed {
		_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(k.fd), 0, 0)
	}
	k.state, k.fd, k.full, k.heard = spinClosed, -1, false, false
	k.out, k.written = k.out[:0], 0
	k.reader.reset()
}
