package host

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/record"
)

// Family returns a process and all its descendants, parents first, with those of its process group that this program has inherited
// because their parents have ended. Processes that end in the meantime may be missing.
//
// A shell may have started a server, and it may have workers, so its figures are sums over the family.
func Family(pid int) []int {
	all := append([]int{pid}, inherited(pid)...)
	// all grows while it is read: the children of each process are added at its end. The kernel lists
	// children by the thread that made them.
	for i := 0; i < len(all); i++ {
		for _, child := range children(all[i]) {
			if !slices.Contains(all, child) {
				all = append(all, child)
			}
		}
	}
	return all
}

// children returns the children of a process.
func children(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // no error: the pattern is valid
	for _, list := range lists {
		for field := range strings.FieldsSeq(readFile(list)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(all, child)
			}
		}
	}
	return all
}

// inherited returns the children of this program that belong to the process group of a server, which has its pid.
func inherited(server int) (all []int) {
	if server == os.Getpid() {
		return nil
	}
	for _, child := range children(os.Getpid()) {
		if group, err := unix.Getpgid(child); err == nil && group == server && child != server {
			all = append(all, child)
		}
	}
	return all
}

// FamilyCPU returns the CPU time, in seconds, of a process and all its descendants. It includes
// ended children that were waited for, so that it does not fall when one ends. It is negative when
// unknown.
//
// Note: the kernel counts ended children in hundredths of a second, living ones in nanoseconds.
func FamilyCPU(pid int) float64 {
	if pid <= 0 {
		return -1
	}
	// Eight tries are enough unless processes end all the time; then the last sum is the best there is.
	sum, steady := 0., false
	for tries := 0; tries < 8 && !steady; tries++ {
		sum, steady = addCPU(Family(pid))
	}
	return sum
}

// addCPU sums the CPU times of processes. steady reports that none of them ended in the meantime; the
// sum would have counted it twice or not at all.
func addCPU(pids []int) (sum float64, steady bool) {
	// When a child ends, its time moves from its own clock to the time its parent has waited for. The
	// waited times are read before and after the clocks: if they are equal, nothing has moved.
	before, steady := WaitedCPU(pids), true
	for i, pid := range pids {
		own := ProcessCPU(pid)
		// The server itself is gone, so no further try can succeed.
		if i == 0 && own < 0 {
			return own, true
		}
		steady = steady && own >= 0
		sum += max(0, own)
	}
	after := WaitedCPU(pids)
	return sum + after, steady && after == before
}

// WaitedCPU returns the CPU time, in seconds, of the children that processes have waited for.
func WaitedCPU(pids []int) (sum float64) {
	for _, pid := range pids {
		if p, err := procfs.NewProc(pid); err == nil {
			s, _ := p.Stat() // all 0 if it has ended
			sum += float64(s.CUTime+s.CSTime) / userHZ
		}
	}
	return sum
}

// backwards is the largest fall of a family's CPU time, in seconds, that rounding can cause.
const backwards = 3. / userHZ

// footprint returns the memory, threads and processes of a server and its children at this moment;
// nil when unknown.
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
		// Pss: a page that processes share counts once in the sum.
		rollup, _ := p.ProcSMapsRollup()
		f.Memory += int64(rollup.Pss)
		f.Resident = f.Resident || rollup.Pss == 0
	}
	if f.Processes == 0 {
		return nil
	}
	// One process without Pss spoils the sum, so resident pages count for all.
	if f.Resident {
		f.Memory = resident
	}
	return f
}

// MayRun returns the CPUs on which any thread of a server or its children may run, ascending; nil
// when unknown.
func MayRun(pid int) (all cpuset.Set) {
	if pid <= 0 {
		return nil
	}
	for _, p := range Family(pid) {
		threads, _ := procfs.AllThreads(p) // a process that has ended has none
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

// Listening returns the processes among pids that listen at an address of this machine; nil stands for all
// processes. It finds only processes that this one may inspect.
func Listening(at netip.AddrPort, pids []int) (found []int) {
	sockets := listeners(at)
	if len(sockets) == 0 {
		return nil
	}
	if pids == nil {
		all, _ := procfs.AllProcs()
		for _, p := range all {
			pids = append(pids, p.PID)
		}
	}
	for _, pid := range pids {
		p, err := procfs.NewProc(pid)
		if err != nil {
			continue // it has ended
		}
		files, _ := p.FileDescriptorTargets() // none of a process that it may not inspect
		if slices.ContainsFunc(files, func(file string) bool { return slices.Contains(sockets, file) }) {
			found = append(found, pid)
		}
	}
	return found
}

// listeners returns the sockets that listen at an address, under the names that processes' descriptors link to.
//
// Note: procfs would parse the kernel's whole table, which has every connection that closed within the last
// minute. The kernel lists the sockets that listen first, so a reader can stop at the first other one.
func listeners(at netip.AddrPort) (sockets []string) {
	const listen = "0A" // TCP_LISTEN
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(f)
		lines.Scan() // the heading
		for lines.Scan() {
			// The second field is the local address, the fourth the state, the tenth the inode.
			fields := strings.Fields(lines.Text())
			if len(fields) < 10 || fields[3] != listen {
				break
			}
			if local := tableAddress(fields[1]); local.Port() == at.Port() && (local.Addr() == at.Addr() || local.Addr().IsUnspecified()) {
				sockets = append(sockets, "socket:["+fields[9]+"]")
			}
		}
		_ = f.Close()
	}
	return sockets
}

// tableAddress parses an address of the kernel's table, such as 0100007F:1F90 for 127.0.0.1:8080; it returns
// the zero address for anything else. Each word of four bytes is printed as a little-endian number.
func tableAddress(text string) netip.AddrPort {
	digits, port, _ := strings.Cut(text, ":")
	ip, _ := hex.DecodeString(digits)
	for word := range slices.Chunk(ip, 4) {
		slices.Reverse(word)
	}
	addr, _ := netip.AddrFromSlice(ip)
	number, _ := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(addr.Unmap(), uint16(number))
}
