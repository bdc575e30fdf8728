package host

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"time"

	"schedlab/internal/record"
)

// A Snapshot holds the CPU times of CPUs and programs at one moment.
// Take two and ask the later one with Since. The zero Snapshot knows nothing.
type Snapshot struct {
	look look
	cpus record.CPUs // the CPUs of interest; none: all
}

// Snap returns a snapshot of cpus, or of all CPUs if cpus is empty. It takes some milliseconds on a
// machine with hundreds of processes.
func Snap(cpus record.CPUs) Snapshot {
	l, _ := lookAtMachine() // empty where the machine does not tell
	return Snapshot{l, cpus}
}

// Usage tells how the CPUs of interest were used between two snapshots.
type Usage struct {
	Interval time.Duration // 0: not measured
	Steal    float64       // ratio of the CPUs' time that the hypervisor took
	// Others are all programs but this one and its children, the busiest first.
	Others []Program
	// Unseen is the CPU time, in CPUs, that no visible program used. Programs of other containers used
	// it, or programs that began and ended in between. It may be a little below 0.
	Unseen float64
}

// A Program is a process with its CPU time.
type Program struct {
	PID  int
	Name string
	CPU  int     // CPU on which it ran last
	CPUs float64 // CPU time used, in CPUs: 1 is all the time of one CPU
}

// Since returns the usage from an earlier snapshot to s; the zero Usage where the machine does not tell.
func (s Snapshot) Since(earlier Snapshot) Usage { return s.since(earlier, os.Getpid()) }

// since is Since for a given process self.
func (s Snapshot) since(earlier Snapshot, self int) Usage {
	// The times of all three kinds together are the whole time of the CPUs of interest.
	looked := func(cpu int) bool { return len(s.cpus) == 0 || slices.Contains(s.cpus, cpu) }
	var busy, idle, steal float64
	for cpu, now := range s.look.cpus {
		if then := earlier.look.cpus[cpu]; looked(cpu) {
			busy += now.busy + now.irq + now.softirq - then.busy - then.irq - then.softirq
			idle += now.idle - then.idle
			steal += now.steal - then.steal
		}
	}
	span := s.look.at.Sub(earlier.look.at)
	if busy+idle+steal <= 0 || span <= 0 || len(s.look.programs) == 0 {
		return Usage{}
	}
	// Unseen begins with all busy time; each program's share is then taken off.
	u := Usage{Interval: span, Steal: max(0, steal) / (busy + idle + steal), Unseen: busy / span.Seconds()}
	for _, pid := range slices.Sorted(maps.Keys(s.look.programs)) {
		p := s.look.programs[pid]
		used := max(0, since(p, earlier.look.programs, pid)) / span.Seconds()
		if looked(p.cpu) {
			u.Unseen -= used
		}
		if used > 0 && !s.look.descends(pid, []int{self}) {
			u.Others = append(u.Others, Program{pid, p.name, p.cpu, used})
		}
	}
	slices.SortStableFunc(u.Others, func(a, b Program) int { return cmp.Compare(b.CPUs, a.CPUs) })
	return u
}
