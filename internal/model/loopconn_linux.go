package model

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"schedlab/internal/workload"
)

// A loopConn is a connection of an event loop. Its Read and Write are for the
// coroutine that serves it: where a socket would block they give the thread back
// to the loop. Close is for anybody.
//
// Between two requests nobody serves it, unless the loop has few connections. A
// Read that would wait for the first byte of a request reports [io.EOF], which
// fasthttp takes for the end, and the Close that follows leaves the socket open.
type loopConn struct {
	entry
	mu   sync.Mutex // guards the descriptor's being open
	loop *eventLoop
	fd   int32
	born int32 // the number of the connection in its loop

	// What follows belongs to the loop's goroutine.
	serving  *coroutine
	awaits   awaits
	readable bool // until a read says otherwise
	writable bool
	hungUp   bool               // the client sends no more: what is short of the buffer may be the last
	watched  bool               // for writing, too
	expired  bool               // what it waited for did not come in time
	begun    bool               // fasthttp has begun with a request, and the next is not the first
	parking  bool               // it is to be left open between two requests
	computed bool               // the worker is done with its request
	reads    int                // since it last let others go first
	exchange *workload.Exchange // in the worker's hands

	readBy, writeBy time.Duration // deadlines by the loop's clock; 0: none
	tick            int64         // of the wheel; 0: in none
	earlier, later  *loopConn     // in the same tick
}

// awaits says what a connection waits for.
type awaits uint8

const (
	nothing awaits = iota // it is being served
	request               // the first byte of a request; nobody serves it
	resting               // the same, with its coroutine
	reading
	writing
	turn   // for others to go first
	worker // for its request to be computed
	gone   // closed and forgotten
)

// watched are the events of every connection; what it may write is only asked
// when a write has found the socket full.
const watched = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET

// mostReads is how often a connection is read before others go first, if they
// have come.
const mostReads = 16

// signal takes note of events and goes on with the connection if it waited for
// them.
func (c *loopConn) signal(events uint32) {
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
	case c.awaits == request && c.readable:
		c.loop.serveConn(c)
	case (c.awaits == reading || c.awaits == resting) && c.readable, c.awaits == writing && c.writable:
		c.resume()
	}
}

// news is what another goroutine has to say.
func (c *loopConn) news(computed bool) {
	switch {
	case computed:
		c.computed = true
		if c.awaits == worker {
			c.resume()
		}
	case c.awaits == request:
		c.loop.forget(c)
	case c.awaits == resting || c.awaits == reading || c.awaits == writing || c.awaits == turn:
		c.resume() // finds out
	}
}

// expire ends a wait whose deadline has passed.
func (c *loopConn) expire() {
	if c.awaits == request {
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
	case request, resting, reading:
		return c.readBy
	case writing:
		return c.writeBy
	}
	return 0
}

// resume goes on where wait was called.
func (c *loopConn) resume() {
	c.awaits = nothing
	c.serving.resume()
}

// wait suspends the coroutine. What it waits for may not have come when it
// returns.
func (c *loopConn) wait(what awaits) {
	c.awaits = what
	c.reads = 0
	if by := c.deadline(); by != 0 {
		c.loop.wheel.arm(c, by)
	}
	c.serving.yield(struct{}{})
}

// late reports whether the deadline of reading has passed, by the clock of the
// loop's turn. The wheel tells those that wait; who sends without pause never
// makes its connection wait for him.
func (c *loopConn) late() bool { return c.readBy != 0 && c.loop.now > c.readBy }

// Read returns what has come, and counts it as [Conn.Read] does.
func (c *loopConn) Read(p []byte) (int, error) {
	for {
		switch {
		case c.expired || c.late():
			c.expired = false // the answer has a time of its own
			return 0, timedOut("read")
		case c.closed.Load():
			return 0, net.ErrClosed
		case !c.readable && !c.unsettled() && c.fate.Load() == served:
			if !c.rest() {
				c.parking = true
				return 0, io.EOF
			}
			continue
		case !c.readable:
			if c.readBy == 0 { // the clock is only read for a head that came in parts
				c.readBy = c.loop.clock() + c.loop.limits.HeaderTimeout
			}
			c.wait(reading)
			continue
		case c.reads == mostReads:
			c.loop.ready = append(c.loop.ready, c)
			c.wait(turn)
			continue
		}
		c.reads++
		n, at, err := c.receive(p)
		switch {
		case n > 0:
			if c.stamps != nil {
				c.stamps.sawRead(at)
			}
			c.readable = n == len(p) || c.hungUp // an edge came with the last byte, and none will come again
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

// mostResting is how many connections of a loop keep their coroutine and buffers
// between two requests, which saves each request some 0.25 µs.
const mostResting = 128

// rest waits for the next request and reports true, or reports false if c is to
// give its coroutine back.
func (c *loopConn) rest() bool {
	l := c.loop
	if l.resting == mostResting || c.read.Load() == 0 {
		return false
	}
	l.resting++
	c.readBy = l.now + l.limits.IdleTimeout
	c.wait(resting)
	l.resting--
	c.readBy = 0
	return true
}

// Write returns when all of p is in the kernel's hands.
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
	if !c.watched { // asked for anew, epoll looks whether it has happened meanwhile
		c.watched = true
		if err := c.loop.watch(unix.EPOLL_CTL_MOD, int(c.fd), watched|unix.EPOLLOUT, c.fd, c.born); err != nil {
			return os.NewSyscallError("epoll_ctl", err)
		}
	}
	for !c.writable && !c.expired && !c.closed.Load() {
		c.wait(writing)
	}
	return nil
}

// receive reads what has come, and says when, if the kernel is asked.
func (c *loopConn) receive(p []byte) (n int, at readTimes, err error) {
	if c.stamps == nil || c.stamps.kernel == nil {
		n, err = c.transfer(unix.SYS_READ, unsafe.Pointer(unsafe.SliceData(p)), uintptr(len(p)))
		return n, readTimes{}, err
	}
	k := c.stamps.kernel
	n, err = c.transfer(unix.SYS_RECVMSG, k.message(p), 0)
	return n, k.times(n), err
}

// transfer reads or writes the socket while it is open. The lock is free but for
// a drain: some 10 ns. The call cannot block, and Go's scheduler is not told of
// it: a thread that has not met the scheduler for 10 ms, as a busy loop's, would
// lose its P in any call that it is told of, thousands of times a second.
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

// Close closes the socket once and counts it, and tells the loop.
func (c *loopConn) Close() error {
	if !c.shut() {
		return net.ErrClosed
	}
	c.loop.post(c, false)
	return nil
}

// shut is Close on the loop; it reports whether the socket was open.
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

// readOut is [Conn.readOut] without a goroutine to wait on.
func (c *loopConn) readOut() {
	c.mu.Lock()
	failed := c.closed.Load() || unix.Shutdown(int(c.fd), unix.SHUT_WR) != nil
	c.mu.Unlock()
	if failed {
		return
	}
	c.answered.Store(unanswered) // so that a Read waits
	c.readBy = c.loop.clock() + lingerTime
	_, _ = io.Copy(io.Discard, io.LimitReader(c, lingerBytes))
}

// quiet reports whether no byte of a request has come since the last answer.
func (c *loopConn) quiet() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return true
	}
	n, err := received(int(c.fd))
	return err != nil || n == c.answered.Load()
}

// clientGone is [Conn.clientGone].
func (c *loopConn) clientGone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closed.Load() && hungUp(int(c.fd))
}

// LocalAddr is the server's address.
func (c *loopConn) LocalAddr() net.Addr { return c.listener.Addr() }

// RemoteAddr is the client's address, asked of the kernel: an error's message
// needs it, a request does not.
func (c *loopConn) RemoteAddr() net.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Load() {
		return &net.TCPAddr{}
	}
	switch sa, _ := unix.Getpeername(int(c.fd)); sa := sa.(type) {
	case *unix.SockaddrInet4:
		return &net.TCPAddr{IP: sa.Addr[:], Port: sa.Port}
	case *unix.SockaddrInet6:
		return &net.TCPAddr{IP: sa.Addr[:], Port: sa.Port}
	}
	return &net.TCPAddr{}
}

// SetReadDeadline bounds every later Read, also one that parks.
func (c *loopConn) SetReadDeadline(t time.Time) error {
	c.readBy = c.loop.reading(t)
	return nil
}

// SetWriteDeadline bounds every later Write.
func (c *loopConn) SetWriteDeadline(t time.Time) error {
	c.writeBy = c.loop.reading(t)
	return nil
}

// SetDeadline bounds both.
func (c *loopConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// reading is the loop's clock at t, 0 for the zero time.
func (l *eventLoop) reading(t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return t.Sub(l.epoch)
}
