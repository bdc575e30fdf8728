package main

import (
	"fmt"
	"math"
	"net/http"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// The names of the metrics.
const (
	lateName = "relay_late_seconds"
	cpuName  = "relay_cpu_seconds_total"
)

// A lateness counts by how much chunks had their turn after they were due. It is safe for concurrent use.
type lateness struct {
	registry *prometheus.Registry
	late     prometheus.Histogram
	delay    time.Duration
	realtime bool
}

// newLateness returns a lateness without chunks. realtime: the relay runs before all that is not real-time.
func newLateness(delay time.Duration, realtime bool) *lateness {
	l := &lateness{registry: prometheus.NewRegistry(), delay: delay, realtime: realtime}
	l.late = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: lateName, Help: "From when a chunk was due, its delay after it was read, until its turn to be handed on.",
		Buckets: prometheus.ExponentialBuckets(1e-6, 2, 20), // 1 µs to half a second
	})
	gauge := func(name, help string, value float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value })
	}
	priority := 0.
	if realtime {
		priority = 1
	}
	l.registry.MustRegister(l.late,
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: cpuName, Help: "CPU time of the relay, which is no part of the server's."}, cpuSeconds),
		gauge("relay_delay_seconds", "The delay of each direction.", delay.Seconds()),
		gauge("relay_realtime", "1 if the relay has real-time priority (SCHED_FIFO).", priority))
	return l
}

// cpuSeconds returns the CPU time of this process; NaN when the system does not tell.
func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return math.NaN()
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// observe counts a chunk.
func (l *lateness) observe(late time.Duration) { l.late.Observe(late.Seconds()) }

// page serves the metrics under /metrics.
func (l *lateness) page() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(l.registry, promhttp.HandlerOpts{}))
	return mux
}

// summary tells in a line what was counted.
func (l *lateness) summary() string {
	var m dto.Metric
	if err := l.late.Write(&m); err != nil {
		return err.Error()
	}
	priority := "without real-time priority"
	if l.realtime {
		priority = "with real-time priority"
	}
	c := countsOf(m.GetHistogram())
	return fmt.Sprintf("%d chunks, %v each way, %s: late by %s at p50, %s at p99, %s at most; %.3f s of CPU time",
		c.total(), l.delay, priority, c.within(.5), c.within(.99), c.within(1), cpuSeconds())
}
