package experiment

import (
	"errors"
	"fmt"
	"runtime"

	"schedlab/internal/record"
)

// cpuSets says who runs where. pin is false when nothing is bound to a CPU.
type cpuSets struct {
	server, load record.CPUs
	pin, shared  bool
	vegeta       bool // the load is the engine vegeta: many goroutines, and a pacer that sleeps in the kernel
}

// errNoAffinity says that this system cannot bind threads to CPUs.
var errNoAffinity = errors.New("this system cannot pin threads to CPUs")

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
