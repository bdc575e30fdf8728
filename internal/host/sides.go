// Package host reads and sets what the machine of a run offers: which CPUs server and load
// have, what their clocks say around a window, who else uses the CPUs meanwhile, and what
// machine it is. On systems other than Linux most of it is unknown, and says so.
package host

import (
	"errors"
	"fmt"
	"runtime"

	"schedlab/internal/record"
)

// Sides says on which CPUs server and load run.
type Sides struct {
	Server, Load record.CPUs
	Pin          bool // both are bound to their CPUs
	Shared       bool // they have a CPU in common
	Vegeta       bool // the load is the engine vegeta: many goroutines, and a pacer that sleeps in the kernel
}

// ErrNoAffinity says that this system cannot bind threads to CPUs.
var ErrNoAffinity = errors.New("this system cannot pin threads to CPUs")

// loadProcs is the generator's GOMAXPROCS. On a CPU of its own the engine spins, and
// another P would have it moved from thread to thread; where it sleeps in the kernel it
// must not hold the only one.
func (c Sides) loadProcs() int {
	if c.Shared || c.Vegeta {
		return max(2, len(c.Load))
	}
	return 1
}

// BindLoad moves every thread of this process to the load's CPUs and returns
// what undoes it. New threads inherit their maker's set.
func (c Sides) BindLoad() (undo func(), err error) {
	// Set outright: Go would follow the affinity mask down to one otherwise.
	procs := runtime.GOMAXPROCS(c.loadProcs())
	undo = func() { runtime.GOMAXPROCS(procs) }
	if !c.Pin {
		return undo, nil
	}
	before, err := Affinity()
	if err != nil {
		return undo, err
	}
	if err := bindThreads(c.Load); err != nil {
		return undo, fmt.Errorf("pinning the load to CPUs %s: %w; use --pin none", c.Load, err)
	}
	return func() {
		runtime.GOMAXPROCS(procs)
		// Binding to what was allowed before cannot fail but for threads that end meanwhile.
		_ = bindThreads(before)
	}, nil
}

// SharedCPUs are those of the servers that the load has too, where the servers have others
// beside them; none otherwise, and where neither is bound.
func (c Sides) SharedCPUs() record.CPUs {
	if !c.Pin {
		return nil
	}
	return record.Shared(c.Server, c.Load)
}

// Foreign is the CPU time that others took from the server on its CPUs over a
// window: what was neither idle nor stolen nor its own.
func (c Sides) Foreign(used Reading, window float64) float64 {
	own := used.spanServer
	if c.Shared && own >= 0 {
		own += max(0, used.spanLoad)
	}
	return foreignTime(len(c.Server), window, used.Idle, used.stolen, own)
}
