package metrics

// WatchProcesses adds how many processes serve now, and how many were started in
// place of one that ended.
func (m *Metrics) WatchProcesses(read func() (serving int, restarts uint64)) {
	processes := m.gauge("processes", "Processes that serve.")
	restarts := m.counter("process_restarts_total", "Processes started in place of one that ended.")
	m.register.MustRegister(reading{[]series{processes, restarts}, func(tell func(series, float64, ...string)) {
		n, again := read()
		tell(processes, float64(n))
		tell(restarts, float64(again))
	}})
}
