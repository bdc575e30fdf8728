package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/prometheus/procfs"

	"schedlab/internal/cgroup"
	"schedlab/internal/record"
)

// A Reading holds the values of the machine's clocks and counters at one moment, or their change
// between two moments. Times are in seconds. A value is negative where the kernel does not tell it.
//
// readClocks makes one, Since the change between two. A value falls only by rounding, or because a
// process or thread has ended and took its count along.
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
		Throttled: cgroup.Throttled(fromRoot).Seconds(),
		overflows: listenOverflows(),
	}
	r.Idle, r.stolen, r.Steal = cpuTimes(cpus)
	r.voluntary, r.involuntary = switches(pid)
	return r
}

// Since returns the change from an earlier reading to r. If either value is unknown, so is the change.
func (r Reading) Since(earlier Reading) Reading {
	// Rounding may make a time fall a little; that counts as no change.
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
			// A CPU of the server is missing, for example because it was taken offline.
			return -1, -1, stat.CPUTotal.Steal
		}
		idle, stolen = idle+t.Idle+t.Iowait, stolen+t.Steal
	}
	return idle, stolen, stat.CPUTotal.Steal
}

// fromRoot reads a file by its path without the leading slash.
func fromRoot(name string) string { return readFile("/" + name) }

// mostThreads is the largest number of threads for which context switches are read. Each costs some
// 20 µs of the load's CPU, a fifth of the time in which procfs parses the whole file. For a server
// with more threads, the counts are unknown.
const mostThreads = 128

// switches returns the context switches of all threads of a process and its children: voluntary
// ones, when a thread waited, and involuntary ones, when a thread was preempted. Both are negative
// when they are unknown. The counts of ended threads are lost.
func switches(pid int) (voluntary, involuntary float64) {
	if pid <= 0 {
		return -1, -1
	}
	threads, buf := 0, make([]byte, 8<<10)
	for _, p := range Family(pid) {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", p))
		if err != nil {
			continue // it has ended
		}
		if threads += len(tasks); threads > mostThreads {
			return -1, -1
		}
		// The counts are at the end of a thread's status, and the file is shorter than buf.
		for _, t := range tasks {
			v, i := threadSwitches(head(fmt.Sprintf("/proc/%d/task/%s/status", p, t.Name()), buf))
			voluntary, involuntary = voluntary+v, involuntary+i
		}
	}
	if voluntary == 0 { // every thread waits at some time, so this kernel does not count
		return -1, -1
	}
	return voluntary, involuntary
}

// head returns the beginning of a file, as much as fits into buf; nil if the file cannot be opened.
func head(name string, buf []byte) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	n, _ := f.Read(buf)
	return buf[:n]
}

// threadSwitches returns the counts in the last two lines of a thread's status, 0 if it has ended.
func threadSwitches(status []byte) (voluntary, involuntary float64) {
	_, counts, _ := bytes.Cut(status, []byte("\nvoluntary_ctxt_switches:"))
	fields := bytes.Fields(counts)
	if len(fields) < 3 {
		return 0, 0
	}
	voluntary, _ = strconv.ParseFloat(string(fields[0]), 64)
	involuntary, _ = strconv.ParseFloat(string(fields[2]), 64)
	return voluntary, involuntary
}

// listenOverflows returns how many connections of this network namespace (the host's, or the
// container's) found an accept queue full; negative when unknown.
func listenOverflows() float64 {
	self, err := procfs.Self()
	if err != nil {
		return -1
	}
	net, err := self.Netstat()
	if err != nil || net.ListenOverflows == nil {
		return -1
	}
	return *net.ListenOverflows
}

// Kernel returns the kernel's counts of a change between two readings.
func (r Reading) Kernel() *record.Kernel {
	return &record.Kernel{Voluntary: r.voluntary, Involuntary: r.involuntary, ListenOverflows: r.overflows}
}
