package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// Limits on the CPU time that other programs may take of the CPUs in use, in CPUs.
const (
	// Above someForeign the check warns, above muchForeign it is bad. mostNamed is how many
	// programs it names.
	someForeign = .05
	muchForeign = .25
	mostNamed   = 5
)

// tick is the resolution of the CPU times that Linux shows to user space: USER_HZ is 100.
const tick = 10 * time.Millisecond

// others looks for programs other than this one on the CPUs in use. A program counts with the CPU
// on which it ran last. The load average is only told: it covers all CPUs.
func (m *Machine) others() seen {
	u := m.Usage
	if u.Interval == 0 {
		return untold(nil)
	}
	used := m.used()
	// A ratio of less than 2.5 ticks cannot be told from 0.
	least := max(someForeign, 2.5*float64(tick)/float64(u.Interval))
	sum := 0.0
	var found []record.Fact
	var pids []string
	for _, p := range u.Others {
		if len(used) > 0 && !slices.Contains(used, p.CPU) {
			continue
		}
		sum += p.CPUs
		// The list begins with the busiest. A program that takes a trifle is not worth a name.
		if len(pids) < mostNamed && p.CPUs > someForeign/mostNamed {
			pids = append(pids, strconv.Itoa(p.PID))
			found = append(found, record.Fact{
				Code: programNow, Names: record.Names{"program": p.Name},
				Values: record.Values{"pid": float64(p.PID), "share": p.CPUs, "cpu": float64(p.CPU)},
			})
		}
	}
	if sum <= least { // no program is in the way; if sum is larger and pids is empty, many small programs run
		pids = nil
	}
	// Programs of another container, or of the host, show only as CPU time that no visible program
	// used.
	if u.Unseen > muchForeign {
		found = append(found, record.Fact{Code: unseenNow, Values: record.Values{"cpus": u.Unseen}})
		sum += u.Unseen
	}
	if average, _, ok := strings.Cut(m.text("proc/loadavg"), " "); ok {
		found = append(found, record.Fact{Code: loadAverage, Names: record.Names{"average": average}})
	}
	return fine(othersNow, record.Values{"watched": u.Interval.Seconds()}, record.Names{"pids": strings.Join(pids, " ")}, found...).
		graded(sum > muchForeign, sum > least)
}

// Limits on the ratio of the CPUs' time that the hypervisor gives to others.
const (
	leastSteal = .0005 // the least that is printed as more than 0.0 %
	someSteal  = .01
	muchSteal  = .10
)

// steal judges the ratio of CPU time that the hypervisor took.
func (m *Machine) steal() seen {
	if m.Usage.Interval == 0 {
		return untold(nil)
	}
	return fine(stealNow, record.Values{"share": m.Usage.Steal, "watched": m.Usage.Interval.Seconds()}, nil).
		graded(m.Usage.Steal > muchSteal, m.Usage.Steal > someSteal)
}

// Limits on the percentage of the last ten seconds in which some task waited.
const (
	// Waiting for a CPU is common on a machine in use; waiting for memory means that the kernel is
	// short of it.
	cpuPressure    = 20.0
	memoryPressure = 1.0
)

// pressure warns if tasks waited for CPU or memory in the last ten seconds (pressure stall
// information, Documentation/accounting/psi.rst of the Linux kernel).
func (m *Machine) pressure() seen {
	cpu, ok := pressed(m.text("proc/pressure/cpu"))
	memory, ok2 := pressed(m.text("proc/pressure/memory"))
	if !ok || !ok2 {
		return untold(nil)
	}
	values := record.Values{"cpu": cpu / 100, "memory": memory / 100, "short_of_memory": float64(stats.Count(memory > memoryPressure))}
	return fine(pressure, values, nil).graded(false, memory > memoryPressure || cpu > cpuPressure)
}

// pressed returns avg10, in percent, of the line "some avg10=0.00 avg60=...".
func pressed(text string) (percent float64, ok bool) {
	for line := range strings.Lines(text) {
		n, err := fmt.Sscanf(line, "some avg10=%f", &percent)
		if n == 1 && err == nil {
			return percent, true
		}
	}
	return 0, false
}
