package host

import (
	"os"
	"time"

	"github.com/prometheus/procfs"

	"schedlab/internal/cgroup"
	"schedlab/internal/record"
)

// A Reading holds the values of the machine's clocks and counters at one moment, or their change
// between two moments. Times are in seconds. A value is negative where the kernel does not tell it.
type Reading struct {
	at        time.Time
	Server    float64 // CPU time of the server process and its children
	Idle      float64 // idle time of the server's CPUs, summed
	stolen    float64 // steal time of the server's CPUs, summed
	Load      float64 // CPU time of this process
	Steal     float64 // steal time of all CPUs, summed
	Throttled float64 // time in which CPU limits throttled this process's control groups

	// spanServer and spanLoad are the changes of Server and Load between the same two moments as the
	// change of Idle. Server and Load themselves are read exactly at the window's ends.
	spanServer, spanLoad float64

	// Counts: the server's context switches, and the connections of the whole host that found an
	// accept queue full.
	voluntary, involuntary, overflows float64
}

// unread returns a reading in which every value is unknown.
func unread() Reading {
	return Reading{
		spanServer: -1, spanLoad: -1, Server: -1, Idle: -1, stolen: -1, Load: -1, Steal: -1, Throttled: -1,
		voluntary: -1, involuntary: -1, overflows: -1,
	}
}

// readClocks reads all clocks of the server pid, of its CPUs, and of this process.
func readClocks(pid int, cpus record.CPUs) Reading {
	r := Reading{
		at:        time.Now(),
		Server:    FamilyCPU(pid),
		Load:      ProcessCPU(os.Getpid()),
		Throttled: throttled(),
		overflows: listenOverflows(),
	}
	r.Idle, r.stolen, r.Steal = cpuTimes(cpus)
	r.voluntary, r.involuntary = switches(pid)
	return r
}

// Since returns the change from an earlier reading to r. If either value is unknown, so is the change.
func (r Reading) Since(earlier Reading) Reading {
	diff := func(now, then float64) float64 {
		if now < 0 || then < 0 {
			return -1
		}
		return max(0, now-then)
	}
	counted := func(now, then float64) float64 {
		if now < then { // threads ended, and their counts are gone
			return -1
		}
		return diff(now, then)
	}
	if r.Server < earlier.Server-backwards {
		r.Server = -1 // child processes ended, and no parent waited for them
	}
	return Reading{
		Server:    diff(r.Server, earlier.Server),
		Idle:      diff(r.Idle, earlier.Idle),
		stolen:    diff(r.stolen, earlier.stolen),
		Load:      diff(r.Load, earlier.Load),
		Steal:     diff(r.Steal, earlier.Steal),
		Throttled: diff(r.Throttled, earlier.Throttled),

		voluntary: counted(r.voluntary, earlier.voluntary), involuntary: counted(r.involuntary, earlier.involuntary),
		overflows: counted(r.overflows, earlier.overflows),
	}
}

// userHZ is the number of clock ticks per second in /proc/stat. Linux fixes it at 100 for user space.
const userHZ = 100

// cpuTimes returns the idle and steal time of the server's CPUs, and the steal time of all CPUs, each
// summed over CPUs, in seconds since boot. A value is negative where the kernel does not tell it.
func cpuTimes(server record.CPUs) (idle, stolen, steal float64) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return -1, -1, -1
	}
	stat, err := fs.Stat()
	if err != nil {
		return -1, -1, -1
	}
	for _, cpu := range server {
		t, ok := stat.CPU[int64(cpu)]
		if !ok {
			return -1, -1, stat.CPUTotal.Steal
		}
		idle, stolen = idle+t.Idle+t.Iowait, stolen+t.Steal
	}
	return idle, stolen, stat.CPUTotal.Steal
}

// throttled returns the seconds in which CPU limits throttled this process's control groups,
// including the groups above its own. It returns 0 if the kernel shows no limit.
func throttled() float64 {
	return cgroup.Throttled(cgroup.CPU(fromRoot), fromRoot).Seconds()
}

// fromRoot reads a file by its path without the leading slash.
func fromRoot(name string) string { return ReadFile("/" + name) }
