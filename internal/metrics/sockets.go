package metrics

import (
	"strconv"

	"schedlab/internal/model"
)

// WatchSockets adds the accept queues of ln's sockets and their connections,
// which shows how evenly the kernel deals them out.
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
