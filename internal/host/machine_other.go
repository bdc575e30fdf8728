//go:build !linux

package host

import (
	"os/exec"
	"runtime"
	"syscall"

	"schedlab/internal/record"
)

// Affinity returns all CPUs, and ErrNoAffinity.
func Affinity() (record.CPUs, error) {
	set := make(record.CPUs, runtime.NumCPU())
	for cpu := range set {
		set[cpu] = cpu
	}
	return set, ErrNoAffinity
}

// BindThread returns ErrNoAffinity.
func BindThread(record.CPUs) error  { return ErrNoAffinity }
func bindThreads(record.CPUs) error { return ErrNoAffinity }

// Isolate puts a command into its own process group. Here no signal ends it when this program dies.
func Isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// ProcessCPU returns -1: only Linux's CPU clocks are read.
func ProcessCPU(int) float64 { return -1 }
