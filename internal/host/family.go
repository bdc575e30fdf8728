package host

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"schedlab/internal/record"
)

// Family lists a process and all below it, parents first. Children that end
// meanwhile may be missing.
func Family(pid int) []int {
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		if err != nil {
			continue
		}
		for _, list := range lists {
			for field := range strings.FieldsSeq(ReadFile(list)) {
				if child, err := strconv.Atoi(field); err == nil && !slices.Contains(all, child) {
					all = append(all, child)
				}
			}
		}
	}
	return all
}

// FamilyCPU is the CPU time of a process and all below it, with that of the
// children they have waited for, so that it does not fall when one ends; negative
// when it is not known.
//
// Note: the kernel tells of ended children in hundredths of a second, of living
// ones in nanoseconds.
func FamilyCPU(pid int) float64 {
	if pid <= 0 {
		return -1
	}
	sum, steady := 0., false
	for tries := 0; tries < 8 && !steady; tries++ {
		sum, steady = addCPU(Family(pid))
	}
	return sum
}

// addCPU sums CPU times. It is steady if none of the processes ended meanwhile,
// which would count it twice or not at all.
func addCPU(pids []int) (sum float64, steady bool) {
	waited := make([]float64, len(pids))
	for i, pid := range pids {
		waited[i] = waitedCPU(pid)
	}
	steady = true
	for i, pid := range pids {
		own := ProcessCPU(pid)
		if i == 0 && own < 0 {
			return own, true
		}
		steady = steady && own >= 0
		sum += max(0, own)
	}
	for i, pid := range pids {
		after := waitedCPU(pid)
		steady = steady && after == waited[i]
		sum += after
	}
	return sum, steady
}

// waitedCPU is the CPU time of the children that a process has waited for.
func waitedCPU(pid int) (sum float64) {
	fields := statFields(pid)
	if len(fields) <= statChildSystem {
		return 0
	}
	for _, i := range []int{statChildUser, statChildSystem} {
		if ticks, err := strconv.ParseFloat(fields[i], 64); err == nil {
			sum += ticks / userHZ
		}
	}
	return sum
}

// backwards is how far, in seconds, rounding may let a family's CPU time fall.
const backwards = 3. / userHZ

// Places in statFields: ppid, cutime and cstime of proc_pid_stat(5).
const (
	statParent      = 1
	statChildUser   = 13
	statChildSystem = 14
)

// statFields are the fields of /proc/PID/stat after the name, nil where it
// cannot be read.
func statFields(pid int) []string {
	text := ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	i := strings.LastIndexByte(text, ')') // a name may hold blanks and brackets
	return strings.Fields(text[i+1:])
}

// Parent is a process's parent, 0 when it is not known.
func Parent(pid int) int {
	fields := statFields(pid)
	if len(fields) <= statParent {
		return 0
	}
	ppid, err := strconv.Atoi(fields[statParent])
	if err != nil {
		return 0
	}
	return ppid
}

// footprint is what a server and its children hold at this moment; nil when it is
// not known.
func footprint(pid int) *record.Footprint {
	if pid <= 0 {
		return nil
	}
	f := &record.Footprint{}
	var resident int64
	for _, id := range Family(pid) {
		p, err := procfs.NewProc(id)
		if err != nil {
			continue // it has ended
		}
		status, err := p.NewStatus()
		stat, err2 := p.Stat()
		if err != nil || err2 != nil || status.VmRSS == 0 {
			continue
		}
		resident += int64(status.VmRSS)
		f.Peak += int64(status.VmHWM)
		f.Threads += stat.NumThreads
		f.Processes++
		// Pages that processes share count once in all.
		rollup, _ := p.ProcSMapsRollup()
		f.Memory += int64(rollup.Pss)
		f.Resident = f.Resident || rollup.Pss == 0
	}
	if f.Processes == 0 {
		return nil
	}
	if f.Resident {
		f.Memory = resident
	}
	return f
}

// MayRun is the set of CPUs that any thread of a server and its children may run
// on; nil when it is not known.
func MayRun(pid int) (all record.CPUs) {
	if pid <= 0 {
		return nil
	}
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return nil
	}
	for _, p := range Family(pid) {
		threads, _ := fs.AllThreads(p) // none of one that has ended
		for _, t := range threads {
			status, _ := t.NewStatus()
			for _, cpu := range status.CpusAllowedList {
				all = append(all, int(cpu))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
