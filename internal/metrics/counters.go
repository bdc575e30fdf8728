package metrics

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"schedlab/internal/model"
	"schedlab/internal/timeline"
	"schedlab/internal/workload"
)

// A series is a metric that is counted outside this package and read at each scrape.
//
// The counters live where they are counted: in a model's ledger, in a queue, in the kernel. A
// [reading] turns them into metrics. It calls its source once per scrape, so all its series come
// from the same moment, and an identity between them holds in every scrape.
type series struct {
	*prometheus.Desc
	kind prometheus.ValueType
}

// counter and gauge describe a series. They add the prefix schedlab_ and the constant labels, and
// register nothing.
func (m *Metrics) counter(name, help string, labels ...string) series {
	return series{prometheus.NewDesc("schedlab_"+name, help, labels, m.labels), prometheus.CounterValue}
}

func (m *Metrics) gauge(name, help string, labels ...string) series {
	return series{prometheus.NewDesc("schedlab_"+name, help, labels, m.labels), prometheus.GaugeValue}
}

// A reading is a collector of the series that one reading of their counters gives. series must hold
// every series that collect tells. collect may leave some out, for example if the kernel does not
// report them.
type reading struct {
	series  []series
	collect func(tell func(s series, value float64, labels ...string))
}

// Describe implements prometheus.Collector.
func (r reading) Describe(ch chan<- *prometheus.Desc) {
	for _, s := range r.series {
		ch <- s.Desc
	}
}

// Collect implements prometheus.Collector.
func (r reading) Collect(ch chan<- prometheus.Metric) {
	r.collect(func(s series, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(s.Desc, s.kind, value, labels...)
	})
}

// watch adds a series of one value, which read returns at each scrape.
func (m *Metrics) watch(s series, read func() float64) {
	m.register.MustRegister(reading{[]series{s}, func(tell func(series, float64, ...string)) { tell(s, read()) }})
}

// WatchConnections adds the connection counters and a model's request counters. counts must read
// all its values under one lock, so that accepted = done + rejected + dropped + open holds in
// every scrape. Answered requests are not among the request counters: Observe counts them.
func (m *Metrics) WatchConnections(counts func() model.Counts, requests func() model.RequestCounts) {
	accepted := m.counter("connections_accepted_total", "Connections accepted from the kernel.")
	done := m.counter("connections_done_total", "Connections closed after service, or by a client that was still waiting (gave_up).")
	left := m.counter("connections_gave_up_total", "Connections whose client had closed them, or their sending side, when a worker took them, after 10 ms in the queue or more; counted as done, too. Only where connections wait for a worker, as in pool; elsewhere see requests_gave_up_total.")
	rejected := m.counter("connections_rejected_total", "Connections answered with a refusal and closed.", "reason")
	dropped := m.counter("connections_dropped_total", "Connections closed without an answer; drain_timeout: with a request under way.", "reason")
	open := m.gauge("connections_open", "Connections accepted and not yet closed, counted on their own.")
	m.register.MustRegister(reading{[]series{accepted, done, left, rejected, dropped, open}, func(tell func(series, float64, ...string)) {
		n := counts()
		tell(accepted, float64(n.Accepted))
		tell(done, float64(n.Done))
		tell(left, float64(n.GaveUp))
		for _, r := range model.Reasons() {
			tell(rejected, float64(n.Rejected[r]), r.String())
			tell(dropped, float64(n.Dropped[r]), r.String())
		}
		tell(open, float64(n.Open))
	}})

	started := m.counter("requests_started_total", "Requests that reached the model; less the answered and the aborted ones, those in flight.")
	aborted := m.counter("requests_aborted_total", "Requests whose connection was cut before they were answered.")
	gaveUp := m.counter("requests_gave_up_total", "Requests whose client had closed the connection, or its sending side, when a worker took them, after 10 ms in the queue or more; they were run all the same. Only where requests wait for a worker, as in pool-request; elsewhere, as in pool, 0: see connections_gave_up_total.")
	panics := m.counter("handler_panics_total", "Handler panics, each answered with a 500.")
	shed := m.counter("sheds_total", "Requests on live connections that were not run: answered with a refusal or, dropped, not at all.", "reason")
	refused := m.counter("requests_refused_total", "Requests answered before they reached a handler, malformed, too large or too slow; not among the started. A head that stops half-way is answered 408, but by net/http 400 within a line and not at all after one.", "code")
	m.register.MustRegister(reading{[]series{started, aborted, gaveUp, panics, shed, refused}, func(tell func(series, float64, ...string)) {
		n := requests()
		tell(started, float64(n.Started))
		tell(aborted, float64(n.Aborted))
		tell(gaveUp, float64(n.GaveUp))
		tell(panics, float64(n.Panics))
		for _, r := range model.Reasons() {
			tell(shed, float64(n.Shed[r]), r.String())
		}
		for i, status := range model.RefusalCodes() {
			code := "other"
			if status != 0 {
				code = strconv.Itoa(status)
			}
			tell(refused, float64(n.Refused[i]), code)
		}
	}})
}

// codes lists the statuses that a handler or model may answer. Any other is counted as "other".
// The set is closed, because it is a label.
var codes = [...]int{200, 204, 400, 404, 405, 408, 413, 431, 500, 503, 507}

// answers counts answered requests by route and code. A count costs about 5 ns, without an
// allocation or a lock. Note: the same counters in client_golang would be a thousand objects
// that every garbage collection has to mark. That cost a net/http server with 70 collections a
// second 0.8 % of its CPU. This is one block without pointers.
type answers struct {
	counts [workload.NumRoutes][len(codes) + 1]atomic.Uint64 // the last element counts any other code
}

// count adds one answer. It is safe for concurrent use.
func (a *answers) count(r workload.Route, status int) {
	// A search through eleven numbers is cheaper than a map.
	i := slices.Index(codes[:], status)
	if i < 0 {
		i = len(codes)
	}
	a.counts[r][i].Add(1)
}

// watch adds the counters to m.
func (a *answers) watch(m *Metrics) {
	answered := m.counter("requests_total", "Requests answered, by route and status code.", "route", "code")
	m.register.MustRegister(reading{[]series{answered}, func(tell func(series, float64, ...string)) {
		for r := range a.counts {
			for i := range a.counts[r] {
				code := "other"
				if i < len(codes) {
					code = strconv.Itoa(codes[i])
				}
				tell(answered, float64(a.counts[r][i].Load()), workload.Route(r).String(), code)
			}
		}
	}})
}

// WatchSockets adds the accept queue and the connections of each of ln's sockets. They show how
// evenly the kernel distributes connections.
func (m *Metrics) WatchSockets(ln *model.Listener) {
	depth := m.gauge("accept_queue_depth", "Connections waiting in the kernel to be accepted.", "listener")
	limit := m.gauge("accept_queue_limit", "Connections that can wait in the kernel; one more overflows.", "listener")
	accepted := m.counter("listener_connections_accepted_total", "Connections accepted by each listening socket.", "listener")
	open := m.gauge("listener_connections_open", "Connections accepted by each listening socket and not yet closed.", "listener")
	m.register.MustRegister(reading{[]series{depth, limit, accepted, open}, func(tell func(series, float64, ...string)) {
		for i, n := range ln.SocketCounts() {
			label := strconv.Itoa(i)
			if q, ok := ln.AcceptQueue(i); ok {
				tell(depth, float64(q.Waiting), label)
				tell(limit, float64(q.Limit), label)
			}
			tell(accepted, float64(n.Accepted), label)
			tell(open, float64(n.Open), label)
		}
	}})
}

// WatchProcesses adds the number of processes that serve now, and the number that were started
// in place of one that ended.
func (m *Metrics) WatchProcesses(read func() (serving int, restarts uint64)) {
	processes := m.gauge("processes", "Processes that serve.")
	restarts := m.counter("process_restarts_total", "Processes started in place of one that ended.")
	m.register.MustRegister(reading{[]series{processes, restarts}, func(tell func(series, float64, ...string)) {
		n, again := read()
		tell(processes, float64(n))
		tell(restarts, float64(again))
	}})
}

// phases observes the phases of requests. It does so in a scrape and not while requests are
// served: each scrape reads the stamps that the timeline has gained since the last.
//
// A phase is an interval between two stamps of the server. The parts of a request that begin or end
// at the client need the client's stamps, so only the measuring half can compute them. vec holds
// all phases; ingress to finish are its children, looked up once.
type phases struct {
	ring *timeline.Ring
	lost prometheus.Counter

	mu   sync.Mutex
	seen uint64
	vec  *prometheus.HistogramVec

	ingress, queue, handover, service, finish prometheus.Observer
}

// WatchTimeline adds the phases of the requests in ring.
func (m *Metrics) WatchTimeline(ring *timeline.Ring) {
	p := &phases{ring: ring}
	p.vec = prometheus.NewHistogramVec(m.histogram("schedlab_request_phase_seconds",
		"Where the time of stamped requests went in the server. ingress: in the socket, unread (with --stamps full); queue: in the model's queue, for a connection that is queued of its first request; handover: taken from it and not begun; service: in the handler; finish: from there to the write."),
		[]string{"phase"})
	for name, o := range map[string]*prometheus.Observer{
		"ingress": &p.ingress, "queue": &p.queue, "handover": &p.handover, "service": &p.service, "finish": &p.finish,
	} {
		*o = p.vec.WithLabelValues(name)
	}
	p.lost = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "schedlab_timeline_lost_total", ConstLabels: m.labels,
		Help: "Stamped requests missing from the phases: their stamps were overwritten before anybody looked; raise --timeline or scrape more often.",
	})
	m.register.MustRegister(p)
}

// Describe implements prometheus.Collector.
func (p *phases) Describe(ch chan<- *prometheus.Desc) {
	p.vec.Describe(ch)
	p.lost.Describe(ch)
}

// Collect implements prometheus.Collector.
func (p *phases) Collect(ch chan<- prometheus.Metric) {
	p.catchUp()
	p.vec.Collect(ch)
	p.lost.Collect(ch)
}

// catchUp observes the requests that were stamped since the last scrape. It holds a lock,
// because a scrape and a Snapshot may run at the same time.
func (p *phases) catchUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	stamps, seen, lost := p.ring.Since(p.seen)
	p.seen = seen
	p.lost.Add(float64(lost))
	for _, s := range stamps {
		if s.Received > 0 {
			observe(p.ingress, s.Unread(), s.Read)
		}
		if s.Dequeue > 0 {
			observe(p.queue, s.Enqueue, s.Dequeue)
			// Otherwise the connection was queued, and not the request: after its wait came the
			// read, which is no hand-over.
			if s.Dequeue > s.Read {
				observe(p.handover, s.Dequeue, s.Begin)
			}
		}
		observe(p.service, s.Begin, s.End)
		observe(p.finish, s.End, s.Write)
	}
}

// observe observes the time between two stamps, which are nanoseconds.
func observe(o prometheus.Observer, from, to int64) { o.Observe(time.Duration(to - from).Seconds()) }
