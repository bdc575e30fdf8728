package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"schedlab/internal/measuring/host"
)

// A server is a process that listens on addr, and on admin if its command has {admin}.
type server struct {
	addr, admin string
	cmd         *exec.Cmd
	said        tail
	ended       chan error
}

// A tail keeps the last 2,000 bytes that a server wrote to its standard error. Read it when the server has ended.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	*t = append(*t, p...)
	*t = (*t)[max(0, len(*t)-2000):]
	return len(p), nil
}

// twoSides gives the first CPU to the servers and the others to the load.
func twoSides() (host.Sides, error) {
	cpus, err := host.Affinity()
	if err == nil && len(cpus) < 2 {
		err = errors.New("no two CPUs, one of them for the servers")
	}
	if err != nil {
		return host.Sides{}, err
	}
	return host.Sides{Server: cpus[:1], Load: cpus[1:], Pin: true, Vegeta: true}, nil
}

// startLimit and stopLimit are how long a server may take to listen and to end on a busy machine.
const startLimit, stopLimit = 30 * time.Second, 20 * time.Second

// start runs a command, of words separated by spaces, with {addr} and {admin} replaced by free addresses, and returns
// when it listens. The caller ends it.
func start(ctx context.Context, command string) (*server, error) {
	addrs, err := freeAddrs(2)
	if err != nil {
		return nil, err
	}
	s := &server{addr: addrs[0], admin: addrs[1], ended: make(chan error, 1)}
	words := strings.Fields(strings.NewReplacer("{addr}", s.addr, "{admin}", s.admin).Replace(command))
	s.cmd = exec.Command(words[0], words[1:]...)
	s.cmd.Stderr = &s.said
	host.Isolate(s.cmd)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %q: %w; build the servers with tools/counts", command, err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	limit := time.After(startLimit)
	waitFor := []string{s.addr}
	if strings.Contains(command, "{admin}") {
		waitFor = append(waitFor, s.admin)
	}
	for len(waitFor) > 0 {
		if listens(waitFor[0]) {
			waitFor = waitFor[1:]
			continue
		}
		select {
		case err := <-s.ended:
			return nil, fmt.Errorf("%q ended before it listened: %v: %s", command, err, s.said)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), s.kill())
		case <-limit:
			return nil, errors.Join(fmt.Errorf("%q does not listen after %v", command, startLimit), s.kill())
		case <-time.After(5 * time.Millisecond):
		}
	}
	return s, nil
}

// listens reports whether somebody listens at an address of loopback.
func listens(addr string) bool {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return false
	}
	defer c.Close()
	return c.LocalAddr().String() != addr // a connection to itself, of a port that nobody listens on
}

// freeAddrs returns n addresses of loopback on which nobody listens.
func freeAddrs(n int) (addrs []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // when all are chosen, so that they differ
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// kill ends the server at once and waits for it. It returns an error if the server had ended by itself.
func (s *server) kill() error {
	killed := s.cmd.Process.Kill()
	if killed != nil && !errors.Is(killed, os.ErrProcessDone) {
		return killed
	}
	if err := <-s.ended; killed != nil {
		return fmt.Errorf("%s ended by itself: %v: %s", s.cmd.Path, err, s.said)
	}
	return nil
}

// wait waits for a server that was told to stop.
func (s *server) wait() error {
	select {
	case <-s.ended:
		return nil
	case <-time.After(stopLimit):
		return errors.Join(fmt.Errorf("%s still runs %v after SIGTERM", s.cmd.Path, stopLimit), s.kill())
	}
}
