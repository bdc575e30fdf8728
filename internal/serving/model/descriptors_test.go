package model_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/serving/model"
)

// A server that runs out of descriptors does not spin, and serves again within a
// second when its clients go.
func TestDescriptorsRunOut(t *testing.T) {
	const files, clients = 128, 400
	eachMode(t, func(t *testing.T, mode model.Mode) {
		a := startProcess(t, mode.Name, files)
		judged(t, func() string {
			var crowd []*client
			for range clients {
				c, err := connect(a.addr)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				crowd = append(crowd, c)
			}
			busy := a.cores(t, time.Second)
			if busy >= mostCores {
				t.Errorf("%d descriptors and %d clients cost %.3f of a core, want less than %v", files, clients, busy, mostCores)
			}
			for _, c := range crowd {
				c.Close()
			}
			began := time.Now()
			eventually(t, "an answer after the crowd", func() bool { return a.ask() == nil })
			took := time.Since(began)
			t.Logf("%.3f of a core among the crowd, served again after %v", busy, took)
			if took > time.Second+longest {
				return fmt.Sprintf("served again after %v, want a second", took)
			}
			return ""
		})
	})
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

// A server whose socket is closed under it drains.
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
