package model

import (
	"errors"
	"io"
	"iter"
	"net"
	"os"
	"sync"
	"time"
	"unsafe"

	"github.com/valyala/fasthttp"
	"golang.org/x/sys/unix"

	"schedlab/internal/workload"
)

// A loopConn is a connection of an event loop. Its Read and Write are for the coroutine that
// serves it: where the socket would block they suspend the coroutine. Any goroutine may call
// Close.
//
// Between two requests no coroutine serves it, unless the loop has few connections: a Read
// that would wait for the first byte of a request reports [io.EOF], which fasthttp takes for
// the end, and the Close that follows leaves the socket open.
type loopConn struct {
	entry
	mu     sync.Mutex // held while the descriptor is used, and to close it
	loop   *eventLoop
	fd     int32
	serial int32 // the number of the connection in its loop

	// What follows belongs to the loop's goroutine.
	serving      *coroutine
	awaits       awaits
	readable     bool // until a read says otherwise
	writable     bool
	hungUp       bool               // the client has closed its side: after a short read there may be an end to read
	watchesWrite bool               // epoll watches for writing as well
	expired      bool               // what it waited for did not come in time
	begun        bool               // fasthttp has begun the first request of this coroutine
	parked       bool               // Close is to leave the socket open: no request is in flight
	computed     bool               // the worker has computed its request
	reads        int                // since it last waited
	exchange     *workload.Exchange // the request that a worker has

	readBy, writeBy time.Duration // deadlines by the loop's clock; 0: none
	tick            int64         // its slot in the wheel; 0: none
	earlier, later  *loopConn     // neighbours in the slot
}

// awaits is what a connection waits for.
type awaits uint8

const (
	notWaiting     awaits = iota // it is running
	forRequest                   // for the first byte of a request, without a coroutine
	forNextRequest               // for the same, with its coroutine
	forRead
	forWrite
	forTurn   // for its turn: others go first
	forWorker // for its request to be computed
	forgotten // closed and forgotten
)

// readEvents are the events watched for on every connection. Writing is watched only after a
// write found the socket's buffer full.
const readEvents = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET

// maxReads is how often a connection is read before others get their turn.
const maxReads = 16

// handleEvents notes events, and resumes the connection if it waited for them.
func (c *loopConn) handleEvents(events uint32) {
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
	switch {
	case c.awaits == forRequest && c.readable:
		c.loop.serveConn(c)
	case (c.awaits == forRead || c.awaits == forNextRequest) && c.readable, c.awaits == forWrite && c.writable:
		c.resume()
	}
}

// handleMessage handles what another goroutine has sent: computed, or closed.
func (c *loopConn) handleMessage(computed bool) {
	switch {
	case computed:
		c.computed = true
		if c.awaits == forWorker {
			c.resume()
		}
	case c.awaits == forRequest:
		c.loop.forget(c)
	case c.awaits == forNextRequest || c.awaits == forRead || c.awaits == forWrite || c.awaits == forTurn:
		c.resume() // its Read or Write notices
	}
}

// expire ends a wait whose deadline has passed.
func (c *loopConn) expire() {
	if c.awaits == forRequest {
		c.shut()
		c.loop.forget(c)
		return
	}
	c.expired = true
	c.resume()
}

// deadline is the end of the present wait for the client, 0 if there is none.
func (c *loopConn) deadline() time.Duration {
	switch c.awaits {
	case forRequest, forNextRequest, forRead:
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

// wait suspends the coroutine. When it returns, what it waited for need not have happened.
func (c *loopConn) wait(what awaits) {
	c.awaits = what
	c.reads = 0
	if by := c.deadline(); by != 0 {
		c.loop.wheel.arm(c, by)
	}
	c.serving.yield(struct{}{})
}

// late reports whether the deadline of reading has passed, by the clock of the loop's turn.
// The wheel expires connections that wait; one whose client sends without pause never waits.
func (c *loopConn) late() bool { return c.readBy != 0 && c.loop.now > c.readBy }

// Read returns what has come, and counts it as [Conn.Read] does.
func (c *loopConn) Read(p []byte) (int, error) {
	for {
		switch {
		case c.expired || c.late():
			c.expired = false // the answer has a deadline of its own
			return 0, timedOut("read")
		case c.closed.Load():
			return 0, net.ErrClosed
		case c.hangsUp():
			return 0, io.EOF
		case !c.readable && !c.hasUnanswered() && c.fate.Load() == served:
			if !c.awaitNextRequest() {
				c.parked = true
				return 0, io.EOF
			}
			continue
		case !c.readable:
			if c.readBy == 0 { // the clock is only read when a head comes in pieces
				c.readBy = c.loop.clock() + c.loop.limits.HeaderTimeout
			}
			c.wait(forRead)
			continue
		case c.reads == maxReads:
			c.loop.ready = append(c.loop.ready, c)
			c.wait(forTurn)
			continue
		}
		c.reads++
		n, at, err := c.receive(p)
		switch {
		case n > 0:
			if c.stamps != nil {
				c.stamps.noteRead(at)
			}
			c.readable = n == len(p) || c.hungUp // epoll has reported the last byte, and will report nothing more
			c.read.Add(uint64(n))
			return n, nil
		case err == unix.EAGAIN:
			c.readable = false
		case err == unix.EINTR:
		case err == nil:
			return 0, io.EOF
		default:
			return 0, &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", err)}
		}
	}
}

// maxKeptCoroutines is how many connections of a loop keep their coroutine and buffers between
// two requests, which saves each request some 0.25 µs.
const maxKeptCoroutines = 128

// awaitNextRequest waits for the next request with the coroutine kept. It reports false, and
// does not wait, if c has to give its coroutine back.
func (c *loopConn) awaitNextRequest() bool {
	l := c.loop
	if l.keptCoroutines == maxKeptCoroutines || c.read.Load() == 0 {
		return false
	}
	l.keptCoroutines++
	c.readBy = l.now + l.limits.IdleTimeout
	c.wait(forNextRequest)
	l.keptCoroutines--
	c.readBy = 0
	return true
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
		n, err := c.transfer(unix.SYS_WRITE, unsafe.Pointer(unsafe.SliceData(rest)), uintptr(len(rest)))
		switch {
		case n > 0:
			done += n
		case err == unix.EAGAIN:
			if err := c.waitWritable(); err != nil {
				return done, err
			}
		case err == unix.EINTR:
		default:
			return done, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", err)}
		}
	}
	return done, nil
}

func (c *loopConn) waitWritable() error {
	c.writable = false
	if c.writeBy == 0 {
		c.writeBy = c.loop.clock() + c.loop.limits.WriteTimeout
	}
	if !c.watchesWrite { // when it is changed, epoll reports what has become ready meanwhile
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

// receive reads what has come, and when it came if the kernel's stamps are asked for.
func (c *loopConn) receive(p []byte) (n int, at readTimes, err error) {
	if c.stamps == nil || c.stamps.kernel == nil {
		n, err = c.transfer(unix.SYS_READ, unsafe.Pointer(unsafe.SliceData(p)), uintptr(len(p)))
		return n, readTimes{}, err
	}
	k := c.stamps.kernel
	n, err = c.transfer(unix.SYS_RECVMSG, k.message(p), 0)
	return n, k.times(n), err
}

// transfer reads or writes the socket while it is open. The lock is contended in a drain only
// and costs some 10 ns. The call cannot block, so it is raw, hidden from Go's scheduler: a
// busy loop's thread, which has not entered the scheduler for 10 ms, would lose its P in
// every ordinary system call, thousands of times a second. A read with stamps is as raw as one
// without.
func (c *loopConn) transfer(trap uintptr, p unsafe.Pointer, size uintptr) (int, error) {
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		return 0, net.ErrClosed
	}
	n, _, errno := unix.RawSyscall(trap, uintptr(c.fd), uintptr(p), size)
	c.mu.Unlock()
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

func timedOut(op string) error {
	return &net.OpError{Op: op, Net: "tcp", Err: os.ErrDeadlineExceeded}
}

// Close closes the socket once and counts it, and sends the loop a message.
func (c *loopConn) Close() error {
	if !c.shut() {
		return net.ErrClosed
	}
	c.loop.send(c, false)
	return nil
}

// shut is Close for the loop's goroutine. It reports whether the socket was open.
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

// discardInput is [Conn.discardInput] that waits on the loop.
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

func (c *loopConn) control(f func(fd int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed.Load() {
		f(int(c.fd))
	}
}

// LocalAddr is the server's address.
func (c *loopConn) LocalAddr() net.Addr { return c.listener.Addr() }

// RemoteAddr asks the kernel for the client's address: only error messages need it.
func (c *loopConn) RemoteAddr() net.Addr {
	addr := new(net.TCPAddr)
	c.control(func(fd int) {
		switch peer, _ := unix.Getpeername(fd); peer := peer.(type) {
		case *unix.SockaddrInet4:
			addr.IP, addr.Port = peer.Addr[:], peer.Port
		case *unix.SockaddrInet6:
			addr.IP, addr.Port = peer.Addr[:], peer.Port
		}
	})
	return addr
}

// SetReadDeadline bounds every later Read.
func (c *loopConn) SetReadDeadline(t time.Time) error {
	c.readBy = c.loop.clockAt(t)
	return nil
}

// SetWriteDeadline bounds every later Write.
func (c *loopConn) SetWriteDeadline(t time.Time) error {
	c.writeBy = c.loop.clockAt(t)
	return nil
}

// SetDeadline bounds both.
func (c *loopConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// clockAt is t by the loop's clock, 0 for the zero time.
func (l *eventLoop) clockAt(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return t.Sub(l.epoch)
}

// A coroutine serves connections of its loop, one after the other, each until it has no more
// requests, and yields to the loop where a socket would block. Switching there and back costs
// some 0.1 µs and does not involve the scheduler. A handler must not lock its thread: Go ends
// the process when a coroutine is resumed in another state of locking than it was made in.
type coroutine struct {
	conn   *loopConn
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
}

// maxIdleCoroutines is how many unused coroutines a loop keeps.
const maxIdleCoroutines = 64

func (l *eventLoop) newCoroutine() *coroutine {
	co := new(coroutine)
	co.resume, co.stop = iter.Pull(func(yield func(struct{}) bool) {
		co.yield = yield
		for {
			l.server.ServeConn(httpConn{co.conn})
			l.served(co.conn)
			co.conn = nil
			if len(l.idleCoroutines) == maxIdleCoroutines {
				return
			}
			l.idleCoroutines = append(l.idleCoroutines, co)
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return co
}

// serveConn serves the requests that have come on c, until none is left or c has to wait.
func (l *eventLoop) serveConn(c *loopConn) {
	var co *coroutine
	if n := len(l.idleCoroutines); n > 0 { // the one used last: its stack is in the cache
		co, l.idleCoroutines = l.idleCoroutines[n-1], l.idleCoroutines[:n-1]
	} else {
		co = l.newCoroutine()
	}
	co.conn, c.serving = c, co
	c.begun, c.parked = false, false
	c.reads, c.readBy, c.writeBy = 0, 0, 0
	c.resume()
}

// served leaves c to wait for its next request, or forgets it.
func (l *eventLoop) served(c *loopConn) {
	c.serving = nil
	if !c.parked || c.closed.Load() {
		l.forget(c)
		return
	}
	c.awaits = forRequest
	c.readBy = l.now + l.limits.IdleTimeout
	l.wheel.arm(c, c.readBy)
}

// An httpConn is a loopConn as fasthttp sees it.
type httpConn struct{ *loopConn }

// Close does nothing while the connection waits for a request.
func (c httpConn) Close() error {
	if c.parked {
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

// trackLoop notes which bytes of a loop's connection have been answered.
func trackLoop(nc net.Conn, state fasthttp.ConnState) {
	c := nc.(httpConn).loopConn
	switch state {
	case fasthttp.StateActive:
		if c.begun { // for the first request fasthttp reports this before its first byte
			c.beginRequest()
		}
		c.begun = true
	case fasthttp.StateIdle:
		c.markAnswered()
		c.readBy, c.writeBy = 0, 0
	}
}

// A wheel holds the deadlines of a loop's connections: a ring of lists, one for each tick. A
// connection moves only when its deadline becomes earlier. When it becomes later, as with
// each request, that is noticed when the old tick comes, so a request costs the wheel
// nothing. (Varghese and Lauck, "Hashed and hierarchical timing wheels", SOSP 1987, scheme 6.)
type wheel struct {
	slots [wheelSlots]*loopConn
	now   int64 // the last tick that was handled
}

const (
	wheelTick  = 50 * time.Millisecond
	wheelSlots = 1024
)

// begin sets the wheel to the clock.
func (w *wheel) begin(now time.Duration) { w.now = int64(now / wheelTick) }

// due reports whether a tick has passed.
func (w *wheel) due(now time.Duration) bool { return int64(now/wheelTick) > w.now }

// arm makes advance look at c when by has passed, at most a tick later.
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

// disarm takes c out.
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

// advance calls expire for every connection whose deadline has passed, and arms again those
// whose deadline has become later.
func (w *wheel) advance(now time.Duration, expire func(*loopConn)) {
	for end := int64(now / wheelTick); w.now < end; {
		w.now++
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
