package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"schedlab/internal/serving/model"
)

// SIGTERM under load loses no request, in any mode: what the server took it has
// answered when it ends, soon and with exit code 0, and its last line says so.
// SCHEDLAB_LONG does it ten times in a row.
func TestTermUnderLoad(t *testing.T) {
	t.Parallel()
	runs := 2
	if os.Getenv("SCHEDLAB_LONG") != "" {
		runs = 10
	}
	for _, mode := range model.Variants() {
		t.Run(mode.Name, func(t *testing.T) {
			t.Parallel()
			fastest := childLimit
			for range runs {
				fastest = min(fastest, termUnderLoad(t, mode))
			}
			if fastest > 2*time.Second {
				t.Errorf("the fastest of %d ends took %v, want 2 s at most for short work", runs, fastest)
			}
		})
	}
}

// termUnderLoad is one run; it returns how long the end took.
func termUnderLoad(t *testing.T, mode model.Mode) time.Duration {
	c := serve(t, mode.Name, quickly(mode)...)
	w := &visitors{child: c}
	var all sync.WaitGroup
	for range 3 { // together fewer than workers
		all.Go(func() { w.loop("GET /work?sleep=1ms HTTP/1.1\r\nHost: test\r\n\r\n") })
		all.Go(func() { w.loop("GET /plaintext HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n") })
	}
	c.eventually(t, "a load", func() bool { return w.answered.Load() > 200 })
	began := time.Now()
	c.stop(t)
	took := time.Since(began)
	all.Wait()
	if lost := w.lost.Load(); lost != 0 {
		t.Errorf("%d of %d requests were lost on connections that had been served", lost, w.answered.Load())
	}
	// A connection that the kernel made and the server never took is none it lost.
	got, want := c.last(t), float64(w.connected.Load()-w.untaken.Load())
	if got != (ledger{Accepted: want, Done: want}) {
		t.Errorf("got %+v, want %g accepted and done, which is all that were answered", got, want)
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("got exit code %d, want 0:\n%s", code, c.logged())
	}
	return took
}

// quickly starts a mode without calibrating, with room for a test's clients.
func quickly(mode model.Mode) []string {
	flags := []string{"--iters", "1000"}
	if mode.Has("workers") {
		flags = append(flags, "--workers", "8")
	}
	if mode.Has("steal") {
		flags = append(flags, "--steal")
	}
	return flags
}

// visitors count what became of their connections and requests.
type visitors struct {
	*child
	connected, untaken, answered, lost atomic.Int64
}

// loop makes one request after the other, on a connection for as long as it is
// kept, until the server takes no more connections.
func (v *visitors) loop(request string) {
	for {
		nc, err := net.DialTimeout("tcp", v.addr, childLimit)
		if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) {
			return
		}
		if err != nil {
			v.lost.Add(1)
			return
		}
		v.connected.Add(1)
		nc.SetDeadline(time.Now().Add(childLimit))
		in := bufio.NewReader(nc)
		for served := false; ; served = true {
			closed, err := ask(nc, in, request)
			if err != nil {
				if served {
					v.lost.Add(1)
				} else {
					v.untaken.Add(1) // or lost: the server's own count tells
				}
				break
			}
			v.answered.Add(1)
			if closed {
				break
			}
		}
		nc.Close()
	}
}

// ask reports whether the answer ends the connection.
func ask(nc net.Conn, in *bufio.Reader, request string) (closed bool, err error) {
	if _, err := nc.Write([]byte(request)); err != nil {
		return false, err
	}
	reply, err := http.ReadResponse(in, nil)
	if err != nil {
		return false, err
	}
	defer reply.Body.Close()
	if _, err := io.Copy(io.Discard, reply.Body); err != nil {
		return false, err
	}
	if reply.StatusCode != http.StatusOK {
		return false, fmt.Errorf("got %s, want 200", reply.Status)
	}
	return reply.Close, nil
}

// A second instance on a port ends with exit code 1 and the reason, whatever the
// modes of the two, and the first goes on.
func TestSecondInstance(t *testing.T) {
	t.Parallel()
	modes := model.Variants()
	for i, mode := range modes {
		t.Run(mode.Name, func(t *testing.T) {
			t.Parallel()
			first := serve(t, mode.Name, quickly(mode)...)
			for _, second := range []model.Mode{mode, modes[(i+1)%len(modes)]} {
				for _, on := range [][]string{
					{"--addr", first.addr, "--admin", "off"},
					{"--addr", "127.0.0.1:0", "--admin", first.admin},
				} {
					cmd := exec.Command("schedlab", append([]string{"serve", "--mode", second.Name, "--iters", "1000"}, on...)...)
					out, err := cmd.CombinedOutput()
					if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), "the port is in use") {
						t.Errorf("%s %v: got %v %s, want exit code 1 because the port is in use", second.Name, on, err, out)
					}
					if err := first.visit("/plaintext"); err != nil {
						t.Errorf("the first, after %s %v: %v", second.Name, on, err)
					}
				}
			}
			first.stop(t)
			if l := first.last(t); l != (ledger{Accepted: 4, Done: 4}) {
				t.Errorf("got %+v, want the four visits accepted and done", l)
			}
		})
	}
}
