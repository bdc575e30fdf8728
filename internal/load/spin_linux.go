package load

import (
	"fmt"
	"math"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"schedlab/internal/record"
)

// A spinner drives every connection of a load from one goroutine with raw system
// calls, some 4 µs a request, most of it the kernel's. With a CPU of its own it asks
// epoll for events without ever waiting, so that neither a due request nor a reply
// waits for a thread to wake. While it runs it allocates nothing but room for the log
// of a closed loop that outgrows its guess, takes no lock and logs nothing.
//
// Note: the goroutine is not locked to its thread. Go takes a running goroutine off
// its P every 10 ms, and a locked one comes back by way of another thread: see
// docs/decisions/0019-one-goroutine-that-spins.md.
type spinner struct {
	asked   *asked
	timeout int64
	sleeps  bool
	loop    spinLoop
	log     *requestLog
	conns   []spinConn
	heads   headCache
	in      []byte
	events  [turnEvents]unix.EpollEvent
	epoll   int
	addr    rawAddress

	start   time.Time
	now     int64 // from start, as of the event being handled
	oldest  int   // no request of the log before it is under way
	running bool  // the load has started
	stop    atomic.Bool
	err     error // ends the load

	// order lists the requests of an open loop as they ended; ended is how many of
	// it another goroutine may read.
	order []int32
	ended atomic.Int64

	dialled, exhausted uint64
	opening            int  // connections being opened
	freed              bool // one may take a request
	watch              turnWatch
	audit              readAudit
	moments            []time.Duration
	moment             func(i int)
	past               int // moments that were told
	crowd              IdleConns
	firstLost          time.Time
}

// A spinLoop decides what is sent when.
type spinLoop interface {
	// begin is called once, at the load's start.
	begin()
	// release sends what is due by now, a limited number of requests at a time, and
	// returns when the next is due, math.MaxInt64 for none.
	release() (next int64)
	// finished is told each request that has its outcome.
	finished(i int)
	// free is told that a connection may take a request, open or not: also of one that
	// the loop has already, because the server closed it meanwhile.
	free(k *spinConn)
	// expired says that a request without a connection ran out of time.
	expired(i int)
	over() bool
}

const (
	turnEvents   = 16 // of epoll, before the clock is read again
	turnReleases = 16 // requests sent before events are looked at
	// yieldEvery is how often other goroutines may run where nothing is due for
	// yieldRoom. A stop of the world waits no longer for this one.
	yieldEvery = time.Millisecond
	yieldRoom  = 50 * time.Microsecond
	// longestWait bounds a sleep, and with it how late a stop is noticed; below
	// shortestWait sleeping is not worth it.
	longestWait  = 50 * time.Millisecond
	shortestWait = 10 * time.Microsecond
	readSize     = 64 << 10
)

// prepare opens the epoll set and makes room for n connections, depth requests on each.
func (s *spinner) prepare(n, depth int) error {
	tcp, err := net.ResolveTCPAddr("tcp", s.asked.addr)
	if err != nil {
		return err
	}
	s.addr = newRawAddress(tcp)
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("creating an epoll set: %w", err)
	}
	s.in = make([]byte, readSize)
	for i := range s.in {
		s.in[i] = 1 // its pages are there before the load is
	}
	s.conns = make([]spinConn, n)
	rings := make([]int32, n*depth)
	size := s.asked.longest() * depth
	outs := make([]byte, 0, n*min(size, 4<<10))
	for i := range s.conns {
		k := &s.conns[i]
		k.index, k.fd, k.mark = int32(i), -1, true
		k.ring = rings[i*depth : (i+1)*depth : (i+1)*depth]
		if size <= 4<<10 {
			k.out = outs[i*size : i*size : (i+1)*size]
		}
	}
	return nil
}

func (s *spinner) close() {
	for i := range s.conns {
		s.shut(&s.conns[i])
	}
	_ = unix.Close(s.epoll)
}

func (s *spinner) clock() int64 { return int64(time.Since(s.start)) }

// run drives the load until its end.
func (s *spinner) run() {
	s.running = true
	s.now = s.clock()
	for s.now < 0 { // the start lies a moment ahead
		s.now = s.clock()
	}
	s.loop.begin()
	s.watch = turnWatch{last: s.now, yielded: s.now}
	for s.err == nil && !s.stop.Load() && (!s.loop.over() || s.past < len(s.moments)) {
		s.turn()
		s.tellMoments()
	}
}

// tellMoments tells the moments that have come.
func (s *spinner) tellMoments() {
	for s.past < len(s.moments) && s.now >= int64(s.moments[s.past]) {
		s.moment(s.past)
		s.past++
	}
}

// nextMoment is when the next moment comes; math.MaxInt64 for none.
func (s *spinner) nextMoment() int64 {
	if s.past == len(s.moments) {
		return math.MaxInt64
	}
	return int64(s.moments[s.past])
}

// turn sends what is due, and handles what has come.
func (s *spinner) turn() {
	next := s.loop.release()
	n := s.wait(next)
	s.now = s.clock()
	s.watch.turn(s.now)
	for _, e := range s.events[:n] {
		s.watch.worked = true
		s.handle(&s.conns[e.Fd], e.Events, e.Pad)
		if s.now >= next || s.freed {
			s.freed = false
			next = s.loop.release()
		}
	}
	s.expire()
	if !s.sleeps && n == 0 && next-s.now > int64(yieldRoom) && s.now-s.watch.yielded > int64(yieldEvery) {
		runtime.Gosched()
		s.watch.yielded = s.now
	}
}

// wait asks for events: without waiting, or where the CPU is shared until the next
// request is due.
func (s *spinner) wait(next int64) (n int) {
	if s.sleeps {
		s.now = s.clock()
		if until := min(next, s.deadline(), s.nextMoment()) - s.now; until > int64(shortestWait) {
			s.watch.turn(s.now)
			ts := unix.NsecToTimespec(min(until, int64(longestWait)))
			r, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(s.epoll), uintptr(unsafe.Pointer(&s.events[0])), turnEvents, uintptr(unsafe.Pointer(&ts)), 0, 0)
			s.watch.last = s.clock() // the time asleep is nobody's
			return s.took(int(r), errno)
		}
	}
	r, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(s.epoll), uintptr(unsafe.Pointer(&s.events[0])), turnEvents, 0, 0, 0)
	return s.took(int(r), errno)
}

func (s *spinner) took(n int, errno syscall.Errno) int {
	if errno == 0 {
		return n
	}
	if errno != unix.EINTR {
		s.err = fmt.Errorf("waiting for events: %w", errno)
	}
	return 0
}

// deadline is when the request that has been under way longest runs out of time.
func (s *spinner) deadline() int64 {
	if s.oldest >= s.log.n || s.log.at(s.oldest).sent < 0 {
		return math.MaxInt64
	}
	return s.log.at(s.oldest).sent + s.timeout
}

// expire ends the requests that have taken too long. They were sent in the order of
// the log and all may take as long, so it looks at the oldest only.
func (s *spinner) expire() {
	for s.oldest < s.log.n {
		e := s.log.at(s.oldest)
		switch {
		case e.done > 0:
			s.oldest++
			continue
		case e.sent < 0 || s.now-e.sent < s.timeout:
			return
		case e.conn < 0:
			s.loop.expired(s.oldest)
			s.finish(s.oldest, record.TimedOut)
		default:
			s.broken(&s.conns[e.conn], record.TimedOut)
		}
	}
}

// finish gives a request its outcome.
func (s *spinner) finish(i int, out record.Outcome) {
	e := s.log.at(i)
	e.done, e.outcome = max(s.now, 1), out
	if s.order != nil {
		n := s.ended.Load()
		s.order[n] = int32(i)
		s.ended.Store(n + 1)
	}
	s.loop.finished(i)
}

// open opens every place there is, openers at a time and, unless rate is 0, that many
// a second, before the load starts. What cannot be opened now is dialled by the first
// request that needs it, and counted there.
func (s *spinner) open(stopped func() bool, conns []spinConn, rate float64) {
	begun := time.Now()
	for next := 0; (next < len(conns) || s.opening > 0) && !stopped() && s.err == nil; {
		for next < len(conns) && s.opening < openers && (rate <= 0 || time.Since(begun).Seconds() >= float64(next)/rate) {
			s.connect(&conns[next])
			next++
		}
		s.pump(time.Millisecond)
		if time.Since(begun) > time.Duration(s.timeout) && (next == len(conns) || rate <= 0) {
			break
		}
	}
	for i := range conns {
		if conns[i].state == spinOpening {
			s.shut(&conns[i])
		}
	}
}

// pump handles what has come before the load starts, after a wait.
func (s *spinner) pump(wait time.Duration) {
	n, err := unix.EpollWait(s.epoll, s.events[:], int(wait.Milliseconds()))
	if err != nil && err != unix.EINTR {
		s.err = fmt.Errorf("waiting for events: %w", err)
	}
	for _, e := range s.events[:max(n, 0)] {
		s.handle(&s.conns[e.Fd], e.Events, e.Pad)
	}
}
