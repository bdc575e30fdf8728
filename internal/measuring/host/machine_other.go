//go:build !linux

package host

import (
	"os/exec"
	"runtime"
	"schedlab/internal/shared/cpuset"
	"syscall"
)

// Affinity returns all CPUs, and ErrNoAffinity.
func Affinity() (cpuset.Set, error) {
	set := make(cpuset.Set, runtime.NumCPU())
	for cpu := range set {
		set[cpu] = cpu
	}
	return set, ErrNoAffinity
}

// BindThread returns ErrNoAffinity.
func BindThread(cpuset.Set) error  { return ErrNoAffinity }
func bindThreads(cpuset.Set) error { return ErrNoAffinity }

// Isolate puts a command into its own process group. Here no signal ends it when this program dies.
func Isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// ProcessCPU returns -1: only Linux's CPU clocks are read.
func ProcessCPU(int) float64 { return -1 }
