// Package arm is what the programs of loadtests/arms share: the flags -listen and -heap, the answers of
// schedlab's own endpoints (internal/shared/workload, so that a request costs and returns the same),
// and the end at SIGTERM. It knows no framework.
package arm

import (
	"context"
	"errors"
	"flag"
	"io"
	"log"
	"net/http"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"schedlab/internal/shared/workload"
)

// Server is the Server field of every answer, as schedlab's own modes send it.
const Server = "schedlab"

// Paths are the endpoints that a program gives to its framework's router; everything
// else goes to the same handler by the framework's way to catch the rest.
var Paths = []string{"/plaintext", "/json", "/work", "/echo"}

// MaxBody is the largest request body in bytes. A framework's own limit is set above it.
const MaxBody = workload.DefaultMaxBody

// drainTime is how long requests in flight may take to end after SIGTERM.
const drainTime = 15 * time.Second

// App parses the flags, after a program has declared its own, and returns the handlers
// and the address to listen on. The live heap that -heap asks for is there when it returns.
func App() (app *workload.App, addr string) {
	listen := flag.String("listen", "127.0.0.1:8080", "address to serve on")
	heap := flag.Uint("heap", 0, "MiB of small objects with pointers to keep alive, as a cache does: work for the garbage collector")
	flag.Parse()
	app = workload.New(workload.Options{})
	if *heap > 0 {
		live = hold(app, int(*heap)<<20)
	}
	return app, *listen
}

// Workers declares the flag -workers, for a pool of that size; call it before App. The flag must be 1 or
// more, because the pools take 0 for no limit.
func Workers() *int {
	workers := 256
	flag.Func("workers", "most requests at work at once; the others wait (default 256)", func(s string) (err error) {
		if workers, err = strconv.Atoi(s); err == nil && workers < 1 {
			err = errors.New("must be 1 or more")
		}
		return err
	})
	return &workers
}

// Run serves until SIGTERM or SIGINT, then calls shutdown and returns. A serve that
// returns earlier is an error, which ends the process.
func Run(serve func() error, shutdown func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	failed := make(chan error, 1)
	go func() { failed <- serve() }()
	select {
	case err := <-failed:
		log.Fatal("serving: ", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	if err := shutdown(drain); err != nil {
		log.Print("shutting down: ", err)
	}
}

// ListenAndServe runs h on net/http's server, which most frameworks use.
func ListenAndServe(addr string, h http.Handler) {
	server := &http.Server{Addr: addr, Handler: h}
	Run(func() error {
		err := server.ListenAndServe()
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	}, server.Shutdown)
}

var exchanges = sync.Pool{New: func() any { return new(workload.Exchange) }}

// Handler is a net/http handler that fills an Exchange, lets serve answer it, and writes
// the answer.
func Handler(serve func(*workload.Exchange)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		x := exchanges.Get().(*workload.Exchange)
		defer exchanges.Put(x)
		x.Reset()
		x.Method = r.Method
		x.Path, x.Query, _ = strings.Cut(r.RequestURI, "?")
		x.Seq = r.Header.Get(seqHeader)
		if r.ContentLength != 0 {
			body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1)) // one more: App answers 413
			if err != nil {
				http.Error(w, "malformed request", http.StatusBadRequest)
				return
			}
			x.Body = body
		}
		serve(x)
		h := w.Header()
		h.Set("Server", Server)
		if x.ContentType != "" {
			h.Set("Content-Type", x.ContentType)
			h.Set("Content-Length", strconv.Itoa(len(x.Out)))
		}
		if x.Allow != "" {
			h.Set("Allow", x.Allow)
		}
		if x.Close {
			h.Set("Connection", "close")
		}
		w.WriteHeader(x.Status)
		if r.Method != http.MethodHead { // nbio would send it
			w.Write(x.Out)
		}
	}
}

// seqHeader carries a request's number, from which /work draws its demand.
const seqHeader = "X-Vegeta-Seq"

// Fast answers a request that fasthttp parsed.
func Fast(serve func(*workload.Exchange), req *fasthttp.Request, res *fasthttp.Response) {
	x := exchanges.Get().(*workload.Exchange)
	defer exchanges.Put(x)
	x.Reset()
	x.Method = string(req.Header.Method())
	x.Path, x.Query, _ = strings.Cut(string(req.Header.RequestURI()), "?")
	x.Seq = string(req.Header.Peek(seqHeader))
	x.Body = req.Body()
	serve(x)
	res.SetStatusCode(x.Status)
	res.Header.SetServer(Server)
	if x.ContentType != "" {
		res.Header.SetContentType(x.ContentType)
	}
	if x.Allow != "" {
		res.Header.Set("Allow", x.Allow)
	}
	if x.Close || req.Header.ConnectionClose() {
		res.SetConnectionClose()
	}
	res.SetBody(x.Out)
}
