package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// A target is what a run loads.
type target struct {
	name string
	url  string
	each time.Duration // a request takes this long, on average
	h2c  bool          // it speaks HTTP/2 without TLS, too

	gives   bool          // it gives good replies, whatever the load
	unclear bool          // its replies are good for one tool and not for another
	counted *atomic.Int64 // good replies so far of a target that errs; nil for one that does not
}

func (g *target) tcp() bool { return strings.HasPrefix(g.url, "tcp:") }

// replies returns the good replies so far, where they are counted.
func (g *target) replies() int64 {
	if g.counted == nil {
		return 0
	}
	return g.counted.Load()
}

// served reports whether the target gave good replies since it had given before.
func (g *target) served(before int64) bool { return g.gives || g.replies() > before }

// served are the targets of schedlab serve, by the flags of the server.
var served = []struct {
	flags   string
	targets []target // with the path as url
}{
	{"--mode nethttp", []target{
		{name: "plain", url: "/plaintext", gives: true},
		{name: "work", url: "/work?cpu=200us", each: 200 * time.Microsecond, gives: true},
		{name: "sleep", url: "/work?sleep=exp(5ms)", each: 5 * time.Millisecond, gives: true},
		{name: "humps", url: "/work?sleep=0.95*1ms+0.05*200ms", each: 11 * time.Millisecond, gives: true},
		{name: "bytes", url: "/bytes/20000", gives: true},
		{name: "missing", url: "/missing"},
	}},
	// More connections than workers wait for as long as the others are open.
	{"--mode pool --workers 2 --idle-timeout 300ms", []target{{name: "starved", url: "/work?sleep=1ms", each: 10 * time.Millisecond, gives: true}}},
	{"--mode pool-request --workers 1 --queue-depth 1 --overflow reject", []target{{name: "refusing", url: "/work?sleep=5ms", each: 5 * time.Millisecond, gives: true}}},
}

// erring are the targets of the server that errs. An answer returns whether its reply was a good one.
var erring = []struct {
	target
	answer func(http.ResponseWriter) bool
}{
	{target{name: "failing"}, func(w http.ResponseWriter) bool { return reply(w, http.StatusInternalServerError, 20) }},
	{target{name: "mixed"}, func(w http.ResponseWriter) bool {
		return reply(w, []int{200, 200, 200, 200, 200, 404, 500, 503}[rand.IntN(8)], rand.IntN(200))
	}},
	{target{name: "lengths"}, func(w http.ResponseWriter) bool { return reply(w, http.StatusOK, rand.IntN(3000)) }},
	{target{name: "empty"}, func(w http.ResponseWriter) bool { return reply(w, http.StatusNoContent, 0) }},
	{target{name: "closing"}, func(w http.ResponseWriter) bool {
		w.Header().Set("Connection", "close")
		return reply(w, http.StatusOK, 20)
	}},
	{target{name: "broken"}, func(w http.ResponseWriter) bool {
		if rand.IntN(5) == 0 {
			panic(http.ErrAbortHandler) // closes the connection without a reply
		}
		return reply(w, http.StatusOK, 20)
	}},
	{target{name: "short", unclear: true}, func(w http.ResponseWriter) bool {
		if rand.IntN(5) > 0 {
			return reply(w, http.StatusOK, 100)
		}
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("a part"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}},
	{target{name: "late", each: 80 * time.Millisecond}, func(w http.ResponseWriter) bool { // longer than the tools wait
		if rand.IntN(20) == 0 {
			time.Sleep(1500 * time.Millisecond)
			reply(w, http.StatusOK, 20)
			return false
		}
		return reply(w, http.StatusOK, 20)
	}},
}

// reply writes a status and a body, and returns whether that is a good reply.
func reply(w http.ResponseWriter, status, bytes int) bool {
	w.WriteHeader(status)
	if bytes == 0 {
		return status < 300
	}
	_, err := io.WriteString(w, strings.Repeat("x", bytes))
	return err == nil && status < 300
}

// mockTargets returns targets at ports without a listener, to print commands.
func mockTargets() (all []*target) {
	for i, s := range served {
		for _, g := range s.targets {
			g.url = fmt.Sprintf("http://127.0.0.1:%d%s", 8080+i, g.url)
			all = append(all, &g)
		}
	}
	for _, e := range erring {
		g := e.target
		g.url, g.h2c = "http://127.0.0.1:8090/"+g.name, true
		all = append(all, &g)
	}
	return append(all, &target{name: "silent", url: "http://127.0.0.1:8091/", each: time.Second}, &target{name: "closed", url: "http://127.0.0.1:8092/"},
		&target{name: "echo", url: "tcp://127.0.0.1:8093"})
}

// startTargets starts the servers and returns their targets. stop ends them and waits.
func startTargets(ctx context.Context) (all []*target, stop func(), err error) {
	var ends []func()
	stop = func() {
		for _, end := range ends {
			end()
		}
	}
	defer func() {
		if err != nil {
			stop()
		}
	}()
	for _, s := range served {
		addr, end, err := serve(ctx, strings.Fields(s.flags))
		if err != nil {
			return nil, stop, err
		}
		ends = append(ends, end)
		for _, g := range s.targets {
			g.url = "http://" + addr + g.url
			all = append(all, &g)
		}
	}
	listen := func() (net.Listener, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err == nil {
			ends = append(ends, func() { _ = l.Close() })
		}
		return l, err
	}
	l, err := listen()
	if err != nil {
		return nil, stop, err
	}
	mux := http.NewServeMux()
	for _, e := range erring {
		g := e.target
		g.url, g.h2c, g.counted = "http://"+l.Addr().String()+"/"+g.name, true, new(atomic.Int64)
		mux.HandleFunc("/"+g.name, func(w http.ResponseWriter, _ *http.Request) {
			if e.answer(w) {
				g.counted.Add(1)
			}
		})
		all = append(all, &g)
	}
	server := &http.Server{Handler: mux, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(l) }()
	ends = append(ends, func() { _ = server.Close() })

	// This listener accepts no connection, so each request waits until its client gives up.
	silent, err := listen()
	if err != nil {
		return nil, stop, err
	}
	closed, err := listen()
	if err != nil {
		return nil, stop, err
	}
	_ = closed.Close()
	tcp, err := listen()
	if err != nil {
		return nil, stop, err
	}
	counted := new(atomic.Int64)
	go echo(tcp, counted)
	return append(all, &target{name: "silent", url: "http://" + silent.Addr().String() + "/", each: time.Second},
		&target{name: "closed", url: "http://" + closed.Addr().String() + "/"},
		&target{name: "echo", url: "tcp://" + tcp.Addr().String(), counted: counted}), stop, nil
}

// echo sends every byte back until its listener is closed.
func echo(l net.Listener, counted *atomic.Int64) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			buffer := make([]byte, 4096)
			for {
				n, err := c.Read(buffer)
				if err != nil {
					return
				}
				if _, err := c.Write(buffer[:n]); err != nil {
					return
				}
				counted.Add(1)
			}
		}()
	}
}

// serve starts schedlab serve and returns its address. end has it drain, and waits.
func serve(ctx context.Context, flags []string) (addr string, end func(), err error) {
	cmd := exec.CommandContext(ctx, "bin/schedlab", append([]string{"serve", "--addr", "127.0.0.1:0", "--admin", "off", "--log-format", "json"}, flags...)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 15 * time.Second
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	lines, said := bufio.NewScanner(stderr), ""
	for lines.Scan() {
		var line struct{ Addr string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Addr != "" {
			drained := make(chan struct{})
			go func() {
				_, _ = io.Copy(io.Discard, stderr)
				close(drained)
			}()
			return line.Addr, func() {
				_ = cmd.Process.Signal(syscall.SIGTERM)
				<-drained
				_ = cmd.Wait()
			}, nil
		}
		said += lines.Text() + "\n"
	}
	return "", nil, errors.Join(fmt.Errorf("schedlab serve %s: %s", strings.Join(flags, " "), said), cmd.Wait())
}
