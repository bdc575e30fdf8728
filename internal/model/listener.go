package model

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Socket describes the listening socket every model gets: plain TCP, never
// MPTCP; NODELAY on and keep-alive probes off; a bounded send buffer.
type Socket struct {
	Addr     string
	Backlog  int // length of the kernel's accept queue; 0 takes net.core.somaxconn
	MaxConns int // connections open at a time; at the cap accepting stops
}

// sendBuffer bounds what a client that does not read can hold in the kernel:
// without it Linux grows the buffer to 4 MB a connection.
const sendBuffer = 256 << 10

const (
	firstBackoff = 5 * time.Millisecond
	longBackoff  = time.Second
	sweepQuiet   = time.Millisecond       // an accept queue silent for this long is empty
	grace        = 250 * time.Millisecond // answering Connection: close before idle connections are closed
	drainTick    = 5 * time.Millisecond
)

// A Listener accepts connections for one model, counts them, holds them under
// a cap, survives running out of descriptors, and drains. Accept is safe for
// concurrent use.
type Listener struct {
	Ledger
	tcp      *net.TCPListener
	backlog  int
	slots    chan struct{}
	draining atomic.Bool
	cut      atomic.Bool   // the drain is past its timeout: nothing may stay open
	swept    chan struct{} // closed when the accept queue is not read any more
	sweep    sync.Once
	warn     func(msg string, args ...any)
}

// Listen opens the socket. warn gets rare events as a message and key-value
// pairs, as slog takes them; it may be nil.
func (s Socket) Listen(ctx context.Context, warn func(msg string, args ...any)) (*Listener, error) {
	lc := net.ListenConfig{KeepAlive: -1, Control: func(_, _ string, c syscall.RawConn) error {
		var opt error
		err := c.Control(func(fd uintptr) {
			opt = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
		})
		return errors.Join(err, opt)
	}}
	lc.SetMultipathTCP(false)
	ln, err := lc.Listen(ctx, "tcp", s.Addr)
	if err != nil {
		return nil, err
	}
	if warn == nil {
		warn = func(string, ...any) {}
	}
	l := &Listener{
		tcp:   ln.(*net.TCPListener),
		slots: make(chan struct{}, s.MaxConns),
		swept: make(chan struct{}),
		warn:  warn,
	}
	if err := l.setBacklog(s.Backlog); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return l, nil
}

// setBacklog calls listen(2) again, the only way to choose the queue's length
// after Go has opened the socket, and reads back what the kernel made of it.
func (l *Listener) setBacklog(want int) error {
	if want > 0 {
		if err := l.control(func(fd int) error { return unix.Listen(fd, want) }); err != nil {
			return fmt.Errorf("setting the backlog: %w", err)
		}
	}
	_, limit, err := l.acceptQueue()
	if errors.Is(err, errLinuxOnly) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the backlog: %w", err)
	}
	l.backlog = limit
	if l.backlog < want {
		return &BacklogError{Want: want, Got: l.backlog}
	}
	return nil
}

// acceptQueue returns how many connections wait to be accepted, and how many
// may.
func (l *Listener) acceptQueue() (waiting, limit int, err error) {
	err = l.control(func(fd int) (err error) {
		waiting, limit, err = acceptQueue(fd)
		return err
	})
	return waiting, limit, err
}

// control calls f with the listening socket.
func (l *Listener) control(f func(fd int) error) error {
	raw, err := l.tcp.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	return errors.Join(raw.Control(func(fd uintptr) { failed = f(int(fd)) }), failed)
}

// A BacklogError says that the kernel cut the accept queue short.
type BacklogError struct{ Want, Got int }

func (e *BacklogError) Error() string {
	return fmt.Sprintf("backlog %d is above the kernel's limit %d; lower --backlog or raise net.core.somaxconn", e.Want, e.Got)
}

// Addr is the address listened on, with the port the kernel chose.
func (l *Listener) Addr() net.Addr { return l.tcp.Addr() }

// Backlog is the accept queue's length as the kernel has it.
func (l *Listener) Backlog() int { return l.backlog }

// MaxConns is the cap on open connections.
func (l *Listener) MaxConns() int { return cap(l.slots) }

// Draining reports whether the server has been told to stop, so that answers
// should end their connection.
func (l *Listener) Draining() bool { return l.draining.Load() }

// Accept waits for the next connection, an *[Conn]. It returns [net.ErrClosed]
// once a drain has emptied the accept queue, and no other error while the
// socket is healthy: at the connection cap it waits, and when descriptors or
// memory run out it backs off and tries again.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.swept:
		return nil, net.ErrClosed
	}
	tc, err := l.accept()
	if err != nil {
		<-l.slots
		l.stopAccepting()
		return nil, err
	}
	c := &Conn{TCPConn: tc, listener: l}
	l.Ledger.accept(c)
	if l.cut.Load() { // force may have looked before c was there
		c.Close()
	}
	return c, nil
}

func (l *Listener) accept() (*net.TCPConn, error) {
	for backoff := firstBackoff; ; backoff = min(2*backoff, longBackoff) {
		if l.Draining() {
			l.tcp.SetDeadline(time.Now().Add(sweepQuiet))
		}
		tc, err := l.tcp.AcceptTCP()
		switch {
		case err == nil:
			return tc, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			// A drain's deadline: it may have passed before the queue was looked at.
			if waiting, _, err := l.acceptQueue(); err != nil || waiting == 0 {
				return nil, net.ErrClosed
			}
			continue
		case errors.Is(err, net.ErrClosed):
			return nil, net.ErrClosed
		case !passing(err):
			return nil, err
		}
		l.warn("accepting failed, trying again", "error", err, "after", backoff)
		select {
		case <-time.After(backoff):
		case <-l.swept:
			return nil, net.ErrClosed
		}
	}
}

// passing reports whether an accept error goes away by itself.
func passing(err error) bool {
	for _, e := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED, unix.EINTR} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// Close stops accepting. Connections already accepted stay open.
func (l *Listener) Close() error {
	l.stopAccepting()
	return nil
}

func (l *Listener) stopAccepting() {
	l.sweep.Do(func() {
		l.tcp.Close()
		close(l.swept)
	})
}

func (l *Listener) release(c *Conn) {
	l.Ledger.close(c)
	<-l.slots
}
