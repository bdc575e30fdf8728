package model

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// A door is a loop's side of its listening socket.
type door struct {
	shut    bool          // not watched: at the connection cap, or after a failure
	closed  bool          // for good
	until   time.Duration // the clock's reading at which a failed accept is tried again
	backoff time.Duration
	quiet   time.Duration // since when a drain has found nobody waiting; 0: not yet
}

// watchDoor watches the listening socket.
func (l *eventLoop) watchDoor(op int, events uint32) error {
	return control(l.socket.tcp, func(fd int) error { return l.watch(op, fd, events, doorEvent, 0) })
}

// mindDoor changes what is watched for. It fails when the socket is closed, which
// the next turn finds out.
func (l *eventLoop) mindDoor(events uint32) { _ = l.watchDoor(unix.EPOLL_CTL_MOD, events) }

// shutDoor stops watching it: whoever waits there would end every wait at once.
func (l *eventLoop) shutDoor() {
	if !l.door.shut {
		l.door.shut = true
		l.mindDoor(0)
	}
}

// attendDoor takes at most one connection, and reports whether it did.
func (l *eventLoop) attendDoor(knock bool, now time.Duration) bool {
	d := &l.door
	draining := l.socket.Draining()
	if d.closed || !knock && !d.shut && !draining && !l.socketClosed() {
		return false
	}
	if l.socketClosed() {
		d.closed = true
		return false
	}
	if now < d.until {
		return false
	}
	select {
	case l.socket.slots <- struct{}{}:
	default:
		l.socket.warnFull()
		l.shutDoor()
		return false
	}
	fd, err := l.acceptOne()
	if err == nil {
		l.add(fd)
		d.backoff, d.quiet = 0, 0
	} else {
		<-l.socket.slots
	}
	switch {
	case err == nil, errors.Is(err, unix.EAGAIN):
		if d.shut {
			d.shut = false
			l.mindDoor(unix.EPOLLIN)
		}
		if err != nil && draining {
			l.sweepDoor(now)
		}
	case errors.Is(err, unix.ECONNABORTED), errors.Is(err, unix.EINTR): // the next is tried in the next turn
	case passing(err):
		d.backoff = min(max(2*d.backoff, firstBackoff), longBackoff)
		d.until = now + d.backoff
		l.socket.warn("accepting failed, trying again", "error", err, "after", d.backoff)
		l.shutDoor()
	default:
		if !l.socketClosed() {
			l.socket.warn("accepting failed", "error", err)
		}
		l.socket.stopAccepting()
		d.closed = true
	}
	return err == nil
}

// sweepDoor closes the socket once a drain has found nobody waiting for a while.
func (l *eventLoop) sweepDoor(now time.Duration) {
	d := &l.door
	if d.quiet == 0 {
		d.quiet = now
		return
	}
	if now-d.quiet < sweepQuiet {
		return
	}
	if q, err := readQueue(l.socket.tcp); err == nil && q.Waiting > 0 {
		return
	}
	l.socket.stop()
	d.closed = true
}

func (l *eventLoop) acceptOne() (conn int, err error) {
	conn = -1
	failed := l.raw.Control(func(fd uintptr) {
		conn, _, err = unix.Accept4(int(fd), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	})
	return conn, errors.Join(failed, err)
}

func (l *eventLoop) socketClosed() bool {
	select {
	case <-l.socket.closed:
		return true
	default:
		return false
	}
}
