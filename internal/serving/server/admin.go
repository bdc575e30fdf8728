package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"schedlab/internal/serving/model"
	"schedlab/internal/shared/timeline"
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
	conns  connCap
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
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "schedlab admin: /metrics /healthz /readyz /debug/pprof/ /debug/connections /debug/timeline (with --stamps)\n")
	})
	mux.HandleFunc("GET /debug/timeline", s.timeline)
	mux.HandleFunc("GET /debug/connections", s.connections)
	// Profiles show memory and arguments of the process, and cost CPU time. So "auto" offers them
	// only where just this machine can ask.
	if s.cfg.Pprof == "on" || s.cfg.Pprof == "auto" && ln.Addr().(*net.TCPAddr).IP.IsLoopback() {
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
	a := &admin{ln: ln, conns: connCap{most: adminConns}}
	a.conns.change.L = &a.conns.mu
	a.server = &http.Server{
		Handler:           mux,
		ConnState:         a.conns.track,
		ReadHeaderTimeout: adminHeader,
		ReadTimeout:       adminHeader,
		WriteTimeout:      adminWrite,
		IdleTimeout:       adminIdle,
		MaxHeaderBytes:    adminMaxHead,
		ErrorLog:          model.DebugLog(s.cfg.Log),
	}
	return a, nil
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
			defer sample(0) // pprof.Handler waits for the seconds, and answers with the difference
		}
		pprof.Handler(name).ServeHTTP(w, r)
	}
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

// A connCap limits the number of open connections of an [http.Server]. The server's ConnState must
// be track. At the cap a new connection takes the place of the connection that has been without
// a request the longest. So a client that does not finish a head, or stays idle, does not keep
// others out. While every connection has a request, new ones wait.
type connCap struct {
	most int

	mu      sync.Mutex
	change  sync.Cond // signalled when a connection changes state
	open    int
	waiting []net.Conn // open connections without a request, the longest waiting first
}

// track notes a connection's state. For a new one it waits for a place; the server accepts the
// next one when it returns.
func (c *connCap) track(nc net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(w net.Conn) bool { return w == nc })
	switch state {
	case http.StateNew:
		// The server calls track for one new connection at a time, so one that is closed makes room enough.
		for evicted := false; c.open == c.most; c.change.Wait() {
			if !evicted && len(c.waiting) > 0 {
				c.waiting[0].Close() // its server then calls track with StateClosed
				c.waiting = c.waiting[1:]
				evicted = true
			}
		}
		c.open++
		c.waiting = append(c.waiting, nc) // it has no request yet
	case http.StateIdle:
		c.waiting = append(c.waiting, nc)
	case http.StateClosed, http.StateHijacked:
		c.open--
	}
	c.change.Signal()
}

// A history has at most 600 readings of 48 bytes.
const (
	tick         = 100 * time.Millisecond // between two readings of the connection counters
	keptReadings = 600                    // one minute of readings
)

// A reading is a server's connection counters at one moment:
// Accepted == Done + Rejected + Dropped + Open.
//
// The measuring half fetches readings from /debug/connections. From two of them it computes how
// many connections came and went between two moments, without asking the server at those moments.
type reading struct {
	At       int64  `json:"at_ns"` // the machine's monotonic clock, nanoseconds
	Accepted uint64 `json:"accepted"`
	Done     uint64 `json:"done"`
	Rejected uint64 `json:"rejected"`
	Dropped  uint64 `json:"dropped"`
	Open     uint64 `json:"open"`
}

// A history keeps the newest readings. Its zero value is empty; it is safe for concurrent
// use. A reading costs a short lock of the counters ten times a second, and after a minute no allocation.
type history struct {
	mu   sync.Mutex
	kept []reading // oldest first
}

// take adds a reading. When the history is full, it replaces the oldest.
func (h *history) take(at int64, c model.Counts) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.kept) == keptReadings {
		h.kept = slices.Delete(h.kept, 0, 1)
	}
	h.kept = append(h.kept, reading{at, c.Accepted, c.Done, sum(c.Rejected[:]), sum(c.Dropped[:]), c.Open})
}

// all returns the readings that are kept, oldest first.
func (h *history) all() []reading {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.kept)
}

// record reads the counters at once and then after every tick, until ctx ends. Ticks follow the
// machine's clock, so they come at the same time in all processes. The parent of a fleet has only the
// counts that its processes reported at their tick. So it reads half a tick later, and stamps the
// reading with the time of the tick.
func (h *history) record(ctx context.Context, counts func() model.Counts, fleet bool) {
	// Half a tick is enough for the reports of all processes to arrive, and half a tick before the
	// next ones.
	lag := time.Duration(0)
	if fleet {
		lag = tick / 2
	}
	// The timer is set again after each reading, so a slow one leaves out ticks.
	for timer := time.NewTimer(0); ; timer.Reset(untilTick(lag)) {
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			h.take(timeline.Now()-int64(lag), counts())
		}
	}
}

// untilTick returns the time until lag after a tick: the next one that is at least half a tick
// away. After a late call a nearer tick is left out, so that no rate is computed over a very
// short time.
func untilTick(lag time.Duration) time.Duration {
	// Rounding to the nearest tick and adding one gives a wait of half a tick to one and a half.
	past := time.Duration(timeline.Now()) - lag
	return past.Round(tick) + tick - past
}

// connections answers with the readings that are kept, oldest first, one line of JSON each.
func (s *Server) connections(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	for _, r := range s.history.all() { // a copy, so a slow client holds no lock
		_ = out.Encode(r) // fails when the client has gone
	}
}

// stamped returns the newest n stamps of each process, oldest first, and the number of older
// ones.
func (s *Server) stamped(n int) (stamps []timeline.Server, older uint64, err error) {
	if f, ok := s.ln.(*fleet); ok {
		return f.stamped(n)
	}
	stamps, older = s.ring.Newest(n)
	return stamps, older, nil
}

// A person's answer is small by default. dumpRate only has to be slow enough for a client on a busy
// machine.
const (
	shownRequests     = 100    // default number of requests shown to a person
	mostShownRequests = 10_000 // programs read more with ?format=binary
	dumpsAtOnce       = 2      // whole timelines sent at a time: each holds a copy of the ring
	dumpRate          = 50_000 // stamps per second that a client must read: 3.6 MB/s
)

// timeline answers with the stamps of the newest requests as JSON, one request per line; ?n=
// sets their number. With ?format=binary it answers with all stamps, for a program.
func (s *Server) timeline(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Stamps == "off" {
		http.Error(w, "nothing is stamped; start the server with --stamps basic or full", http.StatusNotFound)
		return
	}
	n, whole := shownRequests, r.FormValue("format") == "binary"
	if whole {
		n = timeline.MaxRing
		select { // further callers wait for a place
		case s.dumps <- struct{}{}:
			defer func() { <-s.dumps }()
		case <-r.Context().Done():
			return
		}
	} else if r.FormValue("format") != "" {
		http.Error(w, "format is binary, or left out for a line of JSON for each request", http.StatusBadRequest)
		return
	} else if asked := r.FormValue("n"); asked != "" {
		var err error
		if n, err = strconv.Atoi(asked); err != nil || n < 1 || n > mostShownRequests {
			http.Error(w, fmt.Sprintf("n is the number of requests to show, 1 to %d; format=binary has them all", mostShownRequests), http.StatusBadRequest)
			return
		}
	}
	stamps, lost, err := s.stamped(n)
	// The client's time to read begins after the stamps are collected, and grows with their number.
	limit := adminWrite + time.Duration(len(stamps))*time.Second/dumpRate
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(limit)) // fails only for a test's writer
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if whole {
		w.Header().Set("Content-Type", "application/octet-stream")
		// The reader must know that requests are missing, or it would take the rest for all of them.
		w.Header().Set(timeline.LostHeader, strconv.FormatUint(lost, 10))
		_ = timeline.Write(w, stamps) // fails when the client has gone
		return
	}
	// A fleet gives n of each process, in the order of the processes; the newest n of all are wanted.
	slices.SortStableFunc(stamps, func(a, b timeline.Server) int { return cmp.Compare(a.Read, b.Read) })
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	for _, st := range stamps[max(0, len(stamps)-n):] {
		_ = out.Encode(shown(st)) // fails when the client has gone
	}
}

// A shownRequest shows one request's stamps to people. Read is the time at which its first byte
// was read, in nanoseconds of the machine's monotonic clock. The other fields are durations in
// µs. A connection's wait in a queue counts for its first request.
//
// A nil field is left out of the JSON: nothing was measured, which differs from 0.
type shownRequest struct {
	Seq     *uint64  `json:"seq,omitempty"`
	Read    int64    `json:"read_ns"`
	Wakeup  *float64 `json:"wakeup_us,omitempty"` // from the kernel's receipt to the read, without the time in the queue
	Queue   *float64 `json:"queue_us,omitempty"`
	Service float64  `json:"service_us"`
	Finish  float64  `json:"finish_us"` // from the end of the handler to the write
}

// shown converts stamps, which are moments, to durations.
func shown(st timeline.Server) shownRequest {
	us := func(from, to int64) float64 { return float64(to-from) / float64(time.Microsecond) }
	r := shownRequest{Read: st.Read, Service: us(st.Begin, st.End), Finish: us(st.End, st.Write)}
	if st.Seq != timeline.Unnumbered {
		r.Seq = &st.Seq
	}
	if st.Received > 0 {
		r.Wakeup = new(us(st.Unread(), st.Read))
	}
	if st.Dequeue > 0 {
		r.Queue = new(us(st.Enqueue, st.Dequeue))
	}
	return r
}
