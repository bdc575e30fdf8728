package process

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"schedlab/internal/measuring/host"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/record"
)

// A server that runs already is found by its socket, asked, and left alone.
func TestAttach(t *testing.T) {
	t.Parallel()
	var requests atomic.Int32
	redirecting := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		http.Redirect(w, r, "http://elsewhere.invalid/", http.StatusFound)
	})
	s := httptest.NewServer(redirecting)
	defer s.Close()
	l, err := NewLauncher(host.Sides{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := l.Start(t.Context(), []string{s.URL}, "/")
	if err != nil {
		t.Fatal(err)
	}
	if !p.Alive() || "http://"+p.Addr != s.URL || requests.Load() != 1 {
		t.Errorf("got %+v", p)
	}
	if p.Pid() != os.Getpid() {
		if _, err := os.Stat("/proc/self/fd"); err == nil {
			t.Errorf("found process %d, want this one, %d", p.Pid(), os.Getpid())
		}
		if len(p.Doubts) != 1 {
			t.Errorf("not found, and the doubts are %q", p.Doubts)
		}
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	p.Kill()
	if _, err := p.askOnce(t.Context(), "/"); err != nil {
		t.Errorf("after stop and kill: %v", err)
	}
	// A child that another test starts has the listening socket, too, between its fork and its exec, and keeps it open.
	syscall.ForkLock.RLock()
	s.Close()
	syscall.ForkLock.RUnlock()
	if _, err := l.Start(t.Context(), []string{s.URL}, "/"); err == nil || !strings.Contains(err.Error(), "start it first, or give its command instead") {
		t.Errorf("nobody listens: got %v", err)
	}
}

func TestAttachBroken(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }))
	defer s.Close()
	l := &Launcher{readyLimit: patient}
	if _, err := l.Attach(t.Context(), s.URL, "/x"); err == nil || !strings.HasSuffix(err.Error(), "answers GET /x with 502") {
		t.Errorf("got %v", err)
	}
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	l.readyLimit = 100 * time.Millisecond
	if _, err := l.Attach(t.Context(), "http://"+mute.Addr().String(), "/"); err == nil || !strings.Contains(err.Error(), "does not answer GET /: ") {
		t.Errorf("got %v", err)
	}
}

// A server that listens and does not answer is told by what it did.
func TestAttachTellsTheCause(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]func(nc *net.TCPConn){
		"the server reset the connection (":                  func(nc *net.TCPConn) { nc.SetLinger(0) },
		"the server closed the connection without a reply (": func(*net.TCPConn) {},
		"the server closed the connection in the middle of its reply (": func(nc *net.TCPConn) {
			io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
		},
		`malformed HTTP version "ICY"`: func(nc *net.TCPConn) { io.WriteString(nc, "ICY 200 OK\r\n\r\n") },
	} {
		s, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		var served sync.WaitGroup
		served.Go(func() {
			for nc, err := s.Accept(); err == nil; nc, err = s.Accept() {
				nc.Read(make([]byte, 4<<10))
				answer(nc.(*net.TCPConn))
				nc.Close()
			}
		})
		l := &Launcher{readyLimit: patient}
		_, err = l.Attach(t.Context(), "http://"+s.Addr().String(), "/")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasSuffix(err.Error(), "; try it with curl first") {
			t.Errorf("got %v, want %q", err, want)
		}
		s.Close()
		served.Wait()
	}
}

// Of several holders of one socket the eldest is the server; without one there is
// none.
func TestEldest(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("NOT RUN: no /proc")
	}
	child := func() int {
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); cmd.Wait() })
		return cmd.Process.Pid
	}
	one, two, self := child(), child(), os.Getpid()
	for _, c := range []struct {
		pids []int
		want int
	}{
		{nil, 0}, {[]int{one}, one}, {[]int{one, two}, 0}, {[]int{one, self, two}, self}, {[]int{1, one}, one},
	} {
		if got := eldest(c.pids); got != c.want {
			t.Errorf("%v: got %d, want %d", c.pids, got, c.want)
		}
	}
}

// Where a server may run beyond the plan's CPUs is told, with what follows.
func TestPlace(t *testing.T) {
	t.Parallel()
	where := host.MayRun(os.Getpid())
	if len(where) == 0 {
		t.Skip("NOT RUN: the kernel does not tell affinities")
	}
	p := &Process{Found: os.Getpid()}
	side := record.ServerSide{Foreign: .5}
	p.Place(host.Sides{Server: where, Load: where, Pin: true}, &side)
	if side.CPUs != "" || len(side.Doubts) > 0 || side.Foreign != .5 {
		t.Errorf("where the plan has servers: got %+v", side)
	}
	p.Place(host.Sides{Server: cpuset.Set{1 << 15}, Load: where[:1], Pin: true}, &side)
	want := "may run on " + where.Words() + ", not on the servers' CPU 32768 alone: it was not started here; it shares CPU " + strconv.Itoa(where[0]) + " with the load, and they disturb each other"
	if side.CPUs != where.String() || len(side.Doubts) != 1 || side.Doubts[0].String() != want || side.Foreign != -1 {
		t.Errorf("got %+v, want %q", side, want)
	}
	mine := record.ServerSide{}
	p.cmd = &exec.Cmd{Process: &os.Process{Pid: os.Getpid()}}
	p.Place(host.Sides{Server: cpuset.Set{1 << 15}, Load: cpuset.Set{1 << 14}, Pin: true}, &mine)
	if len(mine.Doubts) != 1 || !strings.HasSuffix(mine.Doubts[0].String(), "it set its own affinity") {
		t.Errorf("got %q", mine.Doubts)
	}
}
