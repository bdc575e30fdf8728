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

	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/responses"
)

// DefaultEngine is used when Options name no engine.
const DefaultEngine = EngineSpin

// A spinner drives every connection of a load from one goroutine with raw system calls. A
// request costs some 4 µs, most of it in the kernel. When the spinner has a CPU to itself it
// polls epoll and never sleeps, so that neither a due request nor a reply waits for a thread
// to wake. While it runs it takes no lock and logs nothing, and it allocates only when the
// log of a closed loop outgrows the room made for it.
//
// Note: the goroutine is not locked to its thread. Go takes a running goroutine off
// its P every 10 ms, and a locked one returns only after another thread has run: see
// docs/decisions/0019-one-goroutine-that-spins.md.
//
// The load is a series of turns. A turn sends the requests that are due, collects events from epoll,
// handles them, and ends the requests that timed out. The spinLoop decides what is due.
// spinconn_linux.go drives the connections; tally.go keeps an entry for each request.
//
// Only the spinner's goroutine uses the fields. Others may set stop, and read ends.
type spinner struct {
	script   *script
	options  *Options
	timeout  int64
	patience int64 // from a request's due time to its deadline; 0: none
	retries  impatience
	loop     spinLoop
	log      *requestLog
	conns    []spinConn
	heads    headCache
	in       []byte
	events   [turnEvents]unix.EpollEvent
	epoll    int
	addr     rawAddress

	start   time.Time
	now     int64 // ns from start, read when the present event was handled
	oldest  int   // all requests of the log before this index have an outcome
	watched int   // all requests before this index have one, or were sent again
	running bool  // the load has started
	stop    atomic.Bool
	err     error // ends the load

	ends   *endings // told when a request of an open loop ends; may be nil
	stream *stream  // nil: the log holds the whole schedule

	counts      record.Opened
	exhausted   uint64
	opening     int  // connections being opened
	freed       bool // a connection may take a request
	watch       turnWatch
	audit       readAudit
	momentsDone int // calls of Moment so far
	idleConns   IdleConns
}

// A spinLoop decides which request is sent when.
type spinLoop interface {
	// release sends due requests, at most turnReleases of them. It returns the time at
	// which the next is due, math.MaxInt64 for none.
	release() (next int64)
	// finished is called when request i has its outcome. Its entry has no connection if it got none in
	// time.
	finished(i int)
	// free is called when a connection may take a request, even if it is closed. It is
	// called again when the server closes a connection that is already queued.
	free(k *spinConn)
	// over reports whether the load is complete.
	over() bool
}

const (
	turnEvents   = 16 // epoll events taken before the clock is read again
	turnReleases = 16 // requests sent before epoll is polled again
	// Every yieldEvery the spinner lets other goroutines run, if nothing is due for
	// yieldRoom. This also bounds how long a stop of the world waits for the spinner.
	yieldEvery = time.Millisecond
	yieldRoom  = 50 * time.Microsecond
	// longestWait bounds one sleep, and thereby the delay until a stop is noticed. For a
	// wait shorter than shortestWait the spinner does not sleep.
	longestWait  = 50 * time.Millisecond
	shortestWait = 10 * time.Microsecond
	readSize     = 64 << 10
)

// prepare opens the epoll set and makes room for n connections with up to depth requests in
// flight on each.
func (s *spinner) prepare(n, depth int) error {
	// The name is looked up once, so that every connection goes to the same address.
	tcp, err := net.ResolveTCPAddr("tcp", s.script.templates[0].addr)
	if err != nil {
		return err
	}
	if s.addr, err = newRawAddress(tcp); err != nil {
		return err
	}
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("creating an epoll set: %w", err)
	}
	s.in = make([]byte, readSize)
	for i := range s.in {
		s.in[i] = 1 // so that no page fault comes while the load runs
	}
	// All rings and outputs are parts of two allocations. Outputs of more than 4 KiB are allocated when
	// they are first used: with thousands of connections they would take too much memory.
	s.conns = make([]spinConn, n)
	rings := make([]int32, n*depth)
	size := s.script.maxRequestBytes() * depth
	outs := make([]byte, 0, n*min(size, 4<<10))
	for i := range s.conns {
		k := &s.conns[i]
		// Both loops begin with every connection in their queue.
		k.index, k.fd, k.queued = int32(i), -1, true
		k.inFlight.places = rings[i*depth : (i+1)*depth : (i+1)*depth]
		if size <= 4<<10 {
			k.out = outs[i*size : i*size : (i+1)*size]
		}
	}
	return nil
}

// measured prepares the way in which the load rests, opens the connections with open, runs
// the load, and returns the Proof without its requests. It sets the spinner's start before it
// calls Started.
func (s *spinner) measured(ctx context.Context, open func()) Proof {
	defer context.AfterFunc(ctx, func() { s.stop.Store(true) })()
	rest, undo := s.applyRest()
	defer undo()
	open()
	s.awaitBegin()
	// Opening the connections and waiting for Begin are not part of the load.
	proof := measureProcess()
	s.start = time.Now().Add(lead)
	if begin := s.options.Begin; !begin.IsZero() {
		s.start = begin
	}
	if started := s.options.Started; started != nil {
		started(s.start)
	}
	s.run()
	p := proof()
	w := &s.watch
	p.Rest, p.LongestGap, p.Away = rest, time.Duration(w.longest).Seconds(), time.Duration(w.away).Seconds()
	// Not the process's CPU time, which is near 1 for a spinner even if nothing is due.
	if p.Elapsed > 0 {
		p.Busy = min(1, time.Duration(w.work).Seconds()/p.Elapsed)
	}
	if waits := s.audit.waits; waits != nil && waits.Count() > 0 {
		p.ReadLate = &record.ReadLate{Replies: waits.Count(), P50: waits.Quantile(.5).Seconds(), P99: waits.Quantile(.99).Seconds()}
	}
	return p
}

// awaitBegin sleeps until shortly before Options.Begin, or until the load is stopped.
func (s *spinner) awaitBegin() {
	for !s.stop.Load() {
		early := time.Until(s.options.Begin.Add(-lead))
		if early <= 0 {
			return
		}
		Sleep(min(early, longestWait))
	}
}

// lead is the time from the call of started to the load's start, so that the callback has
// time to run.
const lead = time.Millisecond

// close closes all connections and the epoll set.
func (s *spinner) close() {
	for i := range s.conns {
		s.closeConn(&s.conns[i])
	}
	_ = unix.Close(s.epoll)
}

// clock returns the time since the load's start, in nanoseconds; it is negative before the start.
func (s *spinner) clock() int64 { return int64(time.Since(s.start)) }

// run drives the load until the loop is over and every moment was called, until it is stopped, or
// until an error.
func (s *spinner) run() {
	s.running = true
	s.now = s.clock()
	for s.now < 0 && !s.stop.Load() { // until the start
		s.now = s.clock()
	}
	s.watch = turnWatch{last: s.now, yielded: s.now}
	for s.err == nil && !s.stop.Load() && (!s.loop.over() || s.momentsDone < len(s.options.Moments)) {
		s.turn()
		s.callMoments()
	}
}

// callMoments calls Moment for each of Moments that is due.
func (s *spinner) callMoments() {
	for s.momentsDone < len(s.options.Moments) && s.now >= int64(s.options.Moments[s.momentsDone]) {
		s.options.Moment(s.momentsDone)
		s.momentsDone++
	}
}

// nextMoment returns the time of the next moment; math.MaxInt64 for none.
func (s *spinner) nextMoment() int64 {
	if s.momentsDone == len(s.options.Moments) {
		return math.MaxInt64
	}
	return int64(s.options.Moments[s.momentsDone])
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
		// Handling takes time, and a reply frees a connection: send what has become due before the next event.
		if s.now >= next || s.freed {
			s.freed = false
			next = s.loop.release()
		}
	}
	s.expire()
	// A spinner that sleeps needs no Gosched: its system call lets other goroutines run.
	if !s.options.Shared && n == 0 && next-s.now > int64(yieldRoom) && s.now-s.watch.yielded > int64(yieldEvery) {
		runtime.Gosched()
		s.watch.yielded = s.now
	}
}

// wait collects events and returns their number. It returns at once, or, when the CPU is shared, sleeps
// until an event comes or something is due: a request, a timeout or a moment.
func (s *spinner) wait(next int64) int {
	until := int64(0)
	if s.options.Shared {
		s.now = s.clock()
		until = min(next, s.nextExpiry(), s.retries.timers.next(), s.nextMoment()) - s.now
	}
	var n uintptr
	var errno syscall.Errno
	if until > int64(shortestWait) {
		s.watch.turn(s.now)
		ts := unix.NsecToTimespec(min(until, int64(longestWait)))
		// Syscall6 tells the runtime that the thread sleeps, so that another goroutine can have the P.
		n, _, errno = unix.Syscall6(unix.SYS_EPOLL_PWAIT2, uintptr(s.epoll), uintptr(unsafe.Pointer(&s.events[0])), turnEvents, uintptr(unsafe.Pointer(&ts)), 0, 0)
		s.watch.last = s.clock() // no turn includes the sleep
	} else {
		// A timeout of 0 never sleeps. RawSyscall6 then saves the runtime's bookkeeping.
		n, _, errno = unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(s.epoll), uintptr(unsafe.Pointer(&s.events[0])), turnEvents, 0, 0, 0)
	}
	switch errno {
	case 0:
		return int(n)
	case unix.EINTR: // a signal ended it
		return 0
	}
	s.err = fmt.Errorf("waiting for events: %w", errno)
	return 0
}

// nextExpiry returns the time at which the client of the oldest request in its first attempt gives up.
func (s *spinner) nextExpiry() int64 {
	if s.watched >= s.log.n || s.log.at(s.watched).sent < 0 {
		return math.MaxInt64
	}
	e := s.log.at(s.watched)
	return s.givesUp(e, e.sent)
}

// expire ends the attempts that took too long.
func (s *spinner) expire() {
	s.expireFirst()
	s.expireAgain()
	for ; s.oldest < s.watched && s.log.at(s.oldest).done > 0; s.oldest++ {
		if s.stream != nil && (s.oldest+1)%slabSize == 0 {
			s.retire(s.oldest / slabSize)
		}
	}
}

// expireFirst ends first attempts. Requests are first sent in the order in which they are due, which is that of the log, and all
// have the same timeout and the same deadline, so it looks only at the oldest.
func (s *spinner) expireFirst() {
	for s.watched < s.log.n {
		e := s.log.at(s.watched)
		switch {
		case e.done > 0 || e.retries > 0:
			s.watched++
		case e.sent < 0 || s.now < s.givesUp(e, e.sent):
			return
		case e.conn < 0: // it still waits for a connection
			s.finish(s.watched, request.TimedOut)
		default:
			// Replies come in order, so the requests behind it on this connection end too.
			s.broken(&s.conns[e.conn], request.TimedOut)
		}
	}
}

// finish gives a request its outcome, which nothing changes afterwards, unless it is sent again.
func (s *spinner) finish(i int, out request.End) {
	if s.again(i, out) {
		return
	}
	e := s.log.at(i)
	// At least 1, because 0 stands for no outcome.
	e.done, e.outcome = max(s.now, 1), out
	if s.ends != nil {
		s.ends.add(ending{i: i, e: e})
	}
	s.loop.finished(i)
}

// retire gives up a slab of the log: all of its requests have an outcome. It is used again when they
// have been reported.
func (s *spinner) retire(k int) {
	s.ends.add(ending{slab: s.log.slabs[k]})
	s.log.slabs[k] = nil
}

// open opens the connections before the load starts: openers at a time and, unless rate is 0,
// rate of them per second. If one fails, the first request that needs it opens it again, and
// only a failure then counts.
//
// On loopback a connection is open at once, or the server's queue of new ones was full and the kernel asks again after a
// second. Here such connections are begun anew while none opens, at first after 2 ms and then after twice as long each time,
// so that a server with a short queue (Python's has 5 places) takes milliseconds. rate is of first attempts. Under load nothing is
// begun anew: there the second is what a client waits.
func (s *spinner) open(conns []spinConn, rate float64) {
	begun := time.Now()
	moved, wait := begun, firstWait // when a connection opened or was begun, and how long it may then take
	for next := 0; (next < len(conns) || s.opening > 0) && !s.stop.Load() && s.err == nil; {
		for next < len(conns) && s.opening < openers && (rate <= 0 || time.Since(begun).Seconds() >= float64(next)/rate) {
			s.connect(&conns[next])
			next++
		}
		opened := s.counts.Dialled
		s.pump(time.Millisecond)
		switch now := time.Now(); {
		case s.counts.Dialled > opened:
			moved, wait = now, firstWait
		case s.opening > 0 && now.Sub(moved) >= wait && s.addr.loopback():
			for i := range conns[:next] {
				if k := &conns[i]; k.state == spinOpening {
					s.closeConn(k)
					s.connect(k)
				}
			}
			moved, wait = now, 2*wait
		}
		// A server that accepts nothing must not hold up the load. With a rate, opening all of them may
		// rightly take longer than one timeout.
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

// firstWait is how long no connection of several opens before they are begun anew for the first time.
const firstWait = 2 * time.Millisecond

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
	last    int64 // end of the last turn
	worked  bool  // something was sent or handled since last
	yielded int64

	work    int64 // time of turns that did something
	away    int64 // time of turns that did nothing and still took longer than idleTurn
	longest int64
}

// idleTurn is longer than a turn that sends and receives nothing. Such a turn reads the clock
// once and makes one system call.
const idleTurn = int64(5 * time.Microsecond)

// turn ends a turn at now and adds its length to work or away.
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

// auditedConns is the number of connections that are audited. It is small, because each
// audited read needs a slower system call and another clock.
const auditedConns = 4

// A readAudit measures, on a few connections, how long replies waited in the kernel, which stamps their
// arrival, until the loop read them. So it checks the claim that spin reads replies at once. Only open
// loops with kept connections are audited; the result is Proof.ReadLate.
type readAudit struct {
	waits   *responses.Histogram // nil: no connection is audited
	header  unix.Msghdr
	room    unix.Iovec
	control [64]byte // control messages of the last read
}

// auditReplies marks the first of the given connections for auditing.
func (s *spinner) auditReplies(conns []spinConn) {
	s.audit.waits = responses.NewHistogram()
	for i := range conns[:min(len(conns), auditedConns)] {
		conns[i].audited = true
	}
}

// receive reads fd and records how long the bytes had been waiting.
func (a *readAudit) receive(fd int, in []byte) (n uintptr, errno unix.Errno) {
	a.room.Base = &in[0]
	a.room.SetLen(len(in))
	// recvmsg overwrites the lengths in the header, so it is set again for every read.
	a.header = unix.Msghdr{Iov: &a.room, Iovlen: 1, Control: &a.control[0]}
	a.header.SetControllen(len(a.control))
	n, _, errno = unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&a.header)), 0)
	size := unix.SizeofCmsghdr + int(unsafe.Sizeof(unix.Timespec{}))
	// Without the control message the read itself is still good.
	if errno != 0 || n == 0 || int(a.header.Controllen) < size {
		return n, errno
	}
	kind := (*unix.Cmsghdr)(unsafe.Pointer(&a.control[0]))
	if kind.Level == unix.SOL_SOCKET && kind.Type == unix.SCM_TIMESTAMPNS {
		// The kernel stamps with the wall clock, so the wait is measured by that, not by the load's clock.
		came := (*unix.Timespec)(unsafe.Pointer(&a.control[unix.SizeofCmsghdr])).Nano()
		a.waits.Record(time.Duration(time.Now().UnixNano() - came))
	}
	return n, errno
}
