//go:build !linux

package host

import (
	"errors"
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

// Bury does nothing: only on Linux this program inherits what servers leave behind.
func Bury(int) {}

// ProcessCPU returns -1: only Linux's CPU clocks are read.
func ProcessCPU(int) float64 { return -1 }

// A Limit is a control group with a CPU limit, which only Linux has.
type Limit struct{}

// NewLimit returns an error: there are no control groups here.
func NewLimit(float64) (*Limit, error) {
	return nil, errors.New("a CPU limit needs control groups, which only Linux has; leave limit out")
}

// Start starts a command without a limit.
func (*Limit) Start(cmd *exec.Cmd) error { return cmd.Start() }

// Remove does nothing.
func (*Limit) Remove() error { return nil }
