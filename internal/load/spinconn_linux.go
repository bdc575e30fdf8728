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

// A spinConn is one connection of a load, with its requests in flight. When its socket is
// closed the next request opens another.
//
// A socket's life is connect, then connected when it is open, then flush for each request and read for
// each event, then closeConn. answered, drop and broken end requests and give the connection back to
// the loop. Requests in flight are in ring, the oldest first, because HTTP/1.1 replies come in the
// order of the requests (RFC 9112, section 9.3.2).
type spinConn struct {
	fd         int
	index      int32
	generation int32 // counts the sockets of this connection: an event of an earlier socket is stale
	state      uint8
	fresh      bool // no reply has come on this socket yet
	replyBegun bool // a byte of the next reply has come
	full       bool // the socket's buffer is full; epoll reports when it has room
	queued     bool // the open loop has it in its free list, or the closed loop has queued its client

	out     []byte // rendered requests; the kernel has taken the first written bytes
	written int
	reader  replyReader

	ring          []int32 // indices in the log of the requests in flight
	oldest, count int

	idle    bool // one of Options.Idle
	audited bool // see readAudit
}

// push adds request i to the requests in flight. The ring must have room.
func (k *spinConn) push(i int) {
	at := k.oldest + k.count
	if at >= len(k.ring) {
		at -= len(k.ring)
	}
	k.ring[at] = int32(i)
	k.count++
}

// pop removes the oldest request in flight.
func (k *spinConn) pop() {
	if k.oldest++; k.oldest == len(k.ring) {
		k.oldest = 0
	}
	k.count--
}

// A rawAddress is the server's address in the kernel's form.
type rawAddress struct {
	family int
	four   unix.RawSockaddrInet4
	six    unix.RawSockaddrInet6
}

// newRawAddress converts an address. Without an IP it is 127.0.0.1.
func newRawAddress(a *net.TCPAddr) (r rawAddress) {
	port := uint16(a.Port)<<8 | uint16(a.Port)>>8 // in network byte order
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

// perSource is the number of connections to a server on loopback that come from one source
// address. When more than half of an address's local ports are in use, the kernel searches
// thousands of ports for each new connection, which takes a millisecond.
const perSource = 8192

// connectFrom begins to open connection number index on fd. On loopback the first perSource
// connections come from 127.0.0.1, the next perSource from 127.0.0.2 and so on.
func (r *rawAddress) connectFrom(index int32, fd int) unix.Errno {
	if index >= perSource && r.family == unix.AF_INET && r.four.Addr[0] == 127 {
		from := unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: [4]byte{127, 0, 0, byte(1 + index/perSource)}}
		// Without this option bind itself would choose the port, and each port could be used only once for the
		// source address, whatever the destination.
		on := int32(1) // choose the port in connect, when the destination is known
		_, _, errno := unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, uintptr(unsafe.Pointer(&on)), unsafe.Sizeof(on), 0)
		if errno == 0 {
			_, _, errno = unix.RawSyscall(unix.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(&from)), unsafe.Sizeof(from))
		}
		if errno != 0 {
			return errno
		}
	}
	return r.connect(fd)
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

// sendOn sends request i on k, and opens k if it is closed. k must have room for the request.
func (s *spinner) sendOn(k *spinConn, i int) {
	s.render(k, i)
	if k.state == spinClosed {
		s.connect(k)
		return
	}
	s.stampReady(k)
	s.flush(k)
}

// render appends request i to k's output.
func (s *spinner) render(k *spinConn, i int) {
	e := s.log.at(i)
	e.conn = k.index
	k.push(i)
	k.out = s.script.template(uint64(i)).request(k.out, uint64(i), s.script.demand(i))
}

// stampReady stamps the requests of k that have no stamp yet with the time at which k was
// open.
// Ready and Wrote are the same time, because an open connection's request is written at once.
func (s *spinner) stampReady(k *spinConn) {
	if k.count == 0 {
		return
	}
	s.now = s.clock()
	s.stamp(k, max(s.now, 1))
}

// clearReady removes the stamps of stampReady, because k proved not to be open.
func (s *spinner) clearReady(k *spinConn) { s.stamp(k, 0) }

// stamp sets the stamps of k's newest requests to at, or clears them when at is 0. It stops at
// the first request that already is in the wanted state.
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

// flush writes k's rendered requests. It reports whether k is still open.
func (s *spinner) flush(k *spinConn) bool {
	for k.written < len(k.out) {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(k.fd), uintptr(unsafe.Pointer(&k.out[k.written])), uintptr(len(k.out)-k.written), unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			k.written += int(n)
		case unix.EINTR:
		// The socket's buffer is full. The rest is written when epoll reports room.
		case unix.EAGAIN:
			if !k.full {
				k.full = true
				s.watchFor(k, unix.EPOLL_CTL_MOD, unix.EPOLLOUT)
			}
			return true
		default:
			// A server may answer and close before it has read the request, so an
			// answer may be waiting.
			life := k.generation
			if s.read(k, true); k.generation == life && k.state == spinOpen {
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

// watchFor registers k with epoll for reading, and for the events in more.
// Events are edge-triggered (EPOLLET), so read must empty the socket. Pad comes back with the event
// and tells an event of an earlier socket.
func (s *spinner) watchFor(k *spinConn, how int, more uint32) {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET&0xffffffff | more, Fd: k.index, Pad: k.generation}
	_, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(s.epoll), uintptr(how), uintptr(k.fd), uintptr(unsafe.Pointer(&e)), 0, 0)
	if errno != 0 {
		s.err = errno
	}
}

// handle handles the events of connection k. life is the generation for which they were
// registered.
func (s *spinner) handle(k *spinConn, events uint32, life int32) {
	if k.generation != life || k.state == spinClosed { // an earlier event of the same batch closed it
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

// read reads the socket until it is empty. When ending is true the peer has closed, and read
// goes on until it reads that end too.
func (s *spinner) read(k *spinConn, ending bool) {
	life := k.generation
	for k.generation == life && k.state == spinOpen {
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
			s.serverClosed(k)
			return
		}
		s.replies(k, s.in[:n])
		// A read that does not fill the buffer has emptied the socket. This saves the read that would fail
		// with EAGAIN.
		if int(n) < readSize && !ending {
			return
		}
	}
}

// receive reads once from k's socket.
// Audited connections use a slower system call. See readAudit.
func (s *spinner) receive(k *spinConn) (n uintptr, errno unix.Errno) {
	if k.audited && s.running {
		return s.audit.receive(k.fd, s.in)
	}
	n, _, errno = unix.RawSyscall(unix.SYS_READ, uintptr(k.fd), uintptr(unsafe.Pointer(&s.in[0])), readSize)
	return n, errno
}

// serverClosed handles the end of the server's stream.
func (s *spinner) serverClosed(k *spinConn) {
	// The reply may be one that ends with its connection.
	if rep, whole := k.reader.end(); whole && k.count > 0 {
		s.answered(k, rep)
	}
	if k.state == spinOpen {
		s.broken(k, record.Reset)
	}
}

// replies handles the replies in b.
func (s *spinner) replies(k *spinConn, b []byte) {
	if k.idle {
		s.idleReply(k, b)
		return
	}
	for len(b) > 0 && k.state == spinOpen {
		if k.count == 0 { // a reply without a request
			s.broken(k, record.Reset)
			return
		}
		i := int(k.ring[k.oldest])
		e := s.log.at(i)
		if !k.replyBegun {
			k.replyBegun, e.first = true, max(s.now, 1)
		}
		rest, rep, whole, err := k.reader.next(b, &s.heads, s.script.template(uint64(i)).bodiless)
		if err != nil {
			s.broken(k, record.Reset)
			return
		}
		if b = rest; !whole {
			return
		}
		if k.count == 1 && (len(b) > 0 || k.written < len(k.out)) {
			// There are more bytes than one reply, or the reply came before its request
			// was written whole. It would be unclear which request the next bytes answer.
			rep.keep = false
		}
		s.answered(k, rep)
	}
}

// answered handles a whole reply to the oldest request of k.
func (s *spinner) answered(k *spinConn, rep reply) {
	i := int(k.ring[k.oldest])
	e := s.log.at(i)
	k.pop()
	k.fresh, k.replyBegun = false, false
	// The server or the user wants a new connection for the next request.
	over := !rep.keep || !s.script.keepAlive
	e.status, e.bytes, e.ends = rep.status, bodyBytes(rep.bytes), over && k.count == 0
	s.finish(i, record.Answered)
	if over {
		s.drop(k, record.Reset)
		return
	}
	s.freed = true
	s.loop.free(k)
}

// drop closes k, fails its requests in flight, and gives k back to the loop.
func (s *spinner) drop(k *spinConn, out record.Outcome) {
	s.closeConn(k)
	for k.count > 0 {
		i := int(k.ring[k.oldest])
		k.pop()
		s.log.at(i).ends = k.count == 0
		s.finish(i, out)
	}
	s.freed = true
	s.loop.free(k)
}

// broken handles a connection that failed. Like net/http's Transport, it sends an idempotent
// request once more, on a new connection, if the old connection had answered before and no
// byte of the reply was read.
func (s *spinner) broken(k *spinConn, out record.Outcome) {
	if k.idle {
		s.idleLost(k)
		return
	}
	if out == record.Reset && k.count == 1 && len(k.ring) == 1 && !k.fresh && !k.replyBegun && k.state == spinOpen {
		i := int(k.ring[k.oldest])
		if tp := s.script.template(uint64(i)); tp.idempotent {
			s.closeConn(k)
			e := s.log.at(i)
			e.ready, e.wrote = 0, 0
			k.out = tp.request(k.out, uint64(i), s.script.demand(i))
			s.connect(k)
			return
		}
	}
	s.drop(k, out)
}

// connect opens k's socket. On loopback the connection is established when connect returns,
// although it reports EINPROGRESS, so rendered requests are written at once.
func (s *spinner) connect(k *spinConn) {
	fd, _, errno := unix.RawSyscall(unix.SYS_SOCKET, uintptr(s.addr.family), unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if errno != 0 {
		s.failed(k, errno)
		return
	}
	// A new generation: events of the old socket, still in the present batch, are stale.
	k.fd, k.state, k.fresh, k.replyBegun, k.full = int(fd), spinOpening, true, false, false
	k.generation++
	s.opening++
	if errno = noDelay(k.fd); errno == 0 && k.audited {
		errno = stampArrivals(k.fd)
	}
	if errno == 0 {
		errno = s.addr.connectFrom(k.index, k.fd)
	}
	if errno != 0 && errno != unix.EINPROGRESS && errno != unix.EINTR {
		s.failed(k, errno)
		return
	}
	if len(k.out) > 0 {
		s.stampReady(k)
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(k.fd), uintptr(unsafe.Pointer(&k.out[0])), uintptr(len(k.out)), unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			k.written = int(n)
			fallthrough
		case unix.EPIPE, unix.ECONNRESET: // it was open, and the server has closed it already
			s.watchFor(k, unix.EPOLL_CTL_ADD, 0)
			s.connected(k)
			return
		}
		s.clearReady(k)
		if errno != unix.EAGAIN && errno != unix.EINTR {
			s.failed(k, errno)
			return
		}
	}
	// The connection is not established yet. EPOLLOUT tells when it is.
	k.full = true
	s.watchFor(k, unix.EPOLL_CTL_ADD, unix.EPOLLOUT)
}

// noDelay turns off Nagle's algorithm (RFC 896), which would hold back a small request while an
// earlier one is not acknowledged.
func noDelay(fd int) unix.Errno {
	on := int32(1)
	_, _, errno := unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_NODELAY, uintptr(unsafe.Pointer(&on)), unsafe.Sizeof(on), 0)
	return errno
}

// opened handles the end of a connection attempt, and reports whether k is open.
func (s *spinner) opened(k *spinConn) bool {
	// SO_ERROR holds the result of a connect in the background (connect(2)).
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

// connected writes the requests that waited for the connection, and reports whether k is still
// open.
func (s *spinner) connected(k *spinConn) bool {
	s.opening--
	s.dialled++
	k.state = spinOpen
	if k.idle && !s.askIdle(k) {
		return false
	}
	s.stampReady(k)
	return s.flush(k)
}

// failed handles a connection that could not be opened. If that happens before the load
// starts, the first request on the connection tries again.
func (s *spinner) failed(k *spinConn, err unix.Errno) {
	s.now = s.clock()
	if err == unix.EADDRNOTAVAIL || err == unix.EMFILE || err == unix.ENFILE {
		// The generator has run out of ports or descriptors: not the server's fault.
		s.exhausted++
	}
	if k.idle || !s.running {
		s.closeConn(k)
		return
	}
	s.drop(k, record.Refused)
}

// closeConn closes k's socket, if it has one, and forgets any partly read reply and partly
// written requests.
func (s *spinner) closeConn(k *spinConn) {
	if k.state == spinOpening {
		s.opening--
	}
	if k.state != spinClosed {
		// Closing also removes the socket from the epoll set.
		_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(k.fd), 0, 0)
	}
	k.state, k.fd, k.full, k.replyBegun = spinClosed, -1, false, false
	k.out, k.written = k.out[:0], 0
	k.reader.reset()
}
