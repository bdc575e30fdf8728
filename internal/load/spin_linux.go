package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/record"
)

// A spinner drives a closed loop from one thread with raw system calls, about
// 5 µs a request, most of it the kernel's. It asks epoll for events without ever
// waiting: a driver that sleeps has its wake-ups in every reply, and the more of
// them the faster the server is.
type spinner struct {
	client  *client
	options *ClosedOptions
	depth   int
	epoll   int
	addr    unix.Sockaddr
	family  int
	conns   []spinConn
	heads   headCache
	in, out []byte
	seq     uint64

	start   time.Time
	now     time.Duration // from start, as of the event being handled
	running bool          // connections are open and requests are sent
	opening int           // connections being opened
	closed  []int32       // connections to open, the one that waits longest first
	err     error         // ends the loop
}

// sweepEvery is how often requests are looked over for their timeouts.
const sweepEvery = 50 * time.Millisecond

// spin runs the closed loop of Closed with Spin set.
func spin(ctx context.Context, c *client, o *ClosedOptions) (ClosedResult, error) {
	s := &spinner{client: c, options: o, depth: max(1, o.Pipeline), in: make([]byte, 64<<10)}
	if err := s.prepare(); err != nil {
		return ClosedResult{}, fmt.Errorf("preparing the closed loop: %w", err)
	}
	defer s.close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var stop atomic.Bool
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()

	s.start = time.Now()
	s.turn(&stop, func() bool { return s.opening == 0 && len(s.closed) == 0 })
	self := observe(1, threadTime)
	s.start, s.now, s.running = time.Now(), 0, true
	if o.Started != nil {
		o.Started(s.start)
	}
	for i := range s.conns {
		switch s.conns[i].state {
		case spinOpen:
			s.now = time.Since(s.start)
			s.topUp(&s.conns[i])
		case spinClosed:
			s.closed = append(s.closed, int32(i))
		}
	}
	s.turn(&stop, func() bool { return s.now >= o.Warmup+o.Duration })

	res := ClosedResult{Start: s.start, Dialled: c.dialled.Load(), Exhausted: c.exhausted.Load(), Proof: self.proof()}
	took := time.Since(s.start)
	for i := range s.conns {
		for k := &s.conns[i]; k.count > 0; k.pop() {
			k.cutOff(k.ring[k.oldest].sent)
		}
		res.add(&s.conns[i].tally, s.conns[i].first)
	}
	res.finish(took, o)
	return res, errors.Join(s.err, ctx.Err())
}

func (s *spinner) prepare() error {
	tcp, err := net.ResolveTCPAddr("tcp", s.client.addr)
	if err != nil {
		return err
	}
	if four := tcp.IP.To4(); four != nil {
		s.family, s.addr = unix.AF_INET, &unix.SockaddrInet4{Port: tcp.Port, Addr: [4]byte(four)}
	} else {
		s.family, s.addr = unix.AF_INET6, &unix.SockaddrInet6{Port: tcp.Port, Addr: [16]byte(tcp.IP.To16())}
	}
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("creating an epoll set: %w", err)
	}
	s.conns = make([]spinConn, s.options.Connections)
	for i := range s.conns {
		s.conns[i] = spinConn{
			index: int32(i), asked: -1, ring: make([]flight, s.depth),
			tally: tally{from: s.options.Warmup, to: s.options.Warmup + s.options.Duration, keep: s.options.Record},
		}
		s.closed = append(s.closed, int32(i))
	}
	return nil
}

func (s *spinner) close() {
	for i := range s.conns {
		s.shut(&s.conns[i])
	}
	_ = unix.Close(s.epoll)
}

// turn handles events until done says so, the loop is stopped, or it fails.
func (s *spinner) turn(stop *atomic.Bool, done func() bool) {
	events := make([]unix.EpollEvent, 256)
	sweep := sweepEvery
	for s.err == nil && !stop.Load() && !done() {
		n, err := unix.EpollWait(s.epoll, events, 0)
		if err != nil && err != unix.EINTR {
			s.err = fmt.Errorf("waiting for events: %w", err)
		}
		s.now = time.Since(s.start)
		for _, e := range events[:max(0, n)] {
			s.handle(&s.conns[e.Fd], e.Events)
		}
		s.dial()
		if s.now >= sweep {
			sweep = s.now + sweepEvery
			s.sweep()
		}
	}
}

// handle takes what one connection has come to.
func (s *spinner) handle(k *spinConn, events uint32) {
	switch k.state {
	case spinClosed: // by an earlier event of the same batch
		return
	case spinOpening:
		s.opened(k)
		return
	}
	if events&unix.EPOLLOUT != 0 && !s.flush(k) {
		return
	}
	if events&^unix.EPOLLOUT == 0 {
		return
	}
	n, err := unix.Read(k.fd, s.in)
	s.now = time.Since(s.start)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		return
	case err != nil || n <= 0:
		s.broken(k, record.Reset)
		return
	}
	s.read(k, s.in[:n])
	if k.state == spinOpen {
		s.topUp(k)
	}
}

// read takes the replies in b.
func (s *spinner) read(k *spinConn, b []byte) {
	for len(b) > 0 {
		if k.count == 0 { // nobody asked for it
			s.broken(k, record.Reset)
			return
		}
		f := k.ring[k.oldest]
		rest, rep, whole, err := k.reader.next(b, &s.heads, s.client.template(f.seq).bodiless)
		if err != nil {
			if s.heads.raw == nil {
				s.err = fmt.Errorf("reading the first reply: %w: %.100q; spin reads no other, leave it out", err, b)
			}
			s.broken(k, record.Reset)
			return
		}
		if b = rest; !whole {
			return
		}
		k.pop()
		if k.first == 0 {
			k.first = max(1, s.now-k.asked)
		}
		k.tally.count(closedRequest(f.sent, f.sent, s.now, rep, record.Answered, f.demand), f.mark(int64(s.now)))
		if !rep.keep {
			s.broken(k, record.Reset)
			return
		}
	}
}

// topUp sends as many requests as the pipeline has room for.
func (s *spinner) topUp(k *spinConn) {
	if len(k.unsent) > 0 || k.count == s.depth || s.now >= k.to {
		return
	}
	s.out = s.out[:0]
	for k.count < s.depth {
		d := s.options.demand(s.seq)
		s.out = s.client.template(s.seq).request(s.out, s.seq, d)
		k.push(flight{s.seq, s.now, d})
		s.seq++
	}
	if k.asked < 0 {
		k.asked = s.now
	}
	n, err := unix.Write(k.fd, s.out)
	switch {
	case err == unix.EAGAIN || err == unix.EINTR:
		n = 0
	case err != nil:
		s.broken(k, record.Reset)
		return
	}
	if n < len(s.out) {
		k.unsent = append(k.unsent, s.out[n:]...)
		s.await(k, unix.EPOLL_CTL_MOD, unix.EPOLLIN|unix.EPOLLOUT)
	}
}

// flush sends on what did not fit the socket. It reports whether k is still open.
func (s *spinner) flush(k *spinConn) bool {
	n, err := unix.Write(k.fd, k.unsent)
	if err != nil && err != unix.EAGAIN && err != unix.EINTR {
		s.broken(k, record.Reset)
		return false
	}
	k.unsent = append(k.unsent[:0], k.unsent[max(0, n):]...)
	if len(k.unsent) == 0 {
		s.await(k, unix.EPOLL_CTL_MOD, unix.EPOLLIN)
		s.topUp(k)
	}
	return k.state == spinOpen
}

// await has the kernel report events of k.
func (s *spinner) await(k *spinConn, how int, events uint32) {
	if err := unix.EpollCtl(s.epoll, how, k.fd, &unix.EpollEvent{Events: events, Fd: k.index}); err != nil {
		s.err = fmt.Errorf("watching a connection: %w", err)
	}
}

// sweep ends what has taken too long.
func (s *spinner) sweep() {
	for i := range s.conns {
		k := &s.conns[i]
		late := s.now - s.client.timeout
		switch {
		case k.state == spinOpening && k.since < late:
			s.refused(k, record.TimedOut)
		case k.state == spinOpen && k.count > 0 && k.ring[k.oldest].sent < late:
			s.broken(k, record.TimedOut)
		}
	}
}
