//go:build !linux

package experiment

import (
	"os/exec"
	"runtime"
	"syscall"
)

// affinity lists every CPU; the error says that nothing can be pinned.
func affinity() (cpuSet, error) {
	set := make(cpuSet, runtime.NumCPU())
	for cpu := range set {
		set[cpu] = cpu
	}
	return set, errNoAffinity
}

func bindThread(cpuSet) error  { return errNoAffinity }
func bindThreads(cpuSet) error { return errNoAffinity }

// isolate puts a server into its own process group.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// processCPU is unknown: only Linux's CPU clocks are read.
func processCPU(int) float64 { return -1 }
