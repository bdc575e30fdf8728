package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/shared/workload"
)

// loopModel runs event loops, one for each of the listener's sockets. No connection has a
// goroutine, and a handler runs on the loop that read its request. A handler that waits
// makes every connection of its loop wait.
//
// Each loop has a socket, an epoll, connections and a fasthttp server; the loops share the
// counters. A connection stays on the loop that accepted it.
type loopModel struct {
	fasthttpEngine // has the counters of all loops; each loop has another engine to serve with
}

func newLoop(cfg Config) Model {
	return &loopModel{fasthttpEngine: newFasthttpEngine(newRequests(cfg))}
}

func (m *loopModel) Serve(l *Listener) error {
	failed := make([]error, len(l.sockets))
	var loops sync.WaitGroup
	for i, s := range l.sockets {
		loop := m.newEventLoop()
		loops.Go(func() {
			defer loop.stop()
			err := loop.start(s)
			if err == nil {
				err = loop.loop()
			}
			if err != nil && !loop.socketClosed() { // a drain may close the socket before its loop starts
				failed[i] = err
				l.stopAccepting()
			}
		})
	}
	loops.Wait()
	return errors.Join(failed...)
}

// newEventLoop makes a loop that shares its counters with the others. fasthttp's server keeps
// its connections in a map under a lock, so each loop gets a separate server.
func (m *loopModel) newEventLoop() *eventLoop {
	l := &eventLoop{fasthttpEngine: newFasthttpEngine(m.requests), newestFirst: m.cfg.Batch == NewestFirst}
	l.server.ConnState = func(nc net.Conn, state fasthttp.ConnState) {
		co := nc.(*coroutine)
		if co.loopConn == nil { // it is idle, and ends
			return
		}
		if co.track(state); state == fasthttp.StateIdle {
			co.readBy, co.writeBy = 0, 0
		}
	}
	// A loop sets deadlines itself, and only when it has to wait, because fasthttp reads the
	// clock for each deadline. fasthttp sets only the deadline for a request's body.
	l.server.ReadTimeout, l.server.WriteTimeout, l.server.IdleTimeout = 0, 0, 0
	return l
}

// offloadModel runs event loops that read, parse and write, and a fixed number of workers
// behind one bounded queue that run handlers. While a worker runs a connection's request the
// connection is suspended, and its loop serves others.
type offloadModel struct {
	*loopModel
	pool *submitter[*loopConn]
}

// newLoopOffload makes workers and refusals answer by a message, because only the loop may resume a
// connection.
func newLoopOffload(cfg Config) Model {
	m := &offloadModel{loopModel: newLoop(cfg).(*loopModel)}
	m.pool = newSubmitter(m.requests, dispatch.Shared, "a loop with all its connections", func(c *loopConn, wait time.Duration) {
		m.tookRequest(c, wait)
	}, func(c *loopConn) {
		dequeued(c.exchange)
		m.runHandler(c.exchange)
		c.loop.send(c, true)
	}, func(c *loopConn, why dispatch.Why) {
		m.turnAway(c.exchange, c, why)
		c.loop.send(c, true)
	})
	m.run, m.queues = func(x *workload.Exchange, c openConn) { m.dispatch(c.(*coroutine).loopConn, x) }, true
	return m
}

func (m *offloadModel) Serve(l *Listener) error {
	m.pool.Start()
	defer m.pool.Close() // the loops have ended by then, so no request is on its way to a worker
	return m.loopModel.Serve(l)
}

// dispatch hands x, a request on c, to a worker, and suspends c until x is computed. With
// --overflow block the loop, and every connection on it, waits for a place in the queue.
func (m *offloadModel) dispatch(c *loopConn, x *workload.Exchange) {
	c.exchange, c.computed = x, false
	enqueued(x)
	m.pool.submit(c)
	// If anything else resumed the coroutine it would have to wait again: the worker still has x.
	for !c.computed {
		c.wait(forWorker)
	}
	c.exchange = nil
}

// An eventLoop accepts, reads, parses and answers on one goroutine. A connection that has to
// wait in the middle of a request keeps a suspended coroutine; one that waits for its next
// request has only its loopConn. Only send may be called from another goroutine.
//
// Sockets are watched edge-triggered: a loopConn counts as readable until a read finds
// nothing, so a request costs one read and one write.
//
// In a turn the loop handles the events of one poll and the messages of other goroutines, lets
// connections that had to stand back go on, and accepts. Between turns the loop sleeps in poll. tick
// looks at deadlines 20 times a second.
type eventLoop struct {
	fasthttpEngine
	socket         *socket
	newestFirst    bool            // the order in a batch
	unclocked      int             // turns since the CPU time of a turn was last read
	raw            syscall.RawConn // the listening socket
	epoll          int
	wake           int     // an eventfd
	wakeup         [8]byte // the value 1, written to wake; a larger one could overflow the counter, which is never read
	events         [maxBatch]unix.EpollEvent
	batch          []unix.EpollEvent // events of the turn that are not handled yet
	handled        int               // connections of the turn that had events
	conns          []*loopConn       // by descriptor
	open           int               // connections of the loop
	lastSerial     int32             // number of the newest connection: descriptors are used again, serials are not
	idleCoroutines []*coroutine
	ready          []*loopConn // readable, but waiting for their turn
	wheel          wheel
	accepting      acceptState
	now            time.Duration // the clock at the beginning of the turn
	longest        time.Duration // longest turn since the lag was last reported
	poller         goPoller
	spareMessages  []message

	mu       sync.Mutex // guards the fields below
	messages []message
	asleep   bool
}

const (
	maxBatch = 128
	// longestWait bounds a wait for events, so that a drain and a closed socket are noticed.
	longestWait = wheelTick
	// An event of wake or of the listening socket carries one of these instead of a descriptor.
	wakeEvent, listenerEvent = -1, -2
)

// A message is sent to the loop by another goroutine, about a connection.
type message struct {
	conn *loopConn
	done bool // true: a worker has computed its request; false: the connection has been closed
}

// start opens the loop's descriptors, for the connections of s.
func (l *eventLoop) start(s *socket) error {
	l.socket, l.wake = s, -1
	var err error
	if l.raw, err = s.tcp.SyscallConn(); err != nil {
		return err
	}
	if err := l.openEpoll(); err != nil {
		return err
	}
	if l.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return err
	}
	l.wheel.now = int64(l.clock() / wheelTick)
	binary.NativeEndian.PutUint64(l.wakeup[:], 1)
	// It is watched edge-triggered, so every write is an event and it need never be read.
	if err := l.watch(unix.EPOLL_CTL_ADD, l.wake, unix.EPOLLIN|unix.EPOLLET, wakeEvent, 0); err != nil {
		return err
	}
	return l.watchListener(unix.EPOLL_CTL_ADD, unix.EPOLLIN)
}

// stop ends the loop's coroutines and closes its descriptors.
func (l *eventLoop) stop() {
	for _, co := range l.idleCoroutines {
		co.stop()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asleep = false          // no sender may write to l.wake any more: the descriptor may be used again
	_ = l.poller.file.Close() // an error if start failed before the file was opened
	if l.wake >= 0 {
		_ = unix.Close(l.wake)
	}
}

// watch registers a descriptor with epoll, or changes its events.
func (l *eventLoop) watch(op, fd int, events uint32, id, serial int32) error {
	return unix.EpollCtl(l.epoll, op, fd, &unix.EpollEvent{Events: events, Fd: id, Pad: serial})
}

// loop serves until the socket is closed and every connection is gone.
func (l *eventLoop) loop() error {
	// During a drain the socket is closed first; the loop goes on for its connections.
	for !l.accepting.closed || l.open > 0 {
		events, err := l.poll()
		if err != nil {
			return err
		}
		l.now = l.clock()
		if l.cfg.Worked != nil && l.unclocked >= clockedTurns {
			l.clockTurn(events)
		} else {
			l.turn(events)
		}
		l.unclocked++
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

// clockedTurns is the number of turns from one reading of a turn's CPU time to the next. A
// reading takes four system calls, so on average some 50 ns per turn. The number is prime so
// that the readings do not fall into step with turns that alternate.
const clockedTurns = 31

// clockTurn runs turn and measures its CPU time. It reports that time multiplied by the number
// of turns since the last report, as an estimate for all of them. The clock belongs to a
// thread: if the turn ends on another thread than it began on, a later turn is measured
// instead.
func (l *eventLoop) clockTurn(events []unix.EpollEvent) {
	thread, before := threadCPU()
	l.turn(events)
	if now, after := threadCPU(); now == thread {
		l.cfg.Worked(time.Duration(l.unclocked) * (after - before))
		l.unclocked = 0
	}
}

// threadCPU returns the number of the calling thread and its CPU time. A goroutine may change
// its thread between any two calls, so threadCPU locks it to one thread for both.
func threadCPU() (thread int, used time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // cannot fail
	return unix.Gettid(), time.Duration(t.Nano())
}

// turn handles events and messages, and then accepts connections. Usually it accepts one, so
// that a single loop under load serves a connection before it accepts the next. When more
// connections had events and stay open, it accepts up to that number, so that many kept
// connections do not hold back new ones.
func (l *eventLoop) turn(events []unix.EpollEvent) {
	if l.newestFirst { // as Go runs goroutines that wait for sockets
		slices.Reverse(events)
	}
	acceptReady, open := false, l.open
	for l.batch, l.handled = events, 0; len(l.batch) > 0; {
		switch e := l.batch[0]; e.Fd {
		case listenerEvent:
			acceptReady, l.accepting.waiting = true, true
			l.batch = l.batch[1:]
		case wakeEvent: // only ends the wait
			l.batch = l.batch[1:]
		default:
			if c := l.nextConn(); c != nil {
				c.handleEvents(e.Events)
			}
		}
	}
	stay := l.handled - (open - l.open)
	// Epoll reports ready descriptors in rotation. With more of them than a batch holds, the
	// listening socket is reported only once in many turns.
	acceptReady = acceptReady || l.accepting.waiting && len(events) == maxBatch
	l.receiveMessages()
	// Only the connections that waited before: one that stands back again comes in the next turn.
	for waiting := len(l.ready); waiting > 0; waiting-- {
		c := l.ready[0]
		l.ready = l.ready[1:]
		if c.awaits == forTurn {
			c.resume()
		}
	}
	for l.tryAccept(acceptReady, l.now) && stay > 1 {
		stay--
	}
}

// nextConn takes the next event of the turn, and returns its connection, nil if that is gone.
func (l *eventLoop) nextConn() *loopConn {
	e := &l.batch[0]
	l.batch = l.batch[1:]
	// A descriptor is used again after a close. The serial tells whether the event is about the
	// present connection.
	c := l.conns[e.Fd]
	if c == nil || c.serial != e.Pad {
		return nil
	}
	l.handled++
	return c
}

// nextRequest takes the next event of the turn and returns its connection, if the event brings a
// request to a connection that waits for one; otherwise it leaves the event to turn. So a
// coroutine goes through such events without a switch to the loop and back for each.
func (l *eventLoop) nextRequest() *loopConn {
	if len(l.batch) == 0 {
		return nil
	}
	e := &l.batch[0]
	if e.Fd < 0 {
		return nil
	}
	c := l.conns[e.Fd]
	if c == nil || c.serial != e.Pad || c.awaits != forRequest {
		return nil
	}
	if c.noteEvents(e.Events); !c.readable {
		return nil
	}
	return l.nextConn()
}

// tick ends the waits that are past their deadline, and reports the lag.
func (l *eventLoop) tick(now time.Duration) {
	l.wheel.advance(now, (*loopConn).expire)
	if l.cfg.Lagged != nil && l.longest > 0 {
		l.cfg.Lagged(l.longest)
		l.longest = 0
	}
}

// maxWait returns how long the loop may wait for events. Unless that is 0, it also marks the
// loop as asleep.
func (l *eventLoop) maxWait() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.messages) > 0 || len(l.ready) > 0 {
		return 0
	}
	// Under the same lock as the look at messages: a sender either is seen above or sees asleep.
	l.asleep = true
	switch {
	case l.accepting.closed:
	case l.socket.Draining():
		return emptyQueueWait
	case l.accepting.paused:
		return firstBackoff
	}
	return longestWait
}

// send sends the loop a message about c, and wakes it if it sleeps. It never blocks.
func (l *eventLoop) send(c *loopConn, done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.messages = append(l.messages, message{c, done})
	if l.asleep {
		l.asleep = false
		_, _ = unix.Write(l.wake, l.wakeup[:]) // cannot fail on an open eventfd
	}
}

// receiveMessages handles the messages that have come. It handles them without the lock, because a
// connection that goes on may send one itself.
func (l *eventLoop) receiveMessages() {
	l.mu.Lock()
	l.asleep = false
	batch := l.messages
	l.messages = l.spareMessages[:0]
	l.mu.Unlock()
	for _, p := range batch {
		p.conn.handleMessage(p.done)
	}
	clear(batch)
	l.spareMessages = batch[:0] // only this goroutine uses it
}

// add registers a connection that has been accepted.
func (l *eventLoop) add(fd int) {
	l.lastSerial++
	c := &loopConn{
		entry: entry{listener: l.socket.Listener, socket: l.socket},
		loop:  l, fd: int32(fd), serial: l.lastSerial, awaits: forRequest,
	}
	// The kernel gives the lowest free descriptor, so a slice indexed by descriptors stays short.
	for fd >= len(l.conns) {
		l.conns = append(l.conns, make([]*loopConn, max(len(l.conns), 64))...)
	}
	l.socket.stamp(&c.entry)
	l.conns[fd] = c
	l.open++
	l.socket.enter(c)
	c.readBy = l.now + l.cfg.HeaderTimeout
	l.wheel.arm(c, c.readBy)
	// Every mode sets NODELAY on its connections; other options are inherited from the listener.
	err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	err = errors.Join(err, l.watch(unix.EPOLL_CTL_ADD, fd, readEvents, c.fd, c.serial))
	cut := l.socket.cut.Load() // force may have run before c was entered
	if cut {
		c.drop(DrainTimeout)
	}
	if err != nil || cut {
		c.shut()
		l.forget(c)
	}
}

// forget removes a closed connection from the loop.
func (l *eventLoop) forget(c *loopConn) {
	if c.awaits == forgotten {
		return
	}
	c.awaits = forgotten
	l.wheel.disarm(c)
	if l.conns[c.fd] == c { // another connection may have its descriptor already
		l.conns[c.fd] = nil
	}
	l.open--
}

// A goPoller lets a loop wait for its events in the way in which any goroutine waits for a
// socket: Go's own poller watches the loop's epoll. If the thread waited in a system call
// instead, it would keep its P from the workers that it has just woken, until sysmon takes the
// P away and wakes another thread (docs/decisions/0007).
type goPoller struct {
	file     *os.File // the loop's epoll; it owns the descriptor
	raw      syscall.RawConn
	check    func(fd uintptr) bool
	deadline time.Duration // of file, by the loop's clock; 0: none
	n        int           // events that check found
	errno    syscall.Errno
}

// openEpoll makes the loop's epoll and gives it to Go's poller, for which it is a file that becomes
// readable with an event.
func (l *eventLoop) openEpoll() (err error) {
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	p := &l.poller
	if err := unix.SetNonblock(l.epoll, true); err != nil { // Go's poller takes only non-blocking files
		return os.NewSyscallError("fcntl", err)
	}
	p.file = os.NewFile(uintptr(l.epoll), "epoll")
	if p.raw, err = p.file.SyscallConn(); err != nil {
		return fmt.Errorf("waiting for the loop's events: %w", err)
	}
	p.check = func(uintptr) bool {
		p.n, p.errno = l.pollNow()
		return p.n > 0 || p.errno != 0
	}
	return nil
}

// pollNow returns the number of events that are ready, without waiting. It is a raw system
// call that Go's scheduler does not see.
func (l *eventLoop) pollNow() (int, syscall.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.epoll), uintptr(unsafe.Pointer(&l.events)), maxBatch, 0, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int(n), 0
}

// poll waits for events and returns them, at once when messages or connections already wait for the
// loop. It waits for at most maxWait and often less: setting a deadline costs about one system call, so
// poll keeps the deadline of an earlier wait while that is sooner.
func (l *eventLoop) poll() ([]unix.EpollEvent, error) {
	wait := l.maxWait()
	if wait == 0 {
		n, _ := l.pollNow()
		return l.events[:n], nil
	}
	p := &l.poller
	if now := l.clock(); p.deadline == 0 || p.deadline > now+wait {
		p.deadline = now + wait
		if err := p.file.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return nil, err
		}
	}
	p.n, p.errno = 0, 0
	switch err := p.raw.Read(p.check); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.deadline, p.n = 0, 0
	case err != nil:
		return nil, err
	case p.errno != 0 && p.errno != unix.EINTR:
		return nil, p.errno
	}
	return l.events[:p.n], nil
}

// An acceptState is a loop's state of its listening socket.
type acceptState struct {
	paused     bool          // the socket is not watched: at the connection cap, or after a failure
	waiting    bool          // connections may wait: epoll reported some, and no accept has found the queue empty since
	closed     bool          // accepting has ended
	retryAt    time.Duration // time to retry after a failed accept, by the loop's clock
	backoff    time.Duration
	emptySince time.Duration // time at which a drain first found the accept queue empty; 0: not yet
}

// watchListener registers the listening socket with epoll, or changes its events. A change fails when the
// socket is closed; the next turn notices that.
func (l *eventLoop) watchListener(op int, events uint32) error {
	return control(l.socket.tcp, func(fd int) error { return l.watch(op, fd, events, listenerEvent, 0) })
}

// pauseAccepting stops watching the listening socket. Otherwise a connection that waits there
// would end every wait of the loop at once.
func (l *eventLoop) pauseAccepting() {
	if !l.accepting.paused {
		l.accepting.paused = true
		_ = l.watchListener(unix.EPOLL_CTL_MOD, 0)
	}
}

// tryAccept accepts at most one connection, and reports whether it did.
func (l *eventLoop) tryAccept(acceptReady bool, now time.Duration) bool {
	d := &l.accepting
	draining := l.socket.Draining()
	d.closed = d.closed || l.socketClosed()
	if d.closed || now < d.retryAt || !acceptReady && !d.paused && !draining {
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
	// EAGAIN means that the queue is empty.
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
			_ = l.watchListener(unix.EPOLL_CTL_MOD, unix.EPOLLIN)
		}
		if err != nil && draining {
			l.closeWhenEmpty(now)
		}
	case errors.Is(err, unix.ECONNABORTED), errors.Is(err, unix.EINTR): // the next turn tries again
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

// closeWhenEmpty closes the socket once a drain has found its accept queue empty for
// emptyQueueWait.
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

// acceptFD accepts one connection and returns its descriptor; -1 with an error. The socket is
// non-blocking, so it does not wait.
func (l *eventLoop) acceptFD() (conn int, err error) {
	conn = -1
	failed := l.raw.Control(func(fd uintptr) {
		conn, _, err = unix.Accept4(int(fd), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	})
	return conn, errors.Join(failed, err)
}

// socketClosed reports whether accepting has ended.
func (l *eventLoop) socketClosed() bool {
	select {
	case <-l.socket.closed:
		return true
	default:
		return false
	}
}
