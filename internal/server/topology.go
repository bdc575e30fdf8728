package server

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/model"
	"schedlab/internal/workload"
)

const (
	mostListeners = 1024
	mostProcesses = 256
	mostWait      = time.Minute
	dealRandom    = "random"
	newestFirst   = "newest-first"
)

// checkTopology checks the settings of how connections reach goroutines, and of
// the workload's locks, and fills in their defaults.
func (c *Config) checkTopology(mode model.Mode, mc *model.Config) error {
	for _, n := range []struct {
		flag    string
		value   *int
		most    int
		initial int
	}{
		{"listeners", &c.Listeners, mostListeners, runtime.GOMAXPROCS(0)},
		{"processes", &c.Processes, mostProcesses, runtime.GOMAXPROCS(0)},
		{"threads", &c.Threads, mostProcesses, 1},
	} {
		switch {
		case !mode.Has(n.flag) && *n.value != 0:
			return meansNothing(n.flag, mode)
		case !mode.Has(n.flag):
		case *n.value == 0:
			*n.value = n.initial
		case *n.value < 1 || *n.value > n.most:
			return badConfig("--%s %d is outside 1 to %d", n.flag, *n.value, n.most)
		}
	}
	for _, given := range [][2]string{{"deal", c.Deal}, {"batch", c.Batch}} {
		if given[1] != "" && !mode.Has(given[0]) {
			return meansNothing(given[0], mode)
		}
	}
	mc.Reverse = c.Batch == newestFirst
	switch {
	case !mode.Has("wait") && c.Wait >= 0:
		return meansNothing("wait", mode)
	case c.Wait < 0:
		c.Wait = model.DefaultWait
	case c.Wait > mostWait:
		return badConfig("--wait %v is above %v", c.Wait, mostWait)
	}
	mc.Wait = c.Wait
	if c.KVLocks < 0 || c.KVLocks > workload.MaxKVLocks {
		return badConfig("--kv-locks %d is outside 1 to %d", c.KVLocks, workload.MaxKVLocks)
	}
	return nil
}

// meansNothing refuses a flag that the mode does not have, and says which do.
func meansNothing(flag string, mode model.Mode) error {
	var have []string
	for _, m := range model.Modes() {
		if m.Has(flag) {
			have = append(have, m.Name)
		}
	}
	return badConfig("--%s means nothing to --mode %s; it belongs to --mode %s", flag, mode.Name, strings.Join(have, ", "))
}

// checkShares sees to it that every process gets a share of the connections.
func (c *Config) checkShares(mode model.Mode) error {
	if mode.Processes && c.MaxConns < c.Processes {
		return badConfig("--max-conns %d is below --processes %d, and each process takes its share; raise it or start fewer processes", c.MaxConns, c.Processes)
	}
	return nil
}

// A threadLimit is how many threads this process may have, and who says so.
type threadLimit struct {
	threads int
	source  string
}

// otherThreads are left to the runtime and the admin listener.
const otherThreads = 100

// threaded is what has a thread of its own, connection or worker; "" for neither.
func (c *Config) threaded(mode model.Mode) string {
	if c.Locked {
		return "worker"
	}
	return mode.Threads
}

// checkThreads refuses more connections, or workers, than threads in a mode that
// needs one for each, or lowers a number of connections that was not asked for.
func (c *Config) checkThreads(mode model.Mode, l threadLimit, asked bool) error {
	room, unit := l.threads-otherThreads, c.threaded(mode)
	switch {
	case unit == "":
	case room < 1:
		return badConfig("--mode %s needs a thread for each %s, and %s allows only %d; raise it", c.Mode, unit, l.source, l.threads)
	case unit == "worker":
		if c.Workers > room {
			return badConfig("--workers %d needs a thread for each worker, and %s allows %d (%d are kept for the rest); lower it to %d or raise that limit",
				c.Workers, l.source, l.threads, otherThreads, room)
		}
	case c.MaxConns <= room:
	case asked:
		return badConfig("--max-conns %d needs a thread for each connection, and %s allows %d (%d are kept for the rest); lower it to %d or raise that limit",
			c.MaxConns, l.source, l.threads, otherThreads, room)
	default:
		c.MaxConns = room
	}
	return nil
}

// threadsAllowed is the lowest of the kernel's, the control group's and the user's
// limits.
func threadsAllowed() threadLimit {
	lowest := threadLimit{1 << 30, "the kernel"}
	consider := func(n uint64, source string) {
		if n < uint64(lowest.threads) {
			lowest = threadLimit{int(n), source}
		}
	}
	for _, source := range []string{
		"/proc/sys/kernel/threads-max", "/proc/sys/kernel/pid_max", "/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max",
	} {
		text, err := os.ReadFile(source)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 63); err == nil { // or "max"
			consider(n, source)
		}
	}
	var processes unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &processes) == nil && os.Getuid() != 0 { // root is not held to it
		consider(processes.Cur, "ulimit -u")
	}
	return lowest
}

// warnings are what to beware of in the topology chosen.
func (c *Config) warnings(mode model.Mode) (warn []string) {
	cpus := runtime.NumCPU()
	if p := runtime.GOMAXPROCS(0); mode.Has("listeners") && c.Listeners > p {
		warn = append(warn, fmt.Sprintf("%d listeners share %d CPUs (GOMAXPROCS): connections hashed to a socket whose acceptor does not run wait for it",
			c.Listeners, p))
	}
	if n := c.Processes * c.Threads; mode.Processes && n > cpus {
		warn = append(warn, fmt.Sprintf("%d processes of %d threads are %d threads for %d CPUs: the kernel's scheduler shares them out",
			c.Processes, c.Threads, n, cpus))
	}
	if c.PlantCPU > 0 {
		warn = append(warn, fmt.Sprintf("every /work costs %g times the CPU time that it asks for (--plant-cpu): its figures are for tests of verdicts alone", c.PlantCPU))
	}
	if c.Plant != "" {
		warn = append(warn, fmt.Sprintf("the fault %s is planted (--plant): figures are for tests of explanations alone", c.Plant))
	}
	return warn
}
