package load

import (
	"bufio"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"schedlab/internal/timeline"
)

// A conn is a place for one client connection. It is owned by one request at a
// time and outlives the sockets it holds; only hangUp may reach it meanwhile.
type conn struct {
	br    *bufio.Reader
	out   []byte // the request, rendered
	quota int64  // bytes that may still be read; guards against endless heads
	heard bool   // a byte of the present reply has arrived
	fresh bool   // nc has not answered yet

	given   bool          // it was given a request
	answers uint32        // replies in this place
	first   time.Duration // from the first request written here to its reply; 0 before
	asked   time.Time     // when the first request was written here

	stamps timeline.Client // of the present request, but its scheduled and sent times

	mu sync.Mutex // guards nc against hangUp; the owner reads it without
	nc net.Conn   // nil when it has to be dialled
}

func newConn() *conn {
	k := &conn{quota: math.MaxInt64}
	k.br = bufio.NewReaderSize(k, 4<<10) // as net/http's Transport
	return k
}

// Read implements io.Reader for the buffer.
func (k *conn) Read(p []byte) (int, error) {
	if k.quota <= 0 {
		return 0, errHeadTooLarge
	}
	n, err := k.nc.Read(p)
	k.quota -= int64(n)
	if n > 0 && !k.heard {
		k.heard = true
		k.stamps.First = timeline.Now()
	}
	return n, err
}

// attach gives k a new socket. It reports false, and closes the socket, when
// the connections have been hung up meanwhile.
func (k *conn) attach(nc net.Conn, hung *atomic.Bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if hung.Load() {
		nc.Close()
		return false
	}
	k.nc, k.fresh = nc, true
	k.br.Reset(k)
	return true
}

// close ends k's socket, if it has one.
func (k *conn) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.nc != nil {
		k.nc.Close()
		k.nc = nil
	}
}

// hangUp breaks k's socket from outside; its owner sees an error and closes.
func (k *conn) hangUp() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.nc != nil {
		k.nc.Close()
	}
}

// exchange writes the rendered request and reads its reply.
func (k *conn) exchange(deadline time.Time, bodiless bool) (reply, error) {
	k.heard = false
	k.stamps.Wrote = timeline.Now()
	if err := k.nc.SetDeadline(deadline); err != nil {
		return reply{}, err
	}
	if _, err := k.nc.Write(k.out); err != nil {
		if isTimeout(err) {
			return reply{}, err
		}
		// A server may refuse and close before it has read the request: its
		// answer can still be there.
		if rep, readErr := k.readReply(bodiless); readErr == nil {
			rep.keep = false
			return rep, nil
		}
		return reply{}, err
	}
	rep, err := k.readReply(bodiless)
	if k.br.Buffered() > 0 {
		rep.keep = false // bytes nobody asked for: the next reply could not be told apart
	}
	return rep, err
}
