package metrics

import (
	"bytes"
	"os"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"
)

// switches collects the process's context switches (getrusage(2)).
type switches struct{ desc *prometheus.Desc }

func (s switches) Describe(ch chan<- *prometheus.Desc) { ch <- s.desc }

func (s switches) Collect(ch chan<- prometheus.Metric) {
	var use unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &use) != nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(s.desc, prometheus.CounterValue, float64(use.Nvcsw), "voluntary")
	ch <- prometheus.MustNewConstMetric(s.desc, prometheus.CounterValue, float64(use.Nivcsw), "involuntary")
}

func (m *Metrics) watchSwitches() {
	m.register.MustRegister(switches{prometheus.NewDesc("schedlab_context_switches_total",
		"Times a thread of the process gave its CPU up (voluntary) or lost it (involuntary).", []string{"kind"}, m.labels)})
}

// WatchOverflows adds the accept queues' overflows since this call. The kernel
// counts them for the whole network namespace: another server's are among them.
func (m *Metrics) WatchOverflows() {
	before, ok := listenOverflows()
	if !ok {
		return
	}
	m.register.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name:        "schedlab_listen_overflows_total",
		Help:        "Connections the kernel turned away because an accept queue of this network namespace was full, since the start.",
		ConstLabels: m.labels,
	}, func() float64 {
		now, _ := listenOverflows()
		return float64(max(now, before) - before)
	}))
}

// listenOverflows reads ListenOverflows of the TcpExt lines, names above values
// (netstat_seq_show in net/ipv4/proc.c).
func listenOverflows() (n uint64, ok bool) {
	text, err := os.ReadFile("/proc/net/netstat")
	if err != nil {
		return 0, false
	}
	return parseOverflows(text)
}

func parseOverflows(text []byte) (n uint64, ok bool) {
	var names [][]byte
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) == 0 || string(fields[0]) != "TcpExt:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names {
			if string(name) == "ListenOverflows" && i < len(fields) {
				n, err := strconv.ParseUint(string(fields[i]), 10, 64)
				return n, err == nil
			}
		}
	}
	return 0, false
}
