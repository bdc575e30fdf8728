package host

import (
	"os"
	"time"

	"github.com/prometheus/procfs"

	"schedlab/internal/cgroup"
	"schedlab/internal/record"
)

// A Reading is the state of the machine's clocks at one moment. Seconds;
// negative where the kernel does not tell.
type Reading struct {
	at        time.Time
	Server    float64 // CPU time of the server process and its children
	Idle      float64 // time the server's CPUs were idle, summed
	stolen    float64 // time the hypervisor took of the server's CPUs, summed
	Load      float64 // CPU time of this process
	Steal     float64 // time the hypervisor gave to others, over all CPUs
	Throttled float64 // time that CPU limits held this process's groups back

	// spanServer and spanLoad are the change of server and load between the very readings
	// that idle is from, where the two themselves are from the window's ends.
	spanServer, spanLoad float64

	// Counts: the server's context switches, and connections of the whole host that found
	// an accept queue full.
	voluntary, involuntary, overflows float64
}

// unread is a reading of nothing.
func unread() Reading {
	return Reading{
		spanServer: -1, spanLoad: -1, Server: -1, Idle: -1, stolen: -1, Load: -1, Steal: -1, Throttled: -1,
		voluntary: -1, involuntary: -1, overflows: -1,
	}
}

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

// Since is the change from an earlier reading; unknown stays unknown.
func (r Reading) Since(earlier Reading) Reading {
	diff := func(now, then float64) float64 {
		if now < 0 || then < 0 {
			return -1
		}
		return max(0, now-then)
	}
	counted := func(now, then float64) float64 {
		if now < then { // threads ended, and took theirs along
			return -1
		}
		return diff(now, then)
	}
	if r.Server < earlier.Server-backwards {
		r.Server = -1 // processes ended that nobody waited for
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

// userHZ is the unit of /proc/stat, fixed at 100 for user space on Linux.
const userHZ = 100

// cpuTimes are how long the server's CPUs were idle and how long the hypervisor took them,
// summed, and how long it took any CPU; negative where the kernel does not tell.
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

// throttled reads how long the CPU limits of this process's control groups have held
// them back, those above its own included; 0 without a limit that the kernel tells of.
func throttled() float64 {
	return cgroup.Throttled(cgroup.CPU(fromRoot), fromRoot).Seconds()
}

// fromRoot reads a file named without the root's slash.
func fromRoot(name string) string { return ReadFile("/" + name) }
