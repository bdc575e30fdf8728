package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/load"
)

// A cpuSet lists CPU numbers, ascending.
type cpuSet []int

// cpuSets says who runs where. pin is false when nothing is bound to a CPU.
type cpuSets struct {
	server, load cpuSet
	pin, shared  bool
	vegeta       bool // the load is the engine vegeta: many goroutines, and a pacer that sleeps in the kernel
}

// errNoAffinity says that this system cannot bind threads to CPUs.
var errNoAffinity = errors.New("this system cannot pin threads to CPUs")

// chooseCPUs splits the CPUs this process may use: the lower half for the
// server, the rest for the load, unless told otherwise.
func chooseCPUs(o Options) (cpuSets, error) {
	all, err := affinity()
	sets := cpuSets{server: all, load: all, pin: o.Pin != "none" && err == nil, shared: true, vegeta: cmp.Or(o.Engine, load.DefaultEngine) == load.EngineVegeta}
	told := o.ServerCPUs != "" || o.LoadCPUs != ""
	switch {
	case o.Pin != "" && o.Pin != "auto" && o.Pin != "none":
		return sets, impossible("--pin %q is none of auto, none", o.Pin)
	case o.Pin == "none" && told:
		return sets, impossible("--pin none leaves no use for --server-cpus and --load-cpus; drop one of them")
	case errors.Is(err, errNoAffinity) && told:
		return sets, impossible("--server-cpus and --load-cpus: %v", err)
	case errors.Is(err, errNoAffinity) || o.Pin == "none":
		return sets, nil
	case err != nil:
		return sets, err
	case !told && len(all) >= 2:
		sets.server, sets.load, sets.shared = all[:len(all)/2], all[len(all)/2:], false
		return sets, nil
	}
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
	if rest := all.without(sets.server); o.LoadCPUs == "" && len(rest) > 0 {
		sets.load = rest
	}
	if rest := all.without(sets.load); o.ServerCPUs == "" && len(rest) > 0 {
		sets.server = rest
	}
	sets.shared = len(sets.server.without(sets.load)) < len(sets.server)
	return sets, nil
}

func (s cpuSet) without(other cpuSet) (rest cpuSet) {
	for _, cpu := range s {
		if !slices.Contains(other, cpu) {
			rest = append(rest, cpu)
		}
	}
	return rest
}

// cpuLimit is above every CPU number the kernel's affinity calls here can take.
const cpuLimit = 1024

// parseCPUs reads a list like 0-3,5.
func parseCPUs(flag, list string, allowed cpuSet) (set cpuSet, err error) {
	for part := range strings.SplitSeq(list, ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		if !ranged {
			hi = lo
		}
		from, err1 := strconv.Atoi(lo)
		to, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || from < 0 || to < from || to >= cpuLimit {
			return nil, impossible("%s %q is not a list of CPUs like 0-3,5", flag, list)
		}
		for cpu := from; cpu <= to; cpu++ {
			if !slices.Contains(allowed, cpu) {
				return nil, impossible("%s %q: CPU %d is not one this process may use (%s)", flag, list, cpu, allowed)
			}
			set = append(set, cpu)
		}
	}
	slices.Sort(set)
	return slices.Compact(set), nil
}

// String writes a set as 0-3,5.
func (s cpuSet) String() string {
	var parts []string
	for i := 0; i < len(s); i++ {
		first := i
		for i+1 < len(s) && s[i+1] == s[i]+1 {
			i++
		}
		if i > first {
			parts = append(parts, fmt.Sprintf("%d-%d", s[first], s[i]))
		} else {
			parts = append(parts, strconv.Itoa(s[i]))
		}
	}
	return strings.Join(parts, ",")
}

// loadProcs is the generator's GOMAXPROCS. On a CPU of its own the engine spins, and
// another P would have it moved from thread to thread; where it sleeps in the kernel it
// must not hold the only one.
func (c cpuSets) loadProcs() int {
	if c.shared || c.vegeta {
		return max(2, len(c.load))
	}
	return 1
}

// bindLoad moves every thread of this process to the load's CPUs and returns
// what undoes it. New threads inherit their maker's set.
func (c cpuSets) bindLoad() (undo func(), err error) {
	// Set outright: Go would follow the affinity mask down to one otherwise.
	procs := runtime.GOMAXPROCS(c.loadProcs())
	undo = func() { runtime.GOMAXPROCS(procs) }
	if !c.pin {
		return undo, nil
	}
	before, err := affinity()
	if err != nil {
		return undo, err
	}
	if err := bindThreads(c.load); err != nil {
		return undo, fmt.Errorf("pinning the load to CPUs %s: %w; use --pin none", c.load, err)
	}
	return func() {
		runtime.GOMAXPROCS(procs)
		// Binding to what was allowed before cannot fail but for threads that end meanwhile.
		_ = bindThreads(before)
	}, nil
}

// foreign is the CPU time that others took from the server on its CPUs over a
// window: what was neither idle nor stolen nor its own.
func (c cpuSets) foreign(used reading, window float64) float64 {
	own := used.spanServer
	if c.shared && own >= 0 {
		own += max(0, used.spanLoad)
	}
	return foreignTime(len(c.server), window, used.idle, used.stolen, own)
}

// A launcher starts processes from one thread that is bound to the server's
// CPUs, so that they inherit them. The thread lives until close: the kernel
// kills the processes when it ends, so none outlives this program.
type launcher struct {
	jobs                  chan func()
	readyLimit, stopLimit time.Duration // for a server to answer, and to end
}

func (c cpuSets) newLauncher() (*launcher, error) {
	l := &launcher{jobs: make(chan func()), readyLimit: readyLimit, stopLimit: stopLimit}
	bound := make(chan error)
	go func() {
		// Never unlocked: a thread with its own affinity must not return to the pool.
		runtime.LockOSThread()
		if c.pin {
			if err := bindThread(c.server); err != nil {
				bound <- fmt.Errorf("pinning the server to CPUs %s: %w; use --pin none", c.server, err)
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
