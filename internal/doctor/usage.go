package doctor

import (
	"cmp"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/stat and /proc/PID/stat, fixed at 10 ms for user space
// on Linux.
const tick = 10 * time.Millisecond

// A Snapshot is the CPU time that was used up to one moment.
type Snapshot struct {
	at    time.Time
	cpus  []int // that were looked at; none: all
	total cpuTicks
	procs map[int]process // by pid
}

// cpuTicks are those of the CPUs looked at together.
type cpuTicks struct{ all, idle, steal uint64 }

type process struct {
	name   string
	parent int
	cpu    int // it ran on last
	ticks  uint64
	began  string // with the pid it tells one process from another
}

// Snap reads the clocks of the machine below root, of these CPUs or of all. It takes some milliseconds
// where there are hundreds of processes; where there are no such files the usage
// is unknown.
func Snap(root fs.FS, cpus ...int) Snapshot {
	m := Machine{Root: root}
	s := Snapshot{at: time.Now(), cpus: cpus, procs: map[int]process{}}
	names := []string{"cpu"}
	if len(cpus) > 0 {
		names = nil
	}
	for _, n := range cpus {
		names = append(names, "cpu"+strconv.Itoa(n))
	}
	for line := range strings.Lines(m.text("proc/stat")) {
		name, _, _ := strings.Cut(line, " ")
		if t, ok := parseCPU(line); ok && slices.Contains(names, name) { // zero where it is not told
			s.total.all, s.total.idle, s.total.steal = s.total.all+t.all, s.total.idle+t.idle, s.total.steal+t.steal
		}
	}
	entries, err := fs.ReadDir(root, "proc")
	if err != nil {
		return s
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := parseProcess(m.text("proc/" + e.Name() + "/stat")); ok {
			s.procs[pid] = p
		}
	}
	return s
}

// parseCPU reads a line like "cpu user nice system idle iowait irq softirq steal ...".
// Guests' time is in user's already.
func parseCPU(line string) (t cpuTicks, ok bool) {
	const idle, iowait, steal = 3, 4, 7
	fields := strings.Fields(line)
	if len(fields) <= steal+1 || !strings.HasPrefix(fields[0], "cpu") {
		return t, false
	}
	for i, f := range fields[1 : steal+2] {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return cpuTicks{}, false
		}
		t.all += n
		switch i {
		case idle, iowait:
			t.idle += n
		case steal:
			t.steal += n
		}
	}
	return t, true
}

// parseProcess reads /proc/PID/stat, see proc(5). A name may hold blanks and
// brackets, so the fields are counted from its end.
func parseProcess(stat string) (p process, ok bool) {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return p, false
	}
	const parent, user, system, began, cpu = 1, 11, 12, 19, 36
	fields := strings.Fields(stat[end+1:])
	if len(fields) <= cpu {
		return p, false
	}
	numbers := make([]uint64, 4)
	for i, at := range []int{parent, user, system, cpu} {
		n, err := strconv.ParseUint(fields[at], 10, 64)
		if err != nil {
			return p, false
		}
		numbers[i] = n
	}
	return process{stat[open+1 : end], int(numbers[0]), int(numbers[3]), numbers[1] + numbers[2], fields[began]}, true
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

// Since is the usage from an earlier snapshot to s, as seen by process self. It is
// zero where the machine does not tell.
func (s Snapshot) Since(earlier Snapshot, self int) Usage {
	since := func(now, then uint64) float64 { return float64(now - min(now, then)) }
	all, idle, steal := since(s.total.all, earlier.total.all), since(s.total.idle, earlier.total.idle), since(s.total.steal, earlier.total.steal)
	u := Usage{Interval: s.at.Sub(earlier.at)}
	if all == 0 || u.Interval <= 0 || len(s.procs) == 0 {
		return Usage{}
	}
	ticks := float64(u.Interval) / float64(tick)
	u.Steal, u.Unseen = steal/all, (all-idle-steal)/ticks
	for _, pid := range slices.Sorted(maps.Keys(s.procs)) {
		p := s.procs[pid]
		used := p.ticks
		if before, ok := earlier.procs[pid]; ok && before.began == p.began {
			used -= min(used, before.ticks)
		}
		if len(s.cpus) == 0 || slices.Contains(s.cpus, p.cpu) {
			u.Unseen -= float64(used) / ticks
		}
		if used > 0 && !s.descends(pid, self) {
			u.Others = append(u.Others, Program{pid, p.name, p.cpu, float64(used) / ticks})
		}
	}
	slices.SortStableFunc(u.Others, func(a, b Program) int { return cmp.Compare(b.CPUs, a.CPUs) })
	return u
}

// descends reports whether pid is ancestor, or comes from it.
func (s Snapshot) descends(pid, ancestor int) bool {
	for range len(s.procs) {
		if pid == ancestor {
			return true
		}
		p, ok := s.procs[pid]
		if !ok {
			return false
		}
		pid = p.parent
	}
	return false
}
