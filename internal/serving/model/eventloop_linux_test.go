package model

import (
	"log/slog"
	"net"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"schedlab/internal/shared/workload"
)

// With more ready connections than a batch holds, the listening socket's event is one of many that
// come in turn: a loop that knows of connections in its queue lets one in meanwhile, and does not
// look there again when it has found none.
func TestLoopAcceptsBetweenFullBatches(t *testing.T) {
	t.Parallel()
	ln, err := Socket{Addr: "127.0.0.1:0", MaxConns: 8, Sockets: 1}.Listen(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	m := newLoop(Config{Handle: func(*workload.Exchange) {}, Log: slog.New(slog.DiscardHandler)}).(*loopModel)
	l := m.newEventLoop()
	if err := l.start(ln.sockets[0]); err != nil {
		t.Fatal(err)
	}
	defer l.stop()
	const clients = 3
	for range clients {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	others := make([]unix.EpollEvent, maxBatch)
	for i := range others {
		others[i].Fd = wakeEvent // does nothing but fill the batch
	}
	for i, turn := range []struct {
		events []unix.EpollEvent
		open   int
	}{
		{others, 0}, // nothing is known of the queue
		{[]unix.EpollEvent{{Fd: listenerEvent}}, 1},
		{others[1:], 1}, // its event would have come
		{others, 2},
		{others, 3},
		{others, 3},
	} {
		if l.turn(turn.events); l.open != turn.open {
			t.Errorf("turn %d: %d connections are open, want %d", i, l.open, turn.open)
		}
	}
	if l.accepting.waiting {
		t.Error("the queue was found empty, and counts as one with connections")
	}
	for _, c := range l.conns {
		if c != nil {
			c.shut()
			l.forget(c)
		}
	}
}

// What a request uses of its connection lies in two lines of the CPU's cache.
func TestLoopConnFillsCacheLines(t *testing.T) {
	t.Parallel()
	const line = 64
	var c loopConn
	if got := unsafe.Offsetof(c.entry) + unsafe.Offsetof(c.entry.socket); got > 2*line {
		t.Errorf("the fields that a request uses take %d bytes, want at most %d", got, 2*line)
	}
	if got := unsafe.Sizeof(c); got%line != 0 {
		t.Errorf("a connection takes %d bytes, want a multiple of %d, so that Go's allocator begins it at a line", got, line)
	}
}
