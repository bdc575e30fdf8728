package model

import (
	"errors"
	"io"
	"iter"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"schedlab/internal/shared/workload"
)

// A loopConn is a connection of an event loop. Its Read and Write are for the coroutine that
// serves it: where the socket would block they suspend the coroutine. Any goroutine may call
// Close.
//
// Between two requests no coroutine serves it: a Read that would wait for the first byte of a
// request returns errNoRequest.
//
// A request uses the fields before socket, which fill two lines of the CPU's cache. With 2,000
// connections they are not in a cache when their event comes, and each line more costs some 10 ns.
type loopConn struct {
	mu     sync.Mutex // held while the descriptor is used, and to close it
	loop   *eventLoop
	fd     int32
	serial int32 // the number of the connection in its loop

	// Only the loop's goroutine uses the fields below, except entry.
	serving         *coroutine
	readBy, writeBy time.Duration // deadlines by the loop's clock; 0: none
	tick            int64         // the wheel's tick at which it is looked at; 0: not in the wheel
	reads           int32         // reads since it last waited
	awaits          awaits
	readable        bool // set by an event, cleared by a short or empty read
	writable        bool
	hungUp          bool // the client has closed its side: a short read may be followed by the end of the stream
	watchesWrite    bool // epoll watches for writing as well
	expired         bool // its wait passed the deadline
	computed        bool // the worker has computed its request

	entry

	exchange       *workload.Exchange // the request that was handed to a worker
	earlier, later *loopConn          // neighbours in the slot of the wheel
	_              [8]byte            // so that it begins at a cache line and ends at one
}

// awaits tells the event that a connection waits for.
type awaits uint8

const (
	notWaiting awaits = iota // it is running
	forRequest               // for the first byte of a request, without a coroutine
	forRead
	forWrite
	forTurn   // for its turn, while others go first
	forWorker // for a worker to compute its request
	forgotten // it is closed and no longer in the loop
)

// readEvents is the set of events watched for on every connection. Writing is watched only
// after a write found the socket's buffer full.
const readEvents = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET

// maxReads is the number of reads from a connection before others get their turn.
const maxReads = 16

// noteEvents notes what the socket is ready for.
func (c *loopConn) noteEvents(events uint32) {
	const failed = unix.EPOLLHUP | unix.EPOLLERR
	if events&(unix.EPOLLIN|unix.EPOLLRDHUP|failed) != 0 {
		c.readable = true
	}
	if events&(unix.EPOLLRDHUP|failed) != 0 {
		c.hungUp = true
	}
	if events&(unix.EPOLLOUT|failed) != 0 {
		c.writable = true
	}
}

// handleEvents notes events, and serves or resumes the connection if it was waiting for one of them.
func (c *loopConn) handleEvents(events uint32) {
	c.noteEvents(events)
	switch {
	case c.awaits == forRequest && c.readable:
		c.loop.serveConn(c)
	case c.awaits == forRead && c.readable, c.awaits == forWrite && c.writable:
		c.resume()
	}
}

// handleMessage handles a message from another goroutine: the request was computed or, when
// computed is false, the connection was closed.
func (c *loopConn) handleMessage(computed bool) {
	switch {
	case computed:
		c.computed = true
		if c.awaits == forWorker {
			c.resume()
		}
	case c.awaits == forRequest:
		c.loop.forget(c)
	case c.awaits == forRead || c.awaits == forWrite || c.awaits == forTurn:
		c.resume() // its Read or Write notices
	}
}

// expire ends the connection's wait when its deadline has passed.
func (c *loopConn) expire() {
	if c.awaits == forRequest {
		c.shut()
		c.loop.forget(c)
		return
	}
	c.expired = true
	c.resume()
}

// deadline returns the deadline of the present wait for the client, 0 if there is none.
func (c *loopConn) deadline() time.Duration {
	switch c.awaits {
	case forRequest, forRead:
		return c.readBy
	case forWrite:
		return c.writeBy
	}
	return 0
}

// resume continues the coroutine where it called wait.
func (c *loopConn) resume() {
	c.awaits = notWaiting
	c.serving.resume()
}

// wait suspends the coroutine until the event happens, the deadline passes or the connection is
// closed. The caller must check which.
func (c *loopConn) wait(what awaits) {
	c.awaits = what
	c.reads = 0
	if by := c.deadline(); by != 0 {
		c.loop.wheel.arm(c, by)
	}
	c.serving.yield(struct{}{})
}

// errNoRequest is what Read returns when no byte of a next request has come.
var errNoRequest = errors.New("no request has come")

// late reports whether the deadline of reading has passed, by the clock of the loop's turn. It
// is needed because the wheel expires only connections that wait. If a client sends without
// pause its connection never waits.
func (c *loopConn) late() bool { return c.readBy != 0 && c.loop.now > c.readBy }

// Read returns the bytes that have come, or waits for some. It counts them as [Conn.Read]
// does.
func (c *loopConn) Read(p []byte) (int, error) {
	for {
		switch {
		case c.expired || c.late():
			c.expired = false // the answer gets a new deadline
			return 0, timedOut("read")
		case c.closed.Load(): // the error is of the type that a Conn returns, see isBroken
			return 0, &net.OpError{Op: "read", Net: "tcp", Err: net.ErrClosed}
		case c.hangsUp():
			return 0, io.EOF
		case !c.readable && !c.hasUnanswered() && c.fate.Load() == served:
			return 0, errNoRequest
		case !c.readable:
			if c.readBy == 0 { // so the clock is read only for a head that comes in pieces
				c.readBy = c.loop.clock() + c.loop.cfg.HeaderTimeout
			}
			c.wait(forRead)
			continue
		// A client that sends without pause would keep the loop for itself.
		case c.reads == maxReads:
			c.loop.ready = append(c.loop.ready, c)
			c.wait(forTurn)
			continue
		}
		c.reads++
		n, err := c.receive(p)
		switch {
		case n > 0:
			if c.stamps != nil {
				c.stamps.noteRead()
			}
			c.readable = n == len(p) || c.hungUp // after hungUp epoll reports nothing more
			c.fillHost(p[:n])
			c.read.Add(uint64(n))
			return n, nil
		case err == unix.EAGAIN:
			c.readable = false
		case err == unix.EINTR:
		case err == nil:
			c.brokeOff = true
			return 0, io.EOF
		default:
			return 0, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("recvfrom", err)}
		}
	}
}

// Write returns when the kernel has taken all of p.
func (c *loopConn) Write(p []byte) (int, error) {
	if c.stamps != nil {
		c.stamps.flush()
	}
	done := 0
	for done < len(p) {
		switch {
		case c.expired:
			return done, timedOut("write")
		case c.closed.Load():
			return done, net.ErrClosed
		}
		rest := p[done:]
		n, err := c.transfer(unix.SYS_SENDTO, unsafe.Pointer(unsafe.SliceData(rest)), uintptr(len(rest)), unix.MSG_NOSIGNAL)
		switch {
		case n > 0:
			done += n
		case err == unix.EAGAIN:
			if err := c.waitWritable(); err != nil {
				return done, err
			}
		case err == unix.EINTR:
		default:
			return done, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("sendto", err)}
		}
	}
	return done, nil
}

// waitWritable waits until the kernel has room for more of the answer, the deadline passes or the
// connection is closed. The write that follows finds out which.
func (c *loopConn) waitWritable() error {
	c.writable = false
	if c.writeBy == 0 {
		c.writeBy = c.loop.clock() + c.loop.cfg.WriteTimeout
	}
	if !c.watchesWrite { // after the change epoll also reports that the socket became writable before it
		c.watchesWrite = true
		if err := c.loop.watch(unix.EPOLL_CTL_MOD, int(c.fd), readEvents|unix.EPOLLOUT, c.fd, c.serial); err != nil {
			return os.NewSyscallError("epoll_ctl", err)
		}
	}
	for !c.writable && !c.expired && !c.closed.Load() {
		c.wait(forWrite)
	}
	return nil
}

// receive reads into p, with the kernel's stamp if those are used.
func (c *loopConn) receive(p []byte) (n int, err error) {
	if c.stamps == nil || c.stamps.kernel == nil {
		return c.transfer(unix.SYS_RECVFROM, unsafe.Pointer(unsafe.SliceData(p)), uintptr(len(p)), 0)
	}
	return c.transfer(unix.SYS_RECVMSG, c.stamps.kernel.message(p), 0, 0)
}

// transfer receives from the socket or sends to it while it is open. The lock is contended only
// in a drain and costs some 10 ns. recvfrom and sendto take 0.2 µs a request less than read and
// write, which go through the kernel's layer for files.
//
// The call cannot block, so it is raw: Go's scheduler does not see it. In an ordinary system call
// the thread of a busy loop, which has not entered the scheduler for 10 ms, would lose its P,
// thousands of times a second. Reads with stamps and without are equally raw.
func (c *loopConn) transfer(trap uintptr, p unsafe.Pointer, size, flags uintptr) (int, error) {
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		return 0, net.ErrClosed
	}
	n, _, errno := syscall.RawSyscall6(trap, uintptr(c.fd), uintptr(p), size, flags, 0, 0)
	c.mu.Unlock()
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func timedOut(op string) error {
	return &net.OpError{Op: op, Net: "tcp", Err: os.ErrDeadlineExceeded}
}

// Close closes the socket once, counts it, and sends the loop a message. It returns
// [net.ErrClosed] when the socket was closed before.
func (c *loopConn) Close() error {
	if !c.shut() {
		return net.ErrClosed
	}
	c.loop.send(c, false)
	return nil
}

// shut closes the socket without a message; the loop's goroutine calls it directly. It reports
// whether the socket was open.
func (c *loopConn) shut() bool {
	c.mu.Lock()
	if !c.closed.CompareAndSwap(false, true) {
		c.mu.Unlock()
		return false
	}
	_ = unix.Close(int(c.fd)) // closes it even when it fails
	c.mu.Unlock()
	c.listener.release(c)
	return true
}

// discardInput does the same as [Conn.discardInput], but suspends the coroutine while it waits.
func (c *loopConn) discardInput() {
	halfClosed := false
	c.control(func(fd int) { halfClosed = unix.Shutdown(fd, unix.SHUT_WR) == nil })
	if !halfClosed {
		return
	}
	c.answered.Store(unanswered) // so that Read waits
	c.readBy = c.loop.clock() + lingerTime
	_, _ = io.Copy(io.Discard, io.LimitReader(c, lingerBytes))
}

// The lock keeps the descriptor from being closed, and used for another connection, during f.
func (c *loopConn) control(f func(fd int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed.Load() {
		f(int(c.fd))
	}
}

func (c *loopConn) LocalAddr() net.Addr { return c.listener.Addr() }

// SetReadDeadline sets the deadline of every later Read; the zero time is none.
func (c *loopConn) SetReadDeadline(t time.Time) error {
	c.readBy = 0
	if !t.IsZero() {
		c.readBy = t.Sub(c.loop.epoch)
	}
	return nil
}

// RemoteAddr, SetWriteDeadline and SetDeadline are required by net.Conn but never called: fasthttp has no
// write timeout here (see newEventLoop), and no handler asks for the client's address.
func (c *loopConn) RemoteAddr() net.Addr             { return nil }
func (c *loopConn) SetWriteDeadline(time.Time) error { return errors.ErrUnsupported }
func (c *loopConn) SetDeadline(time.Time) error      { return errors.ErrUnsupported }

// A coroutine serves the connections of its loop, one after the other. fasthttp sees a single
// connection that stays open: when a Read finds no request, the coroutine leaves the present
// connection, waits until another one has a request, and reads from that one. This is safe because
// fasthttp keeps no state between requests: it has answered everything that it read, and its
// buffers are empty. So all connections share a few buffers and stacks, which stay in the CPU's
// caches. When a connection is closed, fasthttp's ServeConn returns; it is called again for the next one.
//
// A request that waits for its socket or a worker makes the coroutine yield to the loop, which
// resumes it later. Switching there and back costs some 0.1 µs and does not involve the
// scheduler. A handler must not lock its thread: Go ends the process when a coroutine is resumed
// with another locking state than at its creation.
type coroutine struct {
	*loopConn // the connection that it serves; nil: none
	loop      *eventLoop
	resume    func() (struct{}, bool)
	stop      func()
	yield     func(struct{}) bool
}

// maxIdleCoroutines is the number of unused coroutines that a loop keeps.
const maxIdleCoroutines = 128

// newCoroutine makes a coroutine. It ends when it is stopped, or has nothing to do while enough are idle.
func (l *eventLoop) newCoroutine() *coroutine {
	co := &coroutine{loop: l}
	co.resume, co.stop = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		for {
			co.begun = false
			_ = l.server.ServeConn(co) // an error is counted where it was met
			if co.loopConn == nil {    // it was not given another
				return
			}
			co.letGo()
			if !co.next() {
				return
			}
		}
	})
	return co
}

// serveConn serves the requests that have come on c, until none is left or c has to wait.
func (l *eventLoop) serveConn(c *loopConn) {
	var co *coroutine
	if n := len(l.idleCoroutines); n > 0 { // take the one used last: its stack is in the cache
		co, l.idleCoroutines = l.idleCoroutines[n-1], l.idleCoroutines[:n-1]
	} else {
		co = l.newCoroutine()
	}
	co.take(c)
	co.resume()
}

// take makes c the connection that co serves.
func (co *coroutine) take(c *loopConn) {
	co.loopConn, c.serving = c, co
	c.awaits, c.begun = notWaiting, true
	c.reads, c.readBy, c.writeBy = 0, 0, 0
}

// next gives co another connection with a request: the next of the loop's turn, or one of a later
// turn, for which it waits among the idle coroutines. It reports false if co has to end.
func (co *coroutine) next() bool {
	l := co.loop
	if c := l.nextRequest(); c != nil {
		co.take(c)
		return true
	}
	if len(l.idleCoroutines) == maxIdleCoroutines {
		return false
	}
	l.idleCoroutines = append(l.idleCoroutines, co)
	return co.yield(struct{}{})
}

// Read reads from the connection that co serves or, where that one has no request, from the next
// that has one.
func (co *coroutine) Read(p []byte) (int, error) {
	for {
		n, err := co.loopConn.Read(p)
		if err != errNoRequest {
			return n, err
		}
		co.letGo()
		if !co.next() {
			return 0, io.EOF // ends fasthttp's service
		}
	}
}

// letGo ends co's service of its connection, which waits for its next request or is closed.
func (co *coroutine) letGo() {
	c, l := co.loopConn, co.loop
	co.loopConn, c.serving = nil, nil
	if c.closed.Load() {
		l.forget(c)
		return
	}
	c.awaits = forRequest
	c.readBy = l.now + l.cfg.IdleTimeout
	l.wheel.arm(c, c.readBy)
}

// Close closes the connection that co serves, if any, at the end of fasthttp's service.
func (co *coroutine) Close() error {
	c := co.loopConn
	if c == nil {
		return nil
	}
	if c.linger.Load() && !c.closed.Load() {
		c.discardInput()
	}
	if !c.shut() {
		return net.ErrClosed
	}
	return nil
}

// A wheel holds the deadlines of a loop's connections: a ring of lists, one for each tick. A
// connection moves at once only when its deadline becomes earlier. When the deadline becomes
// later, as with each request, the wheel notices it at the old tick, so a request costs the
// wheel nothing. (Varghese and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987,
// scheme 6.)
type wheel struct {
	slots [wheelSlots]*loopConn
	now   int64 // the last tick that was handled
}

const (
	wheelTick  = 50 * time.Millisecond
	wheelSlots = 1024
)

func (w *wheel) due(now time.Duration) bool { return int64(now/wheelTick) > w.now }

// arm makes advance look at c at most one tick after by.
func (w *wheel) arm(c *loopConn, by time.Duration) {
	tick := min(max(int64(by/wheelTick), w.now)+1, w.now+wheelSlots-1)
	if c.tick != 0 && c.tick <= tick {
		return
	}
	w.disarm(c)
	c.tick = tick
	head := &w.slots[tick%wheelSlots]
	if c.later = *head; c.later != nil {
		c.later.earlier = c
	}
	*head = c
}

func (w *wheel) disarm(c *loopConn) {
	if c.tick == 0 {
		return
	}
	if c.later != nil {
		c.later.earlier = c.earlier
	}
	if c.earlier != nil {
		c.earlier.later = c.later
	} else {
		w.slots[c.tick%wheelSlots] = c.later
	}
	c.tick, c.earlier, c.later = 0, nil, nil
}

// advance moves the wheel to now. It calls expire for every connection that is past its
// deadline, and arms a connection again when its deadline has become later.
func (w *wheel) advance(now time.Duration, expire func(*loopConn)) {
	for end := int64(now / wheelTick); w.now < end; {
		w.now++
		// expire may change the list, so the loop takes its first element each time.
		for c := w.slots[w.now%wheelSlots]; c != nil; c = w.slots[w.now%wheelSlots] {
			w.disarm(c)
			switch by := c.deadline(); {
			case by == 0: // it does not wait for its client
			case by <= now:
				expire(c)
			default:
				w.arm(c, by)
			}
		}
	}
}
