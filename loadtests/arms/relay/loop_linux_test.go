package main

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// delay is long beside what a busy machine adds, so that an answer that comes too early is seen.
const delay = 20 * time.Millisecond

// A relayed server is one behind a loop.
type relayed struct {
	addr     string // of the loop
	server   net.Listener
	stop     func() // the server has ended
	observed atomic.Int64
}

// relay starts a loop before a server that serves each connection by a function, until the test ends. Without a function
// nothing listens there.
func relay(t *testing.T, serve func(*net.TCPConn)) *relayed {
	t.Helper()
	r := &relayed{}
	var err error
	if r.server, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	front, address, err := listenAt("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = address.String()
	listener, err := unix.FcntlInt(front.Fd(), unix.F_DUPFD_CLOEXEC, 0) // the loop closes it
	if err != nil {
		t.Fatal(err)
	}
	front.Close()
	alive, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	l, err := newLoop(listener, int(alive.Fd()), r.server.Addr().(*net.TCPAddr), delay, false, func(late time.Duration) {
		r.observed.Add(1)
		if late < 0 {
			t.Errorf("a chunk left %v before its time", -late)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	if serve == nil {
		r.server.Close()
	} else {
		all.Go(func() {
			for {
				c, err := r.server.Accept()
				if err != nil {
					return
				}
				all.Go(func() {
					defer c.Close()
					serve(c.(*net.TCPConn))
				})
			}
		})
	}
	all.Go(func() {
		if err := l.run(); err != nil {
			t.Error(err)
		}
	})
	r.stop = sync.OnceFunc(func() { held.Close() })
	t.Cleanup(func() {
		r.stop()
		r.server.Close()
		all.Wait()
		alive.Close()
	})
	return r
}

// dial connects a client.
func (r *relayed) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp4", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c.(*net.TCPConn)
}

func echo(c *net.TCPConn) { _, _ = io.Copy(c, c) }

// A first answer comes two round trips after the dial at the earliest, a later one a round trip after its request.
func TestNothingArrivesEarly(t *testing.T) {
	t.Parallel()
	r := relay(t, echo)
	began := time.Now()
	c := r.dial(t)
	buf := make([]byte, 5)
	for i, want := range []time.Duration{4 * delay, 2 * delay, 2 * delay} {
		if _, err := c.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, buf); err != nil || string(buf) != "hello" {
			t.Fatalf("got %q, %v", buf, err)
		}
		if took := time.Since(began); took < want {
			t.Errorf("answer %d came after %v, want %v at least", i+1, took, want)
		}
		began = time.Now()
	}
	if r.observed.Load() == 0 {
		t.Error("no chunk was counted")
	}
}

// More bytes than sockets and a direction hold arrive whole and in order, in both directions at a time, on several connections, and so
// does their end.
func TestBytesArriveWholeAndInOrder(t *testing.T) {
	t.Parallel()
	r := relay(t, echo)
	var all sync.WaitGroup
	defer all.Wait()
	for n := range 3 {
		c := r.dial(t)
		sent := make([]byte, 12<<20)
		rng := rand.NewChaCha8([32]byte{byte(n)})
		_, _ = rng.Read(sent) // never fails
		all.Go(func() {
			for rest := sent; len(rest) > 0; {
				n, err := c.Write(rest[:min(len(rest), 1+int(rng.Uint64()%100_000))])
				if err != nil {
					t.Error(err)
					return
				}
				rest = rest[n:]
			}
			if err := c.CloseWrite(); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("connection %d: got %d bytes, %v, want the %d that were sent", n, len(got), err, len(sent))
			}
		})
	}
}

// A server's close after its answer arrives after the answer, no earlier than the delay.
func TestServersCloseArrives(t *testing.T) {
	t.Parallel()
	closed := make(chan time.Time, 1)
	r := relay(t, func(c *net.TCPConn) {
		_, _ = c.Write([]byte("bye"))
		closed <- time.Now()
	})
	got, err := io.ReadAll(r.dial(t))
	if string(got) != "bye" || err != nil {
		t.Errorf("got %q, %v, want the answer and its end", got, err)
	}
	if took := time.Since(<-closed); took < delay {
		t.Errorf("the end came %v after the close, want %v at least", took, delay)
	}
}

// What a client does before it knows that its connection is open reaches the server all the same, in order.
func TestClientsCloseArrives(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]struct {
		leave func(*net.TCPConn) error
		want  error
	}{
		"close": {(*net.TCPConn).Close, nil},
		"reset": {func(c *net.TCPConn) error { return errors.Join(c.SetLinger(0), c.Close()) }, syscall.ECONNRESET},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			type end struct {
				got []byte
				err error
				at  time.Time
			}
			ends := make(chan end, 1)
			r := relay(t, func(c *net.TCPConn) {
				got, err := io.ReadAll(c)
				ends <- end{got, err, time.Now()}
			})
			began := time.Now()
			c := r.dial(t)
			if _, err := c.Write([]byte("hello")); err != nil {
				t.Fatal(err)
			}
			if err := then.leave(c); err != nil {
				t.Fatal(err)
			}
			var e end
			select {
			case e = <-ends:
			case <-time.After(time.Minute):
				t.Fatal("no connection has ended at the server")
			}
			if !errors.Is(e.err, then.want) || then.want == nil && string(e.got) != "hello" {
				t.Errorf("the server got %q, %v, want the end %v", e.got, e.err, then.want)
			}
			if took := e.at.Sub(began); took < 3*delay {
				t.Errorf("it came after %v, want %v at least", took, 3*delay)
			}
		})
	}
}

// A server that nobody runs yet resets its clients, and only after a round trip.
func TestNoServer(t *testing.T) {
	t.Parallel()
	r := relay(t, nil)
	began := time.Now()
	if _, err := r.dial(t).Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset", err)
	}
	if took := time.Since(began); took < 4*delay {
		t.Errorf("the reset came after %v, want %v at least", took, 4*delay)
	}
}

// The loop ends with the server, and what the server sent before its end arrives.
func TestLastAnswerArrives(t *testing.T) {
	t.Parallel()
	answered := make(chan bool)
	r := relay(t, func(c *net.TCPConn) {
		_, _ = c.Read(make([]byte, 1))
		_, _ = c.Write([]byte("last"))
		answered <- true
	})
	c := r.dial(t)
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	<-answered
	r.stop()
	if got, err := io.ReadAll(c); string(got) != "last" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}
