package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/stats"
)

// The checks of this file compare a limit of the system with the need of a comparison: descriptors,
// local ports, accept queues, memory, swap, room on disk, and variables of the environment.

// descriptors judges the soft limit on open files by the connections that it allows.
func (m *Machine) descriptors() Finding {
	if m.Files == (unix.Rlimit{}) {
		return Finding{}
	}
	const keptFree = 64 // descriptors that a server does not use for connections
	connections := m.Files.Cur - min(m.Files.Cur, keptFree)
	// Fewer than 1024 spoil even small scenarios; 10,000 is a server's limit on connections by default.
	return fine(descriptors.Of(fileLimits{Soft: float64(m.Files.Cur), Hard: float64(m.Files.Max), Connections: float64(connections)})).
		graded(connections < 1024, connections < 10_000)
}

// ports counts the local ports that one trial may use up. Each trial has another server port, and a
// socket in TIME_WAIT blocks its local port for that server port only. So earlier trials take none
// away, but the finding still has the number of sockets in TIME_WAIT.
func (m *Machine) ports() Finding {
	var from, to int
	if _, err := fmt.Sscan(m.text("proc/sys/net/ipv4/ip_local_port_range"), &from, &to); err != nil {
		return untold(nil)
	}
	const quickSpan = 0.7 // seconds of a quick trial, warm-up included
	n := to - from + 1
	v := portRange{Ports: n, Rate: float64(n) / quickSpan}
	// Of TCP only, in a line like "TCP: inuse 9 orphan 0 tw 14 alloc 10 mem 2".
	_, rest, _ := strings.Cut(m.text("proc/net/sockstat"), " tw ")
	waiting := 0.0
	if _, err := fmt.Sscan(rest, &waiting); err == nil {
		v.Waiting = stats.Known(waiting)
	}
	// A quick trial at its lowest rate takes 1,540.
	return fine(localPorts.Of(v)).graded(n < 2_000, n < 10_000)
}

// backlog judges the kernel's limits on the accept queue and on the SYN queue. A server's own
// --backlog is cut to the first.
func (m *Machine) backlog() Finding {
	accept, ok := m.number("proc/sys/net/core/somaxconn")
	if !ok {
		return untold(nil)
	}
	syn, known := m.number("proc/sys/net/ipv4/tcp_max_syn_backlog")
	var fixes []string
	if accept < 1024 {
		fixes = append(fixes, "net.core.somaxconn=4096")
	}
	if known && syn < 256 {
		fixes = append(fixes, "net.ipv4.tcp_max_syn_backlog=4096")
	}
	return fine(listenBacklog.Of(queueLimits{Accept: float64(accept), SYN: float64(syn), Settings: strings.Join(fixes, " ")})).
		graded(accept < 128, len(fixes) > 0)
}

// memory judges the memory available: MemAvailable, the kernel's estimate of the memory that
// programs can get without swapping.
func (m *Machine) memory() Finding {
	free, ok := m.kibibytes("MemAvailable")
	if !ok {
		return untold(nil)
	}
	return fine(memoryFree.Of(freeMemory{Free: float64(free)})).graded(free < 256<<20, free < 1<<30)
}

// swap warns if more than 16 MiB of swap space is in use. A few pages that were swapped out long ago and
// are not needed do no harm.
func (m *Machine) swap() Finding {
	total, ok := m.kibibytes("SwapTotal")
	free, ok2 := m.kibibytes("SwapFree")
	if !ok || !ok2 {
		return untold(nil)
	}
	used := total - min(total, free)
	return fine(swapUsed.Of(usedSwap{Used: float64(used), Total: float64(total)})).graded(false, used > 16<<20)
}

// leastRoom is the free space, in bytes, below which output is bad. It is twice the space that a
// record checks for before the load starts.
const leastRoom = 2 << 20

// output checks that the directory of records can be written, and has room for a record. It creates
// nothing: it asks about the nearest directory that exists. Less than leastRoom is bad; less than a
// record of the largest size needs is a warning.
func (m *Machine) output() Finding {
	if m.Out == "" {
		return Finding{}
	}
	blocked := func(err error, readOnly string) Finding {
		return fine(outputBlocked.Of(outputRefused{Dir: m.Out, Error: err.Error(), ReadOnly: readOnly})).graded(true, false)
	}
	dir, err := existing(m.Out)
	if err == nil {
		err = unix.Access(dir, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		readOnly := ""
		if errors.Is(err, unix.EROFS) {
			readOnly = dir
		}
		return blocked(err, readOnly)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return Finding{Outcome: outcome.Open, Fact: outputUntold.Of(outputNotTelling{Dir: m.Out, Error: err.Error()})}
	}
	// Pseudo file systems like /proc have no blocks and take no files.
	if disk.Blocks == 0 {
		return blocked(errors.New("its file system has no room for files"), "")
	}
	free := uint64(disk.Bavail) * uint64(disk.Bsize)
	v := outputDir{Dir: m.Out, Free: float64(free), Needed: float64(m.Need)}
	if free >= max(leastRoom, m.Need) {
		return fine(outputRoom.Of(v))
	}
	return fine(outputFull.Of(v)).graded(free < leastRoom, true)
}

// existing returns path, or the nearest directory above it that exists, where path would be
// created. It returns an error for a file in the way.
func existing(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return "", fmt.Errorf("%s is no directory", path)
	case errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path):
		return existing(filepath.Dir(path))
	}
	return path, err
}

// shaping are the environment variables that the Go runtime of every server reads.
var shaping = []string{"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT"}

// building are the flags in GOFLAGS that compile the same source to a different program.
var building = []string{"-race", "-gcflags", "-ldflags", "-cover", "-tags", "-msan", "-asan", "-pgo"}

// environment warns of variables that change how Go programs are built or run. They reach every
// server of a comparison alike, so no arm gains, but the figures hold for these settings only.
func (m *Machine) environment() Finding {
	var set, names []string
	for _, v := range m.Environ {
		name, value, _ := strings.Cut(v, "=")
		shapes := slices.Contains(shaping, name) && value != ""
		if name == "GOFLAGS" {
			shapes = slices.ContainsFunc(building, func(word string) bool { return strings.Contains(value, word) })
		}
		if shapes {
			set, names = append(set, v), append(names, name)
		}
	}
	slices.Sort(set)
	slices.Sort(names)
	return fine(goSettings.Of(goVariables{Set: strings.Join(set, ", "), Unset: strings.Join(names, " -u ")})).graded(false, len(set) > 0)
}
