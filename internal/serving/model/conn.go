package model

import (
	"crypto/tls"
	"io"
	"maps"
	"math"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"schedlab/internal/shared/timeline"
)

// A Conn is an accepted connection in every mode without event loops. It embeds the TCP
// connection, so ReadFrom, CloseWrite and SyscallConn stay. It overrides Close, to count the
// connection, Read, to note which bytes have been answered, and Write, for the timeline. Any
// goroutine may close it.
//
// A drain compares the bytes read and answered with the bytes that the kernel has received, and so
// knows whether it may close the connection (isIdle).
type Conn struct {
	*net.TCPConn
	entry
	framing *framing  // nil: framing is not watched
	tls     *tls.Conn // nil: it speaks no TLS; see secure.go
	shaken  bool      // the TLS handshake is over

	nextFrame bool // the present read waits for the first byte of the next HTTP/2 frame
}

// An openConn is an open connection as the listener and the drain see it, safe for concurrent use.
type openConn interface {
	ledgerEntry() *entry
	control(f func(fd int)) // calls f with the descriptor, unless the connection is closed
	net.Conn
}

// An entry holds the state of a connection, of either kind, that the listener and the drain use.
//
// The counters, the fate and the flags are atomic, because a drain or a scrape looks at them from
// another goroutine. answers belongs to the goroutine that serves the connection. Every request uses the
// fields before socket, so they lie together (see loopConn).
type entry struct {
	listener *Listener
	stamps   *stamps       // nil: nothing is stamped
	read     atomic.Uint64 // bytes read
	answered atomic.Uint64 // bytes read by the end of the last answer; unanswered while a request is served
	closed   atomic.Bool
	fate     atomic.Int32 // how it ends: served, or 1 + r if it is rejected for the Reason r, -1 - r if it is dropped for it
	hangUp   atomic.Bool  // close it, unannounced, once all bytes read are answered
	begun    bool         // fasthttp has begun the first request since it was given the connection
	brokeOff bool         // a read has failed or found the end of the stream, on fasthttp's stack
	streams  bool         // it speaks HTTP/2: several requests may be served at a time
	head     headPlace    // of the next byte that is read; only the goroutine that serves the connection uses it

	socket  *socket      // the socket that accepted it
	waiting atomic.Int64 // start of its wait for a worker, on the timeline's clock; 0: it does not wait
	answers int          // answers so far, counted where they are limited, by the goroutine that serves it
	linger  atomic.Bool  // the client may still be sending when the connection is closed
	gaveUp  atomic.Bool  // its client had gone when a worker took it
	busy    atomic.Int64 // with streams: until when, on the timeline's clock, a request or its answer is under way
}

// ledgerEntry makes every type that embeds an entry an openConn.
func (e *entry) ledgerEntry() *entry { return e }

// served is the fate of a connection that was not turned away.
const served = 0

// unanswered is a value of answered that no number of bytes read can reach.
const unanswered = math.MaxUint64

// Read reads from the connection and counts the bytes.
func (c *Conn) Read(p []byte) (int, error) {
	if c.hangsUp() {
		return 0, io.EOF
	}
	n, err := c.readPlain(p)
	switch {
	case n > 0:
	case c.framing == nil:
		c.brokeOff = true
	case isBroken(err):
		c.framing.broken = true
	}
	if n > 0 && !c.streams {
		if c.framing != nil {
			c.framing.scan(p[:n])
		} else {
			c.fillHost(p[:n])
		}
	}
	return n, err
}

// receive reads into p and stamps the read.
func (c *Conn) receive(p []byte) (n int, err error) {
	if c.stamps == nil {
		return c.TCPConn.Read(p)
	}
	if k := c.stamps.kernel; k != nil {
		n, err = k.read(c.TCPConn, p)
	} else {
		n, err = c.TCPConn.Read(p)
	}
	if n > 0 {
		c.stamps.noteRead()
	}
	return n, err
}

// Write stamps the requests that wait for this write, and writes p. It also tells the framing
// about answers that no handler made, and how many bytes had been read before the write.
func (c *Conn) Write(p []byte) (int, error) {
	if c.stamps != nil {
		c.stamps.flush()
	}
	if c.framing != nil && !c.streams {
		c.framing.countOwnAnswer(p)
		c.framing.readBeforeWrite = c.read.Load()
	}
	return c.writePlain(p)
}

// beginRequest notes that a request is being served. This matters only when the request was
// read together with the one before, so that all bytes seemed answered.
func (e *entry) beginRequest() {
	// For an unpipelined request the bytes just read are not answered, so the two differ already.
	if !e.streams && e.answered.Load() == e.read.Load() {
		e.answered.Store(unanswered)
	}
}

// hasUnanswered reports whether bytes were read that are not answered yet.
func (e *entry) hasUnanswered() bool { return e.answered.Load() != e.read.Load() }

// hangsUp reports whether the server closes the connection now without having announced it. The
// next Read then returns [io.EOF]: to the HTTP library it looks as if the client had closed.
func (e *entry) hangsUp() bool { return e.hangUp.Load() && !e.hasUnanswered() }

// markAnswered notes that every request read so far is answered.
func (e *entry) markAnswered() { e.answered.Store(e.read.Load()) }

// Close closes the socket once and counts it.
func (c *Conn) Close() error {
	// Several goroutines may close: the one that serves, a drain, net/http. The first counts it.
	if !c.closed.CompareAndSwap(false, true) {
		return net.ErrClosed
	}
	c.closeNotify()
	if c.linger.Load() {
		c.discardInput()
	}
	// The descriptor is closed before release frees its place, so that there are never more than
	// the cap allows.
	err := c.TCPConn.Close()
	c.listener.release(c)
	return err
}

// After a refusal a client may still send lingerBytes, for lingerTime. A round trip fits into
// lingerTime on most networks. lingerBytes is above the default limit of a body, so most clients
// can send the rest of their request.
const (
	lingerTime  = 250 * time.Millisecond
	lingerBytes = 4 << 20
)

// discardInput closes our side and reads the bytes that the client still sends. Closing a
// socket with unread bytes resets it, and the reset overtakes the answer (RFC 9112 §9.6).
func (c *Conn) discardInput() {
	if c.CloseWrite() != nil || c.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(c.TCPConn, lingerBytes))
}

// reject marks the connection as refused with an answer, drop as closed without one. Call
// either before Close. The last call counts.
func (e *entry) reject(r Reason) { e.fate.Store(1 + int32(r)) }

// refuse makes a connection that is dropped a rejected one, for the same reason.
func (e *entry) refuse() { e.fate.Store(max(e.fate.Load(), -e.fate.Load())) }

func (e *entry) drop(r Reason) { e.fate.Store(-1 - int32(r)) }

// cutOff closes a connection at the end of a drain's time. A connection with a request in
// flight counts as dropped, unless it was turned away before, and cutOff reports true. An idle
// one counts as done. If the kernel cannot tell the two apart, the connection counts as
// dropped.
func cutOff(c openConn) bool {
	e := c.ledgerEntry()
	// Otherwise Close would wait up to lingerTime for each of many connections.
	e.linger.Store(false) // there is no time left to discard input
	lost := !isIdle(c) && e.fate.CompareAndSwap(served, -1-int32(DrainTimeout))
	c.Close()
	return lost
}

// isIdle reports whether no byte of a request has come since the last answer, so that closing c
// loses nothing that the client has sent. Note: isIdle asks the kernel for the bytes received,
// because any time may pass between a read and its count. The states that HTTP libraries
// report are late (net/http: once a head is complete) or early (fasthttp: before its first
// byte).
func isIdle(c openConn) bool {
	idle := true // closed already
	c.control(func(fd int) {
		n, err := received(fd)
		e := c.ledgerEntry()
		// In this order, as readWire takes bytes for answered only when busy tells of their requests.
		idle = err == nil && n == e.answered.Load() && timeline.Now() >= e.busy.Load()
	})
	return idle
}

func (c *Conn) control(f func(fd int)) {
	// The runtime keeps the descriptor open during the call, so f never gets one that belongs to
	// another connection by now.
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { f(int(fd)) }) // fails without a call of f
	}
}

// A Reason tells why a connection was rejected (answered, then closed) or dropped (closed without an
// answer). The set is closed, because a Reason is a metric label. The same reasons count requests that
// were not run ([RequestCounts.Shed]).
type Reason uint8

// The reasons of a connection turned away.
const (
	QueueFull    Reason = iota // no place in the queue
	ShedBusy                   // no place in the queue, and too many refusals in progress to answer
	ProcessDied                // its process ended without a drain
	Unanswered                 // no place in the queue, and the policy is to give no answer
	Evicted                    // it had waited longest in a full queue
	Stale                      // it had waited too long in the queue
	Expired                    // it had waited so long in the queue that its client has given up
	DrainTimeout               // a drain cut it with a request in flight
	NumReasons                 // the number of reasons, not a reason
)

// String returns the value of the label reason.
func (r Reason) String() string {
	return [...]string{"queue_full", "shed_busy", "process_died", "dropped", "evicted", "stale", "expired", "drain_timeout"}[r]
}

// Counts is one consistent reading of a server's connections:
//
//	Accepted == Done + ΣRejected + ΣDropped + Open
//
// This holds in every reading, because connection events change it under one lock of the [Listener].
//
// The arrays are indexed by [Reason]. All numbers but Open only grow.
type Counts struct {
	Accepted uint64             // connections the kernel handed over
	Done     uint64             // served and closed
	Rejected [NumReasons]uint64 // answered with a refusal and closed, by reason
	Dropped  [NumReasons]uint64 // closed without an answer, by reason
	Open     uint64             // accepted and not yet closed, counted independently
	// GaveUp is the part of Done that the client had closed, or closed for sending, by the
	// time that a worker took it.
	GaveUp uint64
}

// Plus returns the sum of two readings of different servers.
func (c Counts) Plus(d Counts) Counts {
	c.Accepted += d.Accepted
	c.Done += d.Done
	c.GaveUp += d.GaveUp
	for i := range c.Rejected {
		c.Rejected[i] += d.Rejected[i]
		c.Dropped[i] += d.Dropped[i]
	}
	c.Open += d.Open
	return c
}

// Counts returns one consistent reading.
func (l *Listener) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts
	c.Open = uint64(len(l.open))
	return c
}

// conns returns the connections open now, in no order.
func (l *Listener) conns() []openConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.open))
}

// enter adds an open connection. The socket's own counts change under the same lock.
func (l *Listener) enter(c openConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open[c] = struct{}{}
	l.counts.Accepted++
	s := c.ledgerEntry().socket
	s.counts.Accepted++
	s.counts.Open++
}

// release takes a connection that is closed out, counts it by its fate, and frees its slot for the next
// one. The caller sees to it that this happens once for each connection.
func (l *Listener) release(c openConn) {
	l.mu.Lock()
	delete(l.open, c)
	e := c.ledgerEntry()
	e.socket.counts.Open--
	switch fate := e.fate.Load(); {
	case fate > 0:
		l.counts.Rejected[fate-1]++
	case fate < 0:
		l.counts.Dropped[-1-fate]++
	default:
		l.counts.Done++
		if e.gaveUp.Load() {
			l.counts.GaveUp++
		}
	}
	l.mu.Unlock()
	<-l.slots
}

// SocketCounts counts the connections of one listening socket: those accepted so far and
// those open now.
type SocketCounts struct{ Accepted, Open uint64 }

// SocketCounts returns one consistent reading of the connections of every socket, in the
// order of [Listener.AcceptQueue].
func (l *Listener) SocketCounts() []SocketCounts {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := make([]SocketCounts, len(l.sockets))
	for i, s := range l.sockets {
		counts[i] = s.counts
	}
	return counts
}

// OldestWait returns the age of the longest present wait of a connection, or its request, for
// a worker; 0 when none waits. It looks at every open connection, so call it once per scrape
// and not for each request.
func (l *Listener) OldestWait() time.Duration {
	now := timeline.Now()
	oldest := now
	for _, c := range l.conns() { // a copy, so that the lock is not held meanwhile
		if at := c.ledgerEntry().waiting.Load(); at != 0 {
			oldest = min(oldest, at)
		}
	}
	return time.Duration(now - oldest)
}

// minGaveUpWait is the shortest wait after which the server asks the kernel whether the client
// has given up. The question costs a system call.
const minGaveUpWait = 10 * time.Millisecond

// endWait ends the wait of a connection, or a request on it, when a worker takes it. It reports
// whether the client has given up meanwhile, for tookConn and tookRequest to count.
func endWait(c openConn, wait time.Duration) (gaveUp bool) {
	c.ledgerEntry().waiting.Store(0)
	return wait >= minGaveUpWait && isGone(c)
}

// isGone reports whether the client has closed c or only its sending side; the kernel does not
// distinguish these. Off Linux it always reports false. It allocates, so endWait does not contain it.
func isGone(c openConn) (gone bool) {
	c.control(func(fd int) { gone = hungUp(fd) })
	return gone
}

func tookConn[C openConn](c C, wait time.Duration) {
	if endWait(c, wait) {
		c.ledgerEntry().gaveUp.Store(true)
	}
}

func (r *requests) tookRequest(c openConn, wait time.Duration) {
	if endWait(c, wait) {
		r.gaveUp.Add(1)
	}
}
