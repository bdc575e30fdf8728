package model

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/shared/timeline"
)

// Socket describes the listening sockets every model gets: plain TCP, never
// MPTCP; NODELAY on and keep-alive probes off; a bounded send buffer.
//
// The zero value of a field is off or the default, but Addr and MaxConns are required.
type Socket struct {
	Addr     string
	Backlog  int // length of each socket's accept queue in the kernel; 0: net.core.somaxconn
	MaxConns int // largest number of open connections, over all sockets; at this cap accepting stops
	// Sockets is the number of sockets that share the address by SO_REUSEPORT. The kernel
	// distributes connections among them by a hash of the client's address. 0 means 1.
	Sockets int
	// Random makes the kernel choose the socket at random instead. Linux only.
	Random bool
	// Pause and First are planted faults. Pause is how long an acceptor sleeps between two
	// connections. First gives all connections to the first of several sockets, unless
	// Random is set.
	Pause time.Duration
	First bool
	// Shared lets other processes of this user listen on the address as well.
	Shared bool
	// Grace is the time from the start of a drain until it closes idle connections; 0: DefaultGrace.
	Grace time.Duration
	// Timeline collects the stamps of every request; nil: nothing is stamped.
	// KernelStamps adds the time at which the kernel received the bytes. Linux only.
	Timeline     *timeline.Ring
	KernelStamps bool
	TLS          *tls.Config // for modes without event loops; nil: no TLS
}

// sendBuffer limits the kernel memory, in bytes, that a client can hold by not reading.
// Without it Linux grows the buffer to 4 MB per connection.
const sendBuffer = 256 << 10

// firstBackoff and longBackoff are the first and the longest wait after a failed accept; the wait
// doubles from one to the other. drainTick is the time between two looks of a drain at the
// connections.
const (
	firstBackoff   = 5 * time.Millisecond
	longBackoff    = time.Second
	emptyQueueWait = time.Millisecond // during a drain, an accept queue that stays empty for this long counts as empty for good
	drainTick      = 5 * time.Millisecond
)

// DefaultGrace is the time that a drain leaves clients to learn from an answer that their kept
// connection ends. It is longer than the pause of a busy client.
const DefaultGrace = 250 * time.Millisecond

// A Listener accepts connections for one model, counts them, caps their number, survives
// running out of descriptors, and drains. It has one socket, or several that share an address.
// Its methods are safe for concurrent use.
//
// It counts each connection when it is accepted and when its socket is closed, whatever the model does
// between. Each of the two costs one short lock.
//
// [Socket.Listen] makes one from a description. A model calls Accept, or an event loop accepts by
// itself and follows the same steps: take a slot, accept, enter the connection.
// Closing a connection undoes the last and the first (release). slots holds an element for each
// open connection, so its capacity is the cap, over all sockets.
type Listener struct {
	sockets     []*socket
	backlog     int
	slots       chan struct{}
	draining    atomic.Bool
	cut         atomic.Bool // the drain is past its timeout: nothing may stay open
	openSockets atomic.Int64
	allClosed   chan struct{} // closed when every listening socket is
	warn        func(msg string, args ...any)
	fullWarning warnLimiter
	asked       Socket // its description, as given to Socket.Listen

	mu     sync.Mutex // guards the fields below, and the counts of the sockets
	open   map[openConn]struct{}
	counts Counts // without Open, which is the length of the map
}

// A socket is one listening socket of a Listener. Each has its own accept queue.
type socket struct {
	*Listener
	tcp    *net.TCPListener
	ready  *os.File // becomes readable when a connection waits; nil with a single socket
	closed chan struct{}
	close  sync.Once
	counts SocketCounts // guarded by the Listener's lock
}

// Listen opens the sockets. It calls warn for rare events, with a message and key-value pairs
// like slog's; warn may be nil.
func (s Socket) Listen(ctx context.Context, warn func(msg string, args ...any)) (*Listener, error) {
	if warn == nil {
		warn = func(string, ...any) {}
	}
	s.Grace = cmp.Or(s.Grace, DefaultGrace)
	l := &Listener{asked: s, slots: make(chan struct{}, s.MaxConns), allClosed: make(chan struct{}), warn: warn}
	l.open = map[openConn]struct{}{}
	if err := l.listenAll(ctx, s); err != nil {
		l.stopAccepting()
		return nil, err
	}
	return l, nil
}

// listenAll opens every socket. On an error some of them may be open.
func (l *Listener) listenAll(ctx context.Context, s Socket) error {
	if s.Sockets > 1 && !s.Shared {
		if err := s.probe(ctx); err != nil {
			return err
		}
	}
	for range max(s.Sockets, 1) {
		ln, err := s.listen(ctx, s.Sockets > 1 || s.Shared)
		if err != nil {
			return err
		}
		sock := &socket{Listener: l, tcp: ln, closed: make(chan struct{})}
		l.sockets = append(l.sockets, sock)
		l.openSockets.Add(1)
		if s.Sockets > 1 {
			// A duplicate of the descriptor has its own place in Go's poller, so await can wait on
			// it without accepting.
			if sock.ready, err = ln.File(); err != nil {
				return err
			}
		}
		if err := l.setBacklog(ln, s.Backlog); err != nil {
			return err
		}
		s.Addr = ln.Addr().String() // the other sockets take the port that the first one got
	}
	// Otherwise the kernel chooses one of several sockets by a hash of the client's address.
	if s.Sockets < 2 || !s.Random && !s.First {
		return nil
	}
	among := 1 // for the planted fault: the first alone
	if s.Random {
		among = s.Sockets
	}
	return control(l.sockets[0].tcp, func(fd int) error { return dealAmong(fd, among) })
}

// listen opens one socket. Its options are set before the bind, because the kernel looks at
// SO_REUSEPORT there, and before the listen, because connections inherit the size of the send
// buffer.
func (s Socket) listen(ctx context.Context, shared bool) (*net.TCPListener, error) {
	lc := net.ListenConfig{KeepAlive: -1, Control: func(_, _ string, c syscall.RawConn) error {
		var opt error
		err := c.Control(func(fd uintptr) {
			opt = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
			if shared {
				opt = errors.Join(opt, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
			}
			if s.KernelStamps { // connections inherit it
				opt = errors.Join(opt, askKernelStamps(int(fd)))
			}
		})
		return errors.Join(err, opt)
	}}
	lc.SetMultipathTCP(false)
	ln, err := lc.Listen(ctx, "tcp", s.Addr)
	if err != nil {
		return nil, err
	}
	return ln.(*net.TCPListener), nil
}

// Addr returns the address, with the port that the kernel chose.
func (l *Listener) Addr() net.Addr { return l.sockets[0].tcp.Addr() }

// Backlog returns the length of each accept queue, read back from the kernel; 0 off Linux.
func (l *Listener) Backlog() int { return l.backlog }

// Draining reports whether a drain has begun, so that answers should end their connection.
func (l *Listener) Draining() bool { return l.draining.Load() }

// Accept waits for the next connection on the first socket and returns it as a *[Conn]. It
// returns [net.ErrClosed] once a drain has emptied the accept queue, and no other error while
// the socket is healthy. At the connection cap it waits; when descriptors or memory run out it
// backs off and tries again.
func (l *Listener) Accept() (net.Conn, error) { return l.sockets[0].Accept() }

// Accept does the same as [Listener.Accept], on this socket.
func (s *socket) Accept() (net.Conn, error) {
	time.Sleep(s.asked.Pause) // 0 unless the fault is planted
	// While no slot is free, connections wait in the kernel's queue.
	s.await()
	select {
	case s.slots <- struct{}{}:
	default:
		s.warnFull()
		select {
		case s.slots <- struct{}{}:
		case <-s.closed:
			return nil, net.ErrClosed
		}
	}
	tc, err := s.accept()
	if err != nil {
		<-s.slots
		s.stop()
		if !errors.Is(err, net.ErrClosed) { // when one socket fails, all stop
			s.stopAccepting()
		}
		return nil, err
	}
	c := &Conn{TCPConn: tc, entry: entry{listener: s.Listener, socket: s}}
	c.secure(s.asked.TLS)
	s.stamp(&c.entry)
	s.enter(c)
	if s.cut.Load() { // force may have run before c was entered
		cutOff(c)
	}
	return c, nil
}

func (l *Listener) warnFull() {
	if !l.Draining() && l.fullWarning.allow() {
		l.warn("as many connections are open as may be: accepting waits until one closes; raise --max-conns, or lower --idle-timeout", "max_conns", cap(l.slots))
	}
}

// await returns when a connection waits on this socket, or a drain begins. Only then does one
// of several sockets take a slot. If it took the slot before, the other sockets could not use
// that slot until a connection comes to this one.
func (s *socket) await() {
	if s.ready == nil || s.Draining() {
		return
	}
	raw, err := s.ready.SyscallConn()
	if err != nil {
		return
	}
	// Read fails when a drain or a close wakes it. The accept that follows notices.
	_ = raw.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		return n > 0 || err != nil
	})
}

// accept waits for a connection and survives errors that pass. It tries again after 5 ms, 10 ms and
// so on up to a second: when descriptors have run out, trying at once would only use CPU time.
func (s *socket) accept() (*net.TCPConn, error) {
	for backoff := firstBackoff; ; backoff = min(2*backoff, longBackoff) {
		if s.Draining() {
			s.tcp.SetDeadline(time.Now().Add(emptyQueueWait))
		}
		tc, err := s.tcp.AcceptTCP()
		switch {
		case err == nil:
			return tc, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			// The deadline is the drain's. It may have passed before accept looked at
			// the queue.
			if q, err := readQueue(s.tcp); err != nil || q.Waiting == 0 {
				return nil, net.ErrClosed
			}
			continue
		case !temporary(err): // or closed
			return nil, err
		}
		s.warn("accepting failed, trying again", "error", err, "after", backoff)
		select {
		case <-time.After(backoff):
		case <-s.closed:
			return nil, net.ErrClosed
		}
	}
}

// temporary reports whether an accept error can pass, so that it is worth trying again.
func temporary(err error) bool {
	passing := []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM, unix.ECONNABORTED, unix.EINTR}
	return slices.ContainsFunc(passing, func(e error) bool { return errors.Is(err, e) })
}

// Close stops accepting. Connections already accepted stay open.
func (l *Listener) Close() error {
	l.stopAccepting()
	return nil
}

// stopAccepting closes all sockets. It may be called more than once, and by any goroutine.
func (l *Listener) stopAccepting() {
	for _, s := range l.sockets {
		s.stop()
	}
}

// stop closes the socket. The last one closes allClosed.
func (s *socket) stop() {
	s.close.Do(func() {
		close(s.closed) // first, so that a goroutine that finds the socket closed sees that this was intended
		s.tcp.Close()
		if s.ready != nil {
			_ = s.ready.Close()
		}
		if s.openSockets.Add(-1) == 0 {
			close(s.allClosed)
		}
	})
}

// errLinuxOnly is returned where this kernel cannot report a socket's state. The backlog then
// cannot be read back, and a drain waits for connections or cuts them at its timeout.
var errLinuxOnly = errors.New("only Linux tells this of a socket")

// setBacklog sets the length of the accept queue, and reads back the length that the kernel
// chose. It calls listen(2) again, the only way to set the length after Go has opened the
// socket.
func (l *Listener) setBacklog(ln *net.TCPListener, want int) error {
	// The kernel lowers a length above net.core.somaxconn without an error.
	if want > 0 {
		if err := control(ln, func(fd int) error { return unix.Listen(fd, want) }); err != nil {
			return fmt.Errorf("setting the backlog: %w", err)
		}
	}
	queue, err := readQueue(ln)
	if errors.Is(err, errLinuxOnly) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the backlog: %w", err)
	}
	l.backlog = queue.Limit
	if l.backlog < want {
		return &BacklogError{Want: want, Got: l.backlog}
	}
	return nil
}

// An AcceptQueue describes the kernel's queue of connections that are not accepted yet, in
// connections. It holds one more than Limit before it overflows.
type AcceptQueue struct{ Waiting, Limit int }

// readQueue reads a listening socket's accept queue. It costs about 1.5 µs.
func readQueue(ln *net.TCPListener) (q AcceptQueue, err error) {
	err = control(ln, func(fd int) (err error) {
		q, err = acceptQueue(fd)
		return err
	})
	return q, err
}

// AcceptQueue reads the accept queue of socket i, from 0. ok is false when that socket is
// closed, and off Linux.
func (l *Listener) AcceptQueue(i int) (q AcceptQueue, ok bool) {
	q, err := readQueue(l.sockets[i].tcp)
	return q, err == nil
}

// control calls f with the descriptor of the listening socket.
func control(ln *net.TCPListener, f func(fd int) error) error {
	raw, err := ln.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	return errors.Join(raw.Control(func(fd uintptr) { failed = f(int(fd)) }), failed)
}

// A BacklogError reports that the kernel made the accept queue shorter than wanted.
type BacklogError struct{ Want, Got int }

func (e *BacklogError) Error() string {
	return fmt.Sprintf("backlog %d is above the kernel's limit %d; lower --backlog or raise net.core.somaxconn", e.Want, e.Got)
}

// Reserve holds the address without listening on it: the Listener that it returns gets no
// connections. Only other processes of this user can listen on the address meanwhile
// ([Socket.Shared]). Reserve also finds out which length of accept queue the kernel allows. It fails
// when another socket already listens on the address.
func (s Socket) Reserve(ctx context.Context) (*Listener, error) {
	if err := s.probe(ctx); err != nil {
		return nil, err
	}
	first, err := s.listen(ctx, true) // on the port that the kernel chose, if it may
	if err != nil {
		return nil, err
	}
	defer first.Close()
	s.Addr, s.Shared, s.Sockets = first.Addr().String(), true, 1
	l, err := s.Listen(ctx, nil)
	if err != nil {
		return nil, err
	}
	// After a shutdown the socket no longer listens, but it keeps an address that was bound
	// with an explicit port (tcp_disconnect in net/ipv4/tcp.c, SOCK_BINDPORT_LOCK).
	if err := control(l.sockets[0].tcp, func(fd int) error { return unix.Shutdown(fd, unix.SHUT_RD) }); err != nil {
		return nil, errors.Join(fmt.Errorf("reserving %s: %w", s.Addr, err), l.Close())
	}
	return l, nil
}

// probe returns an error if another socket listens on the address. A socket with SO_REUSEPORT
// shares its address with any other such socket of this user, so only a socket without it can
// find out. (Where the kernel chooses the port, it shares none.)
func (s Socket) probe(ctx context.Context) error {
	free, err := s.listen(ctx, false)
	if err != nil {
		return err
	}
	return free.Close()
}

// warnEvery is the shortest time between two warnings of the same state.
const warnEvery = 10 * time.Second

// A warnLimiter allows at most one warning per [warnEvery]. It is safe for concurrent use.
type warnLimiter struct{ last atomic.Int64 } // on the timeline's clock; 0: never

// allow reports whether the caller may warn now: of several at the same time, one may.
func (s *warnLimiter) allow() bool {
	now, last := timeline.Now(), s.last.Load()
	return (last == 0 || now-last >= int64(warnEvery)) && s.last.CompareAndSwap(last, now)
}
