package metrics

import (
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// watchSwitches adds the process's context switches (getrusage(2)).
func (m *Metrics) watchSwitches() {
	const name, help = "context_switches_total", "Times a thread of the process gave its CPU up (voluntary) or lost it (involuntary)."
	m.read(func(s scrape) {
		var use unix.Rusage
		if unix.Getrusage(unix.RUSAGE_SELF, &use) == nil {
			s.counter(name, help, float64(use.Nvcsw), "kind", "voluntary")
			s.counter(name, help, float64(use.Nivcsw), "kind", "involuntary")
		}
	})
}

// WatchOverflows adds the number of overflows of accept queues since this call. The kernel
// counts them for the whole network namespace, so overflows of other servers are included.
func (m *Metrics) WatchOverflows() {
	before, ok := listenOverflows()
	if !ok {
		return
	}
	m.read(func(s scrape) {
		now, _ := listenOverflows()
		// A failed reading returns 0, and the counter then shows 0, not a negative number.
		s.counter("listen_overflows_total", "Connections the kernel turned away because an accept queue of this network namespace was full, since the start.",
			max(now, before)-before)
	})
}

// listenOverflows returns the kernel's counter; ok is false where the kernel does not report it.
func listenOverflows() (n float64, ok bool) {
	self, err := procfs.Self()
	if err != nil {
		return 0, false
	}
	net, err := self.Netstat()
	if err != nil || net.ListenOverflows == nil {
		return 0, false
	}
	return *net.ListenOverflows, true
}
