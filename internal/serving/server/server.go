package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"schedlab/internal/serving/metrics"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/timeline"
	"schedlab/internal/shared/workload"
)

// A Server serves the workload with one scheduling model. Make it with [New], open its sockets
// with [Server.Listen], and then call [Server.Serve] once.
//
// A server is one of three: a whole server in one process (most modes), the parent of a prefork
// server, or one of its processes. supervises tells the parent; Config.Child is set in the
// processes. Only [backend] and a few ifs here know the difference.
type Server struct {
	cfg     Config
	mode    model.Mode
	model   model.Model
	metrics *metrics.Metrics
	ring    *timeline.Ring // nil: this process stamps nothing
	tls     *tls.Config    // nil: no TLS
	ln      backend
	admin   *admin
	history history       // readings of the connection counters; empty without an admin side
	dumps   chan struct{} // holds an element for each whole timeline that is being sent
	begun   atomic.Bool
}

// A backend serves the data address: a model in this process, or a fleet of processes. Its methods
// but serve are safe for concurrent use: the admin side calls them while serve runs.
type backend interface {
	Addr() net.Addr
	Backlog() int
	Counts() model.Counts
	Requests() model.RequestCounts
	Draining() bool
	Close() error
	// serve serves until ctx is done, then drains for at most timeout. It calls begun when
	// it takes connections.
	serve(ctx context.Context, timeout time.Duration, begun func()) (model.Drain, error)
}

// inProcess is the backend of every mode with a single process. The embedded listener and model have
// all methods but serve.
type inProcess struct {
	*model.Listener
	model.Model
}

func (p inProcess) serve(ctx context.Context, timeout time.Duration, begun func()) (model.Drain, error) {
	begun() // the kernel has taken connections since Listen
	return model.Serve(ctx, p.Model, p.Listener, timeout)
}

// New returns a server that has not opened its sockets yet. If a setting is wrong it returns a
// [*ConfigError].
func New(cfg Config) (*Server, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	mode, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	// The labels and /healthz show the point at which this server stands, not the alternatives of
	// its mode.
	if mode.Depth != nil {
		mode.Axes.Overflow = cfg.Overflow
	}
	s := &Server{cfg: cfg, mode: mode, dumps: make(chan struct{}, dumpsAtOnce)}
	labels := metrics.Options{Mode: mode.Name, Axes: mode.Axes, Version: cfg.Version, Revision: cfg.Revision, Parent: s.supervises()}
	if cfg.Child != nil {
		labels.Process = strconv.Itoa(cfg.Child.Index)
	}
	s.metrics = metrics.New(labels)
	// The parent needs no model: its processes have theirs.
	if s.supervises() {
		return s, nil
	}
	if cfg.Stamps != "off" {
		s.ring = timeline.NewRing(cfg.Timeline)
		s.metrics.WatchTimeline(s.ring)
	}
	// Every mode runs this one handler set, with these callbacks. The model only decides when and
	// where a request runs.
	app := workload.New(workload.Options{ItersPerMicro: cfg.Iters, MaxBody: cfg.Limits.MaxBody, KVLocks: cfg.KVLocks, PlantCPU: cfg.PlantCPU, PlantLock: cfg.Plant.Lock})
	if cfg.TLSCert != "" {
		if s.tls, err = model.ServerTLS(cfg.TLSCert, cfg.TLSKey, mode.HTTP2); err != nil {
			return nil, badConfig("--tls-cert: %v", err)
		}
		cfg.HTTP2 = mode.HTTP2
	}
	mc := cfg.Config
	mc.Handle = app.Serve
	mc.Observe = s.metrics.Observe
	// Metrics exist only where they mean something. A histogram that always stays empty would look
	// like a measurement of zero.
	if mode.Has("workers") {
		mc.Waited = s.metrics.QueueWait()
	}
	if mode.Depth != nil && mode.Axes.Unit != "request" { // a request's sojourn time is its response time
		mc.Sojourned = s.metrics.Sojourn()
	}
	if mode.Loops {
		mc.Lagged, mc.Worked = s.metrics.LoopLag(), s.metrics.LoopBusy()
	}
	s.model = mode.New(mc)
	return s, nil
}

// supervises reports whether other processes do the serving. It is meaningful once the mode is
// known, so only after resolve.
func (s *Server) supervises() bool { return s.mode.Processes && s.cfg.Child == nil }

// Listen opens the data and the admin socket. On an error neither stays open.
func (s *Server) Listen(ctx context.Context) error {
	err := s.listen(ctx)
	if err != nil {
		return listenError("addr", s.cfg.Addr, err)
	}
	if s.cfg.Admin == "off" {
		return nil
	}
	if s.admin, err = s.newAdmin(ctx); err != nil {
		return errors.Join(listenError("admin", s.cfg.Admin, err), s.ln.Close())
	}
	return nil
}

// listen opens the data socket and registers its metrics.
func (s *Server) listen(ctx context.Context) error {
	// Every mode gets its sockets from the same description, so that modes differ in no option by
	// accident.
	socket := model.Socket{
		Addr: s.cfg.Addr, Backlog: s.cfg.Backlog, MaxConns: s.cfg.MaxConns,
		Sockets: s.cfg.Listeners, Random: s.cfg.Deal == dealRandom, Shared: s.cfg.Child != nil,
		Grace: s.cfg.DrainGrace,
		Pause: s.cfg.Plant.Accept, First: s.cfg.Plant.Pin,
		Timeline: s.ring, KernelStamps: s.cfg.Stamps == "full", TLS: s.tls,
	}
	if s.supervises() {
		fleet, err := newFleet(ctx, s.cfg, socket)
		if err != nil {
			return err
		}
		s.ln = fleet
		s.metrics.WatchProcesses(fleet.processes)
		s.metrics.AddSnapshots(fleet.snapshots)
	} else {
		ln, err := socket.Listen(ctx, s.cfg.Log.Warn)
		if err != nil {
			return err
		}
		s.ln = inProcess{ln, s.model}
		if q := s.model.Queue(); q != nil {
			s.metrics.WatchQueue(q, ln.OldestWait)
		}
		s.metrics.WatchSockets(ln)
	}
	// The parent of a process has the sums of all processes: they must not be on its page twice.
	if s.cfg.Child == nil {
		s.metrics.WatchOverflows()
		s.metrics.WatchConnections(s.ln.Counts, s.ln.Requests)
	}
	return nil
}

// listenError explains an error of listening on the address of a flag, with a remedy where one is
// known. A wrong backlog is a [ConfigError], because a flag has to change. The other errors are
// not: another program may free the port.
func listenError(flag, addr string, err error) error {
	var backlog *model.BacklogError
	switch {
	case errors.As(err, &backlog):
		return badConfig("--backlog: %v", backlog)
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("listening on %s: the port is in use; stop the program that has it or choose another --%s", addr, flag)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("listening on %s: permission denied; choose a port above 1023 with --%s", addr, flag)
	}
	return fmt.Errorf("listening on --%s %s: %w", flag, addr, err)
}

// Serve serves until ctx is done, then drains. It returns nil after a drain, even one that had
// to cut connections at the timeout; the log tells how many.
func (s *Server) Serve(ctx context.Context) error {
	log := s.cfg.Log
	// A process of prefork has no admin side and logs no drain: its parent has both.
	if s.cfg.Child != nil {
		return s.serveChild(ctx, s.cfg.Child)
	}
	// In one process the kernel takes connections since Listen. A fleet is ready only when its
	// processes are; it calls begun below.
	s.begun.Store(!s.supervises())
	// The hog runs until ctx ends, and Serve waits for it as for everything that it starts.
	if hog := s.cfg.Plant.Hog; hog != nil {
		wait, err := hog(ctx)
		if err != nil {
			return err
		}
		defer wait()
	}
	if s.admin != nil {
		serving, quit := context.WithCancel(context.Background()) // not ctx: readings go on during a drain
		var background sync.WaitGroup
		background.Go(func() { s.history.record(serving, s.ln.Counts, s.supervises()) })
		background.Go(func() {
			if err := s.admin.server.Serve(s.admin.ln); !errors.Is(err, http.ErrServerClosed) {
				log.Error("admin listener failed; the service goes on without it", "error", err)
			}
		})
		// Deferred, so that /metrics answers during the whole drain.
		defer func() {
			quit()
			s.admin.server.Close()
			background.Wait()
		}()
	}
	// In its own goroutine, because the serve below blocks during the drain.
	stop := context.AfterFunc(ctx, func() {
		log.Info("draining", "timeout", s.cfg.DrainTimeout, "open", s.ln.Counts().Open)
	})
	defer stop()
	drain, err := s.ln.serve(ctx, s.cfg.DrainTimeout, func() {
		s.begun.Store(true)
		s.announce()
	})
	// The counters are final now: every connection is closed or cut.
	c := s.ln.Counts()
	log.Info("drained", "took", drain.Took.Round(time.Millisecond), "forced", drain.Forced,
		"accepted", c.Accepted, "done", c.Done, "gave_up", c.GaveUp, "rejected", sum(c.Rejected[:]), "dropped", sum(c.Dropped[:]), "open", c.Open)
	if err != nil {
		return fmt.Errorf("serving %s: %w", s.mode.Name, err)
	}
	return nil
}

// sum adds up counters by reason.
func sum(n []uint64) (total uint64) {
	for _, v := range n {
		total += v
	}
	return total
}

// announce logs the mode, the addresses and the main settings, and any warnings about them.
func (s *Server) announce() {
	attrs := []any{
		"mode", s.mode.Name, "axes", s.mode.Axes.String(), "addr", s.ln.Addr().String(),
		"gomaxprocs", runtime.GOMAXPROCS(0), "max_conns", s.cfg.MaxConns, "backlog", s.ln.Backlog(),
	}
	if s.admin != nil {
		attrs = append(attrs, "admin", s.admin.ln.Addr().String())
	}
	if s.mode.Has("workers") {
		attrs = append(attrs, "workers", s.cfg.Workers)
	}
	if s.mode.Depth != nil {
		attrs = append(attrs, "queue_depth", s.cfg.Depth, "overflow", s.cfg.Overflow)
	}
	if s.mode.Has("listeners") {
		attrs = append(attrs, "listeners", s.cfg.Listeners)
	}
	if s.mode.Processes {
		attrs = append(attrs, "processes", s.cfg.Processes, "threads", s.cfg.Threads)
	}
	if s.mode.Has("wait") && (s.mode.Depth == nil || s.cfg.Wait > 0) {
		attrs = append(attrs, "wait", s.cfg.Wait)
	}
	if s.cfg.Stamps != "off" {
		attrs = append(attrs, "stamps", s.cfg.Stamps)
	}
	s.cfg.Log.Info("serving", attrs...)
	// Warnings come after the line "serving", so that a reader of the log sees the settings first.
	for _, w := range s.cfg.warnings(s.mode) {
		s.cfg.Log.Warn(w)
	}
	if s.mode.Sticky {
		s.cfg.Log.Warn(fmt.Sprintf("a worker keeps its connection: of more than %d keep-alive clients the rest get no answer while those stay busy (one is cut off when it has been idle for %v); --mode pool-requeue serves them all",
			s.cfg.Workers, s.cfg.Limits.IdleTimeout))
	}
}
