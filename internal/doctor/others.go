package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/host"
)

// Limits on what other programs may take of the CPUs in use, in CPUs.
const (
	someForeign = .05
	muchForeign = .25
	mostNamed   = 5
)

// tick is how far the kernel's clocks of CPU time tell, for user space on Linux.
const tick = 10 * time.Millisecond

// others looks for programs beside this one on the CPUs in use.
func (m *Machine) others() seen {
	u := m.Usage
	if u.Interval == 0 {
		return unknown("the CPU time of other programs is not told here")
	}
	used := m.used()
	// Below so many ticks a share cannot be told from none.
	least := max(someForeign, 2.5*float64(tick)/float64(u.Interval))
	sum := 0.0
	var busy []host.Program
	for _, p := range u.Others {
		if len(used) > 0 && !slices.Contains(used, p.CPU) {
			continue
		}
		sum += p.CPUs
		if len(busy) < mostNamed && p.CPUs > someForeign/mostNamed {
			busy = append(busy, p)
		}
	}
	var found []string
	for _, p := range busy {
		found = append(found, fmt.Sprintf("%s (pid %d) %.0f %% of CPU %d", p.Name, p.PID, 100*p.CPUs, p.CPU))
	}
	seenHere := sum > least
	if u.Unseen > muchForeign {
		found = append(found, fmt.Sprintf("%.1f CPUs busy with programs that are not seen from here", u.Unseen))
		sum += u.Unseen
	}
	if average, _, ok := strings.Cut(m.text("proc/loadavg"), " "); ok {
		found = append(found, "load average "+average)
	}
	s := fine("%s, over %v", strings.Join(found, ", "), u.Interval.Round(10*time.Millisecond))
	fix := "look for them on the host (top), and let them end or keep them off these CPUs (taskset, --cpuset-cpus)"
	if seenHere && len(busy) > 0 { // else they are many, and small
		var pids []string
		for _, p := range busy {
			pids = append(pids, strconv.Itoa(p.PID))
		}
		fix = fmt.Sprintf("let them end, or hold them meanwhile: kill -STOP %[1]s, and afterwards kill -CONT %[1]s", strings.Join(pids, " "))
	}
	return s.graded(sum > muchForeign, sum > least, fix)
}

// Limits on the share of the CPUs' time that the hypervisor gives to others.
const (
	someSteal = .01
	muchSteal = .10
)

func (m *Machine) steal() seen {
	if m.Usage.Interval == 0 {
		return unknown("steal is not told here")
	}
	s := fine("%.1f %% of the CPUs' time over %v", 100*m.Usage.Steal, m.Usage.Interval.Round(10*time.Millisecond))
	return s.graded(m.Usage.Steal > muchSteal, m.Usage.Steal > someSteal, "use a machine with CPUs of its own (a dedicated instance), or another hour")
}

// Limits on the share of the last ten seconds in which somebody waited, percent.
const (
	cpuPressure    = 20.0
	memoryPressure = 1.0
)

func (m *Machine) pressure() seen {
	cpu, ok := pressed(m.text("proc/pressure/cpu"))
	memory, ok2 := pressed(m.text("proc/pressure/memory"))
	if !ok || !ok2 {
		return unknown("pressure is not told here (a kernel of 4.20 or later with psi=1 does)")
	}
	s := fine("some task waited for a CPU in %.1f %% and for memory in %.1f %% of the time", cpu, memory)
	if memory > memoryPressure {
		return s.graded(false, true, "end programs that hold memory (ps -e -o pid,rss,comm --sort=-rss | head)")
	}
	return s.graded(false, cpu > cpuPressure, "let other programs end (see the check of other programs) and ask again after ten seconds")
}

// pressed reads avg10 of the line "some avg10=0.00 avg60=...".
func pressed(text string) (percent float64, ok bool) {
	for line := range strings.Lines(text) {
		n, err := fmt.Sscanf(line, "some avg10=%f", &percent)
		if n == 1 && err == nil {
			return percent, true
		}
	}
	return 0, false
}
