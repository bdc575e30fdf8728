package load

import (
	"fmt"
	"net"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/shared/request"
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
// the loop. The oldest request in flight is answered first, because HTTP/1.1 replies come in the order
// of the requests (RFC 9112, section 9.3.2).
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

	inFlight ring // indices in the log of the requests in flight

	idle    bool // one of Options.Idle
	audited bool // see readAudit
}

// A ring is a queue of numbers with room for a fixed count of them. They can be taken from both ends.
type ring struct {
	places   []int32
	first, n int // the place of the oldest number, and the count of numbers
}

// at returns the place of number i, counted from 0 for the oldest.
func (r *ring) at(i int) *int32 {
	if i += r.first; i >= len(r.places) {
		i -= len(r.places)
	}
	return &r.places[i]
}

// push adds the newest number. The ring must have room.
func (r *ring) push(v int32) {
	*r.at(r.n) = v
	r.n++
}

// popOldest removes the oldest number, and popNewest the newest. There must be one.
func (r *ring) popOldest() int32 {
	v := *r.at(0)
	if r.first++; r.first == len(r.places) {
		r.first = 0
	}
	r.n--
	return v
}

func (r *ring) popNewest() int32 {
	r.n--
	return *r.at(r.n)
}

// A rawAddress is the server's address in the kernel's form.
type rawAddress struct {
	family int
	four   unix.RawSockaddrInet4
	six    unix.RawSockaddrInet6
}

// newRawAddress converts an address. Its zone is the name or the number of an interface.
func newRawAddress(a *net.TCPAddr) (r rawAddress, err error) {
	port := uint16(a.Port)<<8 | uint16(a.Port)>>8 // in network byte order
	if ip := a.IP.To4(); ip != nil {
		r.family = unix.AF_INET
		r.four = unix.RawSockaddrInet4{Family: unix.AF_INET, Port: port, Addr: [4]byte(ip)}
		return r, nil
	}
	r.family = unix.AF_INET6
	r.six = unix.RawSockaddrInet6{Family: unix.AF_INET6, Port: port, Addr: [16]byte(a.IP)}
	if a.Zone == "" {
		return r, nil
	}
	if link, err := net.InterfaceByName(a.Zone); err == nil {
		r.six.Scope_id = uint32(link.Index)
		return r, nil
	}
	number, err := strconv.ParseUint(a.Zone, 10, 32)
	if err != nil {
		return r, fmt.Errorf("this machine has no interface %q, the zone of %s", a.Zone, a)
	}
	r.six.Scope_id = uint32(number)
	return r, nil
}

// loopback reports whether the address is of this machine's loopback network.
func (r *rawAddress) loopback() bool {
	if r.family == unix.AF_INET6 {
		return r.six.Addr == [16]byte(net.IPv6loopback)
	}
	return r.four.Addr[0] == 127
}

// perSource is the number of connections to a server on loopback that come from one source
// address. When more than half of an address's local ports are in use, the kernel searches
// thousands of ports for each new connection, which takes a millisecond.
const perSource = 8192

// connectFrom begins to open connection number index on fd. On loopback the first perSource
// connections come from 127.0.0.1, the next perSource from 127.0.0.2 and so on.
func (r *rawAddress) connectFrom(index int32, fd int) unix.Errno {
	if index >= perSource && r.family == unix.AF_INET && r.loopback() {
		from := unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: [4]byte{127, 0, 0, byte(1 + index/perSource)}}
		// Without this option bind itself would choose the port, and each port could be used only once for the
		// source address, whatever the destination. With it connect chooses, when the destination is known.
		errno := turnOn(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT)
		if errno == 0 {
			_, _, errno = unix.RawSyscall(unix.SYS_BIND, uintptr(fd), uintptr(unsafe.Pointer(&from)), unsafe.Sizeof(from))
		}
		if errno != 0 {
			return errno
		}
	}
	at, size := unsafe.Pointer(&r.four), unsafe.Sizeof(r.four)
	if r.family == unix.AF_INET6 {
		at, size = unsafe.Pointer(&r.six), unsafe.Sizeof(r.six)
	}
	_, _, errno := unix.RawSyscall(unix.SYS_CONNECT, uintptr(fd), uintptr(at), size)
	return errno
}

// turnOn sets an option of a socket to 1. The call is raw, as all of the spinner's are: the runtime need
// not know of a call that never waits.
func turnOn(fd, level, option int) unix.Errno {
	on := int32(1)
	_, _, errno := unix.RawSyscall6(unix.SYS_SETSOCKOPT, uintptr(fd), uintptr(level), uintptr(option), uintptr(unsafe.Pointer(&on)), unsafe.Sizeof(on), 0)
	return errno
}

// send writes k's rendered requests, and opens k first if it is closed.
func (s *spinner) send(k *spinConn) {
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
	k.inFlight.push(int32(i))
	k.out = s.script.template(uint64(i)).request(k.out, e.number(i), s.script.demand(i))
}

// stampReady stamps the requests of k that have no stamp yet with the present time. Ready and Wrote are
// the same time, because an open connection's request is written at once.
func (s *spinner) stampReady(k *spinConn) {
	if k.inFlight.n == 0 {
		return
	}
	s.now = s.clock()
	s.stamp(k, max(s.now, 1))
}

// stamp sets the stamps of k's newest requests to at, or clears them when at is 0. It stops at
// the first request that already is in the wanted state.
func (s *spinner) stamp(k *spinConn, at int64) {
	for n := k.inFlight.n - 1; n >= 0; n-- {
		e := s.log.at(int(*k.inFlight.at(n)))
		if (e.wrote == 0) == (at == 0) {
			return
		}
		e.ready, e.wrote = at, at
	}
}

// write writes the part of k's rendered requests that the kernel has not taken yet, until the socket is full.
func (k *spinConn) write() unix.Errno {
	rest := k.out[k.written:]
	n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(k.fd), uintptr(unsafe.Pointer(&rest[0])), uintptr(len(rest)), unix.MSG_NOSIGNAL, 0, 0)
	if errno == 0 {
		k.written += int(n)
	}
	return errno
}

// flush writes k's rendered requests. It reports whether k is still open.
func (s *spinner) flush(k *spinConn) bool {
	for k.written < len(k.out) {
		switch k.write() {
		case 0, unix.EINTR:
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
				s.broken(k, request.Reset)
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

// watchFor registers k with epoll for reading, and for the events in more. Events are edge-triggered
// (EPOLLET), so read must empty the socket. Pad comes back with the event and tells an event of an
// earlier socket.
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
			s.broken(k, request.Reset)
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

// receive reads once from k's socket, if it is audited with a slower system call: see readAudit.
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
	if rep, whole := k.reader.end(); whole && k.inFlight.n > 0 {
		s.answered(k, rep)
	}
	if k.state == spinOpen {
		out := request.Closed
		if k.replyBegun {
			out = request.Short
		}
		s.broken(k, out)
	}
}

// replies handles the replies in b.
func (s *spinner) replies(k *spinConn, b []byte) {
	if k.idle {
		s.idleReply(k, b)
		return
	}
	for len(b) > 0 && k.state == spinOpen {
		if k.inFlight.n == 0 { // a reply without a request
			s.broken(k, request.Reset)
			return
		}
		i := int(*k.inFlight.at(0))
		e := s.log.at(i)
		if !k.replyBegun {
			k.replyBegun, e.first = true, max(s.now, 1)
		}
		rest, rep, whole, err := k.reader.next(b, &s.heads, s.script.template(uint64(i)).bodiless)
		if err != nil {
			s.broken(k, request.Malformed)
			return
		}
		if b = rest; !whole {
			return
		}
		if k.inFlight.n == 1 && (len(b) > 0 || k.written < len(k.out)) {
			// There are more bytes than one reply, or the reply came before its request
			// was written whole. It would be unclear which request the next bytes answer.
			rep.keep = false
		}
		s.answered(k, rep)
	}
}

// answered handles a whole reply to the oldest request of k.
func (s *spinner) answered(k *spinConn, rep reply) {
	i := int(k.inFlight.popOldest())
	e := s.log.at(i)
	k.fresh, k.replyBegun = false, false
	// The server or the user wants a new connection for the next request.
	over := !rep.keep || !s.script.keepAlive
	e.status, e.bytes, e.ends = rep.status, bodyBytes(rep.bytes), over && k.inFlight.n == 0
	s.finish(i, request.Answered)
	if over {
		s.drop(k, request.Closed) // requests behind it in a pipeline get no reply
		return
	}
	s.freed = true
	s.loop.free(k)
}

// drop closes k, fails its requests in flight, and gives k back to the loop.
func (s *spinner) drop(k *spinConn, out request.End) {
	s.closeConn(k)
	for k.inFlight.n > 0 {
		i := int(k.inFlight.popOldest())
		s.log.at(i).ends = k.inFlight.n == 0
		s.finish(i, out)
	}
	s.freed = true
	s.loop.free(k)
}

// broken handles a connection that failed. Like net/http's Transport, it sends an idempotent
// request once more, on a new connection, if the old connection had answered before and no
// byte of the reply was read.
func (s *spinner) broken(k *spinConn, out request.End) {
	if k.idle {
		s.idleLost(k)
		return
	}
	if out.Broke() && k.inFlight.n == 1 && len(k.inFlight.places) == 1 && !k.fresh && !k.replyBegun && k.state == spinOpen {
		i := int(*k.inFlight.at(0))
		if tp := s.script.template(uint64(i)); tp.idempotent {
			s.closeConn(k)
			e := s.log.at(i)
			e.ready, e.wrote = 0, 0
			k.out = tp.request(k.out, e.number(i), s.script.demand(i))
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
	// Nagle's algorithm (RFC 896) would hold back a small request while an earlier one is not acknowledged.
	errno = turnOn(k.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY)
	if errno == 0 && k.audited { // the kernel then reports when bytes arrived (socket(7), SO_TIMESTAMP)
		errno = turnOn(k.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS)
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
		switch errno = k.write(); errno {
		case 0, unix.EPIPE, unix.ECONNRESET: // with an error: it was open, and the server has closed it already
			s.watchFor(k, unix.EPOLL_CTL_ADD, 0)
			s.connected(k)
			return
		}
		s.stamp(k, 0) // k is not open
		if errno != unix.EAGAIN && errno != unix.EINTR {
			s.failed(k, errno)
			return
		}
	}
	// The connection is not established yet. EPOLLOUT tells when it is.
	k.full = true
	s.watchFor(k, unix.EPOLL_CTL_ADD, unix.EPOLLOUT)
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
	s.counts.Dialled++
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
	out := failedDial(err)
	if out == request.Exhausted {
		s.exhausted++
	}
	if k.idle || !s.running {
		s.closeConn(k)
		return
	}
	s.drop(k, out)
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

// idleSeq returns the number of an idle connection's one request, which no other request has.
func (s *spinner) idleSeq(k *spinConn) uint64 {
	if s.stream != nil {
		return arrivals.MostStreamed + uint64(k.index)
	}
	return uint64(s.log.n) + uint64(k.index)
}

// askIdle sends the one request of an idle connection. It reports whether k is still open.
func (s *spinner) askIdle(k *spinConn) bool {
	seq := s.idleSeq(k)
	k.out = s.script.template(seq).request(k.out[:0], seq, arrivals.Demand{})
	return s.flush(k)
}

// idleReply handles the bytes that an idle connection receives: the reply to its one request.
// Anything else closes the connection.
func (s *spinner) idleReply(k *spinConn, b []byte) {
	seq := s.idleSeq(k)
	rest, rep, whole, err := k.reader.next(b, &s.heads, s.script.template(seq).bodiless)
	if err == nil && !whole && k.fresh {
		return
	}
	if whole && k.fresh {
		k.fresh = false
		s.idleConns.Answered++
	}
	if err != nil || len(rest) > 0 || !rep.keep {
		s.idleLost(k)
	}
}

// idleLost counts an idle connection that was lost before the load ended.
func (s *spinner) idleLost(k *spinConn) {
	s.closeConn(k)
	s.idleConns.Lost++
}

// openIdle opens the idle connections (Options.Idle) and waits until each has its reply or has failed.
// Each asks once, so that the server has accepted it and begun to serve it.
func (s *spinner) openIdle(conns []spinConn) {
	for i := range conns {
		conns[i].idle = true
	}
	// open returns when all are open; the replies to their requests may still be on the way.
	s.open(conns, 0)
	settled := func() bool {
		for i := range conns {
			if k := &conns[i]; k.state == spinOpen && k.fresh {
				return false
			}
		}
		return true
	}
	for end := time.Now().Add(time.Duration(s.timeout)); !settled() && !s.stop.Load() && s.err == nil && time.Now().Before(end); {
		s.pump(time.Millisecond)
	}
}
