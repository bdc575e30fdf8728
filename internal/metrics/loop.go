package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// LoopLag registers the histogram of how long event loops kept others waiting,
// and returns what observes one lag, for a model to call. How many connections
// each loop has is told by listener: a loop has one of its own.
func (m *Metrics) LoopLag() func(time.Duration) {
	lag := prometheus.NewHistogram(m.histogram("schedlab_loop_lag_seconds",
		"Longest turn of an event loop in each 50 ms in which it had something to do: what came meanwhile waited as long."))
	m.register.MustRegister(lag)
	return func(d time.Duration) { lag.Observe(d.Seconds()) }
}
