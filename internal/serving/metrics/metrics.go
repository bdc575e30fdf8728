// Package metrics is the Prometheus side of a server: one registry, every
// child resolved at start-up, closed label sets. It does not repeat counts that
// a model keeps already; it reads them at each scrape.
//
// Package server makes one [Metrics] with [New] and then registers what its mode has: each Watch
// method adds figures that something else counts, and QueueWait, Sojourn, LoopLag and LoopBusy
// return a function for the model to call. [Metrics.Handler] serves the page. In a server of
// several processes each process has a Metrics, and the parent joins their [Snapshot]s to its own
// with [Metrics.AddSnapshots].
package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"schedlab/internal/serving/dispatch"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/workload"
)

// Options describe the server that the metrics are about. Mode, Version and Revision become labels.
// Axes are the coordinates of the mode as the flags changed them.
type Options struct {
	Mode    string
	Axes    mode.Axes
	Version string
	// Revision is the commit from which the program was built.
	Revision string
	// Process is the number of a process that serves for a parent. It becomes a label of
	// all its metrics. "" elsewhere.
	Process string
	// Parent is set when other processes do the serving. The registry then has no request
	// instruments; AddSnapshots adds theirs.
	Parent bool
}

// Metrics is the registry of one server and the instruments of its request path. Observe
// allocates nothing and takes no lock. Call each method that registers metrics at most once: two
// series of one name fail every scrape.
type Metrics struct {
	registry *prometheus.Registry
	register prometheus.Registerer // the registry, or a wrapper that adds the label process
	sched    schedReading
	gatherer prometheus.Gatherer // source of a scrape: the registry, and the snapshots of other processes
	labels   prometheus.Labels
	answered answers
	duration [workload.NumRoutes]prometheus.Observer
}

// buckets are the upper limits of histogram buckets in seconds, from 50 µs to 10 s, six per
// decade. Every decade has the same steps, so the relative error of a quantile is the same at every
// size. The last limit, 10 s, is the longest sleep of /work.
var buckets = []float64{
	50e-6, 75e-6, 100e-6, 150e-6, 200e-6, 300e-6, 500e-6, 750e-6,
	1e-3, 1.5e-3, 2e-3, 3e-3, 5e-3, 7.5e-3,
	10e-3, 15e-3, 20e-3, 30e-3, 50e-3, 75e-3,
	.1, .15, .2, .3, .5, .75, 1, 1.5, 2, 3, 5, 7.5, 10,
}

// nativeFactor bounds the relative width of a native histogram's buckets. nativeBuckets bounds the
// memory of one native histogram: client_golang widens the buckets when more would be needed.
const (
	nativeFactor  = 1.1
	nativeBuckets = 160
)

// histogram returns the options of every histogram here: classic buckets for old scrapers, and a
// native histogram for the others.
func (m *Metrics) histogram(name, help string) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Name: name, Help: help, ConstLabels: m.labels,
		Buckets:                        buckets,
		NativeHistogramBucketFactor:    nativeFactor,
		NativeHistogramMaxBucketNumber: nativeBuckets,
	}
}

// New returns a registry with the request instruments, the metrics of Go's scheduler and those
// of the process.
func New(o Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), labels: prometheus.Labels{"mode": o.Mode}}
	m.register, m.gatherer = m.registry, prometheus.GathererFunc(m.gather)
	if o.Process != "" {
		m.register = prometheus.WrapRegistererWith(prometheus.Labels{"process": o.Process}, m.registry)
	}
	duration := prometheus.NewHistogramVec(m.histogram("schedlab_request_duration_seconds",
		"Server response time: from the parsed request to its answer. A wait for a worker is in it where requests wait, but not where connections or bursts do: see schedlab_queue_wait_seconds."), []string{"route"})
	// In Observe the look-up would cost a hash of the label.
	for r := range workload.NumRoutes {
		m.duration[r] = duration.WithLabelValues(r.String())
	}
	// A parent serves no requests, so its own series would always be 0. Its page has these two
	// families from the snapshots.
	if !o.Parent {
		m.read(m.answered.tell)
		m.register.MustRegister(duration)
	}
	// These are properties of the whole server, so a process of a fleet leaves them to its parent.
	if o.Process == "" {
		m.read(machine)
		// By Prometheus' convention a name that ends in _info has facts as labels.
		m.read(func(s scrape) {
			a := o.Axes
			s.gauge("mode_info", "The server's scheduling model as coordinates; always 1.", 1,
				"stack", "accept", "unit", "executor", "queue", "overflow", "thread",
				a.Stack, a.Accept, a.Unit, a.Executor, a.Queue, a.Overflow, a.Thread)
			s.gauge("build_info", "The build that serves; always 1.", 1,
				"version", "revision", "goversion", o.Version, o.Revision, runtime.Version())
		})
	}
	m.register.MustRegister(
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(
			collectors.WithGoCollectorMemStatsMetricsDisabled(),
			collectors.WithGoCollectorRuntimeMetrics(
				collectors.MetricsScheduler,
				collectors.MetricsGC,
				collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/(sync/mutex/wait|cpu/classes)/.*`)},
			),
			collectors.WithoutGoCollectorRuntimeMetrics(ownReading),
		),
	)
	m.watchScheduler()
	m.read(switches)
	return m
}

// Observe counts one answered request that took that long. It is safe for concurrent use.
func (m *Metrics) Observe(r workload.Route, status int, took time.Duration) {
	m.answered.count(r, status)
	m.duration[r].Observe(took.Seconds())
}

// jobs tells what waits in the queue of each mode that has workers. It ends the HELP of the metrics of
// queues: it is the same in every mode, because Prometheus keeps one HELP for all servers.
var jobs = func() string {
	var named []string
	for _, kind := range []struct{ unit, job string }{
		{"connection", "a connection, once, before its first request"},
		{"burst", "a connection each time that it has sent more"},
		{"request", "a request"},
	} {
		var modes []string
		for _, m := range model.Modes() {
			if m.Axes.Unit == kind.unit && m.Has("workers") {
				modes = append(modes, m.Name)
			}
		}
		named = append(named, kind.job+" ("+strings.Join(modes, ", ")+")")
	}
	return " A job is, by mode, " + strings.Join(named, "; ") + "."
}()

// WatchQueue adds the metrics of a model's queue. q is read at each scrape, and oldest, the present wait
// of the oldest job, 0 for an empty queue. A queue that also has a method Steals gets a counter of
// stolen jobs.
func (m *Metrics) WatchQueue(q dispatch.Queue, oldest func() time.Duration) {
	m.read(func(s scrape) {
		s.gauge("queue_depth", "Jobs waiting in the model's queue."+jobs, float64(q.Depth()))
		s.gauge("queue_capacity", "Jobs that can wait in the model's queue."+jobs, float64(q.Capacity()))
		s.gauge("queue_oldest_wait_seconds", "Time that the job which waits longest for a worker has waited by now, 0 when none waits."+jobs,
			oldest().Seconds())
		s.gauge("workers", "Workers of the model.", float64(q.Workers()))
		s.gauge("workers_busy", "Workers that have a job. A worker that keeps its connection has one also while the connection is idle."+jobs, float64(q.Busy()))
		if thieves, ok := q.(interface{ Steals() uint64 }); ok {
			s.counter("steals_total", "Jobs run by another worker than the one they were queued for.", float64(thieves.Steals()))
		}
	})
}

// QueueWait registers the histogram of queue waits and the gauge of the longest one. It returns
// a function with which a model observes each wait; it is safe for concurrent use.
func (m *Metrics) QueueWait() func(time.Duration) {
	// A histogram does not keep its largest value.
	wait := m.times("schedlab_queue_wait_seconds", "Time a job spent in the model's queue until a worker took it."+jobs)
	var longest atomic.Int64
	m.read(func(s scrape) {
		s.gauge("queue_longest_wait_seconds", "Longest time that any job has spent in the model's queue until a worker took it, since the start."+jobs,
			time.Duration(longest.Load()).Seconds())
	})
	return func(d time.Duration) {
		wait(d)
		// Several workers may raise the maximum at a time.
		for old := longest.Load(); int64(d) > old && !longest.CompareAndSwap(old, int64(d)); old = longest.Load() {
		}
	}
}

// Sojourn registers the histogram of the times from a job's arrival at the model's dispatcher to
// the end of its work. It returns a function with which a model observes each time; it is safe
// for concurrent use.
func (m *Metrics) Sojourn() func(time.Duration) {
	return m.times("schedlab_sojourn_seconds",
		"Time from a job's arrival at the model's queue until its worker was done with it. Not where requests wait: theirs is schedlab_request_duration_seconds."+jobs)
}

// LoopLag registers the histogram of the times for which event loops kept others waiting. It
// returns a function with which a model observes each lag; it is safe for concurrent use. The
// connections of each loop are in the metrics by listener, because each loop has one socket.
func (m *Metrics) LoopLag() func(time.Duration) {
	return m.times("schedlab_loop_lag_seconds",
		"Longest turn of an event loop in each 50 ms in which it had something to do: what came meanwhile waited as long.")
}

// LoopBusy registers the counter of the CPU time that event loops used. It returns a function
// with which a model adds to it, from any goroutine.
func (m *Metrics) LoopBusy() func(time.Duration) {
	var busy atomic.Int64
	m.read(func(s scrape) {
		s.counter("loop_busy_seconds_total", "CPU time, estimated from one turn in 31, in which event loops read, parsed, ran handlers that are theirs, wrote and accepted; not that in which they asked for events.",
			time.Duration(busy.Load()).Seconds())
	})
	return func(d time.Duration) { busy.Add(int64(d)) }
}

// times registers a histogram of times and returns a function that observes one.
func (m *Metrics) times(name, help string) func(time.Duration) {
	h := prometheus.NewHistogram(m.histogram(name, help))
	m.register.MustRegister(h)
	return func(d time.Duration) { h.Observe(d.Seconds()) }
}

// writeLimit is the time in which a client must receive a scrape. A slower client is cut off.
const writeLimit = 5 * time.Second

// Handler returns a handler that serves the registry, as OpenMetrics to clients that ask for it.
// The page is complete before it is written, so a client that does not read its answer does not
// delay others.
func (m *Metrics) Handler() http.Handler {
	scrape := promhttp.HandlerFor(prometheus.GathererFunc(m.shared()), promhttp.HandlerOpts{EnableOpenMetrics: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := page{header: w.Header(), status: http.StatusOK}
		scrape.ServeHTTP(&p, r)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeLimit)) // fails only for a test's writer
		w.WriteHeader(p.status)
		_, _ = w.Write(p.Bytes()) // fails when the client has gone
	})
}

// A page buffers an answer. It implements http.ResponseWriter.
type page struct {
	bytes.Buffer
	header http.Header
	status int
}

func (p *page) Header() http.Header    { return p.header }
func (p *page) WriteHeader(status int) { p.status = status }

// shared returns a function that reads the registry. One reading runs at a time, and all callers
// that came before it began get its result. So no caller waits for more than two readings.
func (m *Metrics) shared() func() ([]*dto.MetricFamily, error) {
	var mu sync.Mutex // held during a reading
	var begun time.Time
	var families []*dto.MetricFamily
	var err error
	return func() ([]*dto.MetricFamily, error) {
		came := time.Now()
		mu.Lock()
		defer mu.Unlock()
		// A reading that began before the call may hold older values than the caller expects.
		if !begun.After(came) {
			begun = time.Now()
			families, err = m.gatherer.Gather()
		}
		return families, err
	}
}

// gather reads the scheduler, and then the registry.
func (m *Metrics) gather() ([]*dto.MetricFamily, error) {
	m.sched.mu.Lock()
	defer m.sched.mu.Unlock()
	m.sched.read()
	return m.registry.Gather()
}

// A Snapshot holds the values of one process's registry, encoded for another process: Prometheus
// protocol buffers, each with its length before it.
type Snapshot []byte

// Snapshot returns the registry's present values, without added snapshots.
func (m *Metrics) Snapshot() (Snapshot, error) {
	families, err := m.gather()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := expfmt.NewEncoder(&b, expfmt.NewFormat(expfmt.TypeProtoDelim))
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return nil, fmt.Errorf("encoding %s: %w", f.GetName(), err)
		}
	}
	return b.Bytes(), nil
}

// Gather implements prometheus.Gatherer.
func (s Snapshot) Gather() (families []*dto.MetricFamily, err error) {
	dec := expfmt.NewDecoder(bytes.NewReader(s), expfmt.NewFormat(expfmt.TypeProtoDelim))
	for {
		f := new(dto.MetricFamily)
		err := dec.Decode(f)
		if errors.Is(err, io.EOF) {
			return families, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decoding a snapshot: %w", err)
		}
		families = append(families, f)
	}
}

// AddSnapshots adds the snapshots that read returns to every scrape from now on. Their series
// must carry the label process. read is called once before each reading of the registry.
func (m *Metrics) AddSnapshots(read func() []Snapshot) {
	m.gatherer = prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		var all prometheus.Gatherers
		for _, s := range read() {
			all = append(all, s)
		}
		return append(all, prometheus.GathererFunc(m.gather)).Gather()
	})
}
