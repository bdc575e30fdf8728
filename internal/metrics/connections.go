package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"schedlab/internal/model"
)

// connections collects a ledger's counters in one reading, so that
// accepted = done + rejected + dropped + open holds in every scrape.
type connections struct {
	read                                              func() model.Counts
	accepted, done, gaveUp, rejected, dropped, opened *prometheus.Desc
}

func newConnections(labels prometheus.Labels, read func() model.Counts) *connections {
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("schedlab_connections_"+name, help, variable, labels)
	}
	return &connections{
		read:     read,
		accepted: desc("accepted_total", "Connections accepted from the kernel."),
		done:     desc("done_total", "Connections served and closed, those closed idle included."),
		gaveUp:   desc("gave_up_total", "Connections whose client had closed them, or their sending side, when a worker took them, after 10 ms in the queue or more; counted as done, too."),
		rejected: desc("rejected_total", "Connections answered with a refusal and closed.", "reason"),
		dropped:  desc("dropped_total", "Connections closed without an answer; drain_timeout: with a request under way.", "reason"),
		opened:   desc("open", "Connections accepted and not yet closed, counted on their own."),
	}
}

func (c *connections) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.accepted, c.done, c.gaveUp, c.rejected, c.dropped, c.opened} {
		ch <- d
	}
}

func (c *connections) Collect(ch chan<- prometheus.Metric) {
	n := c.read()
	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	counter(c.accepted, n.Accepted)
	counter(c.done, n.Done)
	counter(c.gaveUp, n.GaveUp)
	for _, r := range model.Reasons() {
		counter(c.rejected, n.Rejected[r], r.String())
		counter(c.dropped, n.Dropped[r], r.String())
	}
	ch <- prometheus.MustNewConstMetric(c.opened, prometheus.GaugeValue, float64(n.Open))
}

// requestCounts collects what a model counts of its requests beside the
// answered ones.
type requestCounts struct {
	read                                            func() model.RequestCounts
	started, aborted, gaveUp, panics, shed, refused *prometheus.Desc
}

func newRequestCounts(labels prometheus.Labels, read func() model.RequestCounts) *requestCounts {
	desc := func(name, help string, variable ...string) *prometheus.Desc {
		return prometheus.NewDesc("schedlab_"+name, help, variable, labels)
	}
	return &requestCounts{
		read:    read,
		started: desc("requests_started_total", "Requests that reached the model; less the answered and the aborted ones, those in flight."),
		aborted: desc("requests_aborted_total", "Requests whose connection was cut before they were answered."),
		gaveUp:  desc("requests_gave_up_total", "Requests whose client had closed the connection, or its sending side, when a worker took them, after 10 ms in the queue or more; they were run all the same."),
		panics:  desc("handler_panics_total", "Handler panics, each answered with a 500."),
		shed:    desc("sheds_total", "Requests on live connections that were not run: answered with a refusal or, dropped, not at all.", "reason"),
		refused: desc("requests_refused_total", "Requests answered before they reached a handler, malformed, too large or too slow; not among the started. A head that stops half-way is answered 408, but by net/http 400 within a line and not at all after one.", "code"),
	}
}

func (c *requestCounts) Describe(ch chan<- *prometheus.Desc) {
	ch <- c.started
	ch <- c.aborted
	ch <- c.gaveUp
	ch <- c.panics
	ch <- c.shed
	ch <- c.refused
}

func (c *requestCounts) Collect(ch chan<- prometheus.Metric) {
	n := c.read()
	ch <- prometheus.MustNewConstMetric(c.started, prometheus.CounterValue, float64(n.Started))
	ch <- prometheus.MustNewConstMetric(c.aborted, prometheus.CounterValue, float64(n.Aborted))
	ch <- prometheus.MustNewConstMetric(c.gaveUp, prometheus.CounterValue, float64(n.GaveUp))
	ch <- prometheus.MustNewConstMetric(c.panics, prometheus.CounterValue, float64(n.Panics))
	for _, r := range model.Reasons() {
		ch <- prometheus.MustNewConstMetric(c.shed, prometheus.CounterValue, float64(n.Shed[r]), r.String())
	}
	for i, status := range model.RefusalCodes() {
		code := "other"
		if status != 0 {
			code = strconv.Itoa(status)
		}
		ch <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(n.Refused[i]), code)
	}
}
