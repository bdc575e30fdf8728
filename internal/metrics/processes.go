package metrics

import "github.com/prometheus/client_golang/prometheus"

// WatchProcesses adds how many processes serve now, and how many were started in
// place of one that ended.
func (m *Metrics) WatchProcesses(read func() (serving int, restarts uint64)) {
	m.register.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "schedlab_processes", Help: "Processes that serve.", ConstLabels: m.labels,
		}, func() float64 { n, _ := read(); return float64(n) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "schedlab_process_restarts_total", Help: "Processes started in place of one that ended.", ConstLabels: m.labels,
		}, func() float64 { _, n := read(); return float64(n) }),
	)
}
