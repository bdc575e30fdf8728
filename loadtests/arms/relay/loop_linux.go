package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"schedlab/loadtests/arms/quiet"
)

const (
	chunkSize  = 16 << 10 // most bytes of one read
	mostUnsent = 1 << 20  // bytes under way in a direction of a connection, beyond which nothing is read of it
	eventRoom  = 256      // events taken at a time
	mostOpen   = 1 << 16  // descriptors that there is room for from the start
)

// The two ends of a connection.
const (
	client = iota
	server
)

// A loop carries the bytes of all connections on one thread. It is not safe for concurrent use.
//
// Its sockets never make it wait, so while it carries it tells Go's scheduler of no system call but the wait for events.
//
// Each connection passes two lines: opening until its client knows that it is open, a round trip, and then moving, as
// every chunk does, with a dial of the server ahead of the first one.
type loop struct {
	server    unix.RawSockaddrInet4
	poll      int
	listener  int // -1 when it is closed
	alive     int // a pipe; its other end closes when the server has ended
	raw       bool
	ending    bool // the server has ended
	endpoints []endpoint
	events    [eventRoom]unix.EpollEvent
	limit     unix.Timespec // of a wait
	free      [][]byte      // buffers that are not in use
	opening   line[*conn]
	moving    line[chunk]
	observe   func(late time.Duration) // called at the turn of each chunk, and of each connection that opens
}

// An endpoint is what a descriptor is: one end of a connection.
type endpoint struct {
	conn *conn
	end  int
}

// A conn is a connection of a client and, once it is dialled, of the server. directions[i] carries what comes from fds[i].
type conn struct {
	fds        [2]int // -1 before the dial
	directions [2]direction
	gone       bool // both descriptors are closed
}

// A direction of a connection carries what comes from one of its ends.
type direction struct {
	unsent  int     // bytes that were read and are not handed on
	paused  bool    // mostUnsent was reached, so bytes may lie unread
	ended   bool    // nothing more is read
	closed  bool    // the end was handed on
	backlog []chunk // due, but the socket takes no more
}

// A chunk is what one read brought: bytes, or the end of a stream.
type chunk struct {
	conn *conn
	from int // end that it came from
	kind kind
	buf  []byte
	at   int // bytes before it were handed on
}

type kind uint8

const (
	isBytes kind = iota
	isDial       // the connection reaches the server
	isEnd        // the sender sends no more
	isReset      // the connection broke
)

// newLoop returns a loop that accepts at listener, a descriptor it closes, and dials server.
// raw: it waits in a system call that Go's scheduler is not told of, which saves some microseconds a wait; the program then
// needs another P.
func newLoop(listener, alive int, server *net.TCPAddr, delay time.Duration, raw bool, observe func(time.Duration)) (*loop, error) {
	l := &loop{listener: listener, alive: alive, raw: raw, observe: observe}
	l.server.Family = unix.AF_INET
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&l.server.Port))[:], uint16(server.Port))
	copy(l.server.Addr[:], server.IP.To4())
	l.opening.delay, l.moving.delay = 2*int64(delay), int64(delay)
	var err error
	if l.poll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	if err := reserve(l.poll); err != nil {
		return nil, err
	}
	for _, fd := range []int{listener, alive} {
		if err := errors.Join(unix.SetNonblock(fd, true), quiet.Watch(l.poll, unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN)); err != nil {
			return nil, err
		}
	}
	// With Nagle's algorithm bytes would be late. What is accepted inherits this.
	if err := unix.SetsockoptInt(listener, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return nil, fmt.Errorf("TCP_NODELAY: %w", err)
	}
	return l, nil
}

// reserve makes room for descriptors. The kernel doubles a process's table of them when it is full, and where the process
// has threads, the one that opens a descriptor then waits until all CPUs have passed a point of rest (synchronize_rcu):
// tens of milliseconds.
func reserve(fd int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("getrlimit: %w", err)
	}
	// Not the last descriptor: tests that reserve at the same time need one each.
	high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, int(min(limit.Cur, mostOpen))-64)
	if err != nil {
		return fmt.Errorf("fcntl: %w", err)
	}
	return unix.Close(high)
}

var started = time.Now()

// now returns the time in nanoseconds since the program's start.
func now() int64 { return int64(time.Since(started)) }

// run carries until the server has ended and all that it sent has had its turn. What a slow client has not taken by then is
// lost.
func (l *loop) run() error {
	defer l.close()
	for {
		n, err := quiet.Wait(l.poll, l.events[:], l.untilDue(now()), l.raw)
		if err != nil {
			return err
		}
		if _, moving := l.moving.next(); l.ending && n == 0 && !moving {
			return nil
		}
		accepts := false
		for _, e := range l.events[:n] {
			switch fd := int(e.Fd); fd {
			case l.listener:
				accepts = true
			case l.alive:
				l.ending = true
			default:
				l.handle(l.endpoints[fd], e.Events)
			}
		}
		if err := l.turn(accepts); err != nil {
			return err
		}
	}
}

// untilDue returns the time until something is due. When nothing is kept that is nil, or 0 once the server has ended.
func (l *loop) untilDue(now int64) *unix.Timespec {
	due, some := l.moving.next()
	if opens, opening := l.opening.next(); opening && (!some || opens < due) {
		due, some = opens, true
	}
	if !some && !l.ending {
		return nil
	}
	l.limit = unix.NsecToTimespec(max(0, due-now))
	return &l.limit
}

// handle does what an event asks for.
func (l *loop) handle(e endpoint, what uint32) {
	if e.conn == nil {
		return // closed by an event before this one
	}
	if what&unix.EPOLLOUT != 0 {
		l.drain(e.conn, 1-e.end)
	}
	const hung = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if what&(unix.EPOLLIN|hung) != 0 && !e.conn.gone {
		l.read(e.conn, e.end, what&hung != 0)
	}
}

// turn does what comes after the events of a wait. A new connection may get the descriptor of one that an event has closed,
// so all events are handled by then.
func (l *loop) turn(accepts bool) error {
	if accepts && !l.ending {
		if err := l.accept(); err != nil {
			return err
		}
	}
	if l.ending && l.listener >= 0 {
		_ = unix.Close(l.listener) // epoll forgets it, too
		l.listener = -1
		if err := unix.EpollCtl(l.poll, unix.EPOLL_CTL_DEL, l.alive, nil); err != nil {
			return fmt.Errorf("epoll_ctl: %w", err)
		}
	}
	return l.release()
}

// accept takes the connections that wait. Nothing is read of them before their clients would know that they are open.
func (l *loop) accept() error {
	for {
		fd, _, errno := unix.RawSyscall6(unix.SYS_ACCEPT4, uintptr(l.listener), 0, 0, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0, 0)
		switch errno {
		case 0:
		case unix.EAGAIN:
			return nil
		case unix.EINTR, unix.ECONNABORTED:
			continue
		default:
			return fmt.Errorf("accepting: %w", errno)
		}
		c := &conn{fds: [2]int{int(fd), -1}}
		l.settle(c, client)
		l.opening.put(now(), c)
	}
}

// settle notes which connection a new descriptor is an end of.
func (l *loop) settle(c *conn, end int) {
	fd := c.fds[end]
	for fd >= len(l.endpoints) {
		l.endpoints = append(l.endpoints, endpoint{})
	}
	l.endpoints[fd] = endpoint{c, end}
}

// ready has the loop told of an end's bytes, its end, and its room to write.
func (l *loop) ready(fd int) error {
	return quiet.Watch(l.poll, unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN|unix.EPOLLOUT|unix.EPOLLRDHUP|unix.EPOLLET)
}

// release lets everything leave that is due.
func (l *loop) release() error {
	for {
		at := now()
		if c, late, ok := l.opening.take(at); ok {
			if c.gone {
				continue
			}
			l.observe(time.Duration(late))
			l.moving.put(at, chunk{conn: c, kind: isDial})
			if err := l.ready(c.fds[client]); err != nil {
				return err
			}
			continue
		}
		k, late, ok := l.moving.take(at)
		if !ok {
			return nil
		}
		if k.conn.gone {
			l.recycle(&k)
			continue
		}
		l.observe(time.Duration(late))
		switch d := &k.conn.directions[k.from]; {
		case k.kind == isReset: // it overtakes what waits, as everywhere
			l.reset(k.conn)
		case k.kind == isDial:
			if err := l.dial(k.conn); err != nil {
				return err
			}
		case len(d.backlog) > 0 || !l.handOn(&k):
			d.backlog = append(d.backlog, k)
		}
	}
}

// dial connects to the server, which over loopback takes no time.
func (l *loop) dial(c *conn) error {
	fd, _, errno := unix.RawSyscall(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if errno != 0 {
		return fmt.Errorf("socket: %w", errno)
	}
	c.fds[server] = int(fd)
	l.settle(c, server)
	on := int32(1)
	_, _, errno = unix.RawSyscall6(unix.SYS_SETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, uintptr(unsafe.Pointer(&on)), unsafe.Sizeof(on), 0)
	if errno != 0 {
		return fmt.Errorf("TCP_NODELAY: %w", errno)
	}
	_, _, errno = unix.RawSyscall(unix.SYS_CONNECT, fd, uintptr(unsafe.Pointer(&l.server)), unsafe.Sizeof(l.server))
	if errno != 0 && errno != unix.EINPROGRESS {
		l.broke(c, server)
		return nil
	}
	return l.ready(int(fd))
}

// read reads what an end has sent. hung: its end has come, or an error.
func (l *loop) read(c *conn, from int, hung bool) {
	for d := &c.directions[from]; !d.ended; {
		if d.unsent >= mostUnsent {
			d.paused = true
			return
		}
		buf := l.buffer()
		n, errno := quiet.Transfer(unix.SYS_READ, c.fds[from], buf, 0)
		k := chunk{conn: c, from: from, buf: buf[:max(0, n)]}
		switch {
		case errno == unix.EAGAIN:
			l.recycle(&k)
			return
		case errno == unix.EINTR:
			l.recycle(&k)
			continue
		case errno != 0:
			l.recycle(&k)
			l.broke(c, from)
			return
		case n == 0:
			k.kind, d.ended = isEnd, true
		}
		d.unsent += len(k.buf)
		l.moving.put(now(), k)
		// Less than was asked for is all that there was: the next bytes are another event.
		if len(k.buf) < chunkSize && !hung {
			return
		}
	}
}

// drain hands on what waited until an end takes more. from is the other end.
func (l *loop) drain(c *conn, from int) {
	d := &c.directions[from]
	for len(d.backlog) > 0 && l.handOn(&d.backlog[0]) {
		if c.gone {
			return
		}
		d.backlog[0] = chunk{}
		d.backlog = d.backlog[1:]
	}
}

// handOn gives a chunk to the other end. It returns false if that takes no more: the rest waits then.
func (l *loop) handOn(k *chunk) bool {
	c, d := k.conn, &k.conn.directions[k.from]
	to := c.fds[1-k.from]
	if k.kind == isEnd {
		l.recycle(k)
		d.closed = true
		_, _, _ = unix.RawSyscall(unix.SYS_SHUTDOWN, uintptr(to), unix.SHUT_WR, 0) // fails where the end is gone already, as its read tells
		if c.directions[1-k.from].closed {
			l.shut(c)
		}
		return true
	}
	for k.at < len(k.buf) {
		n, errno := quiet.Transfer(unix.SYS_SENDTO, to, k.buf[k.at:], unix.MSG_NOSIGNAL)
		switch errno {
		case 0:
			k.at += n
			d.unsent -= n
		case unix.EINTR:
		case unix.EAGAIN:
			return false
		default:
			l.recycle(k)
			l.broke(c, 1-k.from)
			return true
		}
	}
	l.recycle(k)
	if d.paused && d.unsent <= mostUnsent/2 {
		d.paused = false
		l.read(c, k.from, true)
	}
	return true
}

// broke notes that an end of a connection is gone. The other end is told after the delay.
func (l *loop) broke(c *conn, end int) {
	c.directions[end].ended = true
	l.moving.put(now(), chunk{conn: c, from: end, kind: isReset})
}

// reset breaks both ends of a connection.
func (l *loop) reset(c *conn) {
	for _, fd := range c.fds {
		if fd >= 0 {
			_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
		}
	}
	l.shut(c)
}

// shut closes both ends of a connection.
func (l *loop) shut(c *conn) {
	c.gone = true
	for end, fd := range c.fds {
		if fd >= 0 {
			l.endpoints[fd] = endpoint{}
			_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0)
			c.fds[end] = -1
		}
	}
	for i := range c.directions {
		for j := range c.directions[i].backlog {
			l.recycle(&c.directions[i].backlog[j])
		}
		c.directions[i].backlog = nil
	}
}

// close closes all that the loop has open, but alive.
func (l *loop) close() {
	for _, e := range l.endpoints {
		if e.conn != nil && !e.conn.gone {
			l.shut(e.conn)
		}
	}
	_ = unix.Close(l.poll)
	if l.listener >= 0 {
		_ = unix.Close(l.listener)
	}
}

// buffer returns room for a chunk.
func (l *loop) buffer() []byte {
	if n := len(l.free); n > 0 {
		b := l.free[n-1]
		l.free = l.free[:n-1]
		return b
	}
	return make([]byte, chunkSize)
}

// recycle takes back the room of a chunk that has left.
func (l *loop) recycle(k *chunk) {
	if k.buf != nil {
		l.free = append(l.free, k.buf[:chunkSize])
		k.buf = nil
	}
}
