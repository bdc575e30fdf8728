package model_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/model"
)

// scarceMode names, in the environment, the mode that the test binary is to
// serve with few descriptors instead of running tests.
const scarceMode = "SCHEDLAB_TEST_SCARCE_MODE"

const scarceFiles = 128

// serveScarce serves until its standard input ends, and prints its address.
func serveScarce(name string) int {
	limit := unix.Rlimit{Cur: scarceFiles, Max: scarceFiles}
	err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	if err == nil {
		err = serveUntilEOF(name)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serveUntilEOF(name string) error {
	mode, err := model.Lookup(name)
	if err != nil {
		return err
	}
	with := newSetup(nil, mode)
	with.Workers = 8
	ln, err := with.Socket.Listen(context.Background(), nil)
	if err != nil {
		return err
	}
	fmt.Println(ln.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	_, err = model.Serve(ctx, mode.New(with.Config), ln, with.Drain)
	if ctx.Err() == nil {
		return fmt.Errorf("the server ended by itself: %w", err)
	}
	return err
}

// A server that runs out of descriptors serves again when its clients go.
func TestDescriptorsRunOut(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		addr := startScarce(t, mode.Name)
		var crowd []net.Conn
		for range 400 {
			c, err := net.DialTimeout("tcp", addr, soon)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			crowd = append(crowd, c)
		}
		for _, c := range crowd {
			c.Close()
		}
		began := time.Now()
		eventually(t, "an answer after the crowd", func() bool {
			nc, err := net.DialTimeout("tcp", addr, slack)
			if err != nil {
				return false
			}
			defer nc.Close()
			nc.SetDeadline(time.Now().Add(slack))
			a, err := newClient(nc.(*net.TCPConn)).ask(getClose("/plaintext"))
			return err == nil && a.Status == 200
		})
		if took := time.Since(began); took > time.Second+slack {
			t.Errorf("served again after %v, want about a second", took)
		}
	})
}

// startScarce runs the mode in a process of its own until the test ends, and
// returns its address.
func startScarce(t *testing.T, name string) (addr string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), scarceMode+"="+name)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	if _, err := fmt.Fscanln(out, &addr); err != nil {
		t.Fatalf("reading the address: %v", err)
	}
	return addr
}

// At the cap accepting waits, in the kernel, and nothing is lost.
func TestMaxConns(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		const most, clients = 4, 12
		s := start(t, mode, func(with *setup) { with.Socket.MaxConns = most })
		answered := make(chan *client, clients) // those of several sockets in no order
		for range clients {
			c := s.dial()
			io.WriteString(c, get("/plaintext"))
			go func() {
				if a, err := c.read("GET"); err != nil || a.Status != 200 {
					t.Errorf("got %d %v, want 200", a.Status, err)
				}
				answered <- c
			}()
		}
		for i := range clients {
			c := <-answered
			if s.ln.Sockets() == 1 { // an acceptor of several may keep a place free for its own
				eventually(t, "the next is accepted", func() bool { return s.ln.Counts().Accepted == uint64(min(i+most, clients)) })
			}
			if got := s.ln.Counts().Open; got > most {
				t.Errorf("got %d connections open, want at most %d", got, most)
			}
			c.Close()
		}
		s.open(0)
	})
}

// A server whose socket is taken away drains as if it had been told to.
func TestServeEndsWithItsSocket(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode)
		c := s.dial()
		if _, err := c.ask(get("/plaintext")); err != nil {
			t.Fatal(err)
		}
		s.ln.Close()
		if _, err := c.in.ReadByte(); err != io.EOF {
			t.Errorf("got %v, want the idle connection closed", err)
		}
		if _, err := net.DialTimeout("tcp", s.addr(), slack); !errors.Is(err, unix.ECONNREFUSED) {
			t.Errorf("got %v, want connections refused", err)
		}
	})
}

func TestBacklog(t *testing.T) {
	t.Parallel()
	ln, err := model.Socket{Addr: "127.0.0.1:0", Backlog: 7, MaxConns: 1}.Listen(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if got := ln.Backlog(); got != 7 {
		t.Errorf("got %d, want 7", got)
	}
	_, err = model.Socket{Addr: "127.0.0.1:0", Backlog: 1 << 30, MaxConns: 1}.Listen(t.Context(), nil)
	var short *model.BacklogError
	if !errors.As(err, &short) || short.Want != 1<<30 || short.Got < 1 {
		t.Errorf("got %v, want a BacklogError with the kernel's limit", err)
	}
}
