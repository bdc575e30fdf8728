package experiment

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/cgroup"
	"schedlab/internal/record"
)

// A reading is the state of the machine's clocks at one moment. Seconds;
// negative where the kernel does not tell.
type reading struct {
	at        time.Time
	server    float64 // CPU time of the server process and its children
	runWait   float64 // time its threads waited for a CPU
	idle      float64 // time the server's CPUs were idle, summed
	stolen    float64 // time the hypervisor took of the server's CPUs, summed
	load      float64 // CPU time of this process
	steal     float64 // time the hypervisor gave to others, over all CPUs
	throttled float64 // time that CPU limits held this process's groups back
	pressure  float64 // time something on this host had to wait for a CPU

	// spanServer and spanLoad are the change of server and load between the very readings
	// that idle is from, where the two themselves are from the window's ends.
	spanServer, spanLoad float64

	// Counts: the server's context switches, and connections of the whole host.
	voluntary, involuntary float64
	overflows, drops       float64
}

// unread is a reading of nothing.
func unread() reading {
	return reading{
		spanServer: -1, spanLoad: -1, server: -1, runWait: -1, idle: -1, stolen: -1, load: -1, steal: -1, throttled: -1, pressure: -1,
		voluntary: -1, involuntary: -1, overflows: -1, drops: -1,
	}
}

func readClocks(pid int, cpus record.CPUs) reading {
	r := reading{
		at:        time.Now(),
		server:    familyCPU(pid),
		runWait:   overFamily(pid, runWait),
		idle:      cpuFieldsSum(cpus, idleField, iowaitField),
		stolen:    cpuFieldsSum(cpus, stealField),
		load:      processCPU(os.Getpid()),
		steal:     steal(),
		throttled: throttled(),
		pressure:  pressure(),
	}
	r.overflows, r.drops = listenCounts()
	r.voluntary, r.involuntary = switches(pid)
	return r
}

// since is the change from an earlier reading; unknown stays unknown.
func (r reading) since(earlier reading) reading {
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
	if r.server < earlier.server-backwards {
		r.server = -1 // processes ended that nobody waited for
	}
	return reading{
		server:    diff(r.server, earlier.server),
		runWait:   diff(r.runWait, earlier.runWait),
		idle:      diff(r.idle, earlier.idle),
		stolen:    diff(r.stolen, earlier.stolen),
		load:      diff(r.load, earlier.load),
		steal:     diff(r.steal, earlier.steal),
		throttled: diff(r.throttled, earlier.throttled),
		pressure:  diff(r.pressure, earlier.pressure),

		voluntary: counted(r.voluntary, earlier.voluntary), involuntary: counted(r.involuntary, earlier.involuntary),
		overflows: counted(r.overflows, earlier.overflows), drops: counted(r.drops, earlier.drops),
	}
}

// runWait sums the second field of every thread's schedstat. Threads that have
// ended take theirs along; Go keeps its threads.
func runWait(pid int) float64 {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(files) == 0 {
		return -1
	}
	var sum time.Duration
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if fields := bytes.Fields(data); len(fields) == 3 {
			ns, err := strconv.ParseInt(string(fields[1]), 10, 64)
			if err == nil {
				sum += time.Duration(ns)
			}
		}
	}
	return sum.Seconds()
}

// userHZ is the unit of /proc/stat, fixed at 100 for user space on Linux.
const userHZ = 100

func steal() float64 {
	for l := range strings.Lines(read("/proc/stat")) {
		if ticks, ok := cpuTicks(l, "cpu"); ok {
			return ticks[stealField] / userHZ
		}
	}
	return -1
}

// cpuFieldsSum sums fields of /proc/stat over a set of CPUs; -1 where they are not told.
func cpuFieldsSum(cpus record.CPUs, which ...int) float64 {
	sum, found := 0.0, 0
	for l := range strings.Lines(read("/proc/stat")) {
		name, _, _ := strings.Cut(l, " ")
		n, err := strconv.Atoi(strings.TrimPrefix(name, "cpu"))
		if err != nil || !slices.Contains(cpus, n) {
			continue
		}
		if ticks, ok := cpuTicks(l, name); ok {
			for _, field := range which {
				sum += ticks[field] / userHZ
			}
			found++
		}
	}
	if found < len(cpus) {
		return -1
	}
	return sum
}

// Fields of a cpu line in /proc/stat: user nice system idle iowait irq softirq steal.
const (
	idleField   = 3
	iowaitField = 4
	stealField  = 7
	cpuFields   = 8
)

func cpuTicks(line, name string) (ticks [cpuFields]float64, ok bool) {
	fields := strings.Fields(line)
	if len(fields) <= cpuFields || fields[0] != name {
		return ticks, false
	}
	for i := range ticks {
		v, err := strconv.ParseFloat(fields[i+1], 64)
		if err != nil {
			return ticks, false
		}
		ticks[i] = v
	}
	return ticks, true
}

// throttled reads how long the CPU limits of this process's control groups have held
// them back, those above its own included; 0 without a limit that the kernel tells of.
func throttled() float64 {
	return cgroup.Throttled(cgroup.CPU(fromRoot), fromRoot).Seconds()
}

// fromRoot reads a file named without the root's slash.
func fromRoot(name string) string { return read("/" + name) }
