package model

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// An acceptState is what a loop knows of its listening socket.
type acceptState struct {
	paused     bool          // the socket is not watched: at the connection cap, or after a failure
	waiting    bool          // connections may wait there: epoll said so, and it was not found empty since
	closed     bool          // accepting has ended
	retryAt    time.Duration // when a failed accept is tried again, by the loop's clock
	backoff    time.Duration
	emptySince time.Duration // since when a drain has found the accept queue empty; 0: not yet
}

// watchListener registers the listening socket with epoll.
func (l *eventLoop) watchListener(op int, events uint32) error {
	return control(l.socket.tcp, func(fd int) error { return l.watch(op, fd, events, listenerEvent, 0) })
}

// modifyListener changes the events watched for. It fails when the socket is closed, which
// the next turn notices.
func (l *eventLoop) modifyListener(events uint32) { _ = l.watchListener(unix.EPOLL_CTL_MOD, events) }

// pauseAccepting stops watching the listening socket: a connection that waits there would end
// every wait of the loop at once.
func (l *eventLoop) pauseAccepting() {
	if !l.accepting.paused {
		l.accepting.paused = true
		l.modifyListener(0)
	}
}

// tryAccept accepts at most one connection, and reports whether it did.
func (l *eventLoop) tryAccept(acceptReady bool, now time.Duration) bool {
	d := &l.accepting
	draining := l.socket.Draining()
	if d.closed || !acceptReady && !d.paused && !draining && !l.socketClosed() {
		return false
	}
	if l.socketClosed() {
		d.closed = true
		return false
	}
	if now < d.retryAt {
		return false
	}
	select {
	case l.socket.slots <- struct{}{}:
	default:
		l.socket.warnFull()
		l.pauseAccepting()
		return false
	}
	fd, err := l.acceptFD()
	d.waiting = !errors.Is(err, unix.EAGAIN)
	if err == nil {
		l.add(fd)
		d.backoff, d.emptySince = 0, 0
	} else {
		<-l.socket.slots
	}
	switch {
	case err == nil, errors.Is(err, unix.EAGAIN):
		if d.paused {
			d.paused = false
			l.modifyListener(unix.EPOLLIN)
		}
		if err != nil && draining {
			l.closeWhenEmpty(now)
		}
	case errors.Is(err, unix.ECONNABORTED), errors.Is(err, unix.EINTR): // the next is tried in the next turn
	case temporary(err):
		d.backoff = min(max(2*d.backoff, firstBackoff), longBackoff)
		d.retryAt = now + d.backoff
		l.socket.warn("accepting failed, trying again", "error", err, "after", d.backoff)
		l.pauseAccepting()
	default:
		if !l.socketClosed() {
			l.socket.warn("accepting failed", "error", err)
		}
		l.socket.stopAccepting()
		d.closed = true
	}
	return err == nil
}

// closeWhenEmpty closes the socket once a drain has found its accept queue empty for a while.
func (l *eventLoop) closeWhenEmpty(now time.Duration) {
	d := &l.accepting
	if d.emptySince == 0 {
		d.emptySince = now
		return
	}
	if now-d.emptySince < emptyQueueWait {
		return
	}
	if q, err := readQueue(l.socket.tcp); err == nil && q.Waiting > 0 {
		return
	}
	l.socket.stop()
	d.closed = true
}

func (l *eventLoop) acceptFD() (conn int, err error) {
	conn = -1
	failed := l.raw.Control(func(fd uintptr) {
		conn, _, err = unix.Accept4(int(fd), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	})
	return conn, errors.Join(failed, err)
}

func (l *eventLoop) socketClosed() bool { return isClosed(l.socket.closed) }
