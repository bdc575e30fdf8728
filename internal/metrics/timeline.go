package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"schedlab/internal/timeline"
)

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
