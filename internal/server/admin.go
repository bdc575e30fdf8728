package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"schedlab/internal/model"
)

// Limits of the admin side, which the flags of the data side do not change: connections at a time,
// the time for a request, the time for an answer, the time between two requests, and the size of a
// head in bytes.
const (
	adminConns   = 64
	adminHeader  = 5 * time.Second
	adminWrite   = 5 * time.Second // pprof extends this by the duration of a profile
	adminIdle    = 30 * time.Second
	adminMaxHead = 16 << 10
)

// admin is the private side of a server: metrics, health, profiles. It shares nothing with the
// data listener, so it answers even when the data listener is full.
//
// It runs on net/http in every mode, so that watching one mode costs what watching another costs.
type admin struct {
	ln     net.Listener
	server *http.Server
}

// newAdmin opens the admin socket and makes its handlers. Nothing is served until Serve. The
// profiles are registered on a mux of this server: the default mux of net/http is never used.
func (s *Server) newAdmin(ctx context.Context) (*admin, error) {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	ln, err := lc.Listen(ctx, "tcp", s.cfg.Admin)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", s.metrics.Handler())
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /{$}", landing)
	mux.HandleFunc("GET /debug/timeline", s.timeline)
	mux.HandleFunc("GET /debug/connections", s.connections)
	// Profiles show memory and arguments of the process, and cost CPU time. So "auto" offers them
	// only where just this machine can ask.
	if s.cfg.Pprof == "on" || s.cfg.Pprof == "auto" && isLoopback(ln.Addr()) {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
		// These two patterns are more specific than the index above, so they take its place for
		// their paths.
		mux.HandleFunc("GET /debug/pprof/mutex", contended("mutex", func(rate int) { runtime.SetMutexProfileFraction(rate) }))
		mux.HandleFunc("GET /debug/pprof/block", contended("block", runtime.SetBlockProfileRate))
	}
	capped := newCappedListener(ln, adminConns)
	return &admin{capped, &http.Server{
		Handler:           mux,
		ConnState:         capped.track,
		ReadHeaderTimeout: adminHeader,
		ReadTimeout:       adminHeader,
		WriteTimeout:      adminWrite,
		IdleTimeout:       adminIdle,
		MaxHeaderBytes:    adminMaxHead,
		ErrorLog:          log.New(model.DebugLog{Logger: s.cfg.Log}, "", 0),
	}}, nil
}

// contended serves the mutex or the block profile. With ?rate= and ?seconds= the runtime
// samples at that rate for that time only. Without ?rate= it samples nothing.
func contended(name string, sample func(rate int)) http.HandlerFunc {
	// The rate belongs to the whole process. A second request would change it, and set it to 0, in
	// the middle of the first.
	var busy sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) {
		if text := r.FormValue("rate"); text != "" {
			rate, err := strconv.Atoi(text)
			if err != nil || rate < 1 || r.FormValue("seconds") == "" {
				http.Error(w, "rate must be a whole number above 0, beside seconds", http.StatusBadRequest)
				return
			}
			if !busy.TryLock() {
				http.Error(w, "this profile is being taken already", http.StatusConflict)
				return
			}
			defer busy.Unlock()
			sample(rate)
			// pprof.Handler waits for the seconds and answers with the difference, so the sampling
			// covers just that time.
			defer sample(0)
		}
		pprof.Handler(name).ServeHTTP(w, r)
	}
}

// isLoopback reports whether only programs on this machine can reach a.
func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// landing answers / with a list of the paths.
func landing(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, "schedlab admin: /metrics /healthz /readyz /debug/pprof/ /debug/connections /debug/timeline (with --stamps)\n")
}

// healthz answers 200 while the process lives, with its mode, axes and version. It looks at
// nothing: an overloaded or draining server is healthy too.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{
		"status": "ok", "mode": s.mode.Name, "axes": s.mode.Axes, "version": s.cfg.Version,
	})
}

// readyz answers 200 while the server takes new connections, and 503 before it serves and during
// a drain. A script can wait for the 200 before it sends requests.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	// Draining first: a server that has begun to drain was ready before.
	if s.ln.Draining() {
		http.Error(w, "draining", http.StatusServiceUnavailable)
		return
	}
	if !s.begun.Load() {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// A cappedListener limits the number of open connections of an [http.Server]. The server's
// ConnState must be track. At the cap a new connection takes the place of the connection that
// has been without a request the longest. So a client that does not finish a head, or stays
// idle, does not keep others out. While every connection has a request, Accept waits.
type cappedListener struct {
	net.Listener
	most int

	mu      sync.Mutex
	change  sync.Cond // signalled when a connection changes state or the listener closes
	open    map[net.Conn]struct{}
	waiting []net.Conn // open connections without a request, the longest waiting first
	closed  bool
}

func newCappedListener(ln net.Listener, most int) *cappedListener {
	l := &cappedListener{Listener: ln, most: most, open: map[net.Conn]struct{}{}}
	l.change.L = &l.mu
	return l
}

// Accept implements net.Listener.
func (l *cappedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// The new connection is here already, so an old one is closed only when its place is needed.
	for len(l.open) >= l.most && !l.closed {
		if len(l.waiting) == 0 {
			l.change.Wait()
			continue
		}
		// Its state changes to closed later, on another goroutine; track then finds that it has no
		// place any more.
		oldest := l.waiting[0]
		l.forget(oldest)
		oldest.Close()
	}
	if l.closed {
		c.Close()
		return nil, net.ErrClosed
	}
	l.open[c] = struct{}{}
	// A new connection has no request yet.
	l.waiting = append(l.waiting, c)
	return c, nil
}

// track notes the new state of a connection.
func (l *cappedListener) track(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.open[c]; !ok {
		return // it was closed to make room
	}
	switch state {
	case http.StateActive: // its head is complete
		l.waiting = slices.DeleteFunc(l.waiting, func(w net.Conn) bool { return w == c })
	case http.StateIdle:
		l.waiting = append(l.waiting, c)
	case http.StateClosed, http.StateHijacked:
		l.forget(c)
	}
	l.change.Signal()
}

// forget frees c's place. The caller holds l.mu.
func (l *cappedListener) forget(c net.Conn) {
	delete(l.open, c)
	l.waiting = slices.DeleteFunc(l.waiting, func(w net.Conn) bool { return w == c })
}

// Close implements net.Listener.
func (l *cappedListener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.change.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}
