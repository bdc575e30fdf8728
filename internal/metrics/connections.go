package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"schedlab/internal/model"
)

// A series is a metric whose value somebody else counts.
type series struct {
	*prometheus.Desc
	kind prometheus.ValueType
}

func (m *Metrics) counter(name, help string, labels ...string) series {
	return series{prometheus.NewDesc("schedlab_"+name, help, labels, m.labels), prometheus.CounterValue}
}

func (m *Metrics) gauge(name, help string, labels ...string) series {
	return series{prometheus.NewDesc("schedlab_"+name, help, labels, m.labels), prometheus.GaugeValue}
}

// A reading collects the series that one look at their counts gives.
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

// WatchConnections adds the connection counters, all read under one lock, so that
// accepted = done + rejected + dropped + open holds in every scrape, and what a model
// counts of its requests beside the answered ones.
func (m *Metrics) WatchConnections(counts func() model.Counts, requests func() model.RequestCounts) {
	accepted := m.counter("connections_accepted_total", "Connections accepted from the kernel.")
	done := m.counter("connections_done_total", "Connections served and closed, those closed idle included.")
	left := m.counter("connections_gave_up_total", "Connections whose client had closed them, or their sending side, when a worker took them, after 10 ms in the queue or more; counted as done, too.")
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
	gaveUp := m.counter("requests_gave_up_total", "Requests whose client had closed the connection, or its sending side, when a worker took them, after 10 ms in the queue or more; they were run all the same.")
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
