package load

import (
	"context"
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

// DefaultEngine is the engine where none is named.
const DefaultEngine = EngineSpin

// A spinner drives every connection of a load from one goroutine with raw system calls,
// some 4 µs a request, most of it the kernel's. With a CPU of its own it polls epoll and
// never waits, so that neither a due request nor a reply waits for a thread to wake. While
// it runs it takes no lock and logs nothing, and it allocates only when the log of a closed
// loop outgrows the room made for it.
//
// Note: the goroutine is not locked to its thread. Go takes a running goroutine off
// its P every 10 ms, and a locked one comes back by way of another thread: see
// docs/decisions/0019-one-goroutine-that-spins.md.
type spinner struct {
	script  *script
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
	oldest  int   // every request of the log before it has its outcome
	running bool  // the load has started
	stop    atomic.Bool
	err     error // ends the load

	// endOrder lists the requests of an open loop in the order they ended. Another
	// goroutine may read its first ended entries.
	endOrder []int32
	ended    atomic.Int64

	dialled, exhausted uint64
	opening            int  // connections being opened
	freed              bool // a connection may take a request
	watch              turnWatch
	audit              readAudit
	moments            []time.Duration
	moment             func(i int)
	momentsDone        int // moments that were called
	idleConns          IdleConns
	firstLost          time.Time
}

// A spinLoop decides what is sent when.
type spinLoop interface {
	// begin is called once, at the load's start.
	begin()
	// release sends due requests, at most turnReleases of them, and returns when the next
	// is due, math.MaxInt64 for none.
	release() (next int64)
	// finished is called when request i has its outcome.
	finished(i int)
	// free is called when a connection may take a request, open or not. It is called again
	// for a connection that is queued already when the server closes it.
	free(k *spinConn)
	// expired is called when a request without a connection timed out.
	expired(i int)
	over() bool
}

const (
	turnEvents   = 16 // of epoll, before the clock is read again
	turnReleases = 16 // requests sent before events are looked at
	// yieldEvery is how often other goroutines may run, when nothing is due for
	// yieldRoom. It also bounds how long a stop of the world waits for this goroutine.
	yieldEvery = time.Millisecond
	yieldRoom  = 50 * time.Microsecond
	// longestWait bounds a sleep, and so how late a stop is noticed. A wait shorter than
	// shortestWait is not slept.
	longestWait  = 50 * time.Millisecond
	shortestWait = 10 * time.Microsecond
	readSize     = 64 << 10
)

// prepare opens the epoll set and makes room for n connections, depth requests on each.
func (s *spinner) prepare(n, depth int) error {
	tcp, err := net.ResolveTCPAddr("tcp", s.script.addr)
	if err != nil {
		return err
	}
	s.addr = newRawAddress(tcp)
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("creating an epoll set: %w", err)
	}
	s.in = make([]byte, readSize)
	for i := range s.in {
		s.in[i] = 1 // so that no page fault comes while the load runs
	}
	s.conns = make([]spinConn, n)
	rings := make([]int32, n*depth)
	size := s.script.maxRequestBytes() * depth
	outs := make([]byte, 0, n*min(size, 4<<10))
	for i := range s.conns {
		k := &s.conns[i]
		k.index, k.fd, k.queued = int32(i), -1, true
		k.ring = rings[i*depth : (i+1)*depth : (i+1)*depth]
		if size <= 4<<10 {
			k.out = outs[i*size : i*size : (i+1)*size]
		}
	}
	return nil
}

// measured applies how the load rests, opens the connections with open, runs the load, and
// returns what the generator did meanwhile, without its requests. The spinner's start is set
// when started is called.
func (s *spinner) measured(ctx context.Context, open func(), started func(time.Time)) Proof {
	defer context.AfterFunc(ctx, func() { s.stop.Store(true) })()
	rest, undo := s.applyRest()
	defer undo()
	open()
	self := startProcessMeter()
	s.start = time.Now().Add(lead)
	if started != nil {
		started(s.start)
	}
	s.run()
	p := self.proof()
	p.addSpinner(s, rest)
	return p
}

// lead is how far ahead the start of a load lies when started is called, so that the callback
// has time.
const lead = time.Millisecond

func (s *spinner) close() {
	for i := range s.conns {
		s.closeConn(&s.conns[i])
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
	for s.err == nil && !s.stop.Load() && (!s.loop.over() || s.momentsDone < len(s.moments)) {
		s.turn()
		s.callMoments()
	}
}

// callMoments calls moment for the times that have come.
func (s *spinner) callMoments() {
	for s.momentsDone < len(s.moments) && s.now >= int64(s.moments[s.momentsDone]) {
		s.moment(s.momentsDone)
		s.momentsDone++
	}
}

// nextMoment is when the next moment comes; math.MaxInt64 for none.
func (s *spinner) nextMoment() int64 {
	if s.momentsDone == len(s.moments) {
		return math.MaxInt64
	}
	return int64(s.moments[s.momentsDone])
}

// turn sends due requests and handles events.
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

// wait collects events: without waiting, or, where the CPU is shared, until the next request
// is due.
func (s *spinner) wait(next int64) (n int) {
	if s.sleeps {
		s.now = s.clock()
		if until := min(next, s.deadline(), s.nextMoment()) - s.now; until > int64(shortestWait) {
			s.watch.turn(s.now)
			ts := unix.NsecToTimespec(min(until, int64(longestWait)))
			r, _, errno := unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(s.epoll), uintptr(unsafe.Pointer(&s.events[0])), turnEvents, uintptr(unsafe.Pointer(&ts)), 0, 0)
			s.watch.last = s.clock() // the sleep counts in no turn
			return s.eventCount(int(r), errno)
		}
	}
	r, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(s.epoll), uintptr(unsafe.Pointer(&s.events[0])), turnEvents, 0, 0, 0)
	return s.eventCount(int(r), errno)
}

func (s *spinner) eventCount(n int, errno syscall.Errno) int {
	if errno == 0 {
		return n
	}
	if errno != unix.EINTR {
		s.err = fmt.Errorf("waiting for events: %w", errno)
	}
	return 0
}

// deadline is when the oldest request in flight times out.
func (s *spinner) deadline() int64 {
	if s.oldest >= s.log.n || s.log.at(s.oldest).sent < 0 {
		return math.MaxInt64
	}
	return s.log.at(s.oldest).sent + s.timeout
}

// expire ends the requests that timed out. They were sent in the order of the log and have
// the same timeout, so it looks at the oldest only.
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
	if s.endOrder != nil {
		n := s.ended.Load()
		s.endOrder[n] = int32(i)
		s.ended.Store(n + 1)
	}
	s.loop.finished(i)
}

// open opens the connections before the load starts, openers at a time and, unless rate is
// 0, at that many a second. One that fails is opened by the first request that needs it, and
// a failure counts there.
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
			s.closeConn(&conns[i])
		}
	}
}

// pump waits for events, and handles them, before the load starts.
func (s *spinner) pump(wait time.Duration) {
	n, err := unix.EpollWait(s.epoll, s.events[:], int(wait.Milliseconds()))
	if err != nil && err != unix.EINTR {
		s.err = fmt.Errorf("waiting for events: %w", err)
	}
	for _, e := range s.events[:max(n, 0)] {
		s.handle(&s.conns[e.Fd], e.Events, e.Pad)
	}
}

// A turnWatch measures the spinner's turns: how long it worked, and how long something else
// had its CPU.
type turnWatch struct {
	last    int64 // the end of the last turn
	worked  bool  // since then something was sent or handled
	yielded int64

	work    int64 // time of turns that did something
	away    int64 // time of turns that did nothing and took long all the same
	longest int64
}

// idleTurn is more than a turn takes that sends and receives nothing: one reading of the
// clock and one system call.
const idleTurn = int64(5 * time.Microsecond)

// turn ends a turn.
func (w *turnWatch) turn(now int64) {
	took := now - w.last
	w.longest = max(w.longest, took)
	switch {
	case w.worked:
		w.work += took
	case took > idleTurn:
		w.away += took
	}
	w.last, w.worked = now, false
}
