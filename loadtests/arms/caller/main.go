// Command caller serves one request with net/http or fasthttp: it asks another service, works, and answers. Its
// flags choose what ends the asking. docs/experiments/counts asks it how many requests it worked for after their
// clients had gone.
//
// Without -downstream it asks nobody. The admin address serves /counts: the handlers that run, those
// that did their work, and what was allocated, as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"schedlab/internal/shared/workload"
	"schedlab/loadtests/arms/arm"
)

// counts are what /counts has. All but Running are since the start.
type counts struct {
	Running    int64  // handlers that have begun and not ended
	Worked     int64  // handlers that did their work
	Goroutines int64  // most at the beginning of a handler
	Bytes      uint64 // allocated
	Objects    uint64 // allocated
}

// A caller has the handlers of both libraries. Safe for concurrent use.
type caller struct {
	downstream     string        // address of the other service; empty: none
	work           string        // query of workload's /work; empty: none
	limit          time.Duration // of the deadline and the TimeoutHandler
	deadline       bool          // the call of the other service ends at the limit
	passed         bool          // the call ends with the request's own context
	checked        bool          // the context is looked at again before the work
	timeoutHandler bool          // the library's TimeoutHandler is around the handler

	app    *workload.App
	client http.Client

	running, worked, goroutines atomic.Int64
}

func main() {
	a := &caller{}
	server := flag.String("server", "nethttp", "nethttp or fasthttp")
	addr := flag.String("listen", "127.0.0.1:8080", "address to serve on")
	admin := flag.String("admin", "", "address of /counts; empty: none")
	work := flag.Duration("work", time.Millisecond, "CPU time of a request's work")
	iters := flag.Float64("iters", 0, "iterations of the work in a microsecond; 0: find out at the start")
	flag.StringVar(&a.downstream, "downstream", "", "host and port of the service that is asked; empty: none")
	flag.DurationVar(&a.limit, "limit", 400*time.Millisecond, "time that -deadline and -timeouthandler give")
	flag.BoolVar(&a.deadline, "deadline", false, "give the call a context with a deadline")
	flag.BoolVar(&a.passed, "passed", false, "give the call the request's own context, which in net/http ends when the client leaves")
	flag.BoolVar(&a.checked, "checked", false, "look at the context again before the work")
	flag.BoolVar(&a.timeoutHandler, "timeouthandler", false, "put the library's TimeoutHandler around the handler")
	flag.Parse()
	if *work > 0 {
		a.work = "cpu=" + work.String()
	}
	a.app = workload.New(workload.Options{ItersPerMicro: *iters})
	// All calls of a stall have a connection each, and keep it for the time after.
	a.client.Transport = &http.Transport{MaxIdleConnsPerHost: 1 << 14, DisableCompression: true}
	if *admin != "" {
		l, err := net.Listen("tcp", *admin)
		if err != nil {
			log.Fatal(err)
		}
		mux := http.NewServeMux()
		mux.HandleFunc("/counts", a.serveCounts)
		go func() { log.Fatal(http.Serve(l, mux)) }()
	}
	switch *server {
	case "nethttp":
		arm.ListenAndServe(*addr, a.standard())
	case "fasthttp":
		s := &fasthttp.Server{Handler: a.fast()}
		arm.Run(func() error { return s.ListenAndServe(*addr) }, s.ShutdownWithContext)
	default:
		log.Fatalf("-server %q is neither nethttp nor fasthttp", *server)
	}
}

// standard returns the handler for net/http. It reads no body: while one is unread, net/http does not learn that its
// client left.
func (a *caller) standard() http.Handler {
	h := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := a.answer(r.Context())
		w.WriteHeader(status)
		fmt.Fprintln(w, http.StatusText(status))
	}))
	if a.timeoutHandler {
		h = http.TimeoutHandler(h, a.limit, "late\n")
	}
	return h
}

// fast returns the handler for fasthttp. A RequestCtx is a context too, but ends only when the server does.
func (a *caller) fast() fasthttp.RequestHandler {
	h := func(rc *fasthttp.RequestCtx) {
		status := a.answer(rc)
		rc.SetStatusCode(status)
		rc.SetBodyString(http.StatusText(status) + "\n")
	}
	if a.timeoutHandler {
		h = fasthttp.TimeoutHandler(h, a.limit, "late\n")
	}
	return h
}

// answer asks, works, and returns the status of the answer. own is the request's context.
func (a *caller) answer(own context.Context) int {
	a.running.Add(1)
	defer a.running.Add(-1)
	a.countGoroutines()
	ctx := context.Background()
	if a.passed {
		ctx = own
	}
	if a.deadline {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.limit)
		defer cancel()
	}
	if err := a.ask(ctx); err != nil {
		return http.StatusGatewayTimeout
	}
	if a.checked && ctx.Err() != nil {
		return http.StatusServiceUnavailable
	}
	if a.work != "" {
		a.app.Serve(&workload.Exchange{Method: http.MethodGet, Path: "/work", Query: a.work})
	}
	a.worked.Add(1)
	return http.StatusOK
}

// ask asks the other service, if there is one.
func (a *caller) ask(ctx context.Context) error {
	if a.downstream == "" {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.downstream+"/", nil)
	if err != nil {
		return err
	}
	res, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// countGoroutines keeps the greatest number of goroutines. A handler's beginning is when it grows.
func (a *caller) countGoroutines() {
	now := int64(runtime.NumGoroutine())
	for most := a.goroutines.Load(); now > most; most = a.goroutines.Load() {
		if a.goroutines.CompareAndSwap(most, now) {
			return
		}
	}
}

func (a *caller) serveCounts(w http.ResponseWriter, _ *http.Request) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	if err := json.NewEncoder(w).Encode(counts{
		Running: a.running.Load(), Worked: a.worked.Load(), Goroutines: a.goroutines.Load(),
		Bytes: memory.TotalAlloc, Objects: memory.Mallocs,
	}); err != nil {
		log.Print("/counts: ", err)
	}
}
