package load

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/record"
)

// States of a spinConn.
const (
	spinClosed = iota
	spinOpening
	spinOpen
)

// A spinConn is one connection of a spinner and the requests under way on it.
type spinConn struct {
	tally
	index  int32
	fd     int
	state  int
	since  time.Duration // of its opening, or of its last failure
	asked  time.Duration // when the first request was sent
	first  time.Duration // from there to the first reply; 0 before
	reader replyReader
	unsent []byte

	ring          []flight // of as many as may be under way
	oldest, count int
}

func (k *spinConn) push(f flight) {
	at := k.oldest + k.count
	if at >= len(k.ring) {
		at -= len(k.ring)
	}
	k.ring[at] = f
	k.count++
}

func (k *spinConn) pop() {
	if k.oldest++; k.oldest == len(k.ring) {
		k.oldest = 0
	}
	k.count--
}

// dial opens connections, openers at a time: before the loop as fast as OpenRate
// allows, in it after a pause, so that a dead server is not dialled without end.
func (s *spinner) dial() {
	for len(s.closed) > 0 && s.opening < openers {
		k := &s.conns[s.closed[0]]
		switch rate := s.options.OpenRate; {
		case s.running && k.since > 0 && s.now < k.since+refusedPause:
			return
		case !s.running && rate > 0 && s.now < time.Duration(float64(k.index)/rate*1e9):
			return
		}
		s.closed = s.closed[1:]
		s.connect(k)
	}
}

func (s *spinner) connect(k *spinConn) {
	fd, err := unix.Socket(s.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		k.fd, k.state, k.since = fd, spinOpening, s.now
		s.opening++
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil {
		err = unix.Connect(fd, s.addr)
	}
	switch {
	case err == nil:
		s.await(k, unix.EPOLL_CTL_ADD, unix.EPOLLIN)
		s.connected(k)
	case errors.Is(err, unix.EINPROGRESS):
		s.await(k, unix.EPOLL_CTL_ADD, unix.EPOLLOUT)
	default:
		s.failed(k, err)
	}
}

// opened takes the end of a connection's opening.
func (s *spinner) opened(k *spinConn) {
	code, err := unix.GetsockoptInt(k.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && code != 0 {
		err = unix.Errno(code)
	}
	if err != nil {
		s.failed(k, err)
		return
	}
	s.await(k, unix.EPOLL_CTL_MOD, unix.EPOLLIN)
	s.connected(k)
}

func (s *spinner) connected(k *spinConn) {
	s.opening--
	s.client.dialled.Add(1)
	k.state = spinOpen
	if s.running {
		s.now = time.Since(s.start)
		s.topUp(k)
	}
}

// failed takes a connection that could not be opened.
func (s *spinner) failed(k *spinConn, err error) {
	if errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		s.client.exhausted.Add(1)
	}
	s.refused(k, record.Refused)
}

// refused gives up opening k. In the loop that is a request that failed;
// beforehand it is left to the loop.
func (s *spinner) refused(k *spinConn, out record.Outcome) {
	began := k.since
	s.shut(k)
	k.since = 0
	if s.running {
		k.tally.count(closedRequest(began, began, s.now, reply{}, out, s.options.demand(s.seq)), Mark{Seq: s.seq})
		s.seq++
		k.since = s.now
		s.closed = append(s.closed, k.index)
	}
}

// broken ends k and all that was under way on it, and has it opened anew.
func (s *spinner) broken(k *spinConn, out record.Outcome) {
	for ; k.count > 0; k.pop() {
		f := k.ring[k.oldest]
		k.tally.count(closedRequest(f.sent, f.sent, s.now, reply{}, out, f.demand), f.mark(0))
	}
	s.shut(k)
	k.since = 0 // it had been open: no pause
	if s.running {
		s.closed = append(s.closed, k.index)
	}
}

// shut closes k's socket, if it has one, and forgets what was half read.
func (s *spinner) shut(k *spinConn) {
	if k.state == spinOpening {
		s.opening--
	}
	if k.state != spinClosed {
		_ = unix.Close(k.fd)
	}
	k.state, k.unsent = spinClosed, k.unsent[:0]
	k.reader = replyReader{held: k.reader.held[:0]}
}
