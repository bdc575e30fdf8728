//go:build !linux

package experiment

import (
	"runtime"

	"schedlab/internal/record"
)

// affinity lists every CPU; the error says that nothing can be pinned.
func affinity() (record.CPUs, error) {
	set := make(record.CPUs, runtime.NumCPU())
	for cpu := range set {
		set[cpu] = cpu
	}
	return set, errNoAffinity
}

func bindThread(record.CPUs) error  { return errNoAffinity }
func bindThreads(record.CPUs) error { return errNoAffinity }

// processCPU is unknown: only Linux's CPU clocks are read.
func processCPU(int) float64 { return -1 }
