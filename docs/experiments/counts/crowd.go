package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// openers are how many connections are opened, and how many large answers are under way, at once.
const openers = 16

// A crowd is a client that brings connections into the state of a cell and keeps them there until it is closed.
type crowd struct {
	cell      memoryCell
	server    *server
	transport *http.Transport
	scheme    string

	mu      sync.Mutex
	conns   []*http.ClientConn
	waiting sync.WaitGroup // requests without an answer
}

func newCrowd(cell memoryCell, s *server) *crowd {
	c := &crowd{cell: cell, server: s}
	c.transport, c.scheme = transportFor(cell.Protocol)
	return c
}

// transportFor returns a client that speaks one protocol alone, and the scheme of its URLs.
func transportFor(protocol string) (t *http.Transport, scheme string) {
	t = &http.Transport{
		Protocols:          new(http.Protocols),
		TLSClientConfig:    &tls.Config{InsecureSkipVerify: true},
		DisableCompression: true,
	}
	switch protocol {
	case plainHTTP:
		t.Protocols.SetHTTP1(true)
		return t, "http"
	case overH2C:
		t.Protocols.SetUnencryptedHTTP2(true)
		return t, "http"
	case overTLS:
		t.Protocols.SetHTTP1(true)
	case overHTTP2:
		t.Protocols.SetHTTP2(true)
	}
	return t, "https"
}

// openAll brings all requests into the cell's state.
func (c *crowd) openAll(ctx context.Context) error {
	jobs := make(chan struct{})
	failed := make(chan error, openers)
	var all sync.WaitGroup
	for range openers {
		all.Go(func() {
			for range jobs {
				if err := c.open(ctx, c.cell.State); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	var err error
	for range c.cell.Requests / c.cell.Streams {
		select {
		case jobs <- struct{}{}:
			continue
		case err = <-failed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		break
	}
	close(jobs)
	all.Wait()
	close(failed)
	for e := range failed {
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	return c.settled(ctx)
}

// open makes a connection, lets it answer once, as most that wait have, and brings its requests into a state.
func (c *crowd) open(ctx context.Context, state string) error {
	conn, err := c.answered(ctx)
	for range 3 {
		if err == nil || ctx.Err() != nil {
			break
		}
		conn, err = c.answered(ctx)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.conns = append(c.conns, conn)
	c.mu.Unlock()
	for range c.cell.Streams {
		if err := c.send(ctx, conn, state); err != nil {
			return err
		}
	}
	return nil
}

// answered makes a connection that has answered and is idle. On a busy machine Go's client closes some after their first
// answer, when it takes longer than 50 ms to learn that the request was written.
func (c *crowd) answered(ctx context.Context) (*http.ClientConn, error) {
	conn, err := c.transport.NewClientConn(ctx, c.scheme, c.server.addr)
	if err != nil {
		return nil, err
	}
	err = c.send(ctx, conn, "idle")
	for err == nil && conn.InFlight() > 0 && conn.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	if err = errors.Join(err, conn.Err()); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (c *crowd) send(ctx context.Context, conn *http.ClientConn, state string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.scheme+"://"+c.server.addr+c.cell.path(state), nil)
	if err != nil {
		return err
	}
	if state == "waiting" {
		c.waiting.Go(func() {
			if res, err := conn.RoundTrip(req); err == nil { // the server ends first
				res.Body.Close()
			}
		})
		return nil
	}
	res, err := conn.RoundTrip(req)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", req.URL.Path, res.Status)
	}
	if state == "streaming" { // the body stays open
		_, err = io.ReadFull(res.Body, make([]byte, len("data: 1\n\n")))
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// settled returns when the handlers of all requests wait, where the state has a handler, and else when the server has
// surely gone back to read.
func (c *crowd) settled(ctx context.Context) error {
	for range 300 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
		if c.cell.State != "waiting" && c.cell.State != "streaming" {
			return nil
		}
		text, err := c.server.fetch(ctx, "/waiting")
		if err != nil {
			return err
		}
		if strings.TrimSpace(text) == strconv.Itoa(c.cell.Requests) {
			return nil
		}
	}
	return fmt.Errorf("the handlers of %d requests do not all run after a minute", c.cell.Requests)
}

// close closes the connections. Call it when the server has ended, or its waiting handlers would keep requests.
func (c *crowd) close() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.waiting.Wait()
}

// fetch returns what the admin address has at a path.
func (s *server) fetch(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+path, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, res.Status)
	}
	return string(text), err
}

// What a profile of the heap in text, and the kernel's sum of a process's mappings, have.
var (
	heapLine  = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)
	stackLine = regexp.MustCompile(`(?m)^# Stack = (\d+) /`)
	pssLine   = regexp.MustCompile(`(?m)^Pss: +(\d+) kB$`)
)

// memory returns what the server's process has: first what is resident, and then, after two collections, what Go uses.
// Two, because a sync.Pool lets go of what it has in the second.
func (s *server) memory(ctx context.Context) (m memory, err error) {
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", s.cmd.Process.Pid))
	if err != nil {
		return m, err
	}
	var profile string
	for range 2 {
		if profile, err = s.fetch(ctx, "/debug/pprof/heap?gc=1&debug=1"); err != nil {
			return m, err
		}
	}
	read := func(line *regexp.Regexp, text string) float64 {
		found := line.FindStringSubmatch(text)
		if found == nil {
			err = errors.Join(err, fmt.Errorf("no line like %s", line))
			return 0
		}
		v, _ := strconv.ParseFloat(found[1], 64) // of digits
		return v
	}
	m = memory{Resident: 1024 * read(pssLine, string(rollup)), Heap: read(heapLine, profile), Stack: read(stackLine, profile)}
	return m, err
}
