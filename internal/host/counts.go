package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/prometheus/procfs"

	"schedlab/internal/record"
)

// mostThreads bounds the threads whose context switches are read, some 20 µs each
// of the load's CPU: of servers with more they are not known.
const mostThreads = 128

// switches sums the context switches of the threads of a process and its children:
// those they made to wait for something, and those that took them off a CPU. Both
// are negative when not known. Threads that have ended take theirs along.
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
	if voluntary == 0 { // threads that never waited: the kernel does not count
		return -1, -1
	}
	return voluntary, involuntary
}

// head reads what of a file fits into buf; nothing of one that cannot be read.
func head(name string, buf []byte) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	n, _ := f.Read(buf)
	return buf[:n]
}

// threadSwitches are the last two lines of a thread's status; 0 where it has ended.
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

// listenOverflows is how many connections of this host, or of its own network in a
// container, found an accept queue full; negative when not known.
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

// Kernel is what the kernel counted between two readings.
func (r Reading) Kernel() *record.Kernel {
	return &record.Kernel{Voluntary: r.voluntary, Involuntary: r.involuntary, ListenOverflows: r.overflows}
}
