package host

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/shared/cgroup"
)

// A Limit is a control group of one server, with a quota of CPU time in each limitPeriod. A nil Limit limits
// nothing. It is not safe for concurrent use.
type Limit struct {
	dir  string // the group's directory
	home string // in version 1 the group of this process; "" in version 2
}

const (
	// limitPeriod is the kernel's own default, and what Kubernetes and Docker use.
	limitPeriod = 100 * time.Millisecond
	// limitPrefix begins the names of the groups: schedlab-PID-NUMBER, with the pid of the schedlab that made it.
	limitPrefix = "schedlab-"
	// emptyLimit is how long Remove waits for the processes of the group to end.
	emptyLimit = time.Second
)

// limitsMade numbers the groups that this process made.
var limitsMade atomic.Int64

// NewLimit makes a group for a server that may use cpus CPUs. The caller removes it with Remove. The error tells
// what is missing, and what to do.
func NewLimit(cpus float64) (*Limit, error) {
	places := cgroup.Places(fromRoot)
	if len(places) == 0 {
		return nil, errors.New("a CPU limit needs a control group that hands on the controller cpu, and this process is in none; " +
			"start schedlab by systemd-run --scope -p Delegate=yes, in a container with --cgroupns=private and a writable /sys/fs/cgroup, or leave limit out")
	}
	var failed error
	for _, p := range places {
		l, err := newLimit("/"+p.Dir, p.V1, cpus)
		if err == nil {
			return l, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// newLimit makes a group in the group parent.
func newLimit(parent string, v1 bool, cpus float64) (*Limit, error) {
	sweep(parent)
	l := &Limit{dir: filepath.Join(parent, fmt.Sprintf("%s%d-%d", limitPrefix, os.Getpid(), limitsMade.Add(1)))}
	if err := os.Mkdir(l.dir, 0o755); err != nil {
		return nil, fmt.Errorf("making a control group for the CPU limit: %w; run schedlab as root or in a group that its user may write, or leave limit out", err)
	}
	period := limitPeriod.Microseconds()
	quota := int64(math.Round(cpus * float64(period)))
	file, text := "cpu.max", fmt.Sprintf("%d %d", quota, period)
	if v1 {
		l.home, file, text = parent, "cpu.cfs_quota_us", strconv.FormatInt(quota, 10) // the period of a new group is 100 ms
	}
	if err := os.WriteFile(filepath.Join(l.dir, file), []byte(text), 0); err != nil {
		return nil, errors.Join(fmt.Errorf("setting a CPU limit of %v: %w; a group cannot have more than the group above it", cpus, err), l.Remove())
	}
	return l, nil
}

// sweep removes the empty groups of schedlabs that were killed.
func sweep(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, limitPrefix+"*-*"))
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), limitPrefix), "-")
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(dir) // the kernel keeps a group that still has processes
		}
	}
}

// Start starts a command in the group, so that its runtime finds the limit. Call it on a locked thread, since in
// version 1 the command inherits the group of the thread that starts it.
func (l *Limit) Start(cmd *exec.Cmd) (err error) {
	if l == nil {
		return cmd.Start()
	}
	if l.home == "" {
		dir, err := os.Open(l.dir)
		if err != nil {
			return err
		}
		defer dir.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
		return cmd.Start()
	}
	if err := enter(l.dir); err != nil {
		return err
	}
	err = cmd.Start()
	return errors.Join(err, enter(l.home))
}

// enter puts the calling thread into a group of version 1.
func enter(dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0); err != nil {
		return fmt.Errorf("entering a control group: %w", err)
	}
	return nil
}

// Remove kills the processes that are left in the group, and removes it. It waits up to a second for their end. It may be
// called again.
func (l *Limit) Remove() error {
	if l == nil {
		return nil
	}
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		err := os.Remove(l.dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Since(began) > emptyLimit {
			return fmt.Errorf("removing the control group of a CPU limit: %w", err)
		}
		for pid := range strings.FieldsSeq(readFile(filepath.Join(l.dir, "cgroup.procs"))) {
			if n, err := strconv.Atoi(pid); err == nil && n > 0 && n != os.Getpid() {
				_ = unix.Kill(n, unix.SIGKILL) // it may have ended by itself
			}
		}
	}
}
