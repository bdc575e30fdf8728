package metrics

import (
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"schedlab/internal/serving/model"
	"schedlab/internal/shared/cgroup"
	"schedlab/internal/shared/timeline"
	"schedlab/internal/shared/workload"
)

// A scrape takes the values of series that are counted outside this package: in a model's ledger, in a
// queue, in the kernel.
type scrape struct {
	labels prometheus.Labels // constant ones
	ch     chan<- prometheus.Metric
}

// read adds series. tell is called once for each scrape, so all its series come from the same moment,
// and an identity between them holds in every scrape. It may leave series out, for example if the
// kernel does not report them.
func (m *Metrics) read(tell func(scrape)) {
	m.register.MustRegister(prometheus.CollectorFunc(func(ch chan<- prometheus.Metric) { tell(scrape{m.labels, ch}) }))
}

// counter and gauge tell the value of a series. They add the prefix schedlab_ and the constant labels.
// labels are the names of the series' other labels, and then their values.
func (s scrape) counter(name, help string, value float64, labels ...string) {
	s.tell(prometheus.CounterValue, name, help, value, labels)
}

func (s scrape) gauge(name, help string, value float64, labels ...string) {
	s.tell(prometheus.GaugeValue, name, help, value, labels)
}

func (s scrape) tell(kind prometheus.ValueType, name, help string, value float64, labels []string) {
	names, values := labels[:len(labels)/2], labels[len(labels)/2:]
	s.ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("schedlab_"+name, help, names, s.labels), kind, value, values...)
}

// WatchConnections adds the connection counters and a model's request counters. counts must read
// all its values under one lock, so that accepted = done + rejected + dropped + open holds in
// every scrape. Answered requests are not among the request counters: Observe counts them.
func (m *Metrics) WatchConnections(counts func() model.Counts, requests func() model.RequestCounts) {
	m.read(func(s scrape) {
		n := counts()
		s.counter("connections_accepted_total", "Connections accepted from the kernel, whether or not a worker has taken them yet.", float64(n.Accepted))
		s.counter("connections_done_total", "Connections closed after service, or by a client that was still waiting (gave_up). A kept connection counts once, whatever the number of its requests.", float64(n.Done))
		s.counter("connections_gave_up_total", "Connections whose client had closed them, or their sending side, when a worker took them, after 10 ms in the queue or more; counted as done, too. Only where connections wait for a worker, as in pool; elsewhere see requests_gave_up_total.", float64(n.GaveUp))
		for r := range model.NumReasons {
			s.counter("connections_rejected_total", "Connections answered with a refusal and closed.", float64(n.Rejected[r]), "reason", r.String())
			s.counter("connections_dropped_total", "Connections closed without an answer; drain_timeout: with a request under way, or sent and not read.", float64(n.Dropped[r]), "reason", r.String())
		}
		s.gauge("connections_open", "Connections accepted and not yet closed, counted on their own: in service, idle between two requests, or waiting for a worker.", float64(n.Open))
	})
	m.read(func(s scrape) {
		n := requests()
		s.counter("requests_started_total", "Requests that were read; less the answered and the aborted ones, those in flight. What was sent on a connection that waits for a worker, as in pool, is not read yet.", float64(n.Started))
		s.counter("requests_aborted_total", "Requests whose connection was cut before they were answered, or that were left without an answer (--overflow drop or expire).", float64(n.Aborted))
		s.counter("requests_gave_up_total", "Requests whose client had closed the connection, or its sending side, when a worker took them, after 10 ms in the queue or more; they were run all the same. Only where requests wait for a worker, as in pool-request; elsewhere, as in pool, 0: see connections_gave_up_total.", float64(n.GaveUp))
		s.counter("handler_panics_total", "Handler panics, each answered with a 500.", float64(n.Panics))
		for r := range model.NumReasons {
			s.counter("sheds_total", "Requests on live connections that were not run: answered with a refusal or, dropped, not at all.", float64(n.Shed[r]), "reason", r.String())
		}
		for i, status := range model.RefusalCodes() {
			s.counter("requests_refused_total", "Requests answered before they reached a handler, malformed, too large or too slow; not among the started. A head that stops half-way is answered 408, but by net/http 400 within a line and not at all after one.", float64(n.Refused[i]), "code", codeLabel(status))
		}
	})
}

// codeLabel returns the value of the label code for a status; 0 is any other than the listed ones.
func codeLabel(status int) string {
	if status == 0 {
		return "other"
	}
	return strconv.Itoa(status)
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

func (a *answers) tell(s scrape) {
	for r := range a.counts {
		for i, code := range append(codes[:], 0) {
			n := a.counts[r][i].Load()
			s.counter("requests_total", "Requests answered, by route and status code; also those of a client that had gone by then (gave_up), whose answer nobody read.", float64(n), "route", "code", workload.Route(r).String(), codeLabel(code))
		}
	}
}

// WatchSockets adds the accept queue and the connections of each of ln's sockets. They show how
// evenly the kernel distributes connections.
func (m *Metrics) WatchSockets(ln *model.Listener) {
	m.read(func(s scrape) {
		for i, n := range ln.SocketCounts() {
			number := strconv.Itoa(i)
			if q, ok := ln.AcceptQueue(i); ok {
				s.gauge("accept_queue_depth", "Connections waiting in the kernel to be accepted.", float64(q.Waiting), "listener", number)
				s.gauge("accept_queue_limit", "Connections that can wait in the kernel; one more overflows.", float64(q.Limit), "listener", number)
			}
			s.counter("listener_connections_accepted_total", "Connections accepted by each listening socket.", float64(n.Accepted), "listener", number)
			s.gauge("listener_connections_open", "Connections accepted by each listening socket and not yet closed.", float64(n.Open), "listener", number)
		}
	})
}

// WatchProcesses adds the number of processes that serve now, and the number that were started
// in place of one that ended.
func (m *Metrics) WatchProcesses(read func() (serving int, restarts uint64)) {
	m.read(func(s scrape) {
		serving, restarts := read()
		s.gauge("processes", "Processes that serve.", float64(serving))
		s.counter("process_restarts_total", "Processes started in place of one that ended.", float64(restarts))
	})
}

// machine reports the times in which the machine kept the server from running.
func machine(s scrape) {
	read := func(name string) string {
		text, _ := os.ReadFile("/" + name) // no file, no figure
		return string(text)
	}
	s.counter("cpu_throttled_seconds_total", "Time for which a CPU limit (cgroup) stopped the server, summed over CPUs; 0 also where the kernel does not tell it.",
		cgroup.Throttled(read).Seconds())
	if fs, err := procfs.NewDefaultFS(); err == nil {
		if stat, err := fs.Stat(); err == nil {
			s.counter("host_steal_seconds_total", "CPU time that the hypervisor gave to others since the machine started, summed over CPUs.", stat.CPUTotal.Steal)
		}
	}
}

// switches tells the process's context switches (getrusage(2)).
func switches(s scrape) {
	const name, help = "context_switches_total", "Times a thread of the process gave its CPU up (voluntary) or lost it (involuntary)."
	var use unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &use) == nil {
		s.counter(name, help, float64(use.Nvcsw), "kind", "voluntary")
		s.counter(name, help, float64(use.Nivcsw), "kind", "involuntary")
	}
}

// WatchOverflows adds the number of attempts to connect that found an accept queue full since this call. The kernel
// counts them for the whole network namespace, so overflows of other servers are included.
func (m *Metrics) WatchOverflows() {
	before, ok := listenOverflows()
	if !ok {
		return
	}
	m.read(func(s scrape) {
		now, _ := listenOverflows()
		// A failed reading returns 0, and the counter then shows 0, not a negative number.
		s.counter("listen_overflows_total", "Attempts to connect (repeats included) that found an accept queue of this network namespace full, since the start.",
			max(now, before)-before)
	})
}

// listenOverflows returns the kernel's counter; ok is false where the kernel does not report it, as off
// Linux.
func listenOverflows() (n float64, ok bool) {
	self, err := procfs.Self()
	if err != nil {
		return 0, false
	}
	net, err := self.Netstat()
	if err != nil || net.ListenOverflows == nil {
		return 0, false
	}
	return *net.ListenOverflows, true
}

// phases observes the phases of requests. It does so in a scrape and not while requests are
// served: each scrape reads the stamps that the timeline has gained since the last.
//
// A phase is an interval between two stamps of the server. The parts of a request that begin or end
// at the client need the client's stamps, so only the measuring half can compute them.
type phases struct {
	ring *timeline.Ring
	vec  *prometheus.HistogramVec

	mu         sync.Mutex
	seen, lost uint64
}

// WatchTimeline adds the phases of the requests in ring.
func (m *Metrics) WatchTimeline(ring *timeline.Ring) {
	p := &phases{ring: ring}
	p.vec = prometheus.NewHistogramVec(m.histogram("schedlab_request_phase_seconds",
		"Where the time of stamped requests went in the server. ingress: in the socket, unread (with --stamps full); queue: in the model's queue, by the request itself or, where connections or bursts wait, before the first request of each; handover: taken from it and not begun; service: in the handler; finish: from there to the write."),
		[]string{"phase"})
	m.read(func(s scrape) {
		lost := p.catchUp()
		p.vec.Collect(s.ch)
		s.counter("timeline_lost_total", "Stamped requests missing from the phases: their stamps were overwritten before anybody looked; raise --timeline or scrape more often.", float64(lost))
	})
}

// catchUp observes the requests that were stamped since the last scrape, and returns the number of
// requests that were lost so far. It holds a lock, because a scrape and a Snapshot may run at the same
// time.
func (p *phases) catchUp() (lost uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	stamps, seen, missed := p.ring.Since(p.seen)
	p.seen, p.lost = seen, p.lost+missed
	phase := p.vec.WithLabelValues
	ingress, queue, handover, service, finish := phase("ingress"), phase("queue"), phase("handover"), phase("service"), phase("finish")
	for _, s := range stamps {
		if s.Received > 0 {
			observe(ingress, s.Unread(), s.Read)
		}
		if s.Dequeue > 0 {
			observe(queue, s.Enqueue, s.Dequeue)
			// Otherwise the connection was queued, and not the request: after its wait came the
			// read, which is no hand-over.
			if s.Dequeue > s.Read {
				observe(handover, s.Dequeue, s.Begin)
			}
		}
		observe(service, s.Begin, s.End)
		observe(finish, s.End, s.Write)
	}
	return p.lost
}

// observe observes the time between two stamps, which are nanoseconds.
func observe(o prometheus.Observer, from, to int64) { o.Observe(time.Duration(to - from).Seconds()) }
