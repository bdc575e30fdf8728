package host

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"time"

	"schedlab/internal/record"
)

// A Snapshot is the CPU time that was used up to one moment.
type Snapshot struct {
	look look
	cpus record.CPUs // that were looked at; none: all
}

// Snap looks at these CPUs, or at all. It takes some milliseconds where there are hundreds
// of processes.
func Snap(cpus record.CPUs) Snapshot {
	l, _ := lookAtMachine() // nothing, where the machine does not tell
	return Snapshot{l, cpus}
}

// Usage is how the CPUs were used between two snapshots.
type Usage struct {
	Interval time.Duration // 0: not measured
	Steal    float64       // ratio of the time of the CPUs looked at
	// Others are the programs beside this one and its children, busiest first.
	Others []Program
	// Unseen is how many of those CPUs' time no program that is seen here used: programs of
	// other containers, or that began and ended meanwhile. It may be a little below 0.
	Unseen float64
}

// A Program is a process and the CPU time it took.
type Program struct {
	PID  int
	Name string
	CPU  int     // it ran on last
	CPUs float64 // it used: 1 is all the time of one
}

// Since is the usage from an earlier snapshot to s; zero where the machine does not tell.
func (s Snapshot) Since(earlier Snapshot) Usage { return s.since(earlier, os.Getpid()) }

func (s Snapshot) since(earlier Snapshot, self int) Usage {
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
