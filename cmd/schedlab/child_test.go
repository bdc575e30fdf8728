package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A child is a server process started by a test.
type child struct {
	addr, admin string // host:port of the service and of its admin side
	cmd         *exec.Cmd
	ended       chan struct{}
	mu          sync.Mutex
	log         strings.Builder
}

// childLimit is how long a child may take to start or to end on a busy machine.
const childLimit = 30 * time.Second

// serve starts `schedlab serve` in a mode on ports of the kernel's choice.
func serve(tb testing.TB, mode string, flags ...string) *child {
	tb.Helper()
	return startChild(tb, exec.Command("schedlab", serveArgs(mode, flags...)...), (*exec.Cmd).Start)
}

func serveArgs(mode string, flags ...string) []string {
	return append([]string{"serve", "--mode", mode, "--addr", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json"}, flags...)
}

// startChild runs a server that logs JSON and waits for the line with its
// addresses. It is stopped when the test ends, if not before.
func startChild(tb testing.TB, cmd *exec.Cmd, start func(*exec.Cmd) error) *child {
	tb.Helper()
	c := &child{cmd: cmd, ended: make(chan struct{})}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := start(cmd); err != nil {
		tb.Fatalf("starting %q: %v", cmd.Args, err)
	}
	ready := make(chan struct{})
	go func() {
		defer close(c.ended)
		c.read(stderr, ready)
		cmd.Wait()
	}()
	tb.Cleanup(func() { c.stop(tb) })
	select {
	case <-ready:
	case <-c.ended:
		tb.Fatalf("%q ended before it served:\n%s", cmd.Args, c.logged())
	case <-time.After(childLimit):
		tb.Fatalf("%q does not serve after %v:\n%s", cmd.Args, childLimit, c.logged())
	}
	return c
}

// read keeps the log and takes the addresses from its first line that has them.
func (c *child) read(log io.Reader, ready chan<- struct{}) {
	for lines := bufio.NewScanner(log); lines.Scan(); {
		c.mu.Lock()
		c.log.Write(append(lines.Bytes(), '\n'))
		c.mu.Unlock()
		var line struct{ Addr, Admin string }
		if c.addr == "" && json.Unmarshal(lines.Bytes(), &line) == nil && line.Admin != "" {
			c.addr, c.admin = line.Addr, line.Admin
			close(ready)
		}
	}
}

func (c *child) logged() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.String()
}

// stop asks the child to end, once, and waits until it has.
func (c *child) stop(tb testing.TB) {
	tb.Helper()
	c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.ended:
	case <-time.After(childLimit):
		c.cmd.Process.Kill()
		tb.Errorf("%q did not end within %v of SIGTERM:\n%s", c.cmd.Args, childLimit, c.logged())
	}
}

// metrics scrapes the admin side as text.
func (c *child) metrics(tb testing.TB) string {
	tb.Helper()
	reply, err := http.Get("http://" + c.admin + "/metrics")
	if err != nil {
		tb.Fatal(err)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode != http.StatusOK {
		tb.Fatalf("scraping: %s, %v", reply.Status, err)
	}
	return string(text)
}

// sum adds up every series of a metric in a scrape.
func sum(tb testing.TB, scrape, metric string) (total float64) {
	tb.Helper()
	found := false
	for line := range strings.Lines(scrape) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != metric && !strings.HasPrefix(name, metric+"{") {
			continue
		}
		if i := strings.LastIndexByte(value, ' '); i >= 0 {
			value = value[i+1:] // a label's value had spaces
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			tb.Fatalf("scraped line %q: %v", line, err)
		}
		total, found = total+v, true
	}
	if !found {
		tb.Fatalf("no series %q in the scrape", metric)
	}
	return total
}
