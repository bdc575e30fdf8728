package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/prometheus/procfs"

	"schedlab/internal/record"
)

// mostThreads is the largest number of threads for which context switches are read. Each costs some
// 20 µs of the load's CPU. For a server with more threads, the counts are unknown.
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
