package experiment

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// cpuSets says who runs where. pin is false when nothing is bound to a CPU.
type cpuSets struct {
	server, load unix.CPUSet
	pin, shared  bool
}

// chooseCPUs splits the CPUs this process may use: the lower half for the
// server, the rest for the load, unless told otherwise.
func chooseCPUs(o Options) (cpuSets, error) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return cpuSets{}, fmt.Errorf("reading the CPU affinity: %w", err)
	}
	sets := cpuSets{server: all, load: all, pin: o.Pin != "none", shared: true}
	switch o.Pin {
	case "", "auto":
	case "none":
		if o.ServerCPUs != "" || o.LoadCPUs != "" {
			return sets, impossible("--pin none leaves no use for --server-cpus and --load-cpus; drop one of them")
		}
		return sets, nil
	default:
		return sets, impossible("--pin %q is none of auto, none", o.Pin)
	}
	if n := all.Count(); n >= 2 && o.ServerCPUs == "" && o.LoadCPUs == "" {
		sets.server, sets.load = split(all, n/2)
		sets.shared = false
		return sets, nil
	}
	var err error
	if o.ServerCPUs != "" {
		if sets.server, err = parseCPUs("--server-cpus", o.ServerCPUs, all); err != nil {
			return sets, err
		}
	}
	if o.LoadCPUs != "" {
		if sets.load, err = parseCPUs("--load-cpus", o.LoadCPUs, all); err != nil {
			return sets, err
		}
	}
	// One side given: the other takes what is left, if anything is.
	switch {
	case o.LoadCPUs == "":
		sets.load = first(without(all, sets.server), all)
	case o.ServerCPUs == "":
		sets.server = first(without(all, sets.load), all)
	}
	sets.shared = without(sets.server, sets.load) != sets.server
	return sets, nil
}

// split returns the n lowest CPUs of all, and the rest.
func split(all unix.CPUSet, n int) (low, high unix.CPUSet) {
	for cpu := range cpuLimit {
		switch {
		case !all.IsSet(cpu):
		case low.Count() < n:
			low.Set(cpu)
		default:
			high.Set(cpu)
		}
	}
	return low, high
}

func without(a, b unix.CPUSet) unix.CPUSet {
	for cpu := range cpuLimit {
		if b.IsSet(cpu) {
			a.Clear(cpu)
		}
	}
	return a
}

// cpuLimit is the number of CPUs a unix.CPUSet can hold.
const cpuLimit = 1024

// parseCPUs reads a list like 0-3,5.
func parseCPUs(flag, list string, allowed unix.CPUSet) (set unix.CPUSet, err error) {
	for part := range strings.SplitSeq(list, ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		if !ranged {
			hi = lo
		}
		from, err1 := strconv.Atoi(lo)
		to, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || from < 0 || to < from || to >= cpuLimit {
			return set, impossible("%s %q is not a list of CPUs like 0-3,5", flag, list)
		}
		for cpu := from; cpu <= to; cpu++ {
			if !allowed.IsSet(cpu) {
				return set, impossible("%s %q: CPU %d is not one this process may use (%s)", flag, list, cpu, cpuList(allowed))
			}
			set.Set(cpu)
		}
	}
	return set, nil
}

// cpuList writes a set as 0-3,5.
func cpuList(set unix.CPUSet) string {
	var parts []string
	for cpu := 0; cpu < cpuLimit; cpu++ {
		if !set.IsSet(cpu) {
			continue
		}
		last := cpu
		for last+1 < cpuLimit && set.IsSet(last+1) {
			last++
		}
		if last > cpu {
			parts = append(parts, fmt.Sprintf("%d-%d", cpu, last))
		} else {
			parts = append(parts, strconv.Itoa(cpu))
		}
		cpu = last
	}
	return strings.Join(parts, ",")
}

// loadProcs is the generator's GOMAXPROCS: at least two, so that a pacer that
// sleeps in the kernel never holds the only one.
func (c cpuSets) loadProcs() int { return max(2, c.load.Count()) }

// bindLoad moves every thread of this process to the load's CPUs and returns
// what undoes it. New threads inherit their maker's set.
func (c cpuSets) bindLoad() (undo func(), err error) {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, fmt.Errorf("reading the CPU affinity: %w", err)
	}
	// Set outright: Go would follow the affinity mask down to one otherwise.
	procs := runtime.GOMAXPROCS(c.loadProcs())
	undo = func() { runtime.GOMAXPROCS(procs) }
	if !c.pin {
		return undo, nil
	}
	if err := bindThreads(c.load); err != nil {
		return undo, err
	}
	return func() {
		runtime.GOMAXPROCS(procs)
		// Binding to what was allowed before cannot fail but for threads that end meanwhile.
		_ = bindThreads(before)
	}, nil
}

// bindThreads sets the affinity of all threads, again until no new one shows up.
func bindThreads(set unix.CPUSet) error {
	for seen, last := 0, -1; seen != last; {
		last = seen
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("listing threads: %w", err)
		}
		seen = len(tasks)
		for _, t := range tasks {
			tid, err := strconv.Atoi(t.Name())
			if err != nil {
				continue
			}
			if err := unix.SchedSetaffinity(tid, &set); err != nil && err != unix.ESRCH {
				return fmt.Errorf("pinning the load to CPUs %s: %w; use --pin none", cpuList(set), err)
			}
		}
	}
	return nil
}

// foreign is the CPU time that others took from the server on its CPUs over a
// window: what was neither idle nor its own.
func (c cpuSets) foreign(used reading, window float64) float64 {
	if used.idle < 0 || used.server < 0 {
		return -1
	}
	busy := float64(c.server.Count())*window - used.idle
	own := used.server
	if c.shared {
		own += max(0, used.load)
	}
	return max(0, busy-own)
}

// A launcher starts processes from one thread that is bound to the server's
// CPUs, so that they inherit them. The thread lives until close: the kernel
// kills the processes when it ends, so none outlives this program.
type launcher struct {
	jobs chan func()
	err  error
}

func (c cpuSets) newLauncher() (*launcher, error) {
	l := &launcher{jobs: make(chan func())}
	bound := make(chan error)
	go func() {
		// Never unlocked: a thread with its own affinity must not return to the pool.
		runtime.LockOSThread()
		if c.pin {
			if err := unix.SchedSetaffinity(0, &c.server); err != nil {
				bound <- fmt.Errorf("pinning the server to CPUs %s: %w; use --pin none", cpuList(c.server), err)
				return
			}
		}
		close(bound)
		for job := range l.jobs {
			job()
		}
	}()
	return l, <-bound
}

func (l *launcher) run(f func() error) error {
	done := make(chan error, 1)
	l.jobs <- func() { done <- f() }
	return <-done
}

func (l *launcher) close() { close(l.jobs) }
