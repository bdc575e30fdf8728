package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"schedlab/internal/model"
)

// sockets collects what is known of each listening socket: its accept queue in
// the kernel, and its connections.
type sockets struct {
	ln                           *model.Listener
	depth, limit, accepted, open *prometheus.Desc
}

// WatchSockets adds the accept queues of ln's sockets and their connections,
// which shows how evenly the kernel deals them out.
func (m *Metrics) WatchSockets(ln *model.Listener) {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("schedlab_"+name, help, []string{"listener"}, m.labels)
	}
	m.register.MustRegister(&sockets{
		ln:       ln,
		depth:    desc("accept_queue_depth", "Connections waiting in the kernel to be accepted."),
		limit:    desc("accept_queue_limit", "Connections that can wait in the kernel; one more overflows."),
		accepted: desc("listener_connections_accepted_total", "Connections accepted by each listening socket."),
		open:     desc("listener_connections_open", "Connections accepted by each listening socket and not yet closed."),
	})
}

func (s *sockets) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.depth, s.limit, s.accepted, s.open} {
		ch <- d
	}
}

func (s *sockets) Collect(ch chan<- prometheus.Metric) {
	for i, n := range s.ln.SocketCounts() {
		label := strconv.Itoa(i)
		if q, ok := s.ln.AcceptQueue(i); ok {
			ch <- prometheus.MustNewConstMetric(s.depth, prometheus.GaugeValue, float64(q.Waiting), label)
			ch <- prometheus.MustNewConstMetric(s.limit, prometheus.GaugeValue, float64(q.Limit), label)
		}
		ch <- prometheus.MustNewConstMetric(s.accepted, prometheus.CounterValue, float64(n.Accepted), label)
		ch <- prometheus.MustNewConstMetric(s.open, prometheus.GaugeValue, float64(n.Open), label)
	}
}
