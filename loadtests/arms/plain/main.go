// Command plain serves with net/http or fasthttp as they come, without the limits, counters and drain of
// schedlab's modes and recipes. docs/experiments/counts asks it what a connection takes in each state, how
// many requests are lost when it stops, and what TLS and HTTP/2 cost.
//
//	/small   a few bytes, after it has read the body, and with -work after that time
//	/large   1 MiB
//	/stream  sends one event and then waits for ever
//	/wait    waits for ever before it answers
//
// The admin address has Go's profiles, and /waiting: how many handlers of /wait and /stream run.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" // for the admin address
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"schedlab/internal/shared/selfsigned"
)

var (
	small = []byte("ok\n")
	large = bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	event = []byte("data: 1\n\n")
)

var (
	waiting atomic.Int64 // handlers that wait for ever
	telling atomic.Bool  // each answer ends its connection
	reduce  = flag.Bool("reduce", false, "fasthttp's ReduceMemoryUsage")
	work    = flag.Duration("work", 0, "how long a request of /small takes")
	h2c     = flag.Bool("h2c", false, "nethttp speaks HTTP/2 without TLS, too")
)

// grace is how long a server goes on after SIGTERM where its way to stop has a wait.
const grace = 250 * time.Millisecond

// A library is a server, and its own way to stop.
type library interface {
	serve(net.Listener) error
	shutdown(context.Context) error
}

func main() {
	name := flag.String("server", "nethttp", "nethttp or fasthttp")
	stop := flag.String("stop", "exit", "what SIGTERM does: exit, shutdown, off (of nethttp: keep-alives off, 250 ms, shutdown), wait (250 ms, shutdown), or tell (250 ms of answers with Connection: close, shutdown)")
	addr := flag.String("listen", "127.0.0.1:8080", "address to serve on")
	admin := flag.String("admin", "", "address of profiles; empty: none")
	protocol := flag.String("tls", "", "http/1.1 or, of nethttp, h2: speak it over TLS, with a certificate made at the start; empty: no TLS")
	flag.Parse()
	if err := run(*name, *stop, *addr, *admin, *protocol); err != nil {
		log.Fatal(err)
	}
}

func run(name, stop, addr, admin, protocol string) error {
	std := newStandard()
	server, ok := map[string]library{"nethttp": std, "fasthttp": newFast()}[name]
	if !ok {
		return fmt.Errorf("-server %q is neither nethttp nor fasthttp", name)
	}
	ending, ok := map[string]func(){"exit": nil, "shutdown": func() {}, "off": func() { std.SetKeepAlivesEnabled(false); time.Sleep(grace) },
		"wait": func() { time.Sleep(grace) }, "tell": func() { telling.Store(true); time.Sleep(grace) }}[stop]
	if !ok || stop == "off" && name != "nethttp" {
		return fmt.Errorf("-stop %q is none of exit, shutdown, wait, tell and, of nethttp, off", stop)
	}
	if !slices.Contains([]string{"", "http/1.1", "h2"}, protocol) || protocol == "h2" && name != "nethttp" {
		return fmt.Errorf("-tls %q is neither http/1.1 nor, of nethttp, h2", protocol)
	}
	if *h2c && (name != "nethttp" || protocol != "") {
		return errors.New("-h2c is for -server nethttp without -tls")
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	if protocol != "" {
		own, err := selfsigned.Certificate(-time.Hour, 24*time.Hour)
		if err != nil {
			return err
		}
		l = tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{protocol}})
	}
	if admin != "" {
		http.HandleFunc("/waiting", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, waiting.Load()) })
		go func() { log.Fatal(http.ListenAndServe(admin, nil)) }()
	}
	if ending == nil { // SIGTERM has its default action
		return server.serve(l)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- server.serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ending()
	limit, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return server.shutdown(limit)
}

type standard struct{ http.Server }

func newStandard() *standard {
	mux := http.NewServeMux()
	mux.HandleFunc("/small", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		time.Sleep(*work)
		w.Write(small)
	})
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { w.Write(large) })
	mux.HandleFunc("/wait", func(http.ResponseWriter, *http.Request) { forever() })
	mux.HandleFunc("/stream", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(event)
		w.(http.Flusher).Flush()
		forever()
	})
	return &standard{http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(teller{w}, r)
	})}}
}

func forever() {
	waiting.Add(1)
	select {}
}

// A teller ends its connection with the answer, once telling is set.
type teller struct{ http.ResponseWriter }

func (t teller) Write(p []byte) (int, error) {
	if telling.Load() {
		t.Header().Set("Connection", "close")
	}
	return t.ResponseWriter.Write(p)
}

func (t teller) Flush() { t.ResponseWriter.(http.Flusher).Flush() }

// serve lets net/http find HTTP/2 by itself: a listener of crypto/tls has agreed on a protocol.
func (s *standard) serve(l net.Listener) error {
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(*h2c)
	if err := s.Serve(l); err != http.ErrServerClosed {
		return err
	}
	select {} // run returns when shutdown does
}

func (s *standard) shutdown(ctx context.Context) error { return s.Shutdown(ctx) }

type fast struct{ fasthttp.Server }

func newFast() *fast {
	f := &fast{fasthttp.Server{ReduceMemoryUsage: *reduce}}
	f.Handler = func(rc *fasthttp.RequestCtx) {
		switch string(rc.Path()) {
		case "/small":
			time.Sleep(*work)
			rc.Write(small)
		case "/large":
			rc.Write(large)
		case "/wait":
			forever()
		case "/stream":
			rc.SetContentType("text/event-stream")
			rc.SetBodyStreamWriter(func(w *bufio.Writer) {
				w.Write(event)
				w.Flush()
				forever()
			})
		default:
			rc.NotFound()
		}
		if telling.Load() {
			rc.SetConnectionClose()
		}
	}
	return f
}

func (f *fast) serve(l net.Listener) error {
	if err := f.Serve(l); err != nil {
		return err
	}
	select {} // run returns when shutdown does
}

func (f *fast) shutdown(ctx context.Context) error { return f.ShutdownWithContext(ctx) }
