package host

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"schedlab/internal/shared/cpuset"
)

// cpuLimit is one more than the largest CPU number that unix.CPUSet can hold.
const cpuLimit = 1024

// Affinity returns the CPUs that the calling thread may use, ascending.
func Affinity() (cpuset.Set, error) {
	var mask unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mask); err != nil {
		return nil, fmt.Errorf("reading the CPU affinity: %w", err)
	}
	var set cpuset.Set
	for cpu := range cpuLimit {
		if mask.IsSet(cpu) {
			set = append(set, cpu)
		}
	}
	return set, nil
}

// mask converts a set to the kernel's form.
func mask(set cpuset.Set) *unix.CPUSet {
	var mask unix.CPUSet
	for _, cpu := range set {
		mask.Set(cpu)
	}
	return &mask
}

// BindThread sets the affinity of the calling thread. Call runtime.LockOSThread before it.
// Threads that this one creates afterwards inherit it. It returns an error if the set is empty or has
// no CPU that this process may use.
func BindThread(set cpuset.Set) error { return unix.SchedSetaffinity(0, mask(set)) }

// bindThreads sets the affinity of all threads of this process. It repeats until no new thread
// shows up.
func bindThreads(set cpuset.Set) error {
	// A thread that a bound one creates is bound too. One that an unbound thread creates meanwhile is not,
	// so the list is read again until it stays the same.
	for seen, last := 0, -1; seen != last; {
		last = seen
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("listing threads: %w", err)
		}
		seen = len(tasks)
		for _, t := range tasks {
			tid, _ := strconv.Atoi(t.Name()) // a thread's directory is its number
			// A thread that has ended meanwhile (ESRCH) needs no affinity.
			if err := unix.SchedSetaffinity(tid, mask(set)); err != nil && err != unix.ESRCH {
				return err
			}
		}
	}
	return nil
}

// Isolate puts a command that has not started into its own process group, so that Ctrl-C reaches only this
// program, and a kill of the group reaches its children. The kernel kills it when the thread that starts it ends. From the first
// call on, children that a server leaves behind become this program's: a master may end before its workers, and the time of
// those that the system's first process inherits would count as another program's.
func Isolate(cmd *exec.Cmd) {
	adopt()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// adopt makes this program the parent of what its descendants leave behind. An old kernel that cannot leaves them to the first process.
var adopt = sync.OnceFunc(func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) })

// Bury waits for those processes of a killed group that have become children of this program, for a second at most: one of another user
// may live on. The leader must have been waited for.
func Bury(group int) {
	for began := time.Now(); time.Since(began) < time.Second; {
		switch pid, err := unix.Wait4(-group, nil, unix.WNOHANG, nil); {
		case err == unix.EINTR || pid > 0:
		case err != nil:
			return // none is left
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

// ProcessCPU returns the CPU time of a process in seconds, -1 when unknown. It reads the process's
// CPU clock, which has a resolution of nanoseconds; /proc/PID/stat has 10 ms. The clock id is the
// kernel's encoding of a pid: ~pid<<3 | CPUCLOCK_SCHED (clock_getcpuclockid(3)).
func ProcessCPU(pid int) float64 {
	const cpuclockSched = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|cpuclockSched), &ts); err != nil {
		return -1
	}
	return time.Duration(ts.Nano()).Seconds()
}
