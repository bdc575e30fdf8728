package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// processes lists the children of a prefork server.
func (c *child) processes(tb testing.TB) (pids []int) {
	tb.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", c.cmd.Process.Pid))
	if err != nil || len(files) == 0 {
		tb.Skip("the kernel does not list children")
	}
	for _, name := range files {
		text, _ := os.ReadFile(name)
		for field := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				tb.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// eventually waits until ok reports true.
func (c *child) eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for late := time.Now().Add(childLimit); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(late) {
			tb.Fatalf("never happened: %s\n%s", what, c.logged())
		}
	}
}

// A ledger is what a scrape, or the last log line, says of connections.
type ledger struct{ Accepted, Done, Rejected, Dropped, Open float64 }

func (l ledger) adds() bool { return l.Accepted == l.Done+l.Rejected+l.Dropped+l.Open }

func (c *child) ledger(tb testing.TB) ledger {
	tb.Helper()
	scrape := c.metrics(tb)
	total := func(name string) float64 { return sum(tb, scrape, "schedlab_connections_"+name) }
	return ledger{total("accepted_total"), total("done_total"), total("rejected_total"), total("dropped_total"), total("open")}
}

// last reads the counts of the line a server ends with.
func (c *child) last(tb testing.TB) (l ledger) {
	tb.Helper()
	lines := strings.Split(strings.TrimSpace(c.logged()), "\n")
	end := lines[len(lines)-1]
	if err := json.Unmarshal([]byte(end), &l); err != nil || !strings.Contains(end, `"msg":"drained"`) {
		tb.Fatalf("the last line is %q %v, want the counts", end, err)
	}
	return l
}

// visit makes a request on a connection of its own.
func (c *child) visit(path string) error {
	nc, err := net.DialTimeout("tcp", c.addr, childLimit)
	if err != nil {
		return err
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(childLimit))
	fmt.Fprintf(nc, "GET %s HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n", path)
	answer, err := io.ReadAll(nc)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(string(answer), "HTTP/1.1 200 ") {
		return fmt.Errorf("got %.40q, want 200", answer)
	}
	return nil
}

// The processes of a prefork server count as one server: every connection once,
// in every scrape and at the end; a scrape tells of all of them at once.
func TestPreforkCountsAsOne(t *testing.T) {
	t.Parallel()
	const processes, clients, visits = 3, 8, 50
	c := serve(t, "prefork", "--processes", strconv.Itoa(processes))
	if got := c.processes(t); len(got) != processes {
		t.Errorf("got processes %v, want %d", got, processes)
	}
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range visits {
				if err := c.visit("/plaintext"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	churned := make(chan struct{})
	go func() {
		all.Wait()
		close(churned)
	}()
	for over := false; !over; {
		select {
		case <-churned:
			over = true
		default:
		}
		if l := c.ledger(t); !l.adds() {
			t.Errorf("counts do not add up: %+v", l)
		}
	}
	const total = clients * visits
	c.eventually(t, "all connections are done", func() bool { return c.ledger(t) == ledger{Accepted: total, Done: total} })

	scrape := c.metrics(t)
	for metric, want := range map[string]float64{
		`schedlab_requests_started_total`:              total,
		`schedlab_requests_total`:                      total,
		`schedlab_request_duration_seconds_count`:      total,
		`schedlab_listener_connections_accepted_total`: total,
		`schedlab_listener_connections_open`:           0,
		`schedlab_processes`:                           processes,
		`schedlab_process_restarts_total`:              0,
		`schedlab_mode_info`:                           1,
	} {
		if got := sum(t, scrape, metric); got != want {
			t.Errorf("%s: got %g, want %g", metric, got, want)
		}
	}
	for i := range processes { // none: (2/3)^400
		if n := sum(t, scrape, fmt.Sprintf(`schedlab_listener_connections_accepted_total{listener="0",mode="prefork",process="%d"}`, i)); n == 0 {
			t.Errorf("process %d has served nobody", i)
		}
	}
	c.stop(t)
	if got, want := c.last(t), (ledger{Accepted: total, Done: total}); got != want {
		t.Errorf("at the end: got %+v, want %+v", got, want)
	}
	if code := c.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
}

// A process that dies is replaced; its connections are counted as dropped, and
// no counter goes back.
func TestPreforkReplacesTheDead(t *testing.T) {
	t.Parallel()
	const processes, kept = 2, 12
	c := serve(t, "prefork", "--processes", strconv.Itoa(processes))
	var open []net.Conn
	for range kept {
		nc, err := net.DialTimeout("tcp", c.addr, childLimit)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		open = append(open, nc)
	}
	c.eventually(t, "the connections are open", func() bool { return c.ledger(t).Open == kept })
	before := c.processes(t)
	if err := syscall.Kill(before[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	c.eventually(t, "another process", func() bool {
		scrape := c.metrics(t)
		return sum(t, scrape, "schedlab_processes") == processes && sum(t, scrape, "schedlab_process_restarts_total") == 1
	})
	after := c.processes(t)
	if len(after) != processes || slices.Contains(after, before[0]) || !slices.Contains(after, before[1]) {
		t.Errorf("got processes %v after %v, want the first replaced", after, before)
	}
	cut := 0
	for _, nc := range open {
		nc.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err := nc.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			cut++
		}
	}
	l := c.ledger(t)
	if !l.adds() || l.Accepted != kept || l.Dropped != float64(cut) || l.Open != float64(kept-cut) {
		t.Errorf("got %+v with %d connections cut, want those dropped and the others open", l, cut)
	}
	died := sum(t, c.metrics(t), `schedlab_connections_dropped_total{mode="prefork",reason="process_died"}`)
	if died != float64(cut) {
		t.Errorf("got %g dropped because the process died, want %d", died, cut)
	}
	if !strings.Contains(c.logged(), "a process ended; another takes its place") {
		t.Errorf("the log does not tell:\n%s", c.logged())
	}
	for range 20 {
		if err := c.visit("/plaintext"); err != nil {
			t.Errorf("after the replacement: %v", err)
		}
	}
	c.stop(t)
	if got := c.last(t); !got.adds() || got.Open != 0 || got.Accepted != kept+20 || got.Dropped != float64(cut) {
		t.Errorf("at the end: got %+v, want %d accepted, %d dropped, none open", got, kept+20, cut)
	}
}

// A drain reaches every process: what is in flight is answered, nothing is lost.
func TestPreforkDrains(t *testing.T) {
	t.Parallel()
	c := serve(t, "prefork", "--processes", "2")
	var all sync.WaitGroup
	var answered atomic.Int64
	stopped := make(chan struct{})
	for range 6 {
		all.Go(func() {
			for {
				switch err := c.visit("/work?sleep=20ms"); {
				case err == nil:
					answered.Add(1)
				case errors.Is(err, syscall.ECONNREFUSED):
					return
				default:
					select {
					case <-stopped: // not taken: the socket went between the handshake and the request
					default:
						t.Errorf("a request was lost: %v", err)
					}
					return
				}
			}
		})
	}
	c.eventually(t, "a load", func() bool { return answered.Load() > 50 })
	c.stop(t)
	close(stopped)
	all.Wait()
	if got := c.last(t); !got.adds() || got.Open != 0 || got.Dropped != 0 || got.Done < float64(answered.Load()) {
		t.Errorf("got %+v of %d answered, want all done", got, answered.Load())
	}
}

// What every process cuts at the timeout is dropped, what was idle is done.
func TestPreforkCutsAtTheTimeout(t *testing.T) {
	t.Parallel()
	c := serve(t, "prefork", "--processes", "2", "--drain-timeout", "2s")
	for i := range 5 {
		nc, err := net.DialTimeout("tcp", c.addr, childLimit)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		if i < 3 {
			io.WriteString(nc, "GET / HTTP/1.1\r\nHo")
		}
	}
	c.eventually(t, "five are open", func() bool { return c.ledger(t).Open == 5 })
	c.stop(t)
	if got := c.last(t); !got.adds() || got.Open != 0 || got.Dropped != 3 || got.Done != 2 {
		t.Errorf("got %+v, want two done and three dropped; the log:\n%s", got, c.logged())
	}
}

// The processes do not outlive their parent.
func TestPreforkDiesWithItsParent(t *testing.T) {
	t.Parallel()
	c := serve(t, "prefork", "--processes", "2")
	pids := c.processes(t)
	c.cmd.Process.Kill()
	for _, pid := range pids {
		c.eventually(t, "the end of a process", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid) })
	}
	if _, err := net.DialTimeout("tcp", c.addr, time.Second); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want the address given up", err)
	}
}

// zombie reports whether a process has ended and nobody has asked how.
func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(text), ") Z ")
}

// Only one server has an address, though the kernel would let more in; its
// profiles and its readiness are the parent's.
func TestPreforkHasItsAddressAlone(t *testing.T) {
	t.Parallel()
	c := serve(t, "prefork", "--processes", "2")
	for _, mode := range []string{"prefork", "reuseport", "nethttp"} {
		out, err := exec.Command("schedlab", "serve", "--mode", mode, "--addr", c.addr, "--admin", "off").CombinedOutput()
		if !strings.Contains(string(out), "the port is in use") {
			t.Errorf("%s on the same address: got %v %s, want the port in use", mode, err, out)
		}
	}
	reply, err := http.Get("http://" + c.admin + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if body, _ := io.ReadAll(reply.Body); reply.StatusCode != 200 || string(body) != "ready\n" {
		t.Errorf("got %d %q, want ready", reply.StatusCode, body)
	}
}

// A process that cannot serve ends the server with its reason.
func TestPreforkFailsToStart(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("sh", "-c", "ulimit -n 20; exec schedlab serve --mode prefork --processes 2 --addr 127.0.0.1:0 --admin off").CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "leaves no room for connections") {
		t.Errorf("too few descriptors: got %v %s, want exit code 2 with the reason", err, out)
	}
	out, err = exec.Command("schedlab", "serve", "--mode", "pool", "--child", "0").CombinedOutput()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("a child without a parent: got %v %s, want exit code 2", err, out)
	}
}
