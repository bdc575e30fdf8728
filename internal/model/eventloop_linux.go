package model

import (
	"encoding/binary"
	"errors"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// An eventLoop accepts, reads, parses and answers on one goroutine. A connection that has to wait in the middle of a request
// leaves a suspended coroutine behind; one that waits for its next request leaves
// nothing but its loopConn. Only post may be called from another goroutine.
//
// Sockets are watched edge-triggered: a loopConn remembers that it is readable
// until a read has said otherwise, so a request costs one read and one write.
type eventLoop struct {
	fasthttpEngine
	socket  *socket
	lagged  func(time.Duration) // nil: not at all
	raw     syscall.RawConn     // the listening socket
	epoll   int
	wake    int     // an eventfd
	one     [8]byte // what is written to it; larger, the counter nobody reads would overflow
	events  [maxBatch]unix.EpollEvent
	conns   []*loopConn // by descriptor
	open    int         // connections not forgotten yet
	born    int32       // connections so far: tells a descriptor's users apart
	idle    []*coroutine
	ready   []*loopConn // readable, but others come first
	wheel   wheel
	door    door
	now     time.Duration // the clock at the beginning of the turn
	longest time.Duration // turn since the lag was last told
	resting int           // connections that keep their coroutine
	parking parking
	spare   []post

	mu     sync.Mutex // guards what follows
	posted []post
	asleep bool
}

const (
	maxBatch = 128
	// nap bounds a wait for events, so that a drain and a closed socket are seen.
	nap = wheelTick
	// wakeEvent and doorEvent stand in an event where a descriptor is otherwise.
	wakeEvent, doorEvent = -1, -2
)

// A post is news of a connection from another goroutine.
type post struct {
	conn *loopConn
	done bool // its request has been computed; otherwise it has been closed
}

// start makes the loop's descriptors; it serves s until that is closed.
func (l *eventLoop) start(s *socket) error {
	l.socket, l.epoll, l.wake = s, -1, -1
	var err error
	if l.raw, err = s.tcp.SyscallConn(); err != nil {
		return err
	}
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	if err := l.makeParking(); err != nil {
		return err
	}
	l.wheel.begin(l.clock())
	l.conns = nil
	binary.NativeEndian.PutUint64(l.one[:], 1)
	// Edge-triggered, every write to it is an event, and it need never be read.
	if err := l.watch(unix.EPOLL_CTL_ADD, l.wake, unix.EPOLLIN|unix.EPOLLET, wakeEvent, 0); err != nil {
		return err
	}
	return l.watchDoor(unix.EPOLL_CTL_ADD, unix.EPOLLIN)
}

// stop gives the loop's descriptors back.
func (l *eventLoop) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asleep = false // who posts now must not write to another's descriptor
	_ = l.parking.file.Close()
	for _, fd := range []int{l.epoll, l.wake} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// watch tells epoll about a descriptor.
func (l *eventLoop) watch(op, fd int, events uint32, id, born int32) error {
	return unix.EpollCtl(l.epoll, op, fd, &unix.EpollEvent{Events: events, Fd: id, Pad: born})
}

// loop serves until the socket is closed and every connection is gone.
func (l *eventLoop) loop() error {
	defer func() {
		for _, co := range l.idle {
			co.stop()
		}
		l.idle = nil
	}()
	for !l.door.closed || l.open > 0 {
		events, err := l.poll()
		if err != nil {
			return err
		}
		l.now = l.clock()
		l.turn(events)
		took := l.clock() - l.now
		if len(events) > 0 {
			l.longest = max(l.longest, took)
		}
		if l.wheel.due(l.now + took) {
			l.tick(l.now + took)
		}
	}
	return nil
}

// poll waits for events.
func (l *eventLoop) poll() ([]unix.EpollEvent, error) {
	wait := l.patience()
	if wait == 0 {
		n, _ := l.glance()
		return l.events[:n], nil
	}
	n, err := l.park(wait)
	return l.events[:n], err
}

// turn attends to everything that has come. The door is last: one may enter, so that
// a single loop under load has served one connection before it takes the next, or as
// many as have been attended to and stay, so that a crowd that has its answers keeps
// nobody outside.
func (l *eventLoop) turn(events []unix.EpollEvent) {
	knock, stay := false, 0
	for i := range events {
		switch e := &events[i]; e.Fd {
		case doorEvent:
			knock = true
		case wakeEvent: // only ends the wait
		default:
			if c := l.conns[e.Fd]; c != nil && c.born == e.Pad {
				c.signal(e.Events)
				if c.awaits != gone {
					stay++
				}
			}
		}
	}
	l.takePosted()
	for waiting := len(l.ready); waiting > 0; waiting-- {
		c := l.ready[0]
		l.ready = l.ready[1:]
		if c.awaits == turn {
			c.resume()
		}
	}
	for l.attendDoor(knock, l.now) && stay > 1 {
		stay--
	}
}

// tick ends what has waited too long, and tells the lag.
func (l *eventLoop) tick(now time.Duration) {
	l.wheel.advance(now, (*loopConn).expire)
	if l.lagged != nil && l.longest > 0 {
		l.lagged(l.longest)
		l.longest = 0
	}
}

// patience is how long to wait for events.
func (l *eventLoop) patience() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.posted) > 0 || len(l.ready) > 0 {
		return 0
	}
	l.asleep = true
	switch {
	case l.door.closed:
	case l.socket.Draining():
		return sweepQuiet
	case l.door.shut:
		return firstBackoff
	}
	return nap
}

// post tells the loop of a connection and wakes it if it sleeps. It never blocks.
func (l *eventLoop) post(c *loopConn, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.posted = append(l.posted, post{c, done})
	if l.asleep {
		l.asleep = false
		_, _ = unix.Write(l.wake, l.one[:]) // an eventfd that is open takes it
	}
}

func (l *eventLoop) takePosted() {
	l.mu.Lock()
	l.asleep = false
	news := l.posted
	l.posted = l.spare[:0]
	l.mu.Unlock()
	for _, p := range news {
		p.conn.news(p.done)
	}
	clear(news)
	l.spare = news[:0] // only this goroutine uses it
}

// add takes a connection that has been accepted.
func (l *eventLoop) add(fd int) {
	l.born++
	c := &loopConn{
		entry: entry{listener: l.socket.Listener, socket: l.socket},
		loop:  l, fd: int32(fd), born: l.born, awaits: request,
	}
	for fd >= len(l.conns) {
		l.conns = append(l.conns, make([]*loopConn, max(len(l.conns), 64))...)
	}
	l.socket.stamp(&c.entry)
	l.conns[fd] = c
	l.open++
	l.socket.Ledger.accept(c)
	c.readBy = l.now + l.limits.HeaderTimeout
	l.wheel.arm(c, c.readBy)
	// Every mode's connections are like this; the rest they have from the listener.
	err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	err = errors.Join(err, l.watch(unix.EPOLL_CTL_ADD, fd, watched, c.fd, c.born))
	cut := l.socket.cut.Load() // force may have looked before c was there
	if cut {
		c.drop(DrainTimeout)
	}
	if err != nil || cut {
		c.shut()
		l.forget(c)
	}
}

// forget ends the loop's knowledge of a closed connection.
func (l *eventLoop) forget(c *loopConn) {
	if c.awaits == gone {
		return
	}
	c.awaits = gone
	l.wheel.disarm(c)
	if l.conns[c.fd] == c { // its descriptor may have another user already
		l.conns[c.fd] = nil
	}
	l.open--
}
